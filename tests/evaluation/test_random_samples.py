"""Large tables are asked about through a random sample: said with every number, and held by its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import EvaluateOptions, Evaluation, Measure, evaluate
from hybrid.report.run.metrics import metric_groups
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people

SEARCHES = (
    "dcr_share",
    "dcr_score",
    "knn_share",
    "nndr",
    "nnaa",
    "authenticity",
    "identifiability",
    "hitting_rate",
    "linkability",
    "inference",
    "membership",
    "membership_exposed",
    "membership_subgroups",
    "inference_exposed",
    "inference_subgroups",
)
NOT_A_MEAN = {"membership_exposed", "membership_subgroups", "inference_exposed", "inference_subgroups"}
"""Attacks on a choice of people, which is another in a sample."""


@pytest.fixture(scope="module")
def tables() -> tuple[Table, Table, Table]:
    """A table of which every third row is a copy of a training record."""
    rng = np.random.default_rng(11)
    train, control, fresh = make_people(900, rng), make_people(700, rng), make_people(600, rng)
    copied = train.take(np.arange(300)).frame
    return train, control, Table(pd.concat([copied, fresh.frame], ignore_index=True), train.schema)


def run(tables: tuple[Table, ...], limit: int | None, seed: int = 1) -> Evaluation:
    options = EvaluateOptions(metrics=SEARCHES, secrets=("illness",), max_records=limit, paper=True)
    train, control, table = tables
    return evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(seed))


def measures(found: Evaluation) -> dict[str, Measure]:
    numbers = {metric.name: metric.outcome for metric in found.metrics}
    assert all(isinstance(outcome, Measure) for outcome in numbers.values()), numbers
    return numbers  # type: ignore[return-value]


def test_a_sample_is_said_and_its_interval_holds_the_full_value(tables: tuple[Table, ...]) -> None:
    full, held = measures(run(tables, None)), []
    assert set(full) == set(SEARCHES)
    for seed in range(5):
        for name, measure in measures(run(tables, 200, seed)).items():
            assert "sampled" not in full[name].details
            assert measure.n < full[name].n, name
            counts = measure.details["sampled"]
            assert counts, name
            assert all(found["records"] < found["of"] for found in counts.values())
            if name not in NOT_A_MEAN:
                assert measure.low is not None and measure.high is not None
                held.append(measure.low <= full[name].value <= measure.high)
    assert len(held) == 5 * len(set(SEARCHES) - NOT_A_MEAN)
    assert np.mean(held) >= 0.93, held


def test_same_seed_same_sample_in_any_order_of_rows(tables: tuple[Table, ...]) -> None:
    shuffled = tuple(table.take(np.random.default_rng(4).permutation(len(table))) for table in tables)
    one, again, other = (measures(run(*asked)) for asked in ((tables, 200), (shuffled, 200), (tables, 200, 2)))
    for name, measure in one.items():
        assert measure.value == pytest.approx(again[name].value, abs=1e-12), name
    assert any(measure.value != other[name].value for name, measure in one.items())


def test_a_limit_above_the_tables_changes_nothing(tables: tuple[Table, ...]) -> None:
    for name, measure in measures(run(tables, 1000)).items():
        assert measure == measures(run(tables, None))[name]


def test_the_report_tells_the_size_of_the_sample(tables: tuple[Table, ...]) -> None:
    rows = {group.name: group.rows[0] for group in metric_groups(run(tables, 200), "privacy", {})}
    assert ("sampled: train", "200 of 900") in rows["inference"].details
    assert rows["inference"].n == "200"
