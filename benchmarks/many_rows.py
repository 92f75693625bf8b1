"""Anonymizing files larger than memory: seconds, peak memory and loss of `hybrid anonymize` on 10^4..10^8 rows.

    python benchmarks/many_rows.py FOLDER WORK [--rows 10000 ... 100000000] [--columns 8] [--memory 3] > many_rows.md

FOLDER holds the Adult extract and hierarchies that come with ARX (github.com/arx-deidentifier/arx, folder data).
WORK gets one Parquet file per size (12 columns, 8 quasi-identifiers) and the labels; all of it is removed again.

The rows are drawn from Adult with replacement; every quasi-identifying cell is then replaced, with a probability of
6 %, by that of another record. So combinations keep their shape and new ones come up as the table grows, about half a
million in ten million rows. Each size runs in a fresh process, through the real command line. Of the memory limit
depends whether DuckDB reads the file; the stages' seconds are those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

QUASI_IDENTIFIERS = (
    *("sex", "age", "race", "marital-status"),
    *("education", "native-country", "workclass", "occupation"),
)
REPLACED = 0.06
CHUNK = 1_000_000


def write_people(folder: Path, target: Path, rows: int, seed: int = 1) -> None:
    """A Parquet file of ``rows`` records, drawn and written a row group at a time."""
    adult = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    batches = _batches(adult, rows, seed)
    first = next(batches)
    with pq.ParquetWriter(target, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _batches(adult: pd.DataFrame, rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    for number, start in enumerate(range(0, rows, CHUNK)):
        n = min(CHUNK, rows - start)
        rng = np.random.default_rng([seed, number])
        person = rng.integers(len(adult), size=n)
        columns: dict[str, pa.Array] = {"id": pa.array(np.arange(start, start + n) * 7919 % 10**9)}
        for name in QUASI_IDENTIFIERS:
            other = np.where(rng.random(n) < REPLACED, rng.integers(len(adult), size=n), person)
            values = pa.array(adult[name].astype("int16") if name == "age" else adult[name], from_pandas=True)
            columns[name] = values.take(pa.array(other))
        columns["salary-class"] = pa.array(adult["salary-class"]).take(pa.array(person))
        columns["hours"] = pa.array(rng.integers(1, 99, size=n).astype(np.int16))
        columns["balance"] = pa.array(rng.normal(1000, 400, size=n).round(2))
        yield pa.record_batch(columns)


def write_config(folder: Path, data: Path, recoding: str, columns: int = 8, memory: float = 3) -> Path:
    """A configuration for the file: k = 5, at most 2 % suppressed, so many quasi-identifiers and GiB of memory."""
    roles: dict[str, dict[str, str]] = {
        name: {"role": "quasi_identifier", "hierarchy": str((folder / f"adult_hierarchy_{name}.csv").resolve())}
        for name in QUASI_IDENTIFIERS[:columns]
    }
    roles |= {"id": {"role": "identifier"}, "salary-class": {"role": "sensitive"}}
    config = {
        "name": "many",
        "seed": 1,
        "data": {"path": data.name, "columns": roles, "person": "none"},
        "split": {"control": 0},
        "protect": "off",
        "anonymize": {"k": 5, "suppression_limit": 0.02, "recoding": recoding, "memory_limit": memory},
    }
    path = data.with_suffix(".yaml")
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def measured(config: Path, out: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak resident gigabytes of one `hybrid anonymize` in a process of its own."""
    command = [sys.executable, "-m", "hybrid", "anonymize", str(config), "--out", str(out)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--recoding", choices=["global", "local"], default="global")
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--memory", type=float, default=3)
    arguments = parser.parse_args()
    work = arguments.work / "many_rows"
    print("| rows | MB | read | search | write | verify | all, CPU | wall | peak GB | loss |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for rows in arguments.rows:
        work.mkdir(parents=True)
        try:
            data = work / f"people{rows}.parquet"
            write_people(arguments.folder, data, rows)
            wall, cpu, peak = measured(
                write_config(arguments.folder, data, arguments.recoding, arguments.columns, arguments.memory),
                work / "out",
            )
            result = json.loads((work / "out" / "anonymization.json").read_text(encoding="utf-8"))
            stages = json.loads((work / "out" / "manifest.json").read_text(encoding="utf-8"))["stages"]
            seconds = {stage["name"]: f"{stage['seconds']:.1f} s" for stage in stages}
            told = " | ".join(seconds.get(name, "") for name in ("read", "search", "write", "verify"))
            print(
                f"| {rows:,} | {data.stat().st_size / 1e6:,.0f} | {told} "
                f"| {cpu:.1f} s | {wall:.1f} s | {peak:.2f} | {result['loss']['value']:.4f} |",
                flush=True,
            )
        finally:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
