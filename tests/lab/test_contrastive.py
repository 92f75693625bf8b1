"""Metrics in the space of an encoder: copies, no leak, half a leak, order, what is missing."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, Measure, NotComputable, evaluate
from hybrid.evaluation.engine.intervals import difference
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.lab.attacks import contrastive
from hybrid.lab.attacks.contrastive import _commonest, _interval_ends, in_space
from hybrid.table import Kind, Role, Schema, Table
from tests.evaluation.small_tables import small
from tests.lab.encoder_tables import NAMES, context_of, found, options, people

AT_A_COPY = {"cl_dcr_share": 0.5, "cl_membership": 0.5}
"""Excess of metrics whose reference is .5; of all others it is 1."""


@pytest.fixture(scope="module")
def tables() -> tuple[Table, Table, Table]:
    return people(seed=2)  # of seed 1 both sexes are equally frequent, and such values are coded by their names


@pytest.fixture(scope="module")
def copied(tables: tuple[Table, Table, Table]) -> Evaluation:
    return found(tables[0], tables[1], tables[0], options().model_copy(update={"secrets": ("illness", "cost")}))


@pytest.fixture(scope="module")
def fresh(tables: tuple[Table, Table, Table]) -> Evaluation:
    return found(*tables)


def excesses(evaluation: Evaluation) -> dict[tuple[str, str | None], tuple[float, float, float]]:
    result = {}
    for metric in evaluation.metrics:
        assert isinstance(metric.outcome, Measure), (metric.name, metric.outcome)
        assert metric.outcome.excess is not None
        result[metric.name, metric.column] = metric.outcome.excess
    return result


def test_a_copy_is_a_full_leak(copied: Evaluation) -> None:
    seen = excesses(copied)
    assert {name for name, _ in seen} == set(NAMES)
    for (name, _), (value, low, _) in seen.items():
        assert low > 0, name
        if name != "cl_inference":  # of two candidates the encoder may choose the wrong one
            assert value == pytest.approx(AT_A_COPY.get(name, 1.0), abs=0.06), name


def test_fresh_people_are_no_leak(fresh: Evaluation) -> None:
    outside = [name for name, (_, low, high) in excesses(fresh).items() if not low <= 0 <= high]
    assert len(outside) <= 1  # of seven intervals at 95 %


def test_half_a_leak_reads_as_half(tables: tuple[Table, Table, Table]) -> None:
    train, control, others = tables
    half = pd.concat([train.frame[:150], others.frame[150:]], ignore_index=True).astype(train.frame.dtypes.to_dict())
    seen = excesses(found(train, control, Table(half, train.schema)))
    for name, expected in {"cl_linkability": 0.5, "cl_dcr_score": 0.5, "cl_dcr_share": 0.25}.items():
        assert seen[name, None][0] == pytest.approx(expected, abs=0.07), name
    assert all(low > 0 for (name, _), (_, low, _) in seen.items() if name != "cl_singling_out_univariate")


def test_every_measure_names_its_encoder_and_no_record(copied: Evaluation) -> None:
    for metric in copied.metrics:
        assert isinstance(metric.outcome, Measure)
        said = metric.outcome.details["encoder"]
        assert (said["engine"], said["encoders"], said["records"]) == ("untrained", 1, 30)
        assert "curves" not in metric.outcome.details
    alone = copied.find("cl_singling_out", "synthetic")
    assert alone is not None
    assert isinstance(alone.outcome, Measure)
    assert set(alone.outcome.details["columns"]) == {"3", "5"}
    beside = alone.outcome.details["random_targets"]
    low, high = beside["gain"][1:]
    assert low <= 0 <= high, "of a copy, all rows are singled out alike"


def test_order_and_names_change_nothing(tables: tuple[Table, Table, Table], fresh: Evaluation) -> None:
    rng = np.random.default_rng(3)

    def moved(table: Table) -> Table:
        frame = table.frame.iloc[rng.permutation(len(table))][table.schema.names[::-1]]
        renamed = frame.assign(
            sex=frame["sex"].cat.rename_categories({"f": "W", "m": "A"}), height=frame["height"] * 8.0
        )
        return Table(renamed, Schema(table.schema.columns[::-1]))

    train, control, table = (moved(each) for each in tables)
    again = found(train, control, table)
    for before, after in zip(fresh.metrics, again.metrics, strict=True):
        assert isinstance(before.outcome, Measure)
        assert isinstance(after.outcome, Measure)
        assert after.outcome.value == pytest.approx(before.outcome.value, abs=1e-9), before.name


def test_they_are_computed_where_an_encoder_is_asked_for(tables: tuple[Table, Table, Table]) -> None:
    assert not {metric.name for metric in metrics_of(EvaluateOptions())} & set(NAMES)
    asked = metrics_of(EvaluateOptions.model_validate({"encoder": {}, "families": ("privacy",)}))
    assert {metric.name for metric in asked} >= set(NAMES)
    outcome = REGISTRY["cl_linkability"].measure(context_of(*tables, EvaluateOptions())).outcome
    assert isinstance(outcome, NotComputable)
    assert outcome.lacks == "encoder"


def test_without_torch_the_reason_names_what_to_install(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.find_spec
    monkeypatch.setattr(contrastive, "find_spec", lambda name: None if name == "torch" else spec(name))
    chosen = options("contrastive").model_copy(update={"metrics": ("cl_dcr_share",)})
    outcome = found(*tables, chosen).metrics[0].outcome
    assert isinstance(outcome, NotComputable)
    assert outcome.state == "failed"
    assert "hybrid-release[tabddpm]" in outcome.reason
    assert "engine: untrained" in outcome.reason


def test_one_column_is_no_space() -> None:
    rows = small([(float(i),) for i in range(20)], ("age", Kind.DECIMAL, Role.INSENSITIVE))
    outcome = in_space(context_of(rows, rows, rows), lambda *_: Measure(0.0))
    assert outcome == NotComputable("an encoder needs two columns that vary")


def test_a_sample_of_large_tables_is_said(tables: tuple[Table, Table, Table]) -> None:
    chosen = options().model_copy(update={"max_records": 200, "metrics": ("cl_dcr_share", "cl_linkability")})
    seen = evaluate(*tables[:2], {"synthetic": tables[2]}, chosen, np.random.default_rng(1))
    for metric in seen.metrics:
        assert isinstance(metric.outcome, Measure)
        assert metric.outcome.details["sampled"]


def test_the_commonest_secret_of_tied_rows_by_hand() -> None:
    secrets = np.array([7, 3, 3, 9, 9, 7])
    group = np.array([0, 0, 0, 1, 1, 1])
    assert _commonest(secrets, group, np.array([1, 0, 0])).tolist() == [9, 3, 3]
    assert _commonest(np.array([5, 4]), np.array([0, 0]), np.array([0])).tolist() == [4], "the least of equally common"


def test_intervals_of_equal_width_by_hand() -> None:
    columns = (("age", Kind.INTEGER, Role.INSENSITIVE), ("sex", Kind.CATEGORICAL, Role.INSENSITIVE))
    table = small([(0, "f"), (4, "m"), (6, "f"), (10, "f"), (None, "f")] * 3, *columns)
    other = small([(-3, "f"), (5, "m"), (11, "m")] * 5, *columns)
    context = context_of(other, other, table, options(bins=2))
    # Ranks of -3, 0, 4, 5, 6, 10, 11; the table's range 0 to 10 is cut at 5; beyond it nothing is in an interval of it.
    low, high = _interval_ends(context, 0)
    assert low.tolist() == [0, 1, 1, 3, 3, 3, 6, -1]
    assert high.tolist() == [0, 2, 2, 5, 5, 5, 6, -1]
    low, high = _interval_ends(context, 1)
    assert low.tolist() == high.tolist() == [0, 1, -1]


def test_differences_by_hand() -> None:
    found = difference((0.5, 0.2, 0.9), (0.1, 0.0, 0.4))
    assert found == pytest.approx([0.4, 0.4 - np.hypot(0.3, 0.3), 0.4 + np.hypot(0.4, 0.1)])
