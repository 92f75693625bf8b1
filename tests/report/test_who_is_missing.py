"""Section about missing groups: what it shows of which groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.result import LeftOutGroup
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.hierarchy import flat_hierarchy
from hybrid.report import ReportInputs, render_report
from hybrid.report.run.sections.who_is_missing import ANCHOR, SECTION, _left_out_rows
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.report.documents import Document

SCHEMA = Schema((Column("origin", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),))


def group(name: str, people: int, low: float) -> dict[str, Any]:
    return {
        "column": "origin",
        "group": name,
        "people": people,
        "share": 0.05,
        "share_there": 0.01,
        "value": 0.8,
        "low": low,
        "high": 0.9,
    }


def with_groups(inputs: ReportInputs, *groups: dict[str, Any]) -> ReportInputs:
    outcome = Measure(0.8, 0.6, 0.9, details={"groups": list(groups)})
    found = MetricResult("group_exclusion", "fidelity", "synthetic", "lower", outcome)
    return replace(inputs, evaluation=Evaluation((*inputs.evaluation.metrics, found)))


def test_groups_are_named_if_they_are_large_and_surely_missing(full_inputs: ReportInputs) -> None:
    groups = group("island", 40, 0.6), group("village", 3, 0.5), group("town", 60, -0.1)
    text = Document(render_report(with_groups(full_inputs, *groups))).text
    assert "origin: island" in text
    assert "village" not in text
    assert "town" not in text
    assert "0.600 to 0.900" in text
    alone = Document(render_report(with_groups(full_inputs, group("village", 3, 0.5)))).text
    assert "village" not in alone
    assert "No group has a smaller share than chance explains" in alone


class Run:
    """A run that suppressed the people of some small places."""

    def __init__(self, rare: list[str]) -> None:
        origins = pd.Categorical(["here"] * 60 + ["there"] * 40 + rare)
        train = Table(pd.DataFrame({"origin": origins}), SCHEMA)
        trees = {"origin": flat_hierarchy(SCHEMA["origin"], [train.frame["origin"]])}
        options = AnonymizeOptions(k=5, suppression_limit=0.3, levels={"origin": 0})
        self.anonymized = anonymize(train, trees, options)


@pytest.mark.parametrize(("rare", "shown"), [(list("abcdefghijklmnopqrst"), "16.7 %"), (["a", "b"], "few")])
def test_suppression_is_shown_by_group_without_small_counts(
    full_inputs: ReportInputs, rare: list[str], shown: str
) -> None:
    assert SECTION.collect is not None
    collected = SECTION.collect(Run(rare), 5)
    (everybody, *others) = collected["rows"]
    assert everybody.names == ("all people",)
    assert everybody.numbers[1] == shown
    named = {row.names[0]: row.numbers[1] for row in others}
    alone = {"alone with their quasi-identifiers": "100.0 %", "origin: rare values together": "100.0 %"}
    assert named == (alone if shown != "few" else {})
    text = Document(render_report(replace(full_inputs, collected={ANCHOR: collected}))).text
    assert "Left out by suppression" in text


@pytest.mark.parametrize(("people", "left_out"), [((41, 44), (17, 24)), ((36, 40), (36, 40))])
def test_one_person_more_or_less_does_not_show(people: tuple[int, int], left_out: tuple[int, int]) -> None:
    """Shares are those of rounded counts: 17 of 41 reads as 20 of 40, and 36 of 36 as 39 of 40."""
    rows = {
        str(_left_out_rows([LeftOutGroup("", "all people", 1000, 100), LeftOutGroup("origin", "island", n, out)], 5))
        for n in people
        for out in range(left_out[0], min(left_out[1], n) + 1)
    }
    assert len(rows) == 1


def test_the_few_who_remain_of_a_group_do_not_show() -> None:
    (_, all_gone), (_, two_remain) = (
        _left_out_rows([LeftOutGroup("", "all people", 1000, 100), LeftOutGroup("origin", "island", 40, out)], 5)
        for out in (40, 38)
    )
    assert all_gone == two_remain
    assert all_gone.numbers[:2] == ("about 40", "100.0 %")
