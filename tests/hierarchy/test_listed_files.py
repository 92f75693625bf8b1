"""Files that list a domain: those that name every value, whatever the table has."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.hierarchy.files import parse_spec
from hybrid.hierarchy.load import listed_values
from hybrid.table import Column, Kind, Role, Schema

LISTING = {
    "rows.csv": "cook,Food,*\nnurse,Health,*\n",
    "tree.yaml": "type: tree\ntree: {Food: [cook], Health: [nurse]}\n",
    "tree.yml": "type: tree\ntree: {Food: [cook], Health: [nurse]}\n",
    "groups.yaml": "type: groups\nlevels: [{Food: [cook], Health: [nurse]}]\n",
}
SILENT = {
    "others.yaml": "type: groups\nlevels: [{Food: [cook]}]\nothers: Other\n",
    "mask.yaml": "type: mask\n",
}


def _schema(kind: Kind = Kind.CATEGORICAL) -> Schema:
    return Schema((Column("job", Role.QUASI_IDENTIFIER, kind),))


@pytest.mark.parametrize("file", LISTING)
def test_a_file_that_names_every_value_lists_the_domain(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text(LISTING[file], encoding="utf-8")
    assert listed_values(_schema(), {"job": tmp_path / file})["job"].tolist() == ["cook", "nurse"]


@pytest.mark.parametrize("file", SILENT)
def test_a_file_whose_values_are_those_of_the_table_lists_none(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text(SILENT[file], encoding="utf-8")
    assert listed_values(_schema(), {"job": tmp_path / file}) == {}


def test_descriptions_and_rows_in_memory_as_files() -> None:
    assert listed_values(_schema(), {"job": parse_spec(SILENT["others.yaml"], "job")}) == {}
    assert listed_values(_schema(), {"job": parse_spec(LISTING["groups.yaml"], "job")})["job"].tolist() == [
        "cook",
        "nurse",
    ]
    rows = [("cook", "Food", "*"), ("nurse", "Health", "*")]
    assert listed_values(_schema(), {"job": rows})["job"].tolist() == ["cook", "nurse"]
