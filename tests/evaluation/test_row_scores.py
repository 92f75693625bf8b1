"""Scores of single rows: by hand, of copies and fresh people, and the counting of near records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable
from hybrid.evaluation.attacks.row_scores import row_scores
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.neighbours import nearest, within
from hybrid.evaluation.engine.space import euclidean
from hybrid.lab.leak import known_leak
from hybrid.pipeline.risk import RiskOptions
from hybrid.table import Kind, Role, Table
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import small

COLUMNS = (("age", Kind.DECIMAL, Role.INSENSITIVE), ("sex", Kind.CATEGORICAL, Role.INSENSITIVE))
TRAIN = small([(float(10 * i), "f") for i in range(10)], *COLUMNS)  # 0, 10, ..., 90
CONTROL = small([(float(10 * i + d), "f") for i, d in enumerate((1, 2, 3, 4, 5, 1, 2, 3, 4, 5))], *COLUMNS)
ROWS = small([(0.0, "f"), (12.0, "f"), (26.0, "f"), (500.0, "m")] * 3, *COLUMNS)


def context_of(train: Table, control: Table, table: Table, **score: object) -> Context:
    return Context(train, control, table, EvaluateOptions.model_validate({"privacy_score": score}))


def measured(context: Context) -> Measure:
    found = REGISTRY["privacy_score"].measure(context).outcome
    assert isinstance(found, Measure), found
    return found


def test_scores_by_hand() -> None:
    context = context_of(TRAIN, CONTROL, ROWS)
    # Control records lie 1 to 5 from the nearest training record, two at each distance; the rows 0, 2, 4 and far.
    assert row_scores(context, "distance")[:4] == pytest.approx([0, 0.4, 0.8, 1])
    # To control the rows lie 1, 0 and 3 away.
    assert row_scores(context, "ratio")[:3] == pytest.approx([0, 1, 4 / 7])
    assert 0.4 < row_scores(context, "ratio")[3] < 0.6
    # Training records have a control record 1 away at the nearest: of 12 rows two others coincide with the first and
    # of 10 training records one; the second has no training record as near.
    alpha = row_scores(context, "alpha")
    assert alpha[:2] == pytest.approx([(2.5 / 12) / (1.5 / 10), np.inf])


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(5, 80))
def test_near_records_are_counted_as_by_comparing_all(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    tables = make_people(n, rng), make_people(n, rng), make_people(n, rng)
    context = Context(*tables, EvaluateOptions())
    space = euclidean(context.encoding)
    queries, references = (space.place(context.encoded(role)) for role in ("table", "train"))
    every = nearest(space, queries, references, n)[0]
    reach = rng.choice(every.ravel(), n)
    assert within(space, queries, references, reach).tolist() == (every <= reach[:, None] + 1e-9).sum(axis=1).tolist()
    own = np.arange(n)
    alone = within(space, queries, queries, np.zeros(n), own)
    keys = context.keys["table"]
    assert alone.tolist() == [int((keys == key).sum()) - 1 for key in keys]


def test_copies_are_flagged_and_fresh_people_are_not() -> None:
    rng = np.random.default_rng(1)
    train, control, fresh = (make_people(400, rng) for _ in range(3))
    copy = measured(context_of(train, control, train))
    assert copy.value == pytest.approx(1, abs=0.01)
    assert copy.excess is not None
    assert copy.excess[0] == pytest.approx(1, abs=0.02)
    none = measured(context_of(train, control, fresh))
    assert none.excess is not None
    assert none.excess[1] <= 0 <= none.excess[2]
    leaked = known_leak(train, fresh, RiskOptions(model="leaky", leak=0.3), 1)
    half = measured(context_of(train, control, leaked.table))
    assert half.excess is not None
    assert half.excess[0] == pytest.approx(0.3, abs=0.05)
    assert half.excess[1] > 0
    # The score of each row: nearly all copies are riskier than nearly all others.
    for score in ("distance", "ratio"):
        scores = row_scores(context_of(train, control, leaked.table), score)
        assert (scores[leaked.provenance >= 0] < 0.02).mean() > 0.99
        assert (scores[leaked.provenance < 0] < 0.02).mean() < 0.08


def test_the_size_of_control_does_not_decide() -> None:
    rng = np.random.default_rng(2)
    train, control, fresh = make_people(600, rng), make_people(200, rng), make_people(600, rng)
    leaked = known_leak(train, fresh, RiskOptions(model="leaky", leak=0.5), 1).table
    found = measured(context_of(train, control, leaked))
    assert found.details["parts"] == 3
    assert found.excess is not None
    assert found.excess[0] == pytest.approx(0.5, abs=0.08)


def test_groups_have_a_radius_of_their_own() -> None:
    rng = np.random.default_rng(3)
    train, control, fresh = (make_people(300, rng) for _ in range(3))
    one, each = (measured(context_of(train, control, fresh, **by)) for by in ({}, {"by": "sex"}))
    assert "by" not in one.details
    assert each.details["by"] == "sex"
    assert each.details["groups_with_own_radius"] == 2
    outcome = REGISTRY["privacy_score"].measure(context_of(train, control, fresh, by="nothing")).outcome
    assert isinstance(outcome, NotComputable)
    assert "privacy_score.by" in outcome.reason


def test_it_is_off_by_default() -> None:
    context = Context(TRAIN, CONTROL, ROWS, EvaluateOptions())
    outcome = REGISTRY["privacy_score"].measure(context).outcome
    assert isinstance(outcome, NotComputable)
    assert outcome.lacks == "privacy_score"
    assert isinstance(REGISTRY["privacy_score"].measure(context_of(TRAIN, CONTROL, replace(ROWS))).outcome, Measure)
