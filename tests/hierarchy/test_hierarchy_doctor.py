"""The hierarchy doctor: what each level does, what is wrong, and adding values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.doctor import examine, extend, summarize, uncovered
from hybrid.hierarchy.load import load_hierarchy
from hybrid.hierarchy.spec import IntervalsSpec
from hybrid.table import Kind, Schema, Table
from tests.hierarchy.hierarchy_columns import column, series

TOWN = column(Kind.CATEGORICAL, "town")


def test_summary_of_levels() -> None:
    ages = series([17, 18, 18, 34, None], Kind.INTEGER)
    hierarchy = build_hierarchy(IntervalsSpec(widths=(10,)), column(Kind.INTEGER), ages)
    schema = Schema((column(Kind.INTEGER, "age"),))
    values, tens, root = summarize(hierarchy, Table(ages.to_frame("age"), schema), "age")
    assert (values.labels, values.alone, values.smallest, values.examples[0]) == (4, 3, 1, "18")
    assert (tens.labels, tens.alone, tens.median) == (3, 2, 1)
    assert tens.examples[0] == "10-19"
    assert tens.share == pytest.approx((10 / 31 * 4 + 1 / 31) / 5)
    assert (root.labels, root.share, root.smallest) == (1, 1.0, 5)
    visits = Table(pd.concat([ages] * 3, ignore_index=True).to_frame("age"), schema, np.tile(np.arange(5), 3))
    again = [(one.smallest, one.median, one.alone) for one in summarize(hierarchy, visits, "age")]
    assert again == [(one.smallest, one.median, one.alone) for one in (values, tens, root)], "people, not rows"


def test_findings(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    towns = series(["Rome", "Oslo", "Bern"], Kind.CATEGORICAL)
    path.write_text("Rome;Rome;S;*\nOslo;Oslo;N;*\nBern;Bern;N;*\nParis;Paris;N;*\n")
    ok, useless, unused = examine(path, TOWN, towns)
    assert (ok.level, useless.level, unused.level) == ("ok", "note", "note")
    assert "4 levels cover all 3 values" in ok.message
    assert "level 1 joins nothing" in useless.message
    assert "one value of the hierarchy does not occur" in unused.message
    path.write_text("Rome;*\nOslo;*\nBern;*\n")
    assert "there is no level" in examine(path, TOWN, towns)[1].message
    path.write_text("Rome;*\nOslo;+\n")
    assert [finding.level for finding in examine(path, TOWN, towns)] == ["error"]


def test_extending_keeps_the_lines_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    before = 'Rome,"South, warm",*\nOslo,North,*'
    path.write_text(before)
    towns = series(["Rome", "Oslo", "Bern", "Nice, FR"], Kind.CATEGORICAL)
    assert uncovered(path, TOWN, towns) == ["Bern", "Nice, FR"]
    assert extend(path, TOWN, ["Bern", "Oslo", "Bern"]) == 1
    assert path.read_text() == before + "\nBern,Bern,*\n"
    assert extend(path, TOWN, ["Nice, FR"], like="Rome") == 1
    hierarchy = load_hierarchy(path, TOWN, towns)
    labels = [hierarchy.labels[node] for node in hierarchy.node_at(towns, 1)]
    assert labels == ["South, warm", "North", "Bern", "South, warm"]
    assert uncovered(path, TOWN, towns) == []


def test_what_cannot_be_extended(tmp_path: Path) -> None:
    (tmp_path / "h.yaml").write_text("type: intervals\nwidths: [5]\n")
    with pytest.raises(HierarchyError, match="CSV hierarchies only"):
        extend(tmp_path / "h.yaml", column(Kind.INTEGER), ["5"])
    path = tmp_path / "h.csv"
    path.write_text("5;a;*\n6;a;*\n")
    with pytest.raises(HierarchyError, match="1 of the new values are not integer"):
        extend(path, column(Kind.INTEGER), ["seven", "8"])
    with pytest.raises(HierarchyError, match="not in the file"):
        extend(path, column(Kind.INTEGER), ["8"], like="9")
    assert path.read_text() == "5;a;*\n6;a;*\n"
