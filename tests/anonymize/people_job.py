"""A small table of every type, its hierarchies and a config, as files."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

HIERARCHIES = {
    "age.yaml": "type: intervals\nwidths: [5, 20]\n",
    "sex.csv": "f;*\nm;*\n",
    "zip.yaml": "type: mask\n",
    "born.yaml": "type: dates\nlevels: [quarter, year]\n",
    "smoker.csv": "true;*\nfalse;*\n",
    "weight.yaml": "type: intervals\nwidths: [10, 40]\n",
    "severity.yaml": "type: intervals\nwidths: [2]\n",
}
QUASI_IDENTIFIERS = ("age", "sex", "zip", "born", "smoker", "weight")
L_DIVERSITY = {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": "diagnosis"}


def people(n: int, seed: int) -> pa.Table:
    """Records with missing values in every column that may have some."""
    rng = np.random.default_rng(seed)

    def column(values: Any, arrow_type: pa.DataType, missing: float = 0.05) -> pa.Array:
        return pa.array(values, arrow_type, mask=rng.random(n) < missing)

    sexes = pa.DictionaryArray.from_arrays(pa.array(rng.integers(1, 3, n).astype(np.int8)), ["never", "f", "m"])
    zips = rng.choice(["01230", "01234", "02200", "?", " 02200"], n)
    days = [date(2000, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 500, n)]
    weights = pc.divide(pa.array(rng.integers(400, 1200, n)), 10.0).cast(pa.decimal128(6, 1), safe=False)
    return pa.table(
        {
            "id": pa.array(rng.permutation(n) + 10**6),
            "age": column(rng.integers(0, 90, n), pa.int16()),
            "sex": sexes,
            "zip": column(zips, pa.string()),
            "born": column(days, pa.date32()),
            "smoker": column(rng.random(n) < 0.3, pa.bool_()),
            "weight": pc.if_else(pa.array(rng.random(n) < 0.05), None, weights),
            "diagnosis": column(rng.choice(["a", "b", "c", "d"], n), pa.string()),
            "severity": column(rng.integers(0, 6, n), pa.int64()),
            "account": column(2**62 + rng.integers(0, 2**60, n), pa.int64()),
            "cost": column(rng.normal(size=n).round(2), pa.float64()),
            "visit": pa.array(rng.integers(0, 10**9, n).astype("datetime64[s]"), pa.timestamp("us", tz="UTC")),
            "ward": pa.array(rng.choice(["north", "south"], n)).dictionary_encode(),
        }
    )


def write_job(folder: Path, table: pa.Table, **anonymize: Any) -> Path:
    """The table as Parquet in several row groups and as CSV, and a config for the former."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in HIERARCHIES.items():
        (folder / name).write_text(text)
    pq.write_table(table, folder / "people.parquet", row_group_size=max(len(table) // 3, 1))
    plain = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    texts = table.cast(pa.schema([pa.field(name, kind) for name, kind in zip(table.column_names, plain, strict=True)]))
    pyarrow.csv.write_csv(texts.drop_columns(["visit"]), folder / "people.csv")
    columns: dict[str, dict[str, str]] = {
        name: {"role": "quasi_identifier", "hierarchy": next(h for h in HIERARCHIES if h.startswith(name))}
        for name in QUASI_IDENTIFIERS
    }
    columns |= {
        "id": {"role": "identifier"},
        "diagnosis": {"role": "sensitive"},
        "severity": {"role": "sensitive", "hierarchy": "severity.yaml"},
    }
    config = {
        "seed": 5,
        "data": {"path": "people.parquet", "missing": ["", "?"], "columns": columns},
        "split": {"control": 0.25},
        "protect": "off",
        "anonymize": {"k": 3, "suppression_limit": 0.1, **anonymize},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def result_of(folder: Path) -> dict[str, Any]:
    """What an anonymization says of itself, whatever path it took."""
    content: dict[str, Any] = json.loads((folder / "anonymization.json").read_text())
    for changing in ("seconds", "warehouse", "verified", "left_out"):  # the last is counted in memory only
        content.pop(changing, None)
    content["loss"] = {name: pytest.approx(value) for name, value in content["loss"].items() if name == "value"}
    return content


def labels_of(folder: Path) -> bytes:
    """The file of labels."""
    return (folder / "anonymized.parquet").read_bytes()
