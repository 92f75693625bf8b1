"""Anonymizing rows that stay in a warehouse: growth with rows, quasi-identifiers, cores and engines.

    python benchmarks/warehouse.py run FOLDER WORK --engines duckdb files --rows 1000000 10000000 --columns 8 --cores 2
    python benchmarks/warehouse.py table

FOLDER and the rows are those of `many_rows.py`, in parts of at most 10^8 rows. WORK gets a folder ``people`` of Parquet
files (kept from one run to the next, since 10^9 rows take minutes to make) and a folder ``job`` that is removed. Each
row of the table is one `hybrid anonymize` in a process of its own, on as many cores, with `--memory` GiB for
combinations and engine together. ``files`` has the memory limit decide on the
same files; ``postgres`` is the empty database of POSTGRES_URL.

``run`` appends to ``benchmarks/results/warehouse.csv``: seconds of the clock and of the processor (with those of
engines in processes of their own), peak memory of program and engine together, peak of the disk beside the rows, and
the engine's own group-by of the same columns (with the start of its process), which is the limit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds
import yaml
from many_rows import QUASI_IDENTIFIERS, write_config, write_people

from hybrid.anonymize.warehouse import expressions
from hybrid.table.warehouse import open_warehouse

RESULTS = Path(__file__).parent / "results" / "warehouse.csv"
URL = "PEOPLE_URL"
ENGINES = ("duckdb", "postgres", "spark", "files")
PART = 10**8
FIELDS = (
    *("engine", "rows", "columns", "cores", "memory", "load", "combinations", "bytes_per_combination", "loss"),
    *("suppressed", "group_wall", "group_cpu", "wall", "cpu", "read", "search", "write", "verify"),
    *("peak_gb", "disk_gb", "table_gb"),
)


@dataclass
class Watched:
    """What processes took, measured four times a second."""

    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    disk: float = 0.0


@contextmanager
def watched(pid: int, server: int | None, folder: Path) -> Iterator[Watched]:
    """Watch a process with its children, a server and the bytes in a folder."""
    found, done, seconds = Watched(), threading.Event(), {}
    before = {process.pid: _cpu(process) for process in _family(server)}

    def look() -> None:
        while True:
            alive = [*_family(pid), *_family(server)]
            seconds.update({process.pid: max(_cpu(process), seconds.get(process.pid, 0.0)) for process in alive})
            found.peak = max(found.peak, sum(_resident(process) for process in alive))
            found.disk = max(found.disk, _size(folder))
            if done.wait(0.25):
                return

    started, watcher = time.perf_counter(), threading.Thread(target=look)
    watcher.start()
    try:
        yield found
    finally:
        found.wall = time.perf_counter() - started
        done.set()
        watcher.join()
        found.cpu = sum(used - before.get(number, 0.0) for number, used in seconds.items())


def _family(pid: int | None) -> list[psutil.Process]:
    with suppress(psutil.Error):
        if pid is not None:
            process = psutil.Process(pid)
            return [process, *process.children(recursive=True)]
    return []


def _cpu(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _resident(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return float(process.memory_info().rss - process.memory_info().shared / 2)
    return 0.0


def _size(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
    return float(total)


@dataclass(frozen=True)
class Case:
    """One table on one engine, and how it is anonymized."""

    engine: str
    rows: int
    columns: int
    cores: int
    memory: float

    @property
    def names(self) -> tuple[str, ...]:
        return QUASI_IDENTIFIERS[: self.columns]

    def place(self, parts: list[Path], job: Path) -> dict[str, Any]:
        """Put the rows where the engine finds them: the section ``data`` without columns."""
        lake = job / "people"
        lake.mkdir(parents=True)
        for part in parts:
            (lake / part.name).symlink_to(part)
        if self.engine == "files":
            return {"path": "people"}
        if self.engine == "duckdb":
            import duckdb

            with duckdb.connect(str(job / "people.duckdb")) as connection:
                connection.execute(f"create view people as select * from read_parquet('{lake.resolve()}/*.parquet')")
            os.environ[URL] = f"duckdb:///{(job / 'people.duckdb').resolve()}"
        elif self.engine == "spark":
            os.environ[URL] = f"spark:///{job.resolve()}"
        else:
            os.environ[URL] = os.environ["POSTGRES_URL"]
            with open_warehouse(URL) as warehouse:
                rows = ds.dataset(parts).scanner(batch_size=1 << 16)
                warehouse.load("people", rows.to_reader())
        return {"sql": {"url_env": URL, "table": "people", "push_down": True, "labels": "labels"}}

    def config(self, folder: Path, job: Path, place: dict[str, Any]) -> Path:
        """The configuration of many_rows for the first columns."""
        path = write_config(folder, job / "people.parquet", "global")
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        columns = config["data"]["columns"]
        kept = {name: about for name, about in columns.items() if name in (*self.names, "id", "salary-class")}
        config["data"] = {**place, "columns": kept, "person": "none"}
        config["anonymize"]["memory_limit"] = self.memory
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path

    def server(self) -> int | None:
        """Process of the PostgreSQL server."""
        if self.engine != "postgres":
            return None
        with open_warehouse(URL) as warehouse:
            folder = warehouse.execute("show data_directory")[0][0]
        return int((Path(folder) / "postmaster.pid").read_text().split()[0])

    def run(self, *command: str, server: int | None, job: Path) -> Watched:
        """Run a command on as many cores."""
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, range(self.cores))
        )
        with watched(process.pid, server, job) as found:
            code = process.wait()
        if code:
            raise SystemExit(f"{' '.join(command)} ended with {code}")
        return found


def group_by(names: list[str]) -> None:
    """The engine's own group-by, counted and not fetched."""
    with open_warehouse(URL, 1.5 * 2**30) as warehouse:
        warehouse.fetch("combinations", expressions.combinations(warehouse.table("people"), names).count().as_table())


def result_of(out: Path) -> dict[str, Any]:
    """Counts of a finished `hybrid anonymize`."""
    told = json.loads((out / "anonymization.json").read_text(encoding="utf-8"))
    moved = told["warehouse"]
    fetched = sum(one["bytes"] for one in moved.get("transfers", []) if one["direction"] == "fetched")
    stages = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["stages"]
    return {
        "combinations": moved["combinations"],
        "bytes_per_combination": fetched / moved["combinations"],
        "loss": told["loss"]["value"],
        "suppressed": told["suppressed"],
        **{{"label": "search"}.get(stage["name"], stage["name"]): stage["seconds"] for stage in stages},
    }


def measure(case: Case, folder: Path, parts: list[Path], work: Path) -> dict[str, Any]:
    """One row of the table."""
    job = work / "job"
    job.mkdir(parents=True)
    try:
        config = case.config(folder, job, case.place(parts, job))
        server, load = case.server(), os.getloadavg()[0]
        groups = Watched()
        if case.engine != "files":
            groups = case.run(sys.executable, __file__, "group", *case.names, server=server, job=job)
        command = (sys.executable, "-m", "hybrid", "anonymize", str(config), "--out", str(job / "out"))
        found = case.run(*command, server=server, job=job)
        row = vars(case) | result_of(job / "out") | {"load": load}
        row |= {"wall": found.wall, "cpu": found.cpu, "peak_gb": found.peak / 1e9, "disk_gb": found.disk / 1e9}
        row |= {"group_wall": groups.wall, "group_cpu": groups.cpu, "table_gb": sum(map(_bytes, parts)) / 1e9}
        return {name: row.get(name) for name in FIELDS}
    finally:
        if case.engine == "postgres":
            with open_warehouse(URL) as warehouse:
                for table in ("people", "labels"):
                    if warehouse.exists(table):
                        warehouse.drop(table)
        shutil.rmtree(job)


def _bytes(path: Path) -> int:
    return path.stat().st_size


def parts_of(folder: Path, work: Path, rows: int) -> list[Path]:
    """Parquet files of ``rows`` rows together, made where they are missing."""
    place = work / "people"
    place.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, first in enumerate(range(0, rows, PART)):
        parts.append(place / f"{min(PART, rows - first)}-{number + 1:02d}.parquet")
        if not parts[-1].exists():
            write_people(folder, parts[-1], min(PART, rows - first), seed=number + 1)
    return [part.resolve() for part in parts]


def table() -> None:
    """The stored results as Markdown."""
    with RESULTS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    print("| engine | rows | columns | cores | combinations | fetched | group-by, CPU | all, CPU | clock ", end="")
    print("| peak GB | disk GB | load |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: (int(row["rows"]), row["engine"], int(row["columns"]), int(row["cores"]))):
        fetched = "" if row["engine"] in ("arrow", "files") else f"{float(row['bytes_per_combination']):.0f} B"
        groups = "" if row["engine"] in ("arrow", "files") else f"{float(row['group_cpu']):.0f} s"
        print(
            f"| {row['engine']} | {int(row['rows']):,} | {row['columns']} | {row['cores']} "
            f"| {int(row['combinations']):,} | {fetched} | {groups} | {float(row['cpu']):.0f} s "
            f"| {float(row['wall']):.0f} s | {float(row['peak_gb']):.2f} | {float(row['disk_gb']):.1f} "
            f"| {float(row['load']):.0f} |"
        )


def append(row: dict[str, Any]) -> None:
    """Add a row to the stored results."""
    fresh = not RESULTS.exists()
    with RESULTS.open("a", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow({name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table")
    commands.add_parser("group").add_argument("names", nargs="+")
    run = commands.add_parser("run")
    run.add_argument("folder", type=Path)
    run.add_argument("work", type=Path)
    run.add_argument("--engines", nargs="+", choices=ENGINES, default=["duckdb"])
    run.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    run.add_argument("--columns", type=int, nargs="+", default=[4, 6, 8])
    run.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    run.add_argument("--memory", type=float, default=3.0)
    arguments = parser.parse_args()
    if arguments.command == "table":
        table()
    elif arguments.command == "group":
        group_by(arguments.names)
    else:
        for rows in arguments.rows:
            parts = parts_of(arguments.folder, arguments.work, rows)
            for engine in arguments.engines:
                for columns in arguments.columns:
                    for cores in arguments.cores:
                        case = Case(engine, rows, columns, cores, arguments.memory)
                        append(measure(case, arguments.folder, parts, arguments.work))


if __name__ == "__main__":
    main()
