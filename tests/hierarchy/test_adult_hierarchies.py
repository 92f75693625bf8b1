"""The hierarchies that come with the project cover the Adult file, with and without its missing values."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies, load_hierarchy
from hybrid.pipeline.config import load_config
from hybrid.table import Table
from hybrid.table.read_file import read_table
from tests.hierarchy.hierarchy_columns import check_tree

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "adult.yaml"


@pytest.fixture
def adult(census: Path) -> Table:
    return read_table(census, load_config(CONFIG).data)


@pytest.fixture
def hierarchies(adult: Table) -> dict[str, Hierarchy]:
    return load_hierarchies(adult, load_config(CONFIG).hierarchy_sources)


def test_every_quasi_identifier_is_covered(adult: Table, hierarchies: dict[str, Hierarchy]) -> None:
    assert list(hierarchies) == adult.schema.quasi_identifiers
    for name, hierarchy in hierarchies.items():
        check_tree(hierarchy)
        assert (hierarchy.missing_leaf is not None) == (name in ("workclass", "native-country"))
        known = hierarchy.n_leaves - (hierarchy.missing_leaf is not None)
        assert known == adult.frame[name].nunique() or name == "age", "the files list what occurs, and no more"


@pytest.mark.parametrize("name", ["occupation.csv", "hours-per-week.yaml"])
def test_hierarchies_for_other_roles_cover_too(adult: Table, name: str) -> None:
    column = name.rpartition(".")[0]
    path = ROOT / "hierarchies" / "adult" / name
    check_tree(load_hierarchy(path, adult.schema[column], adult.frame[column]))


def test_education_and_its_number_say_the_same_on_every_level(adult: Table, hierarchies: dict[str, Hierarchy]) -> None:
    text, number = hierarchies["education"], hierarchies["education-num"]
    assert text.n_levels == number.n_levels
    for level in range(text.n_levels):
        pairs = set(
            zip(
                text.node_at(adult.frame["education"], level),
                number.node_at(adult.frame["education-num"], level),
                strict=True,
            )
        )
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
