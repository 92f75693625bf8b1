"""Metric ``shared_cells``: worked by hand, spliced rows, clean tables, odd tables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import odds_ratio

from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.attacks.membership import ACCUSED, accused
from hybrid.evaluation.attacks.shared_cells import RecordValues, _cells, _codes, _most_shared, scores
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import simultaneous
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.planted_leaks import LEAKS, LeakName
from hybrid.table import Kind, Role, Table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame
from tests.evaluation.small_tables import small

PLAIN = Role.INSENSITIVE


def accounts(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Customers with exact amounts, of which some are common."""
    level = rng.normal(size=n)
    amounts = {
        f"bill {at}": np.where(rng.random(n) < 0.3, 1000, np.exp(7 + level + rng.normal(0, 0.4, n)).astype(int))
        for at in range(4)
    }
    traits = {"sex": rng.choice(["f", "m"], n), "town": rng.integers(0, 12, n).astype(str)}
    return pd.DataFrame(amounts | traits | {"late": rng.choice(["no", "yes", None], n, p=[0.7, 0.2, 0.1])})


def tables(rng: np.random.Generator, *sizes: int) -> list[Table]:
    """Tables of one population, read together."""
    whole = read_frame(accounts(sum(sizes), rng), ReadOptions())
    return [whole.take(rows) for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])]


def context(train: Table, control: Table, table: Table, seed: int = 1) -> Context:
    return Context(train, control, table, EvaluateOptions(), seed)


def measure(asked: Context) -> Measure:
    found = REGISTRY["shared_cells"].measure(asked).outcome
    assert isinstance(found, Measure), found
    return found


def leaky(kind: LeakName, share: float, asked: Context, seed: int = 1) -> Context:
    found = LEAKS[kind].plant(asked, share, np.random.default_rng(seed))
    assert not isinstance(found, NotComputable)
    return Context(asked.train, asked.control, found.table, asked.options, asked.seed)


def test_worked_by_hand() -> None:
    """Of seven reference records four are f and three m; towns: four a, two b, one c.

    A value that c of n = 7 hold is worth log(8 / (c + 1)): f log 1.6, m log 2, a log 1.6, b log 8/3, c log 4, and d,
    which nobody holds, log 8.
    """
    columns = (("sex", Kind.CATEGORICAL, PLAIN), ("town", Kind.CATEGORICAL, PLAIN))
    people = small([("m", "c"), ("f", "d"), ("f", "a")], *columns)
    reference = small(list(zip("ffffmmm", "aabcaba", strict=True)), *columns)
    # Row by row the first person shares m (log 2) or c (log 4) or nothing, the second d (log 8), the third f and a.
    table = small([("m", "a"), ("f", "c"), ("m", "d"), ("f", "a")], *columns)
    asked = context(people, reference, table)
    parts = {role: asked.whole(role) for role in ("train", "control", "table")}
    cells = _cells(asked, parts["train"], parts["control"])
    found = _most_shared(cells, _codes(asked, parts["table"], parts["control"]))
    assert found == pytest.approx([math.log(4), math.log(8), 2 * math.log(1.6)], abs=1e-6)


def test_numbers_agree_by_their_part_and_by_their_value() -> None:
    """Amounts 0..99 in the reference: five in each twentieth, log(101 / 6); one of each value, log(101 / 2)."""
    amount = ("amount", Kind.INTEGER, PLAIN)
    reference = small([(at,) for at in range(100)], amount)
    people, table = small([(50,), (50,), (7,)], amount), small([(50,), (999,)], amount)
    near = small([(51,), (60,)], amount)
    for rows, worth in ((table, math.log(101 / 2)), (near, math.log(101 / 6))):
        asked = context(people, reference, rows)
        people_part, others, drawn = (asked.whole(role) for role in ("train", "control", "table"))
        found = _most_shared(_cells(asked, people_part, others), _codes(asked, drawn, others))
        assert found == pytest.approx([worth, worth, 0.0], abs=1e-6)


@pytest.mark.parametrize(("kind", "share"), [("splice", 0.05), ("half", 0.1), ("recoded", 0.05)])
def test_parts_of_people_are_found(kind: LeakName, share: float) -> None:
    """In tables of 1,000 people with exact amounts, in 4 of 4 draws."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        asked = context(*tables(rng, 1000, 1000, 1000), seed=seed)
        found = measure(leaky(kind, share, asked, seed))
        assert found.excess is not None and found.excess[1] > 0.005, (seed, found.excess)


def test_clean_tables_are_no_leak() -> None:
    """Bounds of 95 % lie above 0 in at most 2.5 % of clean tables; binomial(40, .025) exceeds 4 once in 300 times."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng([7, seed])
        found = measure(context(*tables(rng, 300, (300, 90)[seed % 2], 300), seed=seed))
        assert found.low is not None and found.high is not None and found.low <= found.value <= found.high
        alarms += found.low > 0
    assert alarms <= 4


def test_a_copy_and_half_of_control_instead_of_train() -> None:
    rng = np.random.default_rng(3)
    train, control, _ = tables(rng, 600, 600, 600)
    assert measure(context(train, control, train)).value == pytest.approx(0.06)
    kept_away = measure(context(train, control, control))
    assert kept_away.high is not None and kept_away.high < 0


def test_a_person_is_one_attempt_whatever_the_number_of_rows() -> None:
    rng = np.random.default_rng(4)
    train, control, table = tables(rng, 300, 300, 300)
    once = context(train, control, table)
    rows, persons = np.repeat(np.arange(300), 4), np.repeat(np.arange(300), 4)
    four = [replace(part.take(rows), named_persons=persons) for part in (train, control)]
    found = context(four[0], four[1], table)
    assert [len(side) for side in scores(found)] == [300, 300]
    assert measure(found).n == measure(once).n == 300


def test_constants_ties_missing_values_and_wide_tables() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({f"c{at}": rng.integers(0, 3, 240) for at in range(150)})
    frame["constant"], frame["nothing"] = 1, None
    frame["gaps"] = np.where(rng.random(240) < 0.6, np.nan, rng.normal(size=240))
    for names in (list(frame), ["constant", "c0"], ["gaps"], ["c1"]):
        whole = read_frame(frame[names], ReadOptions())
        asked = context(*(whole.take(rows) for rows in np.split(np.arange(240), 3)))
        found = measure(asked)
        assert found.excess is not None and found.excess[1] <= 0 <= found.excess[2], names


def test_bounds_of_accusations_are_close_to_exact_ones() -> None:
    """12 of 200 members stand out of 200 others: bounds beside those of Fisher's exact odds ratio (Cornfield 1956)."""
    rng = np.random.default_rng(6)
    train, control = rng.normal(size=200), rng.normal(size=200)
    train[:12] += 9
    found = accused(context(*tables(rng, 20, 20, 20)), train, control)
    level = simultaneous(0.95, len(ACCUSED))
    for name, (_, low, high) in found.details["accused"].items():
        together = round(4 * float(name.split()[0]))
        hits = int((train > np.sort(np.concatenate([train, control]))[-together - 1]).sum())
        exact = odds_ratio([[hits, together - hits], [200 - hits, 200 - together + hits]]).confidence_interval(level)
        for bound, odds in ((low, exact.low), (high, exact.high)):
            share = np.linspace(max(together / 200 - 1, 0), min(together / 200, 1), 200_001)[1:-1]
            others = together / 200 - share
            at = int(np.abs(share * (1 - others) - min(odds, 1e9) * others * (1 - share)).argmin())
            assert bound == pytest.approx((share[at] - others[at]) / (1 - others[at]), abs=0.012), name
    assert found.details["worst_accused"] == "3 %" and found.low is not None and found.low > 0.02


def test_people_with_equal_scores_are_accused_in_equal_parts() -> None:
    """Ten of 100 members share the highest score; everybody else has the same one."""
    asked = context(*tables(np.random.default_rng(6), 20, 20, 20))
    train, control = np.zeros(100), np.zeros(50)
    none = accused(asked, train, control)
    assert none.value == pytest.approx(0.0) and none.low is not None and none.low < 0
    train[:10] = 1.0
    found = accused(asked, train, control)
    assert found.details["accused"]["1 %"][0] == pytest.approx(0.02), "2 of 100 members, nobody else"
    assert found.details["accused"]["3 %"][0] == pytest.approx(0.06) and found.value == pytest.approx(0.06)
    train[:] = 1.0
    assert accused(asked, train, control).value == pytest.approx(0.06), "a copy"


def test_it_needs_a_control_set() -> None:
    train, _, table = tables(np.random.default_rng(8), 50, 50, 50)
    found = REGISTRY["shared_cells"].measure(Context(train, None, table, EvaluateOptions())).outcome
    assert isinstance(found, NotComputable) and found.lacks == "control"


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 1200))
@settings(max_examples=60, deadline=None)
def test_the_search_for_the_row_that_shares_most_leaves_none_out(seed: int, q: int, m: int) -> None:
    """The same numbers to the last bit as comparing all pairs in the order of the columns, also above a least one."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 6))
    people, rows = (rng.integers(0, width, (q, n)).astype(np.int32) for n in (7, m))
    weights = np.where(rng.random((q, 7)) < 0.2, 0, rng.exponential(10.0 ** rng.integers(-3, 2, (q, 1)), (q, 7)))
    asked = RecordValues(people, weights.astype(np.float32))
    sums = np.zeros((7, m), dtype=np.float32)
    for column, worth, row in zip(people, asked.weights, rows, strict=True):
        sums += np.where(column[:, None] == row, worth[:, None], np.float32(0))
    least = rng.choice(sums.ravel(), 7)
    assert np.array_equal(_most_shared(asked, rows), sums.max(axis=1))
    assert np.array_equal(_most_shared(asked, rows, least), np.maximum(sums.max(axis=1), least))
    below = np.nextafter(sums.max(axis=1), np.float32(-1))
    assert np.array_equal(_most_shared(asked, rows, below), sums.max(axis=1))
