"""Counted matches, gtcap and the ordered distance equal those of comparing all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.arrays import Array
from hybrid.evaluation import EvaluateOptions, Measure, NotComputable
from hybrid.evaluation.attacks.anonymity import _counts, _distance
from hybrid.evaluation.attacks.attribution import gtcap, hitting_rate, matching
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import failure_ratio
from hybrid.evaluation.engine.space import TIE, Columns
from hybrid.table import Kind, Table
from hybrid.table import Role as ColumnRole
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import small


def records(rng: np.random.Generator, n: int, categories: int, numbers: int) -> Columns:
    """Few categories, numbers on a grid of tenths (so that differences of a radius occur), some missing."""
    missing = rng.random((numbers, n)) < 0.2
    values = np.where(missing, 0.0, rng.integers(0, 11, (numbers, n)) / 10)
    codes = rng.integers(-1, 2, (categories, n)).astype(np.int32)
    return Columns(values, values.astype(np.float32), missing, missing.any(axis=1), codes, np.ones(categories))


def all_pairs(a: Columns, b: Columns, radius: float) -> Array:
    """Whether each pair matches, shape (n_a, n_b): the definition, written out."""
    same = (a.codes[:, :, None] == b.codes[:, None, :]).all(axis=0)
    away = np.abs(a.numbers[:, :, None] - b.numbers[:, None, :])
    one = a.missing[:, :, None] ^ b.missing[:, None, :]
    close: Array = (np.where(one, 1.0, away) <= radius + TIE).all(axis=0)
    return same & close


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    columns=st.tuples(st.integers(0, 2), st.integers(0, 4)),
    radius=st.sampled_from([0.0, 0.1, 0.25, 0.9]),
    weighted=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_counts_are_those_of_all_pairs(
    seed: int, sizes: tuple[int, int], columns: tuple[int, int], radius: float, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    queries, references = (records(rng, n, *columns) for n in sizes)
    weights = rng.random(sizes[1]) if weighted else None
    expected = all_pairs(queries, references, radius) @ (np.ones(sizes[1]) if weights is None else weights)
    assert matching(queries, references, radius, weights) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def pairs_of(context: Context, people: Role, names: list[str], radius: float) -> Array:
    """Which rows of the table match which people on the named columns, numbers scaled by train's range."""
    table, records = context.encoded("table"), context.encoded(people)
    match = np.ones((len(table), len(records)), dtype=bool)
    for at in context.encoding.positions(names):
        if not context.encoding.continuous[at]:
            match &= table.ranks[:, [at]] == records.ranks[:, at]
            continue
        x, y = table.numbers[:, [at]], records.numbers[:, at]
        away = np.abs(x - y) / np.ptp(
            context.encoded("train").numbers[:, at][~np.isnan(context.encoded("train").numbers[:, at])]
        )
        match &= np.where(np.isnan(x) | np.isnan(y), np.isnan(x) & np.isnan(y), away <= radius + TIE)
    return match


def correct_share(known: Array, told: Array) -> float:
    found = known.sum(axis=1)
    return float((told.sum(axis=1)[found > 0] / found[found > 0]).mean())


@pytest.fixture(scope="module")
def people() -> Context:
    rng = np.random.default_rng(5)
    train, control, other = (make_people(150, rng) for _ in range(3))
    half = Table(train.frame.iloc[:75], train.schema).frame
    table = Table(type(half)(other.frame.iloc[:75]), other.schema)
    frame = type(half)({name: list(half[name]) + list(table.frame[name]) for name in half}).astype(dict(half.dtypes))
    return Context(train, control, Table(frame, train.schema), EvaluateOptions(), 1)


@pytest.mark.parametrize("secret", ["illness", "cost", "height", "urgent", "admitted", "place"])
def test_gtcap_is_that_of_all_pairs_and_leaving_each_person_out(people: Context, secret: str) -> None:
    keys = [name for name in people.schema.quasi_identifiers if name != secret]
    sides = []
    for role in ("train", "control"):
        known = pairs_of(people, role, keys, 0.1)
        told = known & pairs_of(people, role, [secret], 0.1)
        value, matched = correct_share(known, told), int(known.any(axis=1).sum())
        found, agreeing = known.sum(axis=1), told.sum(axis=1)
        change = np.zeros(known.shape[1])
        for person in range(known.shape[1]):
            for row in np.flatnonzero(known[:, person]):
                was = agreeing[row] / found[row]
                left = found[row] - 1
                now = (agreeing[row] - told[row, person]) / left if left else value
                change[person] += (now - was) / matched
        sides.append((value, np.sqrt((change**2).sum()), matched, known.shape[1]))
    (mine, error, *_), (other, other_error, *_) = sides
    measure = gtcap(people, secret)
    assert isinstance(measure, Measure)
    assert measure.details["train"] == pytest.approx(mine, rel=1e-12)
    assert measure.details["control"] == pytest.approx(other, rel=1e-12)
    assert measure.value == pytest.approx((mine - other) / (1 - other), rel=1e-12)
    assert measure.low is not None and error > 0 and other_error > 0
    slopes = np.array([1 / (1 - other), (mine - 1) / (1 - other) ** 2])
    expected = 1.959963984540054 * np.hypot(slopes[0] * error, slopes[1] * other_error)
    least = min(people for *_, people in sides)
    counts = [min(matched, least) for *_, matched, _ in sides]
    bounds = failure_ratio((mine * counts[0], counts[0]), (other * counts[1], counts[1]), 0.95)
    assert measure.low == pytest.approx(min(measure.value - expected, 1 - bounds[1]), rel=1e-9)


def test_hitting_rate_is_that_of_all_pairs(people: Context) -> None:
    names = people.encoding.names
    hit = [pairs_of(people, role, names, 1 / 30).any(axis=0).mean() for role in ("train", "control")]
    measure = hitting_rate(people)
    assert isinstance(measure, Measure)
    assert (measure.value, measure.reference) == (pytest.approx(hit[0]), pytest.approx(hit[1]))
    assert measure.value >= 0.5


@pytest.mark.parametrize("seed", range(4))
def test_the_ordered_distance_is_the_sum_over_all_ranks(seed: int) -> None:
    table = make_people(200, np.random.default_rng(seed))
    classes, values, counts = _counts(table, "height").T
    matrix = np.zeros((classes.max() + 1, len(np.unique(values))))
    matrix[classes, np.unique(values, return_inverse=True)[1]] = counts
    shares, whole = matrix / matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0) / matrix.sum()
    expected = np.abs(np.cumsum(shares - whole, axis=1)).sum(axis=1).max() / (matrix.shape[1] - 1)
    assert _distance(table, "height", ordered=True) == pytest.approx(expected, rel=1e-12)


def keyed(keys: list[object], secret: list[str]) -> Table:
    columns = (("key", Kind.CATEGORICAL, ColumnRole.QUASI_IDENTIFIER), ("ill", Kind.CATEGORICAL, ColumnRole.SENSITIVE))
    return small(list(zip(map(str, keys), secret, strict=True)), *columns)


@pytest.mark.parametrize(("matched", "lacks"), [(0, "matches"), (5, "matches"), (6, None)])
def test_gtcap_without_rows_that_match_control(matched: int, lacks: str | None) -> None:
    """With no key of control in the table, five rows with a training person's key are chance (.5^5), six are not."""
    ill = ["yes", "no"] * 10
    train, control = keyed([*range(20)], ill), keyed([*range(100, 120)], ill)
    table = keyed([*range(matched), *range(200, 220 - matched)], ill)
    found = gtcap(Context(train, control, table, EvaluateOptions()), "ill")
    assert isinstance(found, NotComputable) and found.lacks == lacks
    assert found.state == ("too_few" if lacks is None else "not_applicable")


def test_gtcap_where_control_is_told_right_every_time() -> None:
    train, control = keyed([0, 1] * 10, ["yes", "no"] * 10), keyed([0, 1] * 10, ["yes", "no"] * 10)
    found = gtcap(Context(train, control, train, EvaluateOptions()), "ill")
    assert isinstance(found, NotComputable) and found.lacks == "headroom"
