"""Records per distinct row, added up in batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.anonymize.search import distinct_rows
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts, add_up
from hybrid.base.errors import DataError


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
        patch.setattr(distinct_rows, "_MERGE", merge)
        found = DistinctRowCounts(2, 16, "two columns")
        for batch in batches:
            found.add(list(np.array(batch, dtype=np.int32).T), np.ones(len(batch), dtype=np.int64))
        found.merge()
    rows = zip(*(column.tolist() for column in found.columns), strict=True)
    assert dict(zip(rows, found.counts.tolist(), strict=True)) == Counter(row for batch in batches for row in batch)


def test_more_than_there_is_room_for() -> None:
    found = DistinctRowCounts(1, 3, "'age'")
    found.add([np.arange(4, dtype=np.int32)], np.ones(4, dtype=np.int64))
    with pytest.raises(DataError, match="more than 3 distinct combinations of 'age'"):
        found.merge()
