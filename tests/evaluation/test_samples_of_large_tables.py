"""Samples of large tables: how many records, and that results say so."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.context import Context
from hybrid.evaluation.utility import prediction
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people


@pytest.fixture(scope="module")
def tables() -> tuple[Table, Table, Table]:
    rng = np.random.default_rng(11)
    train, control, table = (make_people(n, rng) for n in (900, 300, 800))
    return train, control, table


def test_the_parts_of_a_sampled_table_share_the_sample(tables: tuple[Table, Table, Table]) -> None:
    context = Context(*tables, EvaluateOptions(max_records=100), 1)
    parts = {part.key: part for part, _ in context.parts(("train", "control"))}
    assert [len(context.asked(part).rows) for part in parts.values()] == [34, 34, 34]
    assert context.sampled()["train"] == {"records": 102, "of": 900}
    whole = Context(*tables, EvaluateOptions(max_records=None), 1)
    assert all(whole.asked(part) is part for part, _ in whole.parts(("train", "control")))


def test_models_say_which_rows_they_saw_whatever_was_measured_before(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "MAX_TRAINED", 400)
    monkeypatch.setattr(prediction, "_ROWS", {"table": 400, "train": 400, "control": 200})
    monkeypatch.setattr(prediction, "MAX_TESTED", 200)
    train, control, table = tables
    options = EvaluateOptions(metrics=("tstr", "importance_agreement"), targets=("illness",))

    def details(stages: dict[str, Table]) -> dict[tuple[str, str], object]:
        found = evaluate(train, control, stages, options, np.random.default_rng(1)).metrics  # type: ignore[arg-type]
        return {(one.name, one.stage): one.outcome for one in found}

    both, alone = details({"original": train, "synthetic": table}), details({"synthetic": table})
    for name in ("tstr", "importance_agreement"):
        outcome = both[name, "synthetic"]
        assert isinstance(outcome, Measure)
        assert outcome.details["sampled"] == {
            "table": {"records": 400, "of": 800},
            "train": {"records": 400, "of": 900},
            "control": {"records": 200, "of": 300},
        }
        assert outcome == alone[name, "synthetic"]


def test_the_original_predicts_as_the_real_rows_do(tables: tuple[Table, Table, Table]) -> None:
    """The one model is that of an equal table, trained again."""
    train, control, _ = tables
    again = train.take(np.arange(len(train)))
    options = EvaluateOptions(metrics=("tstr",), targets=("illness",))
    found = evaluate(train, control, {"original": train, "synthetic": again}, options, np.random.default_rng(1)).metrics
    original, copy = (one.outcome for one in found)
    assert isinstance(original, Measure) and original == copy and original.value == original.reference
