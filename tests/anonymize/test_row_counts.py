"""Records per distinct row, added up."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid.anonymize.search.distinct_rows import add_up


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
