"""Hierarchy files: read, checked against the data, and every mistake said at once without cell values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.files import read_spec, rows_of, text_of_rows, text_of_spec
from hybrid.hierarchy.load import load_hierarchies, load_hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, HierarchySpec, IntervalsSpec, MaskSpec, TreeSpec
from hybrid.table import Kind, Role, Schema, Table
from tests.anonymize.adult import DATA, records
from tests.hierarchy.hierarchy_columns import check_tree, column, labels_at, modest, series

TOWNS = series(["Rome", "Oslo", None, "Oslo"], Kind.CATEGORICAL)


def load(folder: Path, text: str, kind: Kind, values: pd.Series, name: str = "h.csv", **shape: object) -> Hierarchy:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_hierarchy(path, column(kind, **shape), values)


def problems(folder: Path, text: str, kind: Kind, values: pd.Series, name: str = "h.csv") -> HierarchyError:
    with pytest.raises(HierarchyError) as caught:
        load(folder, text, kind, values, name)
    assert str(folder / name) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("separator", [";", ",", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_any_usual_separator(tmp_path: Path, separator: str, ending: str) -> None:
    rows = [("Rome", "South", "*"), ("Oslo", "North", "*"), ("Paris", "South", "*")]
    text = "\ufeff" + ending.join(separator.join(row) for row in rows) + ending * 2
    hierarchy = load(tmp_path, text, Kind.CATEGORICAL, TOWNS)
    check_tree(hierarchy)
    assert labels_at(hierarchy, TOWNS, 1) == ["South", "North", "(missing)", "North"]
    assert hierarchy.missing_leaf == 3


def test_commas_inside_labels(tmp_path: Path) -> None:
    plain = load(tmp_path, "20;[20, 25);[20, 30);*\n27;[25, 30);[20, 30);*\n", Kind.INTEGER, series([20], Kind.INTEGER))
    assert plain.n_levels == 4
    short = load(tmp_path, "a, b;*\nc, d;*\n", Kind.CATEGORICAL, series(["a, b"], Kind.CATEGORICAL))
    assert short.n_levels == 2
    quoted = load(tmp_path, '20,"[20, 30)",*\n27,"[20, 30)",*\n', Kind.INTEGER, series([20], Kind.INTEGER))
    assert "[20, 30)" in quoted.labels


def test_values_are_read_in_the_kind_and_format_of_the_column(tmp_path: Path) -> None:
    dates = series(["2024-03-01"], Kind.DATE)
    german = load(tmp_path, "01.03.2024;March;*\n", Kind.DATE, dates, date_format="%d.%m.%Y")
    iso = load(tmp_path, "2024-03-01;March;*\n", Kind.DATE, dates, date_format="%d.%m.%Y")
    assert german.labels == iso.labels == ("01.03.2024", "March", "*")
    half = load(tmp_path, "0,5;small;*\n1,5;big;*\n", Kind.DECIMAL, series([0.5], Kind.DECIMAL), decimal_mark=",")
    assert half.leaves.tolist() == [0.5, 1.5]
    flags = load(tmp_path, "yes;*\nno;*\n", Kind.BOOLEAN, series([True, None], Kind.BOOLEAN), true="yes", false="no")
    assert flags.labels == ("yes", "no", "(missing)", "*")


def test_lines_for_missing_values_are_left_out(tmp_path: Path) -> None:
    ages = load(tmp_path, "1;young;*\n?;unknown;*\n*;*;*\n", Kind.INTEGER, series([1, 1], Kind.INTEGER))
    assert ages.n_leaves == 1
    jobs = load(
        tmp_path, "cook;food;*\n?;none;*\n", Kind.CATEGORICAL, series(["cook", None], Kind.CATEGORICAL), missing=" ?"
    )
    assert "none" not in jobs.labels
    assert jobs.missing_node is not None


def test_uncovered_values_are_counted_and_named_in_private(tmp_path: Path) -> None:
    values = series(["Rome", "Oslo", "Oslo", "Bern"], Kind.CATEGORICAL)
    error = problems(tmp_path, "Rome;*\n", Kind.CATEGORICAL, values)
    assert "column 'x': 2 distinct values (3 rows) are not in its hierarchy" in str(error)
    assert error.problems[0].values == "Oslo (2 rows), Bern (1 rows)"
    assert "Oslo" not in str(error)


def test_all_structural_problems_at_once(tmp_path: Path) -> None:
    error = problems(tmp_path, "a;x;p;*\nb;x;q;*\na;x;p;+\n", Kind.CATEGORICAL, series(["a"], Kind.CATEGORICAL))
    text = str(error)
    assert "1 values occur more than once" in text
    assert "not nested: 1 labels of level 1" in text
    assert "2 roots" in text
    assert len(error.problems) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("a;x;*\nb;*\n", "1 lines have fewer fields"),
        ("a;;*\nb;y;*\n", "1 lines have an empty label"),
        ("a\nb\n", "2 roots"),
        ("a;x\nb;y\n", "2 roots"),
        ("a;(missing);*\nb;y;*\n", "means missing values"),
    ],
)
def test_malformed_csv(tmp_path: Path, text: str, said: str) -> None:
    assert said in str(problems(tmp_path, text, Kind.CATEGORICAL, series(["a", None], Kind.CATEGORICAL)))


def test_header_line_of_a_numeric_hierarchy(tmp_path: Path) -> None:
    error = problems(tmp_path, "age;group;all\n1;young;*\n", Kind.INTEGER, series([1], Kind.INTEGER))
    assert "1 values are not integer" in str(error)
    assert "no header" in str(error)


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("Zürich;*\n".encode("latin-1"))
    for name, said in (("absent.csv", "does not exist"), (".", "is a folder"), ("latin.csv", "not text in UTF-8")):
        with pytest.raises(HierarchyError, match=said):
            load_hierarchy(tmp_path / name, column(Kind.CATEGORICAL), TOWNS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("type: intervals\nwidth: [5]\n", "width: unknown key for type intervals"),
        ("type: intervals\nwidths: [5, 12]\n", "multiple of the one before"),
        ("type: intervals\nwidths: [five]\n", "widths.0: a number was expected"),
        ("type: bins\n", "one of intervals, dates, mask, tree, groups, list"),
        ("widths: [5]\n", "one of intervals, dates, mask, tree, groups, list"),
        ("- 5\n", "a mapping"),
        ("type: intervals\ntype: dates\n", "line 2"),
        ("type: [\n", "not valid YAML"),
        ("type: dates\nlevels: [year, month]\n", "fine to coarse"),
        ("type: mask\nkeep: [2, 3]\n", "descend"),
        ("type: groups\nlevels: [{secret: 5}]\n", "levels: "),
    ],
)
def test_malformed_yaml(tmp_path: Path, text: str, said: str) -> None:
    error = problems(tmp_path, text, Kind.INTEGER, series([1], Kind.INTEGER), "h.yaml")
    assert said in str(error)
    assert "secret" not in str(error)


def test_yaml_scalars_stay_text(tmp_path: Path) -> None:
    text = "type: tree\ntree:\n  north: [no, 01, 1e3, 2024-01-01]\n  south: [yes, null]\n"
    values = series(["no", "01", "1e3", "2024-01-01", "yes", "null"], Kind.CATEGORICAL)
    hierarchy = load(tmp_path, text, Kind.CATEGORICAL, values, "h.yaml")
    assert labels_at(hierarchy, values, 1) == ["north"] * 4 + ["south"] * 2


@pytest.mark.parametrize(
    "spec",
    [
        IntervalsSpec(widths=("2.5", "5"), origin="0.5", top="90"),
        IntervalsSpec(edges=((0, 18, 65), (18,))),
        DatesSpec(levels=("year",)),
        MaskSpec(keep=(3, 2), length="hide"),
        TreeSpec(tree={"a": {"b": ["no", "01"]}, "c": ["d"]}),
        GroupsSpec(levels=({"low": ("1", "no")},), others="rest"),
    ],
)
def test_spec_comes_back_as_it_was_saved(tmp_path: Path, spec: HierarchySpec) -> None:
    (tmp_path / "h.yaml").write_text(text_of_spec(spec, comment="review:\nthis"))
    assert (tmp_path / "h.yaml").read_text().startswith("# review:\n# this\n")
    assert read_spec(tmp_path / "h.yaml") == spec


@modest
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=15, unique=True))
def test_hierarchy_comes_back_as_it_was_saved(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    values = sorted({text.strip() for text in texts} - {""})
    if not values:
        return
    data = series(list(values), Kind.CATEGORICAL)
    spec = GroupsSpec(levels=({"first half; a": tuple(values[: len(values) // 2])},), others='second "half", b')
    hierarchy = build_hierarchy(spec, column(Kind.CATEGORICAL), data)
    path = tmp_path_factory.mktemp("h") / "h.csv"
    path.write_bytes(text_of_rows(rows_of(hierarchy)).encode())
    again = load_hierarchy(path, column(Kind.CATEGORICAL, missing="\0"), data)
    order = np.argsort(again.leaves)
    assert again.leaves[order].tolist() == hierarchy.leaves[np.argsort(hierarchy.leaves)].tolist()
    for level in range(hierarchy.n_levels):
        assert labels_at(again, data, level) == labels_at(hierarchy, data, level)


def _table(**columns: tuple[Role, list[object]]) -> Table:
    made = {name: series(values, Kind.CATEGORICAL) for name, (_, values) in columns.items()}
    schema = [column(Kind.CATEGORICAL, name) for name in columns]
    roles = [role for role, _ in columns.values()]
    return Table(pd.DataFrame(made), Schema(tuple(replace(c, role=r) for c, r in zip(schema, roles, strict=True))))


def test_all_problems_of_all_hierarchies_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("v;*\n")
    (tmp_path / "d.csv").write_text("v;*\nw;*\n")
    quasi = Role.QUASI_IDENTIFIER
    table = _table(a=(quasi, ["v", "w"]), b=(quasi, ["v", "w"]), c=(quasi, ["v", "w"]), d=(quasi, ["v", "w"]))
    paths = {name: tmp_path / f"{name}.csv" for name in "acd"}
    with pytest.raises(HierarchyError) as caught:
        load_hierarchies(table, paths)
    assert len(caught.value.problems) == 3
    for said in (
        "column 'a': 1 distinct",
        "column 'b': a quasi-identifier needs",
        "c.csv: the hierarchy file does not",
    ):
        assert said in str(caught.value)


def test_sensitive_columns_may_have_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("v;*\nw;*\n")
    table = _table(
        s=(Role.SENSITIVE, ["v", "w"]), q=(Role.QUASI_IDENTIFIER, ["v", "w"]), i=(Role.INSENSITIVE, ["v", "w"])
    )
    path = tmp_path / "h.csv"
    assert list(load_hierarchies(table, {"q": path, "s": path, "i": path})) == ["s", "q"]
    assert list(load_hierarchies(table, {"q": path})) == ["q"]


def test_published_hierarchies_cover_their_data() -> None:
    data = records()
    for name in data:
        kind = Kind.INTEGER if name == "age" else Kind.CATEGORICAL
        values = data[name].astype("Int64" if name == "age" else "category")
        hierarchy = load_hierarchy(DATA / f"adult_hierarchy_{name}.csv", column(kind, str(name)), values)
        check_tree(hierarchy)
    assert hierarchy.n_levels == 2
