"""Anytime search with 11 to 20 quasi-identifiers: processor seconds until the gap is small, and until the proof.

    python benchmarks/many_columns.py FOLDER [--cpu-limit 60] [--only adult] > many_columns.md

FOLDER holds ``adult.csv`` (UCI Adult with a header) and ``diabetes130.csv`` (UCI Diabetes 130-US hospitals, of which
each patient's first row is taken). Quasi-identifiers are the first columns of a list, with the hierarchies that
``hybrid init`` writes; "simulated" is the table of ``search_scaling.py``. k = 5, limit 0.02. Each search runs in a
process of its own and ends when it has used its processor seconds, of all threads together.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from search_scaling import simulate

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound
from hybrid.anonymize.search.problem import prepare
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.starter.columns import guess_hierarchy
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions

COLUMNS = {
    "adult": (
        *("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"),
        *("relationship", "hours-per-week", "income", "capital-gain", "capital-loss", "education-num"),
    ),
    "diabetes130": (
        *("race", "gender", "age", "admission_type_id", "discharge_disposition_id", "admission_source_id"),
        *("time_in_hospital", "medical_specialty", "num_procedures", "number_diagnoses", "num_lab_procedures"),
        *("num_medications", "insulin", "A1Cresult", "metformin", "readmitted", "change", "number_inpatient"),
        *("number_emergency", "diabetesMed"),
    ),
}
CASES = [
    *(("adult", n) for n in (11, 12, 13, 14)),
    *(("diabetes130", n) for n in (11, 14, 17, 20)),
    *(("simulated", n) for n in (11, 12, 13, 14, 15)),
]
SMALL = 0.05


def table_of(folder: Path, name: str, n_columns: int) -> tuple[Table, dict[str, Hierarchy]]:
    if name == "simulated":
        return simulate(n_columns, 30_000)
    columns = COLUMNS[name][:n_columns]
    frame = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False, skipinitialspace=True)
    if "patient_nbr" in frame:
        frame = frame.drop_duplicates("patient_nbr")
    roles = {column: ColumnOptions(role="quasi_identifier") for column in columns}
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "table.csv"
        frame.to_csv(path, index=False)
        table = read_table(path, DataOptions(path=path.name, columns=roles)).only(columns)
    guessed = {column.name: guess_hierarchy(column, table.frame[column.name]) for column in table.schema}
    return table, load_hierarchies(table, guessed)


class OutOfTime(Exception):
    """Signal that the processor seconds are used up."""


def search(folder: Path, name: str, n_columns: int, cpu_limit: float) -> dict[str, float]:
    """What is known at the end, and the processor seconds until the gap was small."""
    small = prepare(*simulate(4, 200), AnonymizeOptions(), None)  # compiles the loops
    branch_and_bound.search(small.checker(small.lattice), small.loss(small.lattice), small.allowed, 60.0)
    task = prepare(*table_of(folder, name, n_columns), AnonymizeOptions(k=5, suppression_limit=0.02), None)
    found = {"nodes": task.lattice.size, "distinct": task.records.n_distinct, "small": -1.0}
    started = time.process_time()

    def note(step: str, done: int, total: int | None = None, **values: float) -> None:
        del step, total
        found.update(values, grouped=done, seconds=time.process_time() - started)
        if values["gap"] <= SMALL and found["small"] < 0:
            found["small"] = found["seconds"]
        if found["seconds"] > cpu_limit:
            raise OutOfTime

    try:
        solution = branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, 1e9, note)
        note("search", solution.checked, None, loss=solution.score.value, gap=solution.gap)
    except OutOfTime:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cpu-limit", type=float, default=60.0)
    parser.add_argument("--only", help="such as adult, or adult:14")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, n_columns = json.loads(arguments.one)
        print(json.dumps(search(arguments.folder, name, n_columns, arguments.cpu_limit)))
        return
    print(f"| table, columns | nodes | distinct rows | grouped | CPU s to gap {SMALL:g} | CPU s | loss | gap |")
    print("|---|---|---|---|---|---|---|---|")
    for name, n_columns in CASES:
        if arguments.only and not f"{name}:{n_columns}".startswith(arguments.only):
            continue
        command = [sys.executable, __file__, str(arguments.folder), "--cpu-limit", str(arguments.cpu_limit)]
        command += ["--one", json.dumps([name, n_columns])]
        one = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        small = "-" if one["small"] < 0 else f"{one['small']:.1f}"
        print(
            f"| {name}, {n_columns} | {one['nodes']:,} | {one['distinct']:,} | {one['grouped']:,} | {small} | "
            f"{one['seconds']:.1f} | {one['loss']:.4f} | {one['gap']:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
