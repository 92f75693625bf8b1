"""Rows of numbers as integers and back, added up in batches, and found again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.anonymize.search import row_counts
from hybrid.anonymize.search.row_counts import Combinations, RowIndex, add_up, pack
from hybrid.base.arrays import Array
from hybrid.base.errors import DataError


@st.composite
def numbered(draw: st.DrawFn) -> tuple[list[Array], list[int]]:
    """Columns of numbers, and sizes whose product is often beyond 64 bits."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 5, 1000, 2**31]), min_size=1, max_size=8))
    n = draw(st.integers(1, 30))
    rows = [draw(st.lists(st.integers(0, min(size, 4) - 1), min_size=n, max_size=n)) for size in sizes]
    high = [draw(st.booleans()) for _ in sizes]
    columns = [
        np.array([size - 1 - value if far else value for value in row])
        for row, size, far in zip(rows, sizes, high, strict=True)
    ]
    return columns, sizes


@given(numbered())
def test_pack(table: tuple[list[Array], list[int]]) -> None:
    columns, sizes = table
    code, unpack = pack(columns, sizes)
    assert all(np.array_equal(a, b) for a, b in zip(unpack(code), columns, strict=True))
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    order = np.argsort(code, kind="stable")
    assert [rows[at] for at in order] == sorted(rows)
    assert len(set(code.tolist())) == len(set(rows))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9))))
def test_add_up(pairs: list[tuple[int, int]]) -> None:
    code, counts = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected: Counter[int] = Counter()
    for key, n in pairs:
        expected[key] += n
    distinct, sums = add_up(code, counts)
    assert dict(zip(distinct.tolist(), sums.tolist(), strict=True)) == expected
    assert distinct.tolist() == sorted(expected)
    distinct, sums = add_up(code)
    assert dict(zip(distinct.tolist(), sums.tolist(), strict=True)) == Counter(code.tolist())


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1), min_size=1), st.integers(1, 50))
def test_batches_add_up_to_the_whole(batches: list[list[tuple[int, int]]], merge: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_counts, "_MERGE", merge)
        found = Combinations(2, 16, "two columns")
        for batch in batches:
            found.add(list(np.array(batch, dtype=np.int32).T), np.ones(len(batch), dtype=np.int64))
        found.merge()
    rows = zip(*(column.tolist() for column in found.columns), strict=True)
    assert dict(zip(rows, found.counts.tolist(), strict=True)) == Counter(row for batch in batches for row in batch)


def test_more_than_there_is_room_for() -> None:
    found = Combinations(1, 3, "'age'")
    found.add([np.arange(4, dtype=np.int32)], np.ones(4, dtype=np.int64))
    with pytest.raises(DataError, match="more than 3 distinct combinations of 'age'"):
        found.merge()


@given(numbered(), st.data())
def test_rows_are_found(table: tuple[list[Array], list[int]], data: st.DataObject) -> None:
    columns, sizes = table
    distinct = np.unique(np.stack(columns, axis=1), axis=0)
    known = distinct[data.draw(st.permutations(range(len(distinct))))[: max(1, len(distinct) // 2)]]
    at = RowIndex(list(known.T), sizes).find(columns)
    expected = {tuple(row): place for place, row in enumerate(known.tolist())}
    assert at.tolist() == [expected.get(row, -1) for row in zip(*(c.tolist() for c in columns), strict=True)]
