"""Lattices hold the levels that can be the best ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hybrid.anonymize.search.distinct_rows import collect_distinct_rows
from hybrid.anonymize.search.lattice import Lattice
from hybrid.hierarchy import from_levels
from hybrid.table import Kind


def test_a_level_that_joins_no_values_of_the_table_is_left_out() -> None:
    same, pairs, everything = ["a", "b", "c", "d"], ["ab", "ab", "cd", "cd"], ["*"] * 4
    hierarchy = from_levels("q", Kind.CATEGORICAL, np.array(["1", "2", "3", "4"]), [same, pairs, everything])
    all_four, two = np.array([[0], [1], [2], [3]]), np.array([[0], [2]])
    for leaves, levels in ((all_four, [0, 2, 3]), (two, [0, 3]), (two[:1], [0])):
        assert Lattice.of(collect_distinct_rows(leaves, [hierarchy], {}), {}).axes[0].tolist() == levels
        assert Lattice.of(collect_distinct_rows(leaves, [hierarchy], {}), {"q": 1}).axes[0].tolist() == [1]
    assert Lattice.of(collect_distinct_rows(two, [hierarchy], {}, population=all_four), {}).axes[0].tolist() == [
        0,
        2,
        3,
    ]


def test_nodes_and_levels_are_translated_into_each_other() -> None:
    renamed, pairs = ["a", "b", "c", "d"], ["ab", "ab", "cd", "cd"]
    hierarchies = [
        from_levels(name, Kind.CATEGORICAL, np.array(["1", "2", "3", "4"]), levels)
        for name, levels in (("p", [renamed, pairs, ["*"] * 4]), ("q", [pairs, pairs, ["*"] * 4]))
    ]
    leaves = np.array(list(itertools.product(range(4), range(4))))
    lattice = Lattice.of(collect_distinct_rows(leaves, hierarchies, {}), {})
    for node in itertools.product(*map(range, lattice.shape)):
        assert lattice.node(lattice.levels(node)) == node
    assert lattice.levels(lattice.top) == {"p": 3, "q": 3} and lattice.top == (2, 2)
    with pytest.raises(LookupError):
        lattice.node({"p": 1, "q": 0})
