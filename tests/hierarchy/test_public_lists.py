"""Public lists: their groups, their spellings, when they are recognized, and what a release may hold of them."""

from __future__ import annotations

import pandas as pd
import pytest

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.files import parse_spec
from hybrid.hierarchy.load import listed_values, load_hierarchy
from hybrid.hierarchy.public_lists import list_of, list_rows
from hybrid.hierarchy.spec import FORMS, ListSpec
from hybrid.protect.below_labels import has_public_list
from hybrid.table import Column, Kind, Role, Schema

SPECS = [ListSpec.model_validate({"list": name, "form": form}) for name, forms in FORMS.items() for form in forms]


def column(name: str = "country") -> Column:
    return Column(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.list}-{spec.form}")
def test_each_list_is_a_hierarchy(spec: ListSpec) -> None:
    tree = build_hierarchy(spec, column(), pd.Series([], dtype="object"))
    assert tree.public and tree.n_levels == 4
    assert len(set(tree.leaves)) == tree.n_leaves
    # A label is never a value of another group: who reads "Micronesia" must know which is meant.
    for at, leaf in enumerate(tree.leaves):
        assert all(tree.labels[node] != leaf or node == tree.node_of[at, 0] for node in tree.node_of[:, 1])


@pytest.mark.parametrize(
    ("list_", "form", "value", "labels"),
    [
        ("countries", "alpha_2", "DE", ("Western Europe", "Europe", "*")),
        ("countries", "name", "Viet Nam", ("South-eastern Asia", "Asia", "*")),
        ("us_states", "code", "DC", ("South Atlantic", "South", "*")),
        ("icd10", "code", "E11", ("E10-E14", "E00-E90", "*")),
        ("icd10", "code", "Y05", ("X85-Y09", "V01-Y98", "*")),
    ],
)
def test_groups_of_a_value(list_: str, form: str, value: str, labels: tuple[str, ...]) -> None:
    rows = {row[0]: row[1:] for row in list_rows(ListSpec.model_validate({"list": list_, "form": form}), [value])}
    assert rows[value] == labels


def test_names_as_the_table_writes_them() -> None:
    texts = ["United-States", "USA", "Czech Republic", "Cote d'Ivoire"]
    rows = [row[0] for row in list_rows(ListSpec(list="countries"), texts)]
    assert set(texts) <= set(rows) and "United States" not in rows and "France" in rows


@pytest.mark.parametrize(
    ("name", "texts", "expected"),
    [
        ("country", ["DE", "FR"], ("countries", "alpha_2")),
        ("birthplace", ["Germany", "France", "Poland", "Turkey"], ("countries", "name")),
        ("x", ["Germany", "France", "Poland", "Turkey"], ("countries", "name")),
        ("state", ["CA", "DE", "AL"], ("us_states", "code")),
        ("x", ["CA", "DE", "AL", "IN"], None),  # Countries as well as states.
        ("answer", ["NO", "SI"], None),
        ("diagnosis", ["E11", "I10"], ("icd10", "code")),
        ("seat", ["A01", "B02"], None),
        ("country", ["DE", "Atlantis"], None),
    ],
)
def test_recognized(name: str, texts: list[str], expected: tuple[str, str] | None) -> None:
    found = list_of(name, texts)
    assert (None if found is None else (found.list, found.form)) == expected


def test_public_although_every_value_has_a_holder() -> None:
    states = ListSpec(list="us_states")
    values = pd.Series([row[0] for row in list_rows(states)])
    listed = build_hierarchy(states, column("state"), values)
    assert has_public_list(listed, values)


def test_the_domain_needs_no_table() -> None:
    found = listed_values(Schema([column()]), {"country": ListSpec(list="countries", form="alpha_2")})
    assert len(found["country"]) == 249


def test_a_value_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(HierarchyError, match="1"):
        load_hierarchy(ListSpec(list="countries", form="alpha_2"), column(), pd.Series(["DE", "XX"]))


def test_errors_of_the_file() -> None:
    with pytest.raises(HierarchyError, match="written as name or code"):
        parse_spec("type: list\nlist: us_states\nform: alpha_2\n", "state.yaml")
    with pytest.raises(HierarchyError, match="countries"):
        parse_spec("type: list\nlist: towns\n", "town.yaml")
