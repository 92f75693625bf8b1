"""Constraints that do not fit the columns or each other are refused, all at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hybrid.base.errors import ConfigError
from hybrid.constraints.checks import contradictions, refuse_misfits
from hybrid.table import Role, Schema
from tests.constraints.small_tables import declared, stays

SCHEMA = stays(5).schema


def with_role(name: str, role: Role) -> Schema:
    return Schema(tuple(replace(column, role=role) if column.name == name else column for column in SCHEMA))


def test_all_misfits_at_once() -> None:
    constraints = declared(
        {"le": ["admitted", "left"]},
        {"le": ["admitted", "bed"]},
        {"range": {"city": [0, 1]}},
        {"range": {"bed": ["2024-01-01", None]}},
        {"formula": "city > 3"},
        {"formula": "bed + 1"},
        {"le": ["bed", "total"]},
        {"derived": {"bed": "admitted"}},
        {"derived": {"bed": "city + total"}},
        {"counter": {"column": "test", "within": "city", "by": "result"}},
    )
    with pytest.raises(ConfigError) as caught:
        refuse_misfits(constraints, SCHEMA)
    messages = [problem.message for problem in caught.value.problems]
    assert [message.split(":")[0] for message in messages] == [
        "constraints.0.le",
        "constraints.1.le",
        "constraints.2.range",
        "constraints.3.range",
        "constraints.4.formula",
        "constraints.5.formula",
        "constraints.7.derived",
        "constraints.8.derived",
        "constraints.9.counter",
    ]
    assert "no such column: left" in messages[0]
    assert "'admitted' is date, 'bed' is integer" in messages[1]


@pytest.mark.parametrize(("role", "words"), [(Role.IDENTIFIER, "surrogates"), (Role.UNDECIDED, "undecided")])
def test_columns_that_are_not_learned_have_no_constraints(role: Role, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        refuse_misfits(declared({"le": ["bed", "total"]}), with_role("bed", role))


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ([{"le": ["a", "b"]}, {"le": ["b", "a"]}], "would have to be equal"),
        ([{"le": ["a", "b"]}, {"le": ["b", "c"]}, {"le": ["c", "a"]}], "would have to be equal"),
        ([{"range": {"a": [0, 1]}}, {"range": {"a": [2, 3]}}], "two ranges of a"),
        ([{"range": {"a": [5, 9], "b": [0, 4]}}, {"le": ["a", "b"]}], "the ranges of a and b"),
        ([{"range": {"a": [5, 9]}}, {"range": {"a": ["2024-01-01", None]}}], "two ranges of a"),
        ([{"le": ["a", "b"]}, {"le": ["a", "b"]}], "stated 2 times"),
        ([{"derived": {"a": "b + c"}}, {"derived": {"b": "a + d"}}], "computed from itself"),
        ([{"derived": {"a": "b + c"}}, {"derived": {"a": "d"}}], "computed by 2 formulas"),
    ],
)
def test_contradictions(constraints: list[dict[str, object]], words: str) -> None:
    assert any(words in problem.message for problem in contradictions(declared(*constraints)))


def test_constraints_that_agree_are_no_contradiction() -> None:
    agreeing = [{"le": ["a", "b"]}, {"le": ["b", "c"]}, {"le": ["a", "c"]}, {"range": {"a": [0, 5], "b": [0, 5]}}]
    assert list(contradictions(declared(*agreeing))) == []
