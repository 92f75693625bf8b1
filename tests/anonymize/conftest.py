"""The Adult extract and hierarchies that the reference optima were computed on."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def read_hierarchy(folder: Path, name: str) -> Hierarchy:
    with (folder / f"adult_hierarchy_{name}.csv").open(encoding="utf-8") as file:
        columns = list(zip(*csv.reader(file, delimiter=";"), strict=True))
    kind = Kind.INTEGER if name == "age" else Kind.CATEGORICAL
    leaves = np.array(columns[0], dtype=np.int64 if name == "age" else object)
    return from_levels(name, kind, leaves, columns[1:])


@pytest.fixture
def adult(shared: Path) -> Callable[..., tuple[Table, dict[str, Hierarchy]]]:
    """Adult with these quasi-identifiers and this sensitive column; other columns are left out."""

    def build(quasi_identifiers: list[str], sensitive: str | None = None) -> tuple[Table, dict[str, Hierarchy]]:
        folder = shared / "data" / "adult"
        frame = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
        names = [*quasi_identifiers, *([sensitive] if sensitive else [])]
        columns = []
        for name in names:
            kind = Kind.INTEGER if name == "age" else Kind.CATEGORICAL
            role = Role.SENSITIVE if name == sensitive else Role.QUASI_IDENTIFIER
            columns.append(Column(name, role, kind))
            frame[name] = (frame[name].astype("int64") if name == "age" else frame[name]).astype(DTYPES[kind])
        return Table(frame[names], Schema(tuple(columns))), {
            name: read_hierarchy(folder, name) for name in quasi_identifiers
        }

    return build


@pytest.fixture(params=["numpy", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to group rows."""
    if request.param == "compiled":
        importlib.import_module("hybrid.anonymize.search.kernels")
    else:
        monkeypatch.delitem(sys.modules, "hybrid.anonymize.search.kernels", raising=False)
    return request.param
