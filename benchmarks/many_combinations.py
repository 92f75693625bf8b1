"""Search of ten million rows with millions of distinct combinations: loss and gap by processor seconds, peak memory.

    python benchmarks/many_combinations.py [--rows 10000000] [--noise 18.5] [--seconds 600] > many_combinations.md

Eight quasi-identifiers of 122 to 8 values with levels of 2, 4, 8 ... values each. A row is one of six groups: a value
is its group's, with noise of two geometric draws (p = noise / values: more of it gives fewer combinations).
k = 5, limit 0.02. Processor seconds are those of all threads, after the distinct rows are found; the compiled loops are
loaded from disk if they were used before. One row is printed whenever a further box was searched on each core.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import time
from dataclasses import replace

import numpy as np
from anonymize import peak_mb

from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search import branch_and_bound
from hybrid.anonymize.search.distinct_rows import DistinctRows, collect_distinct_rows
from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.lattice import Lattice
from hybrid.anonymize.search.losses import build_loss
from hybrid.anonymize.search.node_check import Checker
from hybrid.hierarchy import from_levels
from hybrid.table import Kind

SIZES = (122, 96, 64, 48, 32, 24, 16, 8)
SHARES = (0.4, 0.25, 0.15, 0.1, 0.06, 0.04)
K, LIMIT = 5, 0.02


def simulate(n_rows: int, noise: float) -> DistinctRows:
    rng = np.random.default_rng(5)
    group = rng.choice(len(SHARES), size=n_rows, p=SHARES).astype(np.int8)
    leaves, hierarchies = np.empty((n_rows, len(SIZES)), np.int32), []
    for at, size in enumerate(SIZES):
        centers = rng.integers(0, size, len(SHARES))
        p = min(0.9, noise / size)
        leaves[:, at] = np.clip(centers[group] + rng.geometric(p, n_rows) - rng.geometric(p, n_rows), 0, size - 1)
        widths = [width for width in (2, 4, 8, 16, 32, 64) if width < size]
        levels = [[f"{value // width}/{width}" for value in range(size)] for width in widths]
        hierarchies.append(from_levels(f"q{at}", Kind.INTEGER, np.arange(size), [*levels, ["*"] * size]))
    records = collect_distinct_rows(leaves, hierarchies, {})
    return replace(records, row_of=records.row_of[:0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--noise", type=float, default=18.5)
    parser.add_argument("--seconds", type=float, default=600.0, help="of wall clock")
    arguments = parser.parse_args()
    records = simulate(arguments.rows, arguments.noise)
    lattice = Lattice.of(records, {})
    checker = Checker(K, 0, (), GroupCache(records, lattice))
    loss = build_loss(LossOptions(), records, lattice, K)
    print(f"{arguments.rows:,} rows, {records.n_distinct:,} combinations, {lattice.size:,} nodes; ", end="")
    print(f"{peak_mb() / 1024:.2f} GB before the search.\n")
    print("| grouped | CPU s | wall s | loss | gap | peak GB |\n|---|---|---|---|---|---|", flush=True)
    cpu, wall = time.process_time(), time.perf_counter()

    def note(step: str, done: int, total: int | None = None, **values: float) -> None:
        del step, total
        print(
            f"| {done:,} | {time.process_time() - cpu:.0f} | {time.perf_counter() - wall:.0f} | {values['loss']:.4f} | "
            f"{values['gap']:.4f} | {peak_mb() / 1024:.2f} |",
            flush=True,
        )

    branch_and_bound._ROUNDS = 1
    found = branch_and_bound.search(checker, loss, int(LIMIT * arguments.rows), arguments.seconds, note)
    note("search", found.checked, loss=found.score.value, gap=found.gap)


if __name__ == "__main__":
    main()
