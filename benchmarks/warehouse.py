"""Anonymizing rows that stay in DuckDB: processor seconds, peak memory and bytes fetched.

    python benchmarks/warehouse.py FOLDER WORK [--rows 10000 ... 100000000] > warehouse.md

FOLDER and the rows are those of `many_rows.py`. WORK gets one Parquet file per size and a DuckDB file with a view of it
and the table of labels; all of it is removed again. Each size runs in a fresh process, through the real command line,
with 3 GiB for combinations and engine together.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import yaml
from many_rows import QUASI_IDENTIFIERS, measured, write_config, write_people

GROUPS = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1], config={"memory_limit": "1536MiB"})
connection.execute("set enable_progress_bar = false")
before = time.process_time()
connection.execute(f"select count(*) from (select {sys.argv[2]}, count(*) from people group by all)").fetchall()
print(time.process_time() - before)
"""
"""The engine's own group-by, in a process of its own."""


def write_job(folder: Path, work: Path, rows: int) -> Path:
    """A DuckDB file with a view of a Parquet file, and the configuration of many_rows for it."""
    data = work / "people.parquet"
    write_people(folder, data, rows)
    with duckdb.connect(str(work / "people.duckdb")) as connection:
        connection.execute(f"create view people as select * from read_parquet('{data.resolve()}')")
    path = write_config(folder, data, "global")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    del config["data"]["path"]
    config["data"]["sql"] = {"url_env": "PEOPLE_URL", "table": "people", "push_down": True, "labels": "labels"}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def group_by(file: Path) -> float:
    """Processor seconds of the engine's group-by of the quasi-identifiers."""
    names = ", ".join(f'"{name}"' for name in QUASI_IDENTIFIERS)
    command = [sys.executable, "-c", GROUPS, str(file), names]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def moved(result: dict[str, Any], direction: str) -> float:
    """Bytes sent or fetched per combination."""
    kept = result["warehouse"]
    return float(sum(one["bytes"] for one in kept["transfers"] if one["direction"] == direction) / kept["combinations"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    arguments = parser.parse_args()
    work = arguments.work / "warehouse"
    print("| rows | combinations | fetched | sent | group-by of the engine | all, CPU | wall | peak GB | loss |")
    print("|---|---|---|---|---|---|---|---|---|")
    for rows in arguments.rows:
        work.mkdir(parents=True)
        try:
            config = write_job(arguments.folder, work, rows)
            file = work / "people.duckdb"
            groups = group_by(file)
            os.environ["PEOPLE_URL"] = f"duckdb:///{file.resolve()}"
            wall, cpu, peak = measured(config, work / "out")
            result = json.loads((work / "out" / "anonymization.json").read_text(encoding="utf-8"))
            print(
                f"| {rows:,} | {result['warehouse']['combinations']:,} | {moved(result, 'fetched'):.0f} B "
                f"| {moved(result, 'sent'):.0f} B | {groups:.1f} s | {cpu:.1f} s | {wall:.0f} s | {peak:.2f} "
                f"| {result['loss']['value']:.4f} |",
                flush=True,
            )
        finally:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
