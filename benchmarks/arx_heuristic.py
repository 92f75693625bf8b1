"""ARX's heuristic searches beside the anytime search on 11 to 15 quasi-identifiers, with the same processor seconds.

    python benchmarks/arx_heuristic.py FOLDER --arx 'arx.jar:lib/*' > benchmarks/results/arx_heuristic.csv

FOLDER is that of `many_columns.py`, and so are tables, columns and hierarchies. The class path holds ARX 3.9.2 and its
libraries; Java 17 or newer runs `ArxHeuristic.java` beside this file. k = 5, limit 0.02, ARX's loss with the geometric
mean, which is that of this program. Both may use the same seconds of the clock. The losses in a row are all computed by
this program, from the levels that were found; `arx_says` is ARX's own figure.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from many_columns import table_of
from search_scaling import simulate

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound
from hybrid.anonymize.search.problem import SearchProblem, prepare
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table

CASES = [*(("adult", n) for n in (11, 12, 13, 14)), *(("diabetes130", n) for n in (12, 13, 14, 15)), ("simulated", 15)]
ALGORITHMS = ("BEST_EFFORT_BOTTOM_UP", "BEST_EFFORT_TOP_DOWN", "BEST_EFFORT_GENETIC")
K, LIMIT = 5, 0.02


def write_for_arx(folder: Path, table: Table, hierarchies: dict[str, Hierarchy]) -> None:
    """Records and hierarchies as codes, since ARX reads texts and compares texts."""
    leaves = {name: tree.encode(table.frame[name]) for name, tree in hierarchies.items()}
    pd.DataFrame(leaves).to_csv(folder / "data.csv", sep=";", index=False)
    for name, tree in hierarchies.items():
        levels = [tree.node_of[:, level] for level in range(1, tree.n_levels)]
        content = pd.DataFrame([np.arange(len(tree.node_of)), *levels]).T
        content.to_csv(folder / f"{name}.csv", sep=";", index=False, header=False)


def of_arx(folder: Path, class_path: str, algorithm: str, seconds: float) -> dict[str, Any]:
    """What one search of ARX found."""
    program = str(Path(__file__).with_name("ArxHeuristic.java"))
    command = ["java", "-Xmx3g", "-cp", class_path, program, str(folder), str(K), str(LIMIT), algorithm]
    done = subprocess.run([*command, str(int(seconds * 1000))], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def compile_loops() -> None:
    """Search a small table, so that no search that counts waits for the compiler."""
    small = prepare(*simulate(4, 200), AnonymizeOptions(), None)
    branch_and_bound.search(small.checker(small.lattice), small.loss(small.lattice), small.allowed, 60.0)


def loss_of(task: SearchProblem, levels: list[int]) -> float:
    """Loss of a node by this program's definition."""
    outcome = task.checker(task.lattice).check(tuple(levels))
    return float(task.loss(task.lattice).score(tuple(levels), outcome).value)


def rows(folder: Path, class_path: str, name: str, n_columns: int, seconds: float) -> Any:
    """One dict per search."""
    table, hierarchies = table_of(folder, name, n_columns)
    task = prepare(table, hierarchies, AnonymizeOptions(k=K, suppression_limit=LIMIT, time_limit=seconds), None)
    case = {"table": name, "columns": n_columns, "nodes": task.lattice.size, "seconds": seconds}
    cpu, wall = time.process_time(), time.perf_counter()
    found = branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, seconds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    own = {"loss": found.score.value, "gap": found.gap, "cpu": cpu, "wall": wall}
    yield case | {"search": "anytime"} | own
    with tempfile.TemporaryDirectory() as work:
        write_for_arx(Path(work), table, hierarchies)
        for algorithm in ALGORITHMS:
            one = of_arx(Path(work), class_path, algorithm, seconds)
            loss = None if one["loss"] is None else loss_of(task, one.pop("levels"))
            yield (
                case
                | {"search": f"ARX {algorithm}", "loss": loss, "arx_says": one["loss"]}
                | {key: one[key] for key in ("cpu", "wall")}
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arx", required=True, help="class path")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="such as adult, or adult:14")
    arguments = parser.parse_args()
    names = ["table", "columns", "nodes", "seconds", "search", "loss", "gap", "arx_says", "cpu", "wall"]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    compile_loops()
    for name, n_columns in CASES:
        if f"{name}:{n_columns}".startswith(arguments.only):
            for row in rows(arguments.folder, arguments.arx, name, n_columns, arguments.seconds):
                writer.writerow(
                    {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()}
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
