"""How the search grows with quasi-identifiers and with k, on simulated tables: CPU seconds, peak memory, loss, gap.

    python benchmarks/search_scaling.py [--rows 30000] [--time-limit 20] > search_scaling.md

Every column has 16 values with a hierarchy of 4 levels (1, 2, 4, 16 values per node) and depends on a hidden trait of
the person. Each search runs in a process of its own on one core; memory is the peak beyond the imports' own.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from anonymize import peak_mb

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.problem import prepare
from hybrid.base.progress import silent
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import Column, Kind, Role, Schema, Table

COLUMNS = range(4, 16)
KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


def simulate(n_columns: int, n_rows: int) -> tuple[Table, dict[str, Hierarchy]]:
    rng = np.random.default_rng(3)
    trait = rng.normal(size=n_rows)
    frame, hierarchies = {}, {}
    for at in range(n_columns):
        value = np.clip(np.round(trait * 1.5 + rng.normal(size=n_rows) * 1.5 + 8), 0, 15).astype(int)
        frame[f"q{at}"] = pd.Series(value, dtype="Int64")
        levels = [[f"{leaf // width}/{width}" for leaf in range(16)] for width in (2, 4, 16)]
        hierarchies[f"q{at}"] = from_levels(f"q{at}", Kind.INTEGER, np.arange(16), levels)
    columns = tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.INTEGER) for name in frame)
    return Table(pd.DataFrame(frame), Schema(columns)), hierarchies


def search(n_columns: int, n_rows: int, k: int, time_limit: float) -> dict[str, float]:
    """CPU seconds of distinct rows and search, peak megabytes, loss, gap."""
    before = peak_mb()
    table, hierarchies = simulate(n_columns, n_rows)
    started = time.process_time()
    task = prepare(table, hierarchies, AnonymizeOptions(k=k, time_limit=time_limit), None)
    checker, loss = task.checker(task.lattice), task.loss(task.lattice)
    if task.lattice.size <= exhaustive.LARGEST:
        solution = exhaustive.search(checker, loss, task.allowed)
    else:
        solution = branch_and_bound.search(checker, loss, task.allowed, time_limit, silent)
    return {
        "nodes": task.lattice.size,
        "distinct": task.records.n_distinct,
        "checked": solution.checked,
        "seconds": time.process_time() - started,
        "mb": peak_mb() - before,
        "loss": solution.score.value,
        "gap": solution.gap,
    }


def in_a_process(*arguments: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", json.dumps(arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def row(first: int, found: dict[str, float]) -> str:
    return (
        f"| {first} | {found['nodes']:,} | {found['distinct']:,} | {found['checked']:,} | {found['seconds']:.2f} | "
        f"{found['mb']:.0f} | {found['loss']:.4f} | {found['gap']:.4f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--time-limit", type=float, default=20.0)
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(search(*arguments.one)))
        return
    heading = " | nodes | distinct rows | grouped | CPU s | MB | loss | gap |\n|---|---|---|---|---|---|---|---|"
    print(f"{arguments.rows:,} rows, limit 0.02, time limit {arguments.time_limit:g} s.\n\n| columns (k = 5){heading}")
    for n_columns in COLUMNS:
        print(row(n_columns, in_a_process(n_columns, arguments.rows, 5, arguments.time_limit)), flush=True)
    print(f"\n| k (8 columns){heading}")
    for k in KS:
        print(row(k, in_a_process(8, arguments.rows, k, arguments.time_limit)), flush=True)


if __name__ == "__main__":
    main()
