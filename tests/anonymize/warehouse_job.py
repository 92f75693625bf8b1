"""A table of people in a warehouse, and the same table here, under one configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import yaml

from hybrid.anonymize.decide import AnonymizationRequest, Decision
from hybrid.anonymize.warehouse.anonymize_rows import RowsTask, WarehouseResult, anonymize_rows, table_task
from hybrid.anonymize.warehouse.draw_rows import draw_rows
from hybrid.anonymize.warehouse.write_labels import Classes
from hybrid.base.manifest import Recorder
from hybrid.base.progress import silent
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.placement import placed
from hybrid.pipeline.side_tables import load_population
from hybrid.pipeline.table_run import TableRun
from hybrid.table.warehouse import Warehouse
from tests.anonymize.people_job import people, write_job

MEMORY = 2**30
KEY = bytes(range(32))
"""Secret of the draws."""
Rows = Counter[tuple[object, ...]]
L = {"model": "l_diversity", "attribute": "diagnosis"}
PERSONS = {"data.person": "person"}
MODELS: dict[str, dict[str, Any]] = {
    "k": {},
    "persons": PERSONS,
    "distinct l": {"anonymize.models": [{**L, "kind": "distinct", "l": 2}]},
    "entropy l": {"anonymize.models": [{**L, "kind": "entropy", "l": 1.5}]},
    "t": {"anonymize.models": [{"model": "t_closeness", "t": 0.5, "distance": "ordered", "attribute": "severity"}]},
}
OTHERS: dict[str, dict[str, Any]] = {
    "k 2": {"anonymize.k": 2},
    "k 4": {"anonymize.k": 4, "anonymize.suppression_limit": 0},
    "k 8": {"anonymize.k": 8, "anonymize.suppression_limit": 0.3},
    "entropy": {"anonymize.loss": {"name": "entropy"}},
    "discernibility": {"anonymize.loss": {"name": "discernibility"}, "anonymize.suppression_limit": 0.02},
    "aecs": {"anonymize.loss": {"name": "aecs"}, "anonymize.k": 5},
    "weights": {"anonymize.loss": {"weights": {"age": 3.0}, "gs_factor": 0.7}},
    "fixed level": {"anonymize.levels": {"age": 2}, "anonymize.suppression_limit": 0.5},
}

LIKE_FILES: dict[str, dict[str, Any]] = {
    "local": {"anonymize.recoding": "local", "anonymize.suppression_limit": 0},
    "coarsen": {"anonymize.suppressed": "coarsen", "anonymize.k": 4},
    "persons, distinct l": PERSONS | MODELS["distinct l"],
    "persons, entropy l": PERSONS | MODELS["entropy l"],
}
"""Labels that are no levels of whole columns, and models that count persons."""


def visits(n: int, seed: int) -> pa.Table:
    """Rows of persons, some of whom have several, with some equal quasi-identifiers among them."""
    rng = np.random.default_rng(seed)
    table = people(n, seed).drop_columns(["visit", "account", "cost"])
    row = np.sort(rng.integers(0, n, n))
    copied = table.take(pa.array(np.where(rng.random(n) < 0.7, row, np.arange(n))))
    persons = pa.array([f"p{number}" for number in row])
    whole = copied.set_column(0, "id", pa.array(np.arange(n))).append_column("person", persons)
    for name in ("sex", "ward"):
        whole = whole.set_column(whole.column_names.index(name), name, whole[name].cast(pa.string()))
    return whole


@dataclass(frozen=True)
class Job:
    """A configuration file beside the same rows in a file and in a warehouse."""

    path: Path
    table: pa.Table

    def config(self, **overrides: Any) -> RunConfig:
        return load_config(self.path, overrides)

    def here(self, overrides: Mapping[str, Any]) -> tuple[dict[str, Any], Rows]:
        """Aggregates and labelled rows of the table in memory."""
        done = TableRun(load_config(self.path, overrides)).anonymized
        assert done is not None
        labels = done.labels.to_table().frame
        names = done.quasi_identifiers
        return facts(done.result), Counter(map(tuple, labels[names].astype(str).to_numpy().tolist()))

    def there(self, warehouse: Warehouse, overrides: Mapping[str, Any], labels: str) -> tuple[dict[str, Any], Rows]:
        """Aggregates and labelled rows of the table that stays in the warehouse."""
        done = self.push_down(warehouse, overrides, labels)
        names = done.decided.task.records.names
        found = warehouse.fetch("labels", warehouse.table(labels).select(names))
        return facts(done.result), Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def push_down(self, warehouse: Warehouse, overrides: Mapping[str, Any], labels: str) -> WarehouseResult:
        return anonymize_rows(self.task(warehouse, overrides, labels), Recorder())

    def draw(self, warehouse: Warehouse, overrides: Mapping[str, Any], size: int) -> tuple[dict[str, Any], pa.Table]:
        """Aggregates of all rows, and the rows that one key draws."""
        whole, rows = draw_rows(self.task(warehouse, overrides, "not_written"), size, lambda _: KEY, Recorder(), silent)
        assert whole.result.drawn == rows.num_rows
        return facts(whole.result), rows

    def task(self, warehouse: Warehouse, overrides: Mapping[str, Any], labels: str) -> RowsTask:
        sql = {"url_env": "TEST_WAREHOUSE", "table": "people", "push_down": True, "labels": labels}
        config = load_config(self.path, {**overrides, "data.path": "", "data.sql": sql})
        assert config.anonymize is not None
        known = config.data, config.hierarchy_sources, config.anonymize, load_population(config)
        return table_task(warehouse, AnonymizationRequest("people", (), *known), MEMORY)


def assert_size_decides(job: Job) -> None:
    """The table ``people`` of TEST_WAREHOUSE is read where memory has room for it, and else stays there."""
    place = {"data.path": "", "data.sql": {"url_env": "TEST_WAREHOUSE", "table": "people"}}
    small = placed(job.config(**place))
    assert not small.rows_stay
    assert placed(job.config(**place, **{"anonymize.memory_limit": 1e-5})).rows_stay
    frame = small.load_table().frame
    rows = Counter(zip(*(frame[name].astype(str) for name in ("id", "ward")), strict=True))
    assert rows == Counter(zip(*(map(str, job.table[name].to_pylist()) for name in ("id", "ward")), strict=True))


def put(file: Path, table: pa.Table) -> None:
    """A DuckDB file with the table ``people``."""
    with duckdb.connect(str(file)) as connection:
        connection.register("given", table)
        connection.execute("create table people as select * from given")


def facts(result: Any) -> dict[str, Any]:
    """What has to be the same on every path."""
    return {
        "levels": result.levels,
        "loss": round(result.loss["value"], 12),
        "suppressed": result.suppressed,
        "records": result.records,
        "classes": result.classes,
        "min_class_size": result.min_class_size,
        "smallest": result.smallest,
        "persons": (result.persons, result.suppressed_persons),
        "optimal": result.optimal,
        "models": [(model["name"], round(model["reached"], 12)) for model in result.verified["models"]],
    }


def write_people(folder: Path, n: int = 260, seed: int = 1) -> Job:
    """Three quasi-identifiers and two sensitive columns, everybody in training."""
    table = visits(n, seed)
    path = write_job(folder, table.append_column("visit", pa.nulls(n, pa.string())))
    content = yaml.safe_load(path.read_text())
    for name in ("zip", "born", "smoker"):
        content["data"]["columns"].pop(name)
    content["data"]["columns"]["person"] = {"role": "identifier"}
    content["data"]["person"] = "none"
    content["split"] = {"control": 0}
    path.write_text(yaml.safe_dump(content))
    return Job(path, pa.table({name: table[name] for name in table.column_names}))


def suppress_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect: rows that must be suppressed are written, too."""
    released = Classes.of

    def none_left_out(decided: Decision) -> Classes:
        return released(
            replace(decided, recoding=replace(decided.recoding, suppressed=decided.recoding.suppressed & False))
        )

    monkeypatch.setattr(Classes, "of", none_left_out)
