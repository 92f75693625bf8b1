"""Search time and loss of the exact engine, local recoding and anjana, side by side, and ARX's figures.

    python benchmarks/anonymize.py FOLDER [--repeat 5] [--without-anjana] > anonymize.md

FOLDER holds the Adult extract and hierarchies that come with ARX (github.com/arx-deidentifier/arx, folder data:
adult.csv and adult_hierarchy_COLUMN.csv). One core, CPU time, median of the repetitions.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hybrid.anonymize import AnonymizeOptions, tradeoff
from hybrid.anonymize.search import anjana, exhaustive, local_recoding
from hybrid.anonymize.search.problem import SearchProblem, prepare
from hybrid.base.errors import InfeasibleError
from hybrid.base.progress import silent
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions

Q8 = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SETS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "Q8": (Q8, None),
    "Q7, distinct l = 2": (Q8[:7], "occupation"),
    "Q9": ((*Q8, "salary-class"), None),
}
LIMITS = (0.0, 0.02, 0.1, 1.0)
ARX_MS = {
    "Q8": ((20, 317, 458, 1141), (17, 172, 175, 565)),
    "Q7, distinct l = 2": ((16, 152, 185, 280), (14, 64, 78, 122)),
    "Q9": ((20, 591, 881, 2501), (20, 356, 307, 1228)),
}
"""CPU ms of the search of ARX 3.9.2, k = 5, default and precomputed, one core of a machine of this class, by limit."""


def read(folder: Path, name: str) -> tuple[Table, dict[str, Hierarchy]]:
    quasi_identifiers, sensitive = SETS[name]
    columns = {column: ColumnOptions(role="quasi_identifier") for column in quasi_identifiers}
    if sensitive:
        columns[sensitive] = ColumnOptions(role="sensitive")
    table = read_table(folder / "adult.csv", DataOptions(path="adult.csv", separator=";", columns=columns))
    table = table.only(columns)
    return table, load_hierarchies(table, {c: folder / f"adult_hierarchy_{c}.csv" for c in quasi_identifiers})


def options_of(name: str, k: int, limit: float, **fields: object) -> AnonymizeOptions:
    sensitive = SETS[name][1]
    models = [{"model": "l_diversity", "l": 2, "attribute": sensitive}] if sensitive else []
    return AnonymizeOptions.model_validate({"k": k, "suppression_limit": limit, "models": models, **fields})


def measured(run: Callable[[], object], repeat: int) -> tuple[float, object]:
    """Median CPU milliseconds, and the last result (None if there is none)."""
    times, result = [], None
    for _ in range(repeat):
        started = time.process_time()
        try:
            result = run()
        except InfeasibleError:
            result = None
        times.append(1000 * (time.process_time() - started))
    return statistics.median(times), result


def exact(
    table: Table, hierarchies: dict[str, Hierarchy], options: AnonymizeOptions, repeat: int
) -> tuple[float, float]:
    """CPU ms of collecting the distinct rows and searching them, encoding excluded as in ARX's figures; loss."""
    task = prepare(table, hierarchies, options, None)
    collecting, _ = measured(lambda: prepare(table, hierarchies, options, None), repeat)
    encoding, _ = measured(lambda: [h.encode(table.frame[h.column]) for h in task.records.hierarchies], repeat)

    def search() -> object:
        lattice = task.lattice
        return exhaustive.search(task.checker(lattice), task.loss(lattice), task.allowed)

    searching, solution = measured(search, repeat)
    return searching + max(0.0, collecting - encoding), solution.score.value  # type: ignore[attr-defined]


def engines(folder: Path, repeat: int, with_anjana: bool) -> None:
    """Every setting in numpy, then with the compiled loops that a process loads once a search is long."""
    settings = [(name, k, at) for name in SETS for k in (5, 20) for at in range(len(LIMITS))]
    tables = {name: read(folder, name) for name in SETS}

    def search_all() -> list[tuple[float, float]]:
        return [exact(*tables[name], options_of(name, k, LIMITS[at]), repeat) for name, k, at in settings]

    plain = search_all()
    assert "hybrid.anonymize.search.kernels" not in sys.modules
    importlib.import_module("hybrid.anonymize.search.kernels")
    compiled = search_all()
    print(
        "| set | k | limit | ms numpy | ms compiled | loss | anjana ms | loss | ARX ms default / precomputed | faster |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for (name, k, at), (slow, loss), (fast, _) in zip(settings, plain, compiled, strict=True):
        theirs, arx, ratio = "- | -", "", ""
        if with_anjana:
            task = prepare(*tables[name], options_of(name, k, LIMITS[at], engine="anjana"), None)
            theirs = _anjana(task, repeat)
        if k == 5:
            default, precomputed = ARX_MS[name][0][at], ARX_MS[name][1][at]
            ratios.append((precomputed / slow, precomputed / fast))
            arx, ratio = f"{default} / {precomputed}", "{:.1f} / {:.1f}".format(*ratios[-1])
        print(f"| {name} | {k} | {LIMITS[at]:g} | {slow:.1f} | {fast:.1f} | {loss:.4f} | {theirs} | {arx} | {ratio} |")
    for loops, column in zip(("numpy", "compiled"), zip(*ratios, strict=True), strict=True):
        print(
            f"\n{loops}: faster than ARX precomputed, median {statistics.median(column):.1f}, least {min(column):.1f}."
        )
    print()


def _anjana(task: SearchProblem, repeat: int) -> str:
    milliseconds, recoding = measured(lambda: anjana.recode(task), min(repeat, 5))
    return f"{milliseconds:.0f} | {'none' if recoding is None else f'{recoding.score.value:.4f}'}"  # type: ignore[attr-defined]


def time_local_recoding(folder: Path, repeat: int) -> None:
    print("| local recoding | k | ms | loss |\n|---|---|---|---|")
    for name, ks in (("Q8", (5, 10, 20, 50)), ("Q7, distinct l = 2", (5, 20))):
        table, hierarchies = read(folder, name)
        for k in ks:
            task = prepare(table, hierarchies, options_of(name, k, 0, recoding="local"), None)
            milliseconds, recoding = measured(lambda task=task: local_recoding.recode(task, silent), repeat)
            print(f"| {name} | {k} | {milliseconds:.0f} | {recoding.score.value:.4f} |", flush=True)  # type: ignore[attr-defined]


def curve(folder: Path, repeat: int) -> None:
    table, hierarchies = read(folder, "Q8")
    ks, limits = (2, 3, 5, 10, 20), (0.0, 0.01, 0.02, 0.05, 0.1)
    together, _ = measured(lambda: tradeoff(table, hierarchies, AnonymizeOptions(), ks, limits), repeat)
    alone = sum(exact(table, hierarchies, options_of("Q8", k, limit), 1)[0] for k in ks for limit in limits)
    print(f"\nTrade-off curve of Q8, {len(ks) * len(limits)} optima: {together:.0f} ms; one by one {alone:.0f} ms.")


def cold(folder: Path, repeat: int) -> None:
    """Fresh processes: imports alone; imports, CSV and hierarchies, search. Medians."""
    cpu, memory = (statistics.median(column) for column in zip(*_fresh(folder, "imports", repeat), strict=True))
    cpu_all, memory_all = (statistics.median(column) for column in zip(*_fresh(folder, "all", repeat), strict=True))
    print(f"\nCold process, Q8, k = 5, limit 0.02: {cpu_all - cpu:.2f} s CPU and {memory_all - memory:.0f} MB")
    print(f"beyond the imports' own {cpu:.2f} s and {memory:.0f} MB.")


def _fresh(folder: Path, mode: str, repeat: int) -> list[list[float]]:
    """CPU seconds and peak megabytes of each process."""
    command = [sys.executable, __file__, str(folder), "--cold", mode]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(repeat)]
    return [[float(value) for value in output.split()] for output in runs]


def cold_child(folder: Path, mode: str) -> None:
    if mode == "all":
        table, hierarchies = read(folder, "Q8")
        task = prepare(table, hierarchies, options_of("Q8", 5, 0.02), None)
        exhaustive.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed)
    print(time.process_time(), peak_mb())


def peak_mb() -> float:
    """Peak resident memory of this process (Linux). ru_maxrss would count the parent's, inherited over exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--without-anjana", action="store_true")
    parser.add_argument("--cold", choices=["imports", "all"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cold:
        cold_child(arguments.folder, arguments.cold)
        return
    engines(arguments.folder, arguments.repeat, not arguments.without_anjana)
    time_local_recoding(arguments.folder, arguments.repeat)
    curve(arguments.folder, arguments.repeat)
    cold(arguments.folder, arguments.repeat)


if __name__ == "__main__":
    main()
