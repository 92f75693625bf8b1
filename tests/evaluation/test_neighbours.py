from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.attribution import matching
from hybrid.evaluation.attacks.singling_out import Index, Predicates
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine import neighbours
from hybrid.evaluation.engine.encoding import Encoded, Encoding, encode
from hybrid.evaluation.engine.neighbours import Secrets, infer, linked, nearest, nearest_of_others, nearest_of_pieces
from hybrid.evaluation.engine.space import euclidean, gower
from hybrid.evaluation.options import EvaluateOptions
from tests.evaluation.simulated_people import make_people

SEEDS = st.integers(0, 10_000)


def tables(seed: int, n: int = 40, m: int = 4500) -> Encoding:
    """More references than two nodes of the search."""
    rng = np.random.default_rng(seed)
    return encode([make_people(n, rng), make_people(5, rng), make_people(m, rng)])


def brute(encoding: Encoding, a: Encoded, b: Encoded, kind: str, without: int = -1) -> Array:
    """Distances of all pairs, in plain numpy, from the definition."""
    total = np.zeros((len(a), len(b)))
    everything = np.concatenate([t.numbers for t in encoding.tables])
    for c in range(len(encoding.columns)):
        if c == without:
            continue
        x, y = a.numbers[:, c, None], b.numbers[None, :, c]
        if not encoding.continuous[c]:
            total += (2.0 if kind == "e1" else 1.0) * (a.ranks[:, c, None] != b.ranks[None, :, c])
            continue
        train = encoding.tables[0].numbers[:, c]
        scale = np.nanstd(train) if kind == "e1" else np.nanmax(everything[:, c]) - np.nanmin(everything[:, c])
        d = np.abs(x - y) / scale
        d = d**2 if kind == "e1" else d
        either = np.isnan(x) | np.isnan(y)
        both = np.isnan(x) & np.isnan(y)
        total += np.where(both, 0.0, np.where(either, 1.0, d))
    return np.sqrt(total) if kind == "e1" else total


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(["gower", "e1"]), st.integers(1, 6))
def test_nearest_is_what_all_pairs_say(seed: int, kind: str, k: int) -> None:
    encoding = tables(seed)
    people, _, rows = encoding.tables
    space = gower(encoding) if kind == "gower" else euclidean(encoding)
    found, index = nearest(space, space.place(people), space.place(rows), k)
    expected = np.sort(brute(encoding, people, rows, kind), axis=1)[:, :k]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    at = np.take_along_axis(brute(encoding, people, rows, kind), index, axis=1)
    np.testing.assert_allclose(at, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_one_search_finds_the_nearest_of_all_and_of_each_piece(seed: int, k: int) -> None:
    encoding = tables(seed, m=2200)
    space = euclidean(encoding)
    people, rows = space.place(encoding.tables[0]), space.place(encoding.tables[2])
    shuffled = np.random.default_rng(seed).permutation(2200)
    pieces = [np.sort(part) for part in (shuffled[:900], shuffled[900:1800], shuffled[1800:1804])]
    alone = [nearest(space, people, rows.take(part), k) for part in (np.arange(2200), *pieces)]
    for found, expected in zip(nearest_of_pieces(space, people, rows, pieces, k), alone, strict=True):
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize(("sizes", "most"), [((300, 120, 250), None), ((120, 300, 300), None), ((300, 120, 250), 100)])
def test_searches_between_parts_are_those_of_the_parts_alone(sizes: tuple[int, int, int], most: int | None) -> None:
    rng = np.random.default_rng(8)
    people = [make_people(size, rng) for size in sizes]
    context = Context(*people, EvaluateOptions(max_records=most), 1)
    roles: tuple[Role, ...] = ("train", "control", "table")
    for k in (5, 1, 2):
        parts = [*context.parts(roles), *context.parts(roles[:2]), tuple(map(context.whole, roles))]
        for round_ in parts:
            for queries, references in itertools.permutations(round_, 2):
                asked = context.asked(queries)
                expected = nearest(context.space, context.place(asked), context.place(references), k)
                assert np.array_equal(context.distances(queries, references, k), expected[0])
                assert np.array_equal(context.neighbours(queries, references, k), expected[1])


def test_a_record_is_not_its_own_neighbour_but_its_twin_is() -> None:
    encoding = tables(3)
    rows = encoding.tables[2].take(np.array([0, 1, 2, 1]))
    space = euclidean(encoding)
    found, index = nearest(space, space.place(rows), space.place(rows), 1, np.arange(len(rows)))
    assert found[1, 0] == found[3, 0] == 0.0
    assert (index[1, 0], index[3, 0]) == (3, 1)
    assert found[0, 0] > 0


def test_ties_go_to_the_lowest_index_and_too_few_references_give_inf() -> None:
    encoding = tables(4)
    rows = encoding.tables[2].take(np.array([7, 5, 5, 5]))
    space = gower(encoding)
    found, index = nearest(space, space.place(encoding.tables[2].take(np.array([5]))), space.place(rows), 6)
    assert index[0].tolist()[:3] == [1, 2, 3]
    assert index[0].tolist()[4:] == [-1, -1]
    assert np.isinf(found[0, 4:]).all()


def test_far_outliers_do_not_break_the_float32_screen() -> None:
    encoding = tables(5, 60, 1100)
    for table in encoding.tables:
        table.numbers[:, encoding.names.index("cost")] *= 1e3
    encoding.tables[2].numbers[0, encoding.names.index("cost")] = 1e14
    people, _, rows = encoding.tables
    space = gower(encoding)
    found, _ = nearest(space, space.place(people), space.place(rows), 1)
    np.testing.assert_allclose(found[:, 0], brute(encoding, people, rows, "gower").min(axis=1), rtol=1e-12)


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.integers(1, 3))
def test_linked_uses_all_ties(seed: int, k: int) -> None:
    encoding = tables(seed)
    people, _, rows = encoding.tables
    halves = np.array([0, 1, 2]), np.array([3, 4, 5, 6, 7])
    spaces = gower(encoding, halves[0]), gower(encoding, halves[1])
    found = linked(
        spaces, tuple(s.place(people) for s in spaces), tuple(s.place(rows) for s in spaces), k
    )  # fmt: skip
    near = []
    for half in halves:
        cut = tuple(Encoded(t.ranks[:, half], t.numbers[:, half]) for t in encoding.tables)
        part = Encoding(tuple(encoding.columns[i] for i in half), {}, cut, encoding.cardinality[half])
        d = brute(part, part.tables[0], part.tables[2], "gower")
        near.append(d <= np.sort(d, axis=1)[:, [k - 1]] + 1e-9)
    assert found.tolist() == (near[0] & near[1]).any(axis=1).tolist()


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 10.0]))
def test_infer_finds_the_nearest_without_each_secret(seed: int, searched: float) -> None:
    """By a search for each secret, and by comparing all pairs once."""
    encoding = tables(seed, 25, 1100)
    people, _, rows = encoding.tables
    people, rows = people.take(np.arange(40) % 25), rows.take(np.append(np.arange(1100), [7] * 300))
    space = gower(encoding)
    columns = np.arange(len(encoding.columns))
    place = {int(c): i for i, c in enumerate(space.columns)}
    secrets = [
        Secrets(np.ascontiguousarray(t.ranks.T), np.ascontiguousarray(t.numbers.T), np.full(8, 0.05), np.zeros(8), True)
        for t in (people, rows)
    ]
    left_out = np.array([place[int(c)] for c in columns])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "SEARCHED", searched)
        found = infer(space.place(people), space.place(rows), left_out, *secrets)
    for c in columns:
        d = brute(encoding, people, rows, "gower", without=int(c))
        tied = d <= d.min(axis=1, keepdims=True) * (1 + 1e-9) + 1e-9
        x, y = people.numbers[:, c, None], rows.numbers[None, :, c]
        right = people.ranks[:, c, None] == rows.ranks[None, :, c]
        with np.errstate(invalid="ignore"):
            right |= np.abs(x - y) <= 0.05 * np.maximum(np.abs(x), np.abs(y))
        assert found.ties[:, c].tolist() == tied.sum(axis=1).tolist()
        assert found.hits[:, c].tolist() == (tied & right).sum(axis=1).tolist()
        assert found.first[:, c].tolist() == [bool(right[i, tied[i].argmax()]) for i in range(len(people))]


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_infer_counts_right_guesses_among_many_equal_records(seed: int) -> None:
    encoding = tables(seed, 25, 600)
    people, _, rows = encoding.tables
    known = encoding.positions(["sex", "urgent"])
    space = gower(encoding, known)
    secrets = [
        Secrets(np.ascontiguousarray(t.ranks.T), np.ascontiguousarray(t.numbers.T), np.full(8, 0.05), np.ones(8), True)
        for t in (people, rows)
    ]
    found = infer(space.place(people), space.place(rows), np.full(8, -1), *secrets)
    cut = tuple(Encoded(t.ranks[:, known], t.numbers[:, known]) for t in encoding.tables)
    part = Encoding(tuple(encoding.columns[i] for i in known), {}, cut, encoding.cardinality[known])
    d = brute(part, part.tables[0], part.tables[2], "gower")
    tied = d <= d.min(axis=1, keepdims=True) + 1e-9
    for c in range(8):
        x, y = people.numbers[:, c, None], rows.numbers[None, :, c]
        right = people.ranks[:, c, None] == rows.ranks[None, :, c]
        with np.errstate(invalid="ignore"):
            right |= np.abs(x - y) <= np.maximum(0.05 * np.maximum(np.abs(x), np.abs(y)), 1.0) + 1e-12
        assert found.ties[:, c].tolist() == tied.sum(axis=1).tolist()
        assert found.hits[:, c].tolist() == (tied & right).sum(axis=1).tolist()


@settings(max_examples=8, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 0.1, 0.4]))
def test_matching_counts_pairs(seed: int, radius: float) -> None:
    encoding = tables(seed, 60, 400)
    people, _, rows = encoding.tables
    chosen = encoding.positions(["age", "sex", "height", "urgent"])
    space = gower(encoding, chosen)
    found = matching(space.place(people), space.place(rows), radius)
    everything = np.concatenate([t.numbers for t in encoding.tables])
    fits = np.ones((len(people), len(rows)), dtype=bool)
    for c in chosen:
        if encoding.continuous[c]:
            x, y = people.numbers[:, c, None], rows.numbers[None, :, c]
            with np.errstate(invalid="ignore"):
                close = np.abs(x - y) <= (radius + 1e-9) * np.ptp(everything[~np.isnan(everything[:, c]), c])
            fits &= close | (np.isnan(x) & np.isnan(y))
        else:
            fits &= people.ranks[:, c, None] == rows.ranks[None, :, c]
    assert found.tolist() == fits.sum(axis=1).tolist()


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_index_counts_what_a_scan_counts(seed: int) -> None:
    encoding = tables(seed, 30, 200)
    rows, rng = encoding.tables[2], np.random.default_rng(seed)
    columns = np.sort(np.argpartition(rng.random((50, 8)), 2, axis=1)[:, :3], axis=1)
    ends = np.sort(rng.integers(-1, encoding.cardinality[columns][:, :, None], size=(50, 3, 2)), axis=2)
    predicates = Predicates(columns.astype(np.int32), ends[..., 0].astype(np.int32), ends[..., 1].astype(np.int32))
    values = rows.ranks.T[columns]
    scan = ((values >= ends[..., :1]) & (values <= ends[..., 1:])).all(axis=1).sum(axis=1)
    assert (
        Index(rows, encoding.cardinality, np.arange(len(rows))).count(predicates).tolist()
        == np.minimum(scan, 2).tolist()
    )


@pytest.mark.parametrize("missing", [True, False])
def test_missing_to_missing_is_nothing_and_missing_to_a_value_is_one(missing: bool) -> None:
    encoding = tables(6)
    at = encoding.names.index("height")
    numbers = encoding.tables[2].numbers.copy()
    ranks = encoding.tables[2].ranks.copy()
    numbers[:2, at], ranks[:2, at] = (np.nan, -1) if missing else (170.0, 5)
    numbers[2, at], ranks[2, at] = np.nan, -1
    rows = Encoded(ranks, numbers)
    space = gower(encoding, np.array([at]))
    found, _ = nearest(space, space.place(rows.take(np.array([0]))), space.place(rows.take(np.array([2]))))
    assert found[0, 0] == (0.0 if missing else 1.0)


def test_the_nearest_of_another_person_is_that_of_all_pairs() -> None:
    encoding = tables(5, m=60)
    space = euclidean(encoding)
    rows = space.place(encoding.tables[2])
    persons = np.repeat(np.arange(4), [1, 30, 9, 20])
    distances, index = nearest_of_others(space, rows, rows, persons, persons, np.arange(60))
    every, at = nearest(space, rows, rows, 59, np.arange(60))
    for row in range(60):
        other = persons[at[row]] != persons[row]
        assert (distances[row], index[row]) == (every[row][other][0], at[row][other][0])
    lonely = nearest_of_others(space, rows.take(np.arange(3)), rows, np.zeros(60, int), np.zeros(3, int), np.arange(3))
    assert np.isinf(lonely[0]).all() and (lonely[1] == -1).all()
