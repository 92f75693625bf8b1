"""Rare values are written as groups of their hierarchy, and nobody decides alone which come out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import GroupsSpec, MaskSpec, TreeSpec
from hybrid.protect.group_values import DELTA, EPSILON, group_names, grouped, keep_probability, shared_groups
from hybrid.table import Column, Kind, Role

CODE = Column("code", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)


def codes_of(texts: list[str], spec: MaskSpec | GroupsSpec | TreeSpec) -> tuple[Hierarchy, np.ndarray]:
    values = pd.Series(texts).astype("category")
    tree = build_hierarchy(spec, CODE, values)
    return tree, tree.encode(values)


def test_hand_worked_threshold() -> None:
    """p(5) = .05; p(6) = e * .05 + .05 = .1859; p(7) = e * .1859 + .05 = .5554; p(8) = 1 - (1 - .6054) / e = .8548."""
    found = keep_probability(np.array([0, 4, 5, 6, 7, 8, 9, 10, 11, 500]), 5)
    assert found.round(4).tolist() == [0, 0, 0.05, 0.1859, 0.5554, 0.8548, 0.965, 1.0, 1.0, 1.0]


def test_one_person_more_or_less_changes_little() -> None:
    chance = keep_probability(np.arange(60), 7)
    for one, other in ((chance[1:], chance[:-1]), (chance[:-1], chance[1:])):
        assert (one <= np.exp(EPSILON) * other + DELTA + 1e-12).all()
        assert ((1 - one) <= np.exp(EPSILON) * (1 - other) + DELTA + 1e-12).all()
    assert (chance[:7] == 0).all() and (np.diff(chance) >= 0).all()


def test_the_lowest_group_that_enough_share() -> None:
    """Twelve of 101**, three of 102**, nine of 103**: 101** comes through; the others are few, and share 10***."""
    texts = [f"101{at:02d}" for at in range(12)] + [f"102{at}0" for at in range(3)] + [f"103{at}0" for at in range(9)]
    tree, leaves = codes_of(texts, MaskSpec(keep=(3, 2)))
    everyone = np.ones(24, dtype=bool)
    written = grouped(tree, leaves, everyone, np.full(24, 3), 10, np.random.default_rng(0), np.arange(24))
    names = np.array([group_names(tree, np.unique(written))[node] for node in written])
    assert set(names[:12]) <= {"101**", "10***"} and set(names[12:15]) == {"10***"} and set(names[15:]) == {"10***"}


def test_a_group_is_shared_by_people_of_rare_values_not_by_all() -> None:
    """One porter among ninety nurses: that he exists must not be seen, so no "care" comes out."""
    jobs = TreeSpec(tree={"care": ["nurse", "porter"], "craft": ["smith"]})
    tree, leaves = codes_of(["nurse"] * 90 + ["porter"], jobs)
    rare = leaves == leaves[-1]
    for seed in range(50):
        written = grouped(tree, leaves, rare, np.full(91, 2), 5, np.random.default_rng(seed), np.arange(91))
        assert (written == tree.node_of[leaves[0], 0]).all()


def test_persons_count_not_rows() -> None:
    tree, leaves = codes_of([f"10{at:02d}" for at in range(40)], MaskSpec(keep=(2,)))
    own, top = tree.node_of[leaves], np.full(40, 2)
    assert (shared_groups(own, top, 5, np.random.default_rng(0), np.repeat(np.arange(4), 10)) == -1).all()
    assert (shared_groups(own, top, 5, np.random.default_rng(0), np.arange(len(own))) == 1).all()


def test_a_value_that_is_its_own_group_has_one_chance() -> None:
    """`hybrid init` writes the most frequent towns as groups of themselves."""
    spec = GroupsSpec(levels=({"Ulm": ("Ulm",)},), others="Other")
    tree, leaves = codes_of(["Ulm"] * 6 + ["Bonn"] * 30, spec)
    own = tree.node_of[leaves[:6]]
    found = {
        int(shared_groups(own, np.full(6, 1), 5, np.random.default_rng(seed), np.arange(6))[0]) for seed in range(60)
    }
    assert found == {-1}


def test_groups_of_the_same_label_have_names_of_their_own_unless_one_holds_the_other() -> None:
    nested = GroupsSpec(levels=({"Ulm": ("Ulm",), "Bonn": ("Bonn",)}, {"Other": ("Bonn", "Other")}), others="Other")
    tree, _ = codes_of(["Ulm", "Bonn", "Kiel", "Jena"], nested)
    groups = np.array([node for node, label in enumerate(tree.labels) if label == "Other"])
    assert set(group_names(tree, groups).values()) == {"Other"} and len(groups) == 2
    known = tree.with_groups(group_names(tree, groups))
    row = known.node_of[known.encode(pd.Series(["Other"]).astype("category"))[0]]
    assert [known.labels[node] for node in row] == ["Other", "Other", "Other", "*"] and set(groups) <= set(row.tolist())
    town, _ = codes_of(["Other", "Kiel", "Jena"], TreeSpec(tree={"Other": ["Other", "Kiel"], "far": ["Jena"]}))
    assert group_names(town, town.node_of[[0], 1]) == {int(town.node_of[0, 1]): "Other (level 1)"}


@given(
    st.lists(st.sampled_from([f"{a}{b}{c}" for a in "12" for b in "123" for c in "1234"]), min_size=1, max_size=80),
    st.integers(2, 9),
    st.integers(0, 10**6),
)
@pytest.mark.parametrize("top", [1, 2, 3])
def test_what_is_written_lies_between_value_and_topmost_node(top: int, texts: list[str], least: int, seed: int) -> None:
    """It is a value that came through, or a group; never the rare value itself, nor anything of another group."""
    tree, leaves = codes_of(texts, MaskSpec(keep=(2, 1)))
    held = np.bincount(leaves, minlength=tree.n_leaves)
    rare = held[leaves] < least
    tops = np.full(len(leaves), top)
    written = grouped(tree, leaves, rare, tops, least, np.random.default_rng(seed), np.arange(len(leaves)))
    own = tree.node_of[leaves]
    assert (written[~rare] == own[~rare, 0]).all()
    assert not set(written.tolist()) & set(own[rare, 0].tolist())
    ancestors = [set(tree.node_of[(tree.node_of == one).any(axis=1)][0].tolist()) for one in written]
    assert all(int(own[row, top]) in found for row, found in enumerate(ancestors))
