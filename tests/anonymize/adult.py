"""The Adult extract, its hierarchies and the results of ARX on them, as kept in `tests/data/adult`."""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

DATA = Path(__file__).parents[1] / "data" / "adult"
Q8 = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


@cache
def content(name: str) -> bytes:
    """The bytes of one file, unpacked, and equal to what the README says they are."""
    packed = DATA / f"{name}.xz"
    unpacked = lzma.decompress(packed.read_bytes()) if packed.exists() else (DATA / name).read_bytes()
    listed = dict(re.findall(r"^([0-9a-f]{64})  (\S+)$", (DATA / "README.md").read_text(), re.MULTILINE))
    assert listed[hashlib.sha256(unpacked).hexdigest()] == name
    return unpacked


def records() -> pd.DataFrame:
    """The 30,162 records, every column as text."""
    return pd.read_csv(io.BytesIO(content("adult.csv")), sep=";", dtype=str)


def reference(name: str) -> list[dict[str, str]]:
    """The rows of a table of results."""
    return list(csv.DictReader(io.StringIO(content(name).decode())))


def hierarchy(name: str) -> Hierarchy:
    """The hierarchy of one column."""
    rows = csv.reader(io.StringIO(content(f"adult_hierarchy_{name}.csv").decode()), delimiter=";")
    columns = list(zip(*rows, strict=True))
    kind = Kind.INTEGER if name == "age" else Kind.CATEGORICAL
    leaves = np.array(columns[0], dtype=np.int64 if name == "age" else object)
    return from_levels(name, kind, leaves, columns[1:])


def adult(quasi_identifiers: list[str], sensitive: str | None = None) -> tuple[Table, dict[str, Hierarchy]]:
    """Adult with these quasi-identifiers and this sensitive column; other columns are left out."""
    frame = records()
    names = [*quasi_identifiers, *([sensitive] if sensitive else [])]
    columns = []
    for name in names:
        kind = Kind.INTEGER if name == "age" else Kind.CATEGORICAL
        role = Role.SENSITIVE if name == sensitive else Role.QUASI_IDENTIFIER
        columns.append(Column(name, role, kind))
        frame[name] = (frame[name].astype("int64") if name == "age" else frame[name]).astype(DTYPES[kind])
    return Table(frame[names], Schema(tuple(columns))), {name: hierarchy(name) for name in quasi_identifiers}


REFERENCE_LOSSES = {
    "loss_geo": {},
    "loss_arith": {"mean": "arithmetic"},
    "nuentropy_sum": {"name": "entropy"},
    "nuentropy_norm_arith": {"name": "entropy", "normalized": True},
    "aecs": {"name": "aecs"},
}


def reference_options(row: dict[str, str]) -> AnonymizeOptions:
    models = []
    if row["l_model"] != "none":
        kind, least = row["l_model"].split("(")[0].split("-")
        models = [{"model": "l_diversity", "kind": kind, "l": float(least), "attribute": "occupation"}]
    return AnonymizeOptions(
        k=int(row["k"]),
        suppression_limit=float(row["limit"]),
        models=models,
        loss=REFERENCE_LOSSES[row["metric"]],
    )


def takes_long(row: dict[str, str]) -> bool:
    """Bounds of class counts are weak: over half of the lattice has to be grouped."""
    return row["metric"] == "aecs" and row["qi_set"] == "Q8" and float(row["limit"]) >= 0.1
