"""Adult, bank marketing, Diabetes-130 and the demo, with the roles of their columns decided.

The benchmarks that choose defaults and limits use them. The demo is simulated on the spot; the others are read from
``FOLDER/adult.csv`` (UCI Adult with a header), ``FOLDER/bank.csv`` (UCI Bank Marketing) and ``FOLDER/diabetes.csv``
(UCI Diabetes 130-US Hospitals), as far as they are there. Everything that is not decided here is what `hybrid init`
writes. A fifth table, ``FOLDER/credit.csv`` (UCI Default of Credit Card Clients), is that of benchmarks/synth_mia.py.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from hybrid.demo import write_demo
from hybrid.pipeline.config import load_config
from hybrid.pipeline.starter import guess_config
from hybrid.table import Table

ROWS = 10_000
"""Rows of a table at most."""


@dataclass(frozen=True)
class Decisions:
    """What a person changes in the configuration that `hybrid init` guesses."""

    roles: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    """Columns deleted from the file: they repeat another one, or hold a single value."""
    l_diverse: str | None = None
    texts: tuple[str, ...] = ()
    """Columns of many rare values that may be drawn from the others (`protect.columns`)."""
    person: str | None = None
    """Column whose first row alone is taken, so that every row is a person."""


DECISIONS = {
    "adult": Decisions(
        roles={"occupation": "sensitive", "capital-gain": "sensitive"},
        targets=("income",),
        secrets=("occupation", "capital-gain"),
        l_diverse="occupation",
    ),
    "bank": Decisions(targets=("y",), secrets=("balance",), l_diverse="balance"),
    "diabetes": Decisions(
        targets=("readmitted",),
        secrets=("diag_1", "diag_2", "diag_3"),
        leave_out=("encounter_id", "patient_nbr", "weight", "payer_code"),
        l_diverse="diag_1",
        texts=("diag_1", "diag_2", "diag_3"),
        person="patient_nbr",
    ),
    "credit": Decisions(
        roles={"LIMIT_BAL": "sensitive"},
        targets=("default payment",),
        secrets=("LIMIT_BAL",),
        l_diverse="LIMIT_BAL",
    ),
}
CONFIG = "config.yaml"


def configurations(tables: Path | None, work: Path, rows: int = ROWS) -> dict[str, Path]:
    """Write each table with its configuration into a folder of its own under ``work``; the configurations by name."""
    found = {}
    for name, decisions in DECISIONS.items():
        source = None if tables is None else tables / f"{name}.csv"
        if source is not None and source.is_file():
            found[name] = _decided(source, work / name, decisions, rows)
    found["demo"] = _demo(work / "demo", rows)
    return found


def _decided(source: Path, folder: Path, decisions: Decisions, rows: int) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    table = folder / "table.csv"
    frame = pd.read_csv(source, dtype=str, keep_default_na=False, skipinitialspace=True)
    if decisions.person is not None:
        frame = frame.drop_duplicates(decisions.person)
    single = [name for name in frame if frame[name].nunique() == 1]
    frame = frame.drop(columns=[*(name for name in decisions.leave_out if name in frame), *single])
    frame = frame.iloc[np.random.default_rng(1).permutation(len(frame))[:rows]]
    frame.to_csv(table, index=False)
    guess_config(table).write(folder / CONFIG)
    config: dict[str, Any] = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))
    columns = config["data"]["columns"]
    for name, role in decisions.roles.items():
        columns[name].pop("hierarchy", None)
        columns[name]["role"] = role
    for name, column in columns.items():
        column.pop("target", None)
        if name in decisions.targets:
            column["target"] = True
    config["evaluate"] = {"targets": list(decisions.targets), "secrets": list(decisions.secrets)}
    config["anonymize"]["models"] = [
        {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": decisions.l_diverse}
    ]
    config["protect"] = {"columns": dict.fromkeys(decisions.texts, "sample")}
    return _signed(config, folder)


def _demo(folder: Path, rows: int) -> Path:
    config = yaml.safe_load(write_demo(folder, min(rows, 5000)).read_text(encoding="utf-8"))
    config.pop("seed")
    return _signed(config, folder)


def _signed(config: dict[str, Any], folder: Path) -> Path:
    config["roles"] = {"decided_by": "benchmarks/four_tables.py", "date": "2026-11-21"}
    path = folder / CONFIG
    path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def people(path: Path) -> Table:
    """All rows of a configuration's table, without identifiers."""
    table = load_config(path).load_table()
    schema = table.schema.without_identifiers()
    return Table(table.frame[schema.names], schema)


def lines(files: list[Path]) -> Iterator[dict[str, Any]]:
    """Results in JSON lines files, one after the other; files that are not there are passed over."""
    for path in files:
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                yield json.loads(line)
