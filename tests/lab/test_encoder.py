"""The contrastive encoder: masks, coding, points, self-check, outliers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hybrid.evaluation.attacks.vulnerability import local_outlier_factors
from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EncoderOptions
from hybrid.lab.encoder.embed import Encoder, loss, nearest_groups, placed, sphere, without_training
from hybrid.lab.encoder.network import FIRST, MASKED, MISSING, dimensions, inputs_of, random_masks, untrained
from hybrid.table import Kind, Role
from tests.evaluation.small_tables import small
from tests.lab.encoder_tables import context_of, people

COLUMNS = (("age", Kind.DECIMAL, Role.INSENSITIVE), ("sex", Kind.CATEGORICAL, Role.INSENSITIVE))
ROWS = small([(10.0, "f"), (30.0, "f"), (None, "m"), (20.0, None)], *COLUMNS)
OTHERS = small([(20.0, "x"), (1000.0, "m")], *COLUMNS)


@pytest.fixture(scope="module")
def context() -> Context:
    return context_of(*people())


def test_masks_hide_one_column_at_least_and_never_all() -> None:
    shown = random_masks(6000, 4, np.random.default_rng(1))
    hidden = (~shown).sum(axis=1)
    assert np.bincount(hidden, minlength=5)[[0, 4]].sum() == 0
    # 1, 2 or 3 of 4 columns, a third each, and every column as often: within four standard errors.
    assert np.bincount(hidden)[1:] / 6000 == pytest.approx([1 / 3] * 3, abs=4 * math.sqrt(2 / 9 / 6000))
    assert shown.mean(axis=0) == pytest.approx([0.5] * 4, abs=4 * 0.5 / math.sqrt(6000))


def test_records_are_coded_by_what_the_judged_table_has() -> None:
    encoding = Context(OTHERS, OTHERS, ROWS, context_of(ROWS, ROWS, ROWS).options).encoding
    assert encoding.names == ["age", "sex"]
    inputs = inputs_of(encoding, encoding.tables[2])
    coded = inputs.code(encoding.tables[2], np.array([True, True]))
    # Ages 10, 30 and 20: mean 20, standard deviation sqrt(200/3).
    assert coded.numbers[:, 0] == pytest.approx([-10 / math.sqrt(200 / 3), 10 / math.sqrt(200 / 3), 0, 0])
    assert coded.absent[:, 0].tolist() == [0, 0, 1, 0]
    assert coded.tokens[3, 0] == MISSING
    assert coded.tokens[0, 0] == coded.tokens[1, 0] != coded.tokens[2, 0]
    assert min(coded.tokens[:3, 0]) >= FIRST
    other = inputs.code(encoding.tables[0], np.array([True, True]))
    assert other.tokens[0, 0] == MASKED, "a category that the table does not have is hidden"
    assert other.numbers[:, 0].tolist() == [0, 8], "far beyond the table's range"
    hidden = inputs.code(encoding.tables[2], np.array([False, False]))
    assert hidden.absent.all()
    assert not hidden.numbers.any()
    assert (hidden.tokens == MASKED).all()


def test_equal_records_are_one_point_and_hidden_ones_all_the_same(context: Context) -> None:
    encoder, table = without_training(context).encoder, context.encoded("table")
    points = encoder.points(table)
    assert np.linalg.norm(points, axis=1) == pytest.approx(1, abs=1e-5)
    again = encoder.points(table.take(np.array([5, 3, 5])))
    assert again.tolist() == points[[5, 3, 5]].tolist()
    assert len(np.unique(points, axis=0)) == len(np.unique(table.ranks, axis=0))
    nothing = encoder.points(table, np.zeros(len(context.encoding.columns), dtype=bool))
    assert (nothing == nothing[0]).all()
    assert encoder.points(table.take(np.arange(0))).shape == (0, points.shape[1])


def test_the_random_network_is_its_seed_and_a_further_category_leaves_the_rest_as_it_is(context: Context) -> None:
    inputs, options = inputs_of(context.encoding, context.encoded("table")), EncoderOptions(width=16)
    one, same, other = (untrained(inputs, options, seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one.weights, same.weights, strict=True))
    assert not (one.weights[0] == other.weights[0]).any()
    known = list(inputs.known)
    known[0] = np.append(known[0], [True, True])
    more = untrained(type(inputs)(inputs.numeric, inputs.other, inputs.center, inputs.scale, tuple(known)), options, 1)
    assert (more.tables[0][: len(one.tables[0]), : one.tables[0].shape[1]].shape) == one.tables[0].shape
    assert (more.tables[1] == one.tables[1]).all()
    assert (more.weights[1] == one.weights[1]).all()


def test_dimensions_follow_the_columns(context: Context) -> None:
    inputs = inputs_of(context.encoding, context.encoded("table"))
    assert inputs.n_columns == 8
    assert dimensions(inputs, EncoderOptions()) == 8
    assert dimensions(inputs, EncoderOptions(dimensions=5)) == 5
    wide = replace(inputs, numeric=np.arange(18 - len(inputs.other)))
    assert wide.n_columns == 18 and dimensions(wide, EncoderOptions()) == 12


def test_the_loss_by_hand() -> None:
    # Two records: similarities 1 with the own point, 0 with the other, temperature 1: log(e + 1) - 1 on every side.
    assert loss(np.eye(2), 1.0) == pytest.approx(math.log(math.e + 1) - 1)
    assert loss(np.zeros((5, 5)), 0.1) == pytest.approx(math.log(5)), "guessing"


def test_the_self_check_says_how_far_from_guessing_an_encoder_is(context: Context) -> None:
    check = without_training(context).check
    assert check.records == 30
    assert check.chance == pytest.approx(1 / 30)
    assert 0 <= check.found <= 1
    assert check.loss > 0


def outlier_factors(points: np.ndarray) -> np.ndarray:
    return local_outlier_factors(sphere(points.shape[1]), placed(points))


def test_a_far_point_is_the_outlier_and_equal_points_are_none() -> None:
    points = np.concatenate([np.random.default_rng(1).normal(size=(50, 2)), [[9.0, 9.0]]])
    assert outlier_factors(points).argmax() == 50
    assert outlier_factors(np.ones((5, 2))) == pytest.approx(1)


def test_rows_at_one_point_are_one_group() -> None:
    references = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    group, near = nearest_groups(references, np.array([[0.9, 0.1], [-1.0, 0.0]]))
    assert group[0] == group[2]
    assert len(set(group)) == 3
    assert near.tolist() == [group[0], group[3]]


def test_an_encoder_reads_only_what_it_is_shown(context: Context) -> None:
    found = without_training(context)
    shown = np.isin(context.encoding.names, ["age", "sex"])
    changed = context.encoded("table").take(np.array([0, 0]))
    changed.ranks[1, ~shown], changed.numbers[1, ~shown] = -1, np.nan
    points = Encoder(found.encoder.inputs, found.encoder.network).points(changed, shown)
    assert (points[0] == points[1]).all()
    assert (points[0] != found.encoder.points(changed)[0]).any()
