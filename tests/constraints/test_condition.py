"""Conditions on drawn rows: what they may name, who meets them, and drawing until enough do."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.constraints import DrawCondition, Rules, draw_held
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.constraints.small_tables import declared, table_of

VISITS = table_of(
    np.array([0, 0, 1, 2, 2]),
    ward=(Kind.CATEGORICAL, ["ICU", "ER", "ER", None, "ICU"]),
    age=(Kind.INTEGER, [70, 70, 30, 8, None]),
)


def drawn(n: int, seed: int) -> Table:
    """Persons with two rows each of uniform numbers 0..9."""
    a, b = np.random.default_rng(seed).integers(0, 10, (2, 2 * n))
    columns = {"a": (Kind.INTEGER, list(a)), "b": (Kind.INTEGER, list(b))}
    return table_of(np.repeat(np.arange(n), 2), **columns)


def test_what_is_unknown_is_not_met_and_a_person_meets_it_by_any_row() -> None:
    condition = DrawCondition("ward = 'ICU'")
    assert list(condition.rows(VISITS)) == [True, False, False, False, True]
    assert list(condition.whole(VISITS)) == [True, True, False, True, True]
    assert not DrawCondition("ward = 'ICU' and age < 10").rows(VISITS).any()
    rows = Table(VISITS.frame, VISITS.schema)
    assert list(condition.whole(rows)) == list(condition.rows(rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >", "not an expression"),
        ("__import__('os') = 3", "may call abs"),
        ("3 = 3", "needs a column"),
        ("age ** 2 > 4", "pow is not allowed"),
    ],
)
def test_a_text_outside_of_the_grammar(text: str, message: str) -> None:
    (problem,) = DrawCondition(text).malformed()
    assert message in problem.message


def test_columns_that_a_condition_cannot_name() -> None:
    roles = {"id": Role.IDENTIFIER, "new": Role.UNDECIDED, "weight": Role.WEIGHT, "age": Role.INSENSITIVE}
    schema = Schema(tuple(Column(name, role, Kind.INTEGER) for name, role in roles.items()))
    text = "id > 1 and new > 1 and weight > 1 and age > 1"
    found = [problem.message for problem in DrawCondition(text).problems(schema)]
    assert [message.rpartition(": ")[2] for message in found] == ["id", "new", "weight"]
    assert [one.message for one in DrawCondition("ag > 1 or age > 1").problems(schema)] == ["no such column: ag"]
    assert ["a number" in one.message for one in DrawCondition("age + 1").problems(schema)] == [True]
    assert list(DrawCondition("age > 1").problems(schema)) == []


def test_persons_are_drawn_until_enough_meet_the_condition_and_keep_the_rules() -> None:
    rules = Rules.fit(declared({"formula": "b < 9"}), drawn(100, 0), 1)
    table, redrawn = draw_held(drawn, rules, 40, DrawCondition("a = 3 and b = 4"))
    assert not table.rows_are_persons and len(np.unique(table.persons)) == 40 and len(table) == 80
    meets = ((table.frame["a"] == 3) & (table.frame["b"] == 4)).groupby(table.persons).any()
    assert meets.all() and (table.frame["b"] < 9).all()
    # Rows with b = 9 are repaired, and then each has the pair with 1/90: 1 - (1 - 1/90)^2 of all persons.
    assert redrawn.accepted / redrawn.drawn == pytest.approx(1 - (89 / 90) ** 2, rel=0.35)
    assert redrawn.accepted >= 40 and redrawn.drawn <= 1_000 * 40 + 20_040


def test_drawing_has_a_limit_and_the_error_no_value() -> None:
    with pytest.raises(GeneratorError, match=r"too few of the rows .* meet the condition  ") as caught:
        draw_held(drawn, Rules(), 2, DrawCondition("a = 77"))
    assert "77" not in str(caught.value) and caught.value.problems[0].values == "a = 77"
