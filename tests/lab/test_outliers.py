"""Removal of outliers before training: who goes, who is measured, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor

from hybrid.base.errors import ConfigError
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors
from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EncoderOptions, EvaluateOptions
from hybrid.jobs.start import run
from hybrid.lab import leak
from hybrid.lab.encoder.embed import without_training
from hybrid.lab.leak import without_unusual
from hybrid.pipeline.risk import RemovalOptions
from hybrid.pipeline.table_run import TableRun
from hybrid.table import Column, Kind, Role, Schema, Table


def people(n: int, seed: int, strange: int = 0) -> Table:
    """Around one centre, but for the last ``strange`` ones."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 1, (n, 2))
    points[n - strange :] += rng.choice([-9, 9], (strange, 2))
    columns = tuple(Column(name, Role.INSENSITIVE, Kind.DECIMAL) for name in ("x", "y"))
    return Table(pd.DataFrame(points, columns=["x", "y"]), Schema(columns))


TRAIN = people(120, 1, strange=6)


def removal(share: float, by: Any, **keys: Any) -> RemovalOptions:
    return RemovalOptions(model="outliers", remove=share, by=by, **keys)


def rows_of(table: Table) -> set[tuple[float, ...]]:
    return set(table.frame.itertuples(index=False, name=None))


def test_local_outlier_factors_are_those_of_scikit_learn() -> None:
    points = TRAIN.frame.to_numpy()
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    theirs = -LocalOutlierFactor(n_neighbors=20).fit(scaled).negative_outlier_factor_
    context = Context(TRAIN, None, TRAIN, EvaluateOptions())
    ours = local_outlier_factors(context.space, context.place(context.whole("train")))
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("by", ["lof", "vulnerability"])
def test_the_strange_go_first(by: str) -> None:
    kept = without_unusual(TRAIN, removal(0.05, by), 3)
    assert len(kept) == 114
    removed = rows_of(TRAIN) - rows_of(kept)
    strange = rows_of(TRAIN.take(np.arange(114, 120)))
    assert len(removed & strange) >= (6 if by == "lof" else 4)


def test_outliers_among_the_points_of_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leak, "find_spec", lambda name: name)
    monkeypatch.setattr(leak, "trained", lambda context: (without_training(context),))
    kept = without_unusual(TRAIN, removal(0.05, "encoder"), 3)

    options = EvaluateOptions(max_records=None, encoder=EncoderOptions(encoders=1))
    points = without_training(Context(TRAIN, None, TRAIN, options)).space.encoded("train").numbers
    factors = -LocalOutlierFactor(n_neighbors=20).fit(points).negative_outlier_factor_
    assert rows_of(kept) == rows_of(TRAIN.take(np.argsort(-factors)[6:]))

    monkeypatch.setattr(leak, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="torch, which is missing"):
        without_unusual(TRAIN, removal(0.05, "encoder"), 3)


def test_larger_removals_hold_the_smaller_ones_and_chance_is_another_draw() -> None:
    for by in ("lof", "vulnerability", "random"):
        small, large = (rows_of(without_unusual(TRAIN, removal(share, by), 3)) for share in (0.1, 0.3))
        assert large < small and len(small) == 108 and len(large) == 84
    once, again = (rows_of(without_unusual(TRAIN, removal(0.1, "random"), seed)) for seed in (3, 4))
    assert once != again
    assert rows_of(without_unusual(TRAIN, removal(0.0, "lof"), 3)) == rows_of(TRAIN)


def test_all_rows_of_a_person_go_together() -> None:
    persons = np.repeat(np.arange(40), 3)
    kept = without_unusual(Table(TRAIN.frame, TRAIN.schema, persons), removal(0.05, "lof"), 3)
    assert not kept.rows_are_persons and len(kept) == 114
    # The six strange rows are those of the last two persons.
    assert set(kept.persons) == set(range(38))


def test_three_records_have_no_neighbours_to_spare() -> None:
    assert len(without_unusual(people(3, 1), removal(0.34, "lof"), 1)) == 2


@pytest.fixture(scope="module")
def settings_of_run() -> dict[str, Any]:
    return {
        "data": {"columns": {}, "unlisted": "insensitive"},
        "seed": 4,
        "split": {"control": 0.3, "release": 0.3},
        "protect": "off",
        "synthesize": {"options": {"min_leaf": 5}},
        "risk": {"model": "outliers", "remove": 0.1, "by": "random"},
        "evaluate": {"families": ["privacy"], "metrics": ["identical_match"], "original": False},
    }


def test_the_generator_learns_the_rest_and_all_people_are_measured(settings_of_run: dict[str, Any]) -> None:
    frame = people(200, 5).frame
    everybody: TableRun = run(settings_of_run, frame).person
    others = settings_of_run | {"risk": settings_of_run["risk"] | {"measured": "kept"}}
    kept: TableRun = run(others, frame).person
    assert (len(everybody.train), len(everybody.learned), len(everybody.synthetic)) == (80, 72, 72)
    assert (len(kept.train), len(kept.learned)) == (72, 72)
    pd.testing.assert_frame_equal(kept.learned.frame, everybody.learned.frame)
    assert everybody.keys["synthesize"] == kept.keys["synthesize"]
    assert everybody.keys["evaluate-synthetic"] != kept.keys["evaluate-synthetic"]
    with pytest.raises(ConfigError, match="never written or released"):
        run(settings_of_run, frame, out="out")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"synthesize": {"generator": "none"}}, "no generator learns"),
        ({"protect": {}}, "protect is set beside risk"),
        ({"evaluate": {"retrain": {}}}, "evaluate.retrain"),
        ({"risk": {"model": "outliers", "remove": 0.6}}, "0.5"),
        ({"risk": {"model": "outliers", "leak": 0.6}}, "remove"),
    ],
)
def test_contradictions_are_refused(settings_of_run: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run(settings_of_run | changes, people(60, 5).frame)
