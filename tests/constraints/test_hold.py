"""Rows are drawn again until all constraints hold, or the user learns why they cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import DataError, GeneratorError
from hybrid.constraints import Form, Rules, draw_held, restore_held
from hybrid.constraints.hold import MOST_ROUNDS, SINGLE_ROUNDS
from hybrid.constraints.hot_deck import with_rows
from hybrid.table import Kind, Table
from tests.constraints.small_tables import declared, table_of


def drawn(n: int, seed: int) -> Table:
    """Uniform numbers 0..9 in two columns."""
    a, b = np.random.default_rng(seed).integers(0, 10, (2, n))
    return table_of(a=(Kind.INTEGER, list(a)), b=(Kind.INTEGER, list(b)))


def rules(*constraints: dict[str, object]) -> Rules:
    return Rules.fit(declared(*constraints), drawn(1000, 0), 1)


def test_rows_that_keep_the_rules_stay_and_of_all_others_few_columns_change() -> None:
    held = rules({"formula": "a < b"})
    first = drawn(300, 0)
    table, redrawn = draw_held(drawn, held, 300)
    assert len(table) == 300 and not held.broken(table).any()
    kept = ~held.broken(first)
    assert table.take(kept).frame.equals(first.take(kept).frame)
    assert redrawn.broken == int((~kept).sum()) == redrawn.by_rule["a < b"] == redrawn.repaired
    assert (redrawn.drawn, redrawn.thrown) == (300, 0)
    assert redrawn.rate == redrawn.broken / 300
    # One value of a (9) has nothing above it, and one of b (0) nothing below.
    one_kept = (table.frame == first.frame).any(axis=1)
    assert one_kept[(first.frame["a"] < 9) & (first.frame["b"] > 0)].all()


def test_shares_of_a_coarse_column_stay_where_finer_ones_can_be_drawn_to_it() -> None:
    """Of two columns drawn apart, of which one tells the other, frequent values agree most often."""

    def apart(n: int, attempt: int) -> Table:
        rng = np.random.default_rng(attempt)
        state, town = (
            rng.choice(4, n, p=[0.6, 0.2, 0.1, 0.1]),
            rng.choice(8, n, p=np.repeat([0.6, 0.2, 0.1, 0.1], 2) / 2),
        )
        return table_of(
            state=(Kind.CATEGORICAL, [f"s{one}" for one in state]), town=(Kind.CATEGORICAL, [f"t{one}" for one in town])
        )

    towns = table_of(
        state=(Kind.CATEGORICAL, [f"s{one // 2}" for one in range(8)]),
        town=(Kind.CATEGORICAL, [f"t{one}" for one in range(8)]),
    )
    held = Rules.fit(declared({"combinations": ["state", "town"]}), towns, 1)
    table, redrawn = draw_held(apart, held, 4000)
    assert redrawn.thrown == 0 and not held.broken(table).any()
    assert redrawn.broken / 4000 == pytest.approx(1 - (0.6**2 + 0.2**2 + 2 * 0.1**2), abs=0.03)
    first, after = (one.frame["state"].value_counts(normalize=True).sort_index() for one in (apart(4000, 0), table))
    assert np.allclose(first, after, atol=1e-12)
    shares = table.frame["town"].value_counts(normalize=True).sort_index()
    assert np.allclose(shares, np.repeat([0.3, 0.1, 0.05, 0.05], 2), atol=0.025)


def test_rows_that_no_values_repair_are_thrown_out_and_counted() -> None:
    """No two rows may be equal, which is about the table and not about a row."""
    table, redrawn = draw_held(drawn, rules({"unique": ["a", "b"]}), 60)
    assert not table.frame.duplicated().any()
    assert redrawn.repaired == 0 and redrawn.thrown >= redrawn.broken > 0


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
        lambda rows, copies: replace(restore(rows, copies), named_persons=np.arange(len(rows) * copies) // 2),
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
