"""Row keys: equal for equal rows only, in the order of the rows, reversible, and the same in every form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base import keys
from hybrid.base.arrays import Array
from hybrid.base.keys import by_first_row, fits, group_rows, pack, pack_small, ranks


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


def rows_of(columns: list[Array]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def dense_ranks(values: list) -> list[int]:
    order = {value: at for at, value in enumerate(sorted(set(values)))}
    return [order[value] for value in values]


@given(numbered())
def test_equal_keys_are_equal_rows_and_keys_are_in_the_order_of_the_rows(table: tuple[list[Array], list[int]]) -> None:
    columns, sizes = table
    rows = rows_of(columns)
    for packer in (pack, pack_small):
        packed, bound = packer(zip(columns, sizes, strict=True), len(rows))
        assert dense_ranks(packed.tolist()) == dense_ranks(rows)
        assert packed.dtype == np.int64 and 0 <= packed.min() <= packed.max() < bound <= keys.LIMIT
    assert bound <= max(keys.DENSE, len(rows))


@given(numbered(), st.integers(2, 40))
def test_a_low_limit_changes_no_order(table: tuple[list[Array], list[int]], limit: int) -> None:
    """Prefixes are ranked again and again; sizes of at most 5 and 30 rows stay far below 2^62 all the same."""
    columns, sizes = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "LIMIT", limit)
        packed, _ = pack(zip(columns, sizes, strict=True), len(columns[0]))
    assert dense_ranks(packed.tolist()) == dense_ranks(rows_of(columns))


def test_keys_by_hand() -> None:
    columns = [(np.array([0, 1, 1]), 2), (np.array([0, 0, 0]), 1), (np.array([2, 0, 2]), 3)]
    packed, bound = pack(columns, 3)
    assert packed.tolist() == [2, 3, 5] and bound == 6
    assert pack([], 3)[0].tolist() == [0, 0, 0]
    assert pack([(np.zeros(0, dtype=np.int64), 0)], 0)[0].tolist() == []
    assert fits([2**31, 2**31]) and not fits([2**31, 2**31, 2])


def test_the_limit_is_reached_but_not_passed() -> None:
    """Two columns of 2^31 fill 62 bits exactly; a third one needs the prefixes' ranks."""
    most = 2**31 - 1
    two = [(np.array([most, 0]), 2**31), (np.array([most, 0]), 2**31)]
    assert pack(two, 2)[0].tolist() == [2**62 - 1, 0]
    assert pack([*two, (np.array([1, 4]), 5)], 2) == (pytest.approx([6, 4]), 10)


@given(st.lists(st.integers(-3, 9), min_size=1))
def test_numbering(values: list[int]) -> None:
    numbers, n_distinct = ranks(np.array(values))
    assert numbers.tolist() == dense_ranks(values) and n_distinct == len(set(values))
    first = {value: at for at, value in enumerate(dict.fromkeys(values))}
    assert by_first_row(np.array(values))[0].tolist() == [first[value] for value in values]
    group, rows = group_rows(numbers, n_distinct)
    assert [values[row] for row in rows[group]] == values
    assert len(rows) == n_distinct and rows.tolist() == sorted(rows.tolist())
