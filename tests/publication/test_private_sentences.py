"""Every sentence of a private certificate has a test that fails if it is false."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hybrid.evaluation.measure import Evaluation
from hybrid.privacy.accounting import Budget, BudgetPart
from hybrid.publication.certificate import build_certificate
from hybrid.publication.finished_run import FinishedRun
from hybrid.publication.gate import DrawNumber
from hybrid.publication.private_words import account, guarantee
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Verdict
from tests.publication.conftest import a_policy
from tests.publication.falsifiers import faults, patterns_of, sentences
from tests.publication.private_sentences import FALSIFIERS

UNITS: tuple[dict[str, Any], ...] = (
    {"person": "none", "max_rows": None},
    {"person": "name", "max_rows": 1},
    {"person": ["name", "birth"], "max_rows": 3},
)
ROLES: tuple[dict[str, Any], ...] = ({}, {"roles": None}, {"roles": {"decided_by": "Ada", "date": "2026-01-01"}})
PARTS = (BudgetPart("number of rows", 0.001), BudgetPart("categories of ward", 0.004, 1e-7))
TABLES = (TableFacts(12340, 560, 700, 3, ("name",), (), ("age",)), TableFacts(10, 0, 12345, 1, (), (), ("age",)))


def a_certificate(unit: dict[str, Any], roles: dict[str, Any], searched: bool, table: TableFacts) -> dict[str, Any]:
    privacy = {"mode": "dp", "epsilon": 1.0, "delta": 1e-6, "columns": {}}
    config = {"privacy": privacy, "data": unit, "output": {"identifiers": "drop"}, **roles}
    budget = Budget(1.0, 1e-6, unit["max_rows"] or 1, PARTS if searched else PARTS[:1]).to_json()
    manifest = {
        "name": "clinic",
        "config": config,
        "table": table.to_json(),
        "differential_privacy": True,
        "privacy_budget": budget,
        "explanation": " ".join([*guarantee(config), account(budget)]),
    }
    run = FinishedRun(Path("run"), manifest, Evaluation(()), None, {}, a_policy(), "id")
    return build_certificate(
        run,
        release="2026-01-02-aa",
        created="2026-01-02T03:04:05+00:00",
        verdict=Verdict.of("test 1", ()),
        draw=DrawNumber(1, 1),
        acceptances=(),
        data_tag="tag",
        release_tag="tag",
        files={},
        signing={},
    )


@pytest.fixture(scope="module")
def said() -> set[str]:
    """Sentences of every configuration that changes them."""
    grid = product(UNITS, ROLES, (True, False), TABLES)
    return {sentence for chosen in grid for sentence in sentences(a_certificate(*chosen))}


def test_the_table_has_every_sentence_with_its_tests(said: set[str]) -> None:
    assert faults(said, FALSIFIERS) == []


def test_a_further_sentence_is_noticed() -> None:
    note = {"note": "This table is anonymous. Nothing can be learned."}
    further = a_certificate(UNITS[0], {}, True, TABLES[0]) | note
    assert [text for text in sentences(further) if not patterns_of(text, FALSIFIERS)] == [
        "This table is anonymous.",
        "Nothing can be learned.",
    ]
