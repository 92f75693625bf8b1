"""Rows that break constraints get other values in few columns; constraints that share columns are learned together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.constraints import Form, HotDeck, Rules, restore_held
from hybrid.constraints.discover import discover
from hybrid.constraints.kinds.combinations import LEAST_OF_EACH, Combinations
from hybrid.table import Kind, Table
from tests.constraints.small_tables import declared, table_of

DAY = np.timedelta64(1, "D")
NEW_YEAR = np.datetime64("2024-01-01", "us")


def rows(seed: int, n: int) -> Table:
    """Independent places and numbers."""
    rng = np.random.default_rng(seed)
    return table_of(
        state=(Kind.CATEGORICAL, [f"s{one}" for one in rng.integers(0, 3, n)]),
        town=(Kind.CATEGORICAL, [f"t{one}" for one in rng.integers(0, 9, n)]),
        low=(Kind.INTEGER, [int(one) for one in rng.integers(0, 50, n)]),
        high=(Kind.INTEGER, [int(one) for one in rng.integers(0, 50, n)]),
        sum=(Kind.INTEGER, [0] * n),
    )


def towns() -> Table:
    """Towns of their states, with numbers in order."""
    named = [f"t{one}" for one in range(9)] * 3
    return table_of(
        state=(Kind.CATEGORICAL, [f"s{int(one[1]) // 3}" for one in named]),
        town=(Kind.CATEGORICAL, named),
        low=(Kind.INTEGER, [1] * 27),
        high=(Kind.INTEGER, [2] * 27),
        sum=(Kind.INTEGER, [3] * 27),
    )


RULES = Rules.fit(
    declared(
        {"combinations": ["state", "town"]},
        {"le": ["low", "high"]},
        {"derived": {"sum": "low + high"}},
        {"range": {"sum": [5, 90]}},
    ),
    towns(),
    1,
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 200))
def test_rows_that_keep_the_rules_stay_and_no_mended_row_breaks_one(seed: int, n: int) -> None:
    table = RULES.settle(rows(seed, n))
    before = RULES.broken(table)
    deck = HotDeck.by(RULES, RULES.settle(rows(seed + 1, 600)))
    repaired = deck(table, np.random.default_rng(seed))
    assert not RULES.broken(repaired).any()
    kept = [each.take(~before).frame.astype(object) for each in (repaired, table)]
    assert kept[0].equals(kept[1])
    assert (repaired.frame["state"].astype(str) == table.frame["state"].astype(str)).all()
    out_of_order = (table.frame["low"] > table.frame["high"]).to_numpy()
    untouched = ~out_of_order & ~RULES.about(["sum"]).broken(table)
    assert (repaired.frame["low"] == table.frame["low"])[untouched].all()


def test_columns_that_are_fixed_do_not_change_and_without_donors_nothing_does() -> None:
    table = RULES.settle(rows(0, 300))
    fixed = HotDeck.by(RULES, RULES.settle(rows(1, 600)), ["town", "state", "high"])(table, np.random.default_rng(0))
    assert fixed.frame[["state", "town", "high"]].astype(str).equals(table.frame[["state", "town", "high"]].astype(str))
    assert 0 < RULES.broken(fixed).sum() < RULES.broken(table).sum()
    assert HotDeck.by(RULES, table.take(RULES.broken(table)))(table, np.random.default_rng(0)) is table


def test_a_donor_is_alike_in_what_tells_most_about_the_changed_column() -> None:
    """Heights tell weights, and a weight above its limit is one of somebody as tall."""
    rng = np.random.default_rng(2)
    height = rng.integers(150, 200, 4000)
    weight = height - 100 + rng.integers(-3, 4, 4000)
    weight[:400] = 500
    table = table_of(
        other=(Kind.INTEGER, [int(one) for one in rng.integers(0, 1000, 4000)]),
        height=(Kind.INTEGER, [int(one) for one in height]),
        weight=(Kind.INTEGER, [int(one) for one in weight]),
    )
    rules = Rules.fit(declared({"range": {"weight": [0, 200]}}), table, 1)
    repaired = HotDeck.by(rules, table)(table, rng)
    assert np.abs(repaired.frame["weight"][:400] - (height[:400] - 100)).max() <= 8


def test_a_record_that_breaks_a_rule_is_mended_before_it_is_learned() -> None:
    table = RULES.settle(rows(3, 400))
    broken = int(RULES.broken(table).sum())
    assert len(Form.of(RULES, table).learned) == 400 - broken < 400
    learned = Form.of(RULES, table, rng=np.random.default_rng(0)).learned
    assert len(learned) == 400 and not RULES.broken(learned).any()


def test_a_column_that_several_are_at_most_is_counted_from_the_largest_of_them() -> None:
    rng = np.random.default_rng(4)
    first, second = (NEW_YEAR + rng.integers(0, 60, 400) * DAY for _ in range(2))
    last = np.maximum(first, second) + rng.integers(0, 5, 400) * DAY
    columns: dict[str, tuple[Kind, list[object]]] = {
        "a": (Kind.DATE, [*first[:-1], None]),
        "b": (Kind.DATE, list(second)),
        "c": (Kind.DATE, list(last)),
    }
    table = table_of(**columns)
    rules = Rules.fit(declared({"le": ["a", "c"]}, {"le": ["b", "c"]}), table, 1)
    form = Form.of(rules, table)
    (step,) = form.steps
    assert step.columns == ("a", "b", "c") and step.replaces == ("c",)
    assert form.encoded.frame["c"].max() == 4
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, table.frame)
    mixed = form.encoded.frame.assign(a=table.frame["a"].iloc[::-1].to_numpy())
    drawn = form.decode(Table(mixed, form.encoded.schema))
    assert not rules.broken(drawn).any()
    # What protection ties a date to is one other date.
    assert [rule.columns for rule in rules.tied(table)] in ([("a", "c")], [("b", "c")], [])


@pytest.mark.parametrize(("n", "together"), [(8 * LEAST_OF_EACH, True), (8 * LEAST_OF_EACH - 8, False)])
def test_combinations_that_share_columns_are_one_category_where_there_are_records_of_each(
    n: int, together: bool
) -> None:
    code = np.arange(n) % 8
    names = {"region": code // 4, "state": code // 2, "town": code}
    table = table_of(
        **{name: (Kind.CATEGORICAL, [f"{name} {one}" for one in values]) for name, values in names.items()}
    )
    rules = Rules.fit(declared({"combinations": ["state", "town"]}, {"combinations": ["region", "state"]}), table, 5)
    (step,) = Form.of(rules, table).steps
    assert set(step.columns) == ({"region", "state", "town"} if together else {"region", "state"})
    assert Form.of(rules, table).encoded.frame.shape == (n, 1 if together else 2)


def test_combinations_that_few_people_have_together_are_not_merged() -> None:
    """Each pair is held by many people, and half of the triples by one."""
    rng = np.random.default_rng(5)
    table = table_of(
        **{name: (Kind.CATEGORICAL, [f"{name}{one}" for one in rng.integers(0, 20, 20_000)]) for name in "abc"}
    )
    pairs = declared({"combinations": ["a", "b"]}, {"combinations": ["b", "c"]})
    assert Rules.fit(pairs, table, 5).merged == ()


@pytest.mark.parametrize(("kind", "most"), [(Kind.INTEGER, 7 + 21 + 6), (Kind.CATEGORICAL, 2**8)])
def test_rules_of_fewer_columns_are_fitted_once_and_only_where_values_have_groups(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, most: int
) -> None:
    """Seven flags of one code, as kinds of injuries have: each subset in every order would be 8! / 2 rules."""
    code = np.arange(8 * LEAST_OF_EACH) % 8
    values = [int(one) if kind is Kind.INTEGER else f"code {one}" for one in code]
    flags = {
        f"flag {at}": (kind, [one if kind is Kind.INTEGER else f"{one}" for one in (code == at).astype(int).tolist()])
        for at in range(7)
    }
    table = table_of(code=(kind, values), **flags)
    fitted: list[tuple[str, ...]] = []
    original = Combinations._fitted

    def counted(rule: Combinations, *given: Any) -> Any:
        fitted.append(rule.columns)
        return original(rule, *given)

    monkeypatch.setattr(Combinations, "_fitted", counted)
    rules = Rules.fit(declared(*({"combinations": ["code", flag]} for flag in flags)), table, 5)
    assert {len(rule.columns) for rule in rules.merged} == {8}
    assert len(fitted) <= most
    assert not rules.broken(table).any()


def test_a_coarse_value_is_restored_once_and_finer_ones_are_drawn_to_it() -> None:
    def restore(places: np.ndarray, copies: int) -> Table:
        rng = np.random.default_rng(len(places) + copies)
        n = len(places) * copies
        state = rng.choice(3, n, p=[0.7, 0.2, 0.1])
        town = rng.choice(9, n, p=np.repeat([0.7, 0.2, 0.1], 3) / 3)
        return table_of(
            state=(Kind.CATEGORICAL, [f"s{one}" for one in state]), town=(Kind.CATEGORICAL, [f"t{one}" for one in town])
        )

    rules = Rules.fit(declared({"combinations": ["state", "town"]}), towns(), 1)
    table, redrawn = restore_held(restore, rules, 3000, ["state", "town"])
    assert redrawn.left == 0 and redrawn.broken == redrawn.repaired > 1000
    first = restore(np.arange(3000), 1).frame["state"].astype(str)
    assert (table.frame["state"].astype(str) == first).mean() > 0.995


def timed(n: int = 300) -> Table:
    """People come at a time of a day and leave on a date, many on the same day; the bill has a time."""
    rng = np.random.default_rng(6)
    day = NEW_YEAR + rng.integers(0, 300, n) * DAY
    left = day + rng.integers(0, 3, n) * DAY
    minutes = [one * np.timedelta64(1, "m") for one in (rng.integers(1, 1400, n), rng.integers(1, 6000, n))]
    return table_of(
        came=(Kind.DATETIME, list(day + minutes[0])),
        left=(Kind.DATE, list(left)),
        billed=(Kind.DATETIME, list(left + minutes[1])),
    )


def test_a_time_of_a_day_is_at_most_its_date_and_both_orders_are_found_and_held() -> None:
    table = timed()
    found = [one.constraint.text for one in discover(table)]
    assert "{le: [came, left]}" in found and "{le: [left, billed]}" in found
    orders = declared({"le": ["came", "left"]}, {"le": ["left", "billed"]})
    rules = Rules.fit(orders, table, 1)
    assert not rules.broken(table).any()
    late = Table(table.frame.assign(left=table.frame["left"] - DAY * 3), table.schema)
    assert rules.rules[0].broken(late).all()
    form = Form.of(rules, table)
    assert [rule.columns for rule in form.steps] == [("came", "left"), ("left", "billed")]
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, table.frame)
    repaired = rules.repair(late, table, np.random.default_rng(0))
    assert (repaired.frame["left"] == table.frame["came"].dt.floor("D")).all()
    assert not rules.broken(repaired).any()
