"""Samples of large tables: how many records, and that results say so."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.copies import to_others
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import NotComputable, Subject
from hybrid.evaluation.run_metrics import remembering
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


def test_stages_of_other_sizes_ask_about_other_numbers_of_people(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid.evaluation.context.LEAST_ASKED", 10)
    train, control, table = tables
    larger = make_people(1_100, np.random.default_rng(12))
    options = EvaluateOptions(families=("privacy",), also="all", secrets=("illness",), max_records=300)
    stages: dict[Subject, Table] = {"anonymized": table, "synthetic": larger}
    found = evaluate(train, control, stages, options, np.random.default_rng(1)).metrics
    said = {(one.name, one.stage): one.outcome for one in found}
    asked = [said["shared_cells", stage].details["sampled"]["train"]["records"] for stage in stages]  # type: ignore[union-attr]
    assert asked == [300**2 // 900, 300**2 // 1_100]
    assert not [
        key for key, outcome in said.items() if isinstance(outcome, NotComputable) and outcome.state == "failed"
    ]


def test_what_is_kept_of_people_is_that_of_the_people_who_are_asked_about(
    tables: tuple[Table, Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid.evaluation.context.LEAST_ASKED", 10)
    train, control, table = tables
    options, share = EvaluateOptions(max_records=300), remembering({})
    sizes = table, make_people(1_100, np.random.default_rng(12))
    smaller, larger = (Context(train, control, one, options, 1, share=share) for one in sizes)
    asked = [to_others(one, "train")[0] for one in (smaller, larger)]
    assert [len(rows) for rows in asked] == [300**2 // 900, 300**2 // 1_100]
    assert np.array_equal(asked[1], larger.asked_rows("train"))


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
