"""Inputs of a report of which everything is long: many columns, unmet rules, every attack, every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hybrid.base.sentence import sentence
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.power import LeakTrials, Power
from hybrid.publication.rules.metric import MetricRule
from hybrid.publication.table_facts import StatedTable, TableFacts
from hybrid.report import ReportedStage, ReportInputs
from hybrid.report.run.sections.rows import MOST_COLUMNS
from hybrid.report.run.sections.tables import LinkedRow
from tests.publication.conftest import an_anonymization, config

WORDS = {
    "lost_column": sentence("content.values", column="long_column_name_21", n=6, m=63),
    "lost_link": sentence("content.link", a="long_column_name_21", b="long_column_name_22", n=0.1, m=0.37),
    "lost_prediction": sentence("content.predicted", column="long_column_name_5", n=0.45, m=0.82),
    "group_exclusion": sentence("content.share", group="long_column_name_4 other Europe", n=2.5, m=12.4, unit="people"),
}
COLUMNS = tuple(f"long_column_name_{at}" for at in range(30))
TABLES = tuple(f"table_{at}" for at in range(6))
PAIRS = [{"a": one, "b": other, "train": 0.47, "table": 0.1} for one, other in pairwise(COLUMNS)]
ESTIMATE = {"analysis": "`a` ~ `b` + `c`", "name": "b = True", "difference": -3.7, "concluded": None}
STEPS = (
    ("input", 3000, ""),
    ("train", 2400, "about 300 records are kept apart as control; about 1,200 persons"),
    ("protect", 2400, "values of fewer than 5 persons replaced"),
    ("anonymize", 2300, "k = 5 persons, fewer than 10 persons left out, fewer than 10 records suppressed"),
    ("sample", 1200, "stratified, about 120 persons expected"),
    ("transition", 1200, "tree, pre"),
    ("synthesize", 1210, "cart, 1,200 synthetic persons"),
)


def worst_case(inputs: ReportInputs, folder: Path, *, linked: bool = False) -> ReportInputs:
    """The inputs with a verdict under which almost no rule of the default policy is met, and all else that is long."""
    policy = load_policy(packaged_policies()["default"])
    measured = Evaluation(tuple(_beyond_limits(policy)))
    power = Power((LeakTrials("copy", 0.01, 20, 20, 2), LeakTrials("splice", 0.2, 20, 20, 2)), 700, 900)
    verdict = judge(policy, measured, an_anonymization(min_class_size=3), "an earlier release has no classes", 2, power)
    facts: dict[str, Any] = {
        "owner": "the data governance board of the hospital",
        "config": config(folder) | {"roles": {"decided_by": "Dr. A. Muster-Beispiel", "date": "2026-11-21"}},
        "table": TableFacts(1500, 700, 1200, 30, COLUMNS[:3], COLUMNS[3:12], COLUMNS[12:], 1490),
        "anonymization": an_anonymization(suppressed_persons=30, persons=900, min_class_persons=5),
        "private": False,
    }
    row = ["Health and social care", "2026-11-21", "1,234.5", *["other Europe"] * (MOST_COLUMNS - 3)]
    shown = {
        "names": list(COLUMNS[:MOST_COLUMNS]),
        "rows": [row] * 10,
        "n_columns": 30,
        "has_identifiers": True,
        "least": 5,
    }
    collected: dict[str, Any] = {"verdict": facts, "rows": {"shown": shown}}
    if linked:
        about = 100, (), ",", "utf-8", False, None, None, {}
        facts["tables"] = tuple(StatedTable(name, f"{name}.csv", *about) for name in TABLES)
        collected = {
            "verdict": facts,
            "tables": [LinkedRow(name, 12, "patients", f"report-{name}.html", verdict) for name in TABLES],
        }
    return replace(
        inputs,
        verdict=verdict,
        evaluation=measured,
        steps=tuple(ReportedStage(name, rows, 1.5, note) for name, rows, note in STEPS),
        collected=collected,
    )


def _beyond_limits(policy: Policy) -> Iterator[MetricResult]:
    """A number beyond the limit of every rule about the released table."""
    for rule in policy.rules:
        assert isinstance(rule, MetricRule)
        sign = 1 if rule.better == "lower" else -1
        limit = rule.review if rule.review is not None else rule.block
        assert limit is not None
        value = limit + sign * 0.02
        details: dict[str, Any] = {"said": WORDS.get(rule.metric), "columns": [], "groups": []}
        details |= {"conclusions": 8, "kept": 7, "estimates": [ESTIMATE]} if rule.metric == "interval_overlap" else {}
        details |= {"pairs": PAIRS} if rule.metric == "lost_link" else {}
        excess = (value, value - 0.01, value + 0.1)
        reference = 0.5 if rule.compare == "both_ends" else 0.0
        outcome = Measure(value, value - 0.01, value + 0.01, reference, 500, details, excess)
        yield MetricResult(rule.metric, REGISTRY[rule.metric].family, rule.stage, rule.direction, outcome)
