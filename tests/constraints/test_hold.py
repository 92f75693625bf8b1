"""Rows are drawn again until all constraints hold, or the user learns why they cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError, GeneratorError
from hybrid.constraints import Form, Rules, draw_held, restore_held
from hybrid.constraints.hold import MOST_ROUNDS, SINGLE_ROUNDS, with_rows
from hybrid.table import Kind, Table
from tests.constraints.small_tables import declared, table_of


def drawn(n: int, seed: int) -> Table:
    """Uniform numbers 0..9 in two columns."""
    a, b = np.random.default_rng(seed).integers(0, 10, (2, n))
    return table_of(a=(Kind.INTEGER, list(a)), b=(Kind.INTEGER, list(b)))


def rules(*constraints: dict[str, object]) -> Rules:
    return Rules.fit(declared(*constraints), drawn(1000, 0), 1)


def test_rows_that_keep_the_rules_stay_and_all_others_are_replaced() -> None:
    held = rules({"formula": "a < b"})
    first = drawn(300, 0)
    table, redrawn = draw_held(drawn, held, 300)
    assert len(table) == 300 and not held.broken(table).any()
    kept = ~held.broken(first)
    assert table.frame[: kept.sum()].equals(first.take(kept).frame)
    assert redrawn.broken == int((~kept).sum()) == redrawn.by_rule["a < b"]
    assert redrawn.rate == redrawn.broken / 300


def test_the_drawn_distribution_is_the_conditional_one() -> None:
    table, _ = draw_held(drawn, rules({"formula": "a + b <= 3"}), 4000)
    counts = table.frame.value_counts(normalize=True)
    assert len(counts) == 10
    assert counts.min() > 0.08 and counts.max() < 0.12


def test_without_rules_nothing_is_drawn_again() -> None:
    table, redrawn = draw_held(drawn, Rules(), 50)
    assert table.frame.equals(drawn(50, 0).frame)
    assert redrawn.broken == 0


def test_too_few_rows_that_keep_the_rules_are_one_error_with_the_rate() -> None:
    with pytest.raises(GeneratorError, match=r"0 % of the rows .*a > 20") as caught:
        draw_held(drawn, rules({"formula": "a > 20"}, {"formula": "a >= 0"}), 30)
    assert len(caught.value.problems) == 1
    assert "a >= 0" not in str(caught.value)


def test_records_of_which_none_keeps_the_rules_are_one_error() -> None:
    with pytest.raises(DataError, match="no record keeps all constraints"):
        Form.of(rules({"formula": "a > 20"}), drawn(20, 1))


def test_restoring_again_changes_only_rows_that_break_a_rule() -> None:
    calls: list[int] = []
    rng = np.random.default_rng(1)

    def restore(rows: np.ndarray, copies: int) -> Table:
        calls.append(len(rows) * copies)
        rows = np.tile(rows, copies)
        return table_of(
            a=(Kind.INTEGER, list(rng.integers(0, 10, len(rows)))), b=(Kind.INTEGER, [int(r) for r in rows])
        )

    held = Rules.fit(declared({"le": ["a", "b"]}), drawn(100, 0), 1)
    table, redrawn = restore_held(restore, held, 10, ["a"])
    assert list(table.frame["b"]) == list(range(10))
    assert (table.frame["a"] <= table.frame["b"]).all()
    assert calls[0] == 10 and calls[1] == redrawn.broken and redrawn.left == 0


def test_rows_that_cannot_be_restored_otherwise_are_counted() -> None:
    asked: list[int] = []

    def restore(rows: np.ndarray, copies: int) -> Table:
        asked.append(copies)
        n = len(rows) * copies
        return table_of(a=(Kind.INTEGER, [9] * n), b=(Kind.INTEGER, [0] * n))

    held = rules({"le": ["a", "b"]})
    assert restore_held(restore, held, 4, ["a"])[1].left == 4
    assert asked == [1, *[1] * SINGLE_ROUNDS, MOST_ROUNDS - SINGLE_ROUNDS]
    assert restore_held(restore, held, 4, [])[1].left == 4


def test_the_first_of_several_copies_that_keeps_the_rules_is_taken() -> None:
    """Row 0 keeps the rule from its fifteenth draw on, row 1 never, and a person is restored with all rows or not."""
    drawn_before = 0

    def restore(rows: np.ndarray, copies: int) -> Table:
        nonlocal drawn_before
        numbers = np.repeat(drawn_before + np.arange(copies), len(rows))
        drawn_before += copies
        which, n = np.tile(rows, copies), len(rows) * copies
        a = np.where((which == 0) & (numbers >= 15), numbers, 200)
        return table_of(a=(Kind.INTEGER, list(map(int, a))), b=(Kind.INTEGER, [100] * n))

    held = rules({"le": ["a", "b"]})
    table, redrawn = restore_held(restore, held, 2, ["a"])
    assert list(table.frame["a"]) == [15, 200]
    assert (redrawn.broken, redrawn.left) == (2, 1)

    drawn_before = 0
    together = restore_held(
        lambda rows, copies: replace(restore(rows, copies), persons=np.arange(len(rows) * copies) // 2),
        held,
        2,
        ["a"],
    )[0]
    assert list(together.frame["a"]) == [200, 200]


def test_new_categories_are_added_at_the_end() -> None:
    old = table_of(a=(Kind.CATEGORICAL, ["x", "y", "x"]))
    new = table_of(a=(Kind.CATEGORICAL, ["z"]))
    table = with_rows(old, np.array([1]), new)
    assert list(table.frame["a"]) == ["x", "z", "x"]
    assert list(table.frame["a"].cat.categories) == ["x", "y", "z"]
    assert list(old.frame["a"]) == ["x", "y", "x"]
    assert isinstance(table.frame.index, pd.RangeIndex)
