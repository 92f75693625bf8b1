"""Lattices hold the levels that can be the best ones."""

from __future__ import annotations

import numpy as np

from hybrid.anonymize.search.distinct_rows import collect
from hybrid.anonymize.search.lattice import Lattice
from hybrid.hierarchy import from_levels
from hybrid.table import Kind


def test_a_level_that_joins_no_values_of_the_table_is_left_out() -> None:
    same, pairs, everything = ["a", "b", "c", "d"], ["ab", "ab", "cd", "cd"], ["*"] * 4
    hierarchy = from_levels("q", Kind.CATEGORICAL, np.array(["1", "2", "3", "4"]), [same, pairs, everything])
    all_four, two = np.array([[0], [1], [2], [3]]), np.array([[0], [2]])
    for leaves, levels in ((all_four, [0, 2, 3]), (two, [0, 3]), (two[:1], [0])):
        assert Lattice.of(collect(leaves, [hierarchy], {}), {}).axes[0].tolist() == levels
        assert Lattice.of(collect(leaves, [hierarchy], {}), {"q": 1}).axes[0].tolist() == [1]
    assert Lattice.of(collect(two, [hierarchy], {}, population=all_four), {}).axes[0].tolist() == [0, 2, 3]
