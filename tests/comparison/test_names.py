from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.comparison.plan import folder_name, named


def test_a_configuration_is_called_what_differs() -> None:
    plan: list[dict[str, Any]] = [
        {"anonymize.k": k, "transition.method": method, "synthesize.generator": "cart", "transition.order": order}
        for k, method, order in ((5, "tree", "pre"), (10, "tree", "pre"), (10, "uniform", "post"))
    ]
    assert named(plan) == ["k 5, tree, before", "k 10, tree, before", "k 10, uniform, after"]
    assert folder_name(named(plan)[0]) == "k-5-tree-before"


@pytest.mark.parametrize(
    ("factor", "levels", "names"),
    [
        ("ways", ["PRE uniform", "POST uniform"], ["PRE uniform", "POST uniform"]),
        ("sample.beta", [0.5, 1.0], ["beta 0.5", "beta 1"]),
        ("sample.method", ["none", "simple"], ["no sample", "simple"]),
        ("transition", [{"method": "blend", "weight": 0.2}, None], ["blend weight 0.2", "no transition"]),
        ("evaluate.baseline", [True, False], ["baseline on", "baseline off"]),
        ("anonymize.suppression_limit", [0.1, 0.2], ["suppression limit 0.1", "suppression limit 0.2"]),
    ],
)
def test_levels_in_words(factor: str, levels: list[Any], names: list[str]) -> None:
    assert named([{factor: level} for level in levels]) == names


def test_a_key_that_one_does_not_set_is_not_said() -> None:
    assert named([{"anonymize.k": 5}, {"anonymize.k": 9, "sample.beta": 0.2}, {}]) == [
        "k 5",
        "k 9, beta 0.2",
        "as the base",
    ]
    assert named([{"anonymize.k": 5}]) == ["as the base"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": st.text(max_size=60), "b.c": st.text(max_size=60)}), max_size=8))
def test_names_differ_as_names_and_as_folders(plan: list[dict[str, Any]]) -> None:
    """Whatever the levels are called: no way out of the folder, no two in one."""
    found = named(plan)
    folders = [folder_name(name).lower() for name in found]
    assert len(set(folders)) == len(set(found)) == len(plan)
    assert all(each and "/" not in each and not each.startswith(".") and len(each) <= 80 for each in folders)
