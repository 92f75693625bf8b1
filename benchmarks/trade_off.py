"""Trade-off curve of 25 optima beside single searches: CPU and wall seconds, nodes grouped, and whether they agree.

    python benchmarks/trade_off.py FOLDER [--arx FOLDER] [--only adult] [--repeat 3] > trade_off.md

FOLDER holds ``adult.csv`` (UCI Adult with a header), ``diabetes130.csv`` (UCI Diabetes 130-US hospitals) and
``bank.csv`` (UCI Bank Marketing, comma-separated). Quasi-identifiers are the first columns of a list, with the
hierarchies that ``hybrid init`` writes. *One search* is that of k = 5 and limit 2 %; curve and search take turns, and
the median is taken of each and of their ratios. Preparation of the table is in both. Every optimum of the curve is
compared with a search of its own. With ``--arx`` there are rows drawn as in ``many_rows.py``, with 8 quasi-identifiers.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import many_columns
import pandas as pd
import pyarrow as pa
from many_rows import QUASI_IDENTIFIERS, _batches

from hybrid.anonymize import AnonymizeOptions, TradeoffPoint, tradeoff
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.node_check import Checker
from hybrid.anonymize.search.problem import Infeasible, Solution, prepare
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.table import Table
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.typed_table import typed_table

KS, LIMITS = (2, 3, 5, 10, 20), (0.0, 0.01, 0.02, 0.05, 0.1)
ONE = 5, 0.02
CASES = [("adult", 8), ("adult", 9), ("diabetes130", 8), ("diabetes130", 9), ("bank", 8)]
DRAWN = (300_000, 1_000_000)
many_columns.COLUMNS["bank"] = ("age", "job", "marital", "education", "default", "housing", "loan", "contact")


def drawn(folder: Path, n_rows: int) -> tuple[Table, dict[str, Hierarchy]]:
    """Rows of ``many_rows.py``."""
    adult = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    rows = pa.Table.from_batches(list(_batches(adult, n_rows, 1))).select(QUASI_IDENTIFIERS)
    columns = {name: ColumnOptions(role="quasi_identifier") for name in QUASI_IDENTIFIERS}
    table = typed_table("people", rows, ReadOptions(columns=columns), keep_types=True)
    return table, load_hierarchies(table, {name: folder / f"adult_hierarchy_{name}.csv" for name in columns})


def search(table: Table, hierarchies: dict[str, Hierarchy], k: int, limit: float) -> Solution | Infeasible:
    task = prepare(table, hierarchies, AnonymizeOptions(k=k, suppression_limit=limit), None)
    checker, loss = task.checker(task.lattice), task.loss(task.lattice)
    if task.lattice.size <= exhaustive.LARGEST:
        return exhaustive.search(checker, loss, task.allowed)
    return branch_and_bound.search(checker, loss, task.allowed, 1e9)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of all threads, and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def grouped(run: Callable[[], object]) -> int:
    """How many nodes are grouped."""
    plain, n = Checker.group, itertools.count()

    def counted(self: Checker, *arguments: object) -> object:
        next(n)
        return plain(self, *arguments)  # type: ignore[arg-type]

    Checker.group = counted  # type: ignore[method-assign, assignment]
    try:
        run()
    finally:
        Checker.group = plain  # type: ignore[method-assign]
    return next(n)


def differ(points: list[TradeoffPoint], table: Table, hierarchies: dict[str, Hierarchy]) -> int:
    """Points of the curve that are not the optimum of a search of their own."""
    n = 0
    for point in points:
        alone = search(table, hierarchies, point.k, point.suppression_limit)
        loss = alone.score.value if isinstance(alone, Solution) else None
        suppressed = alone.found.n_suppressed if isinstance(alone, Solution) else None
        n += point.gap != 0 or (point.loss, point.suppressed) != (loss, suppressed)
    return n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="such as adult, or 'adult, 9'")
    parser.add_argument("--arx", type=Path, help="the extract of Adult and its hierarchies that come with ARX")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(
        "| table, columns | nodes | search: grouped, CPU s, wall s | curve: grouped, CPU s, wall s | ratio | differ |"
    )
    print("|---|---|---|---|---|---|")
    cases = [(f"{name}, {n}", partial(many_columns.table_of, arguments.folder, name, n)) for name, n in CASES]
    if arguments.arx is not None:
        cases += [(f"drawn, {n:,} rows", partial(drawn, arguments.arx, n)) for n in DRAWN]
    for name, read in cases:
        if not name.startswith(arguments.only):
            continue
        table, hierarchies = read()

        def one(known: tuple[Table, dict[str, Hierarchy]] = (table, hierarchies)) -> object:
            return search(*known, *ONE)

        def curve(known: tuple[Table, dict[str, Hierarchy]] = (table, hierarchies)) -> list[TradeoffPoint]:
            return tradeoff(*known, AnonymizeOptions(), KS, LIMITS)

        n_one, n_curve, wrong = grouped(one), grouped(curve), differ(curve(), table, hierarchies)
        turns = [(timed(one), timed(curve)) for _ in range(arguments.repeat)]
        ones, curves = (
            [statistics.median(times) for times in zip(*each, strict=True)] for each in zip(*turns, strict=True)
        )
        ratio = statistics.median(of_curve[0] / of_one[0] for of_one, of_curve in turns)
        size = prepare(table, hierarchies, AnonymizeOptions(), None).lattice.size
        print(
            f"| {name} | {size:,} | {n_one:,}, {ones[0]:.2f}, {ones[1]:.2f} "
            f"| {n_curve:,}, {curves[0]:.2f}, {curves[1]:.2f} | {ratio:.1f} | {wrong} of {len(KS) * len(LIMITS)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
