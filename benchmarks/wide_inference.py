"""Inference of every column of a wide table: CPU seconds of a search for each secret, and of all pairs at once.

    python benchmarks/wide_inference.py [--columns 15 40 300] [--rows 1000] > wide_inference.md

A simulated survey: answers 0..6 that six hidden traits of a person explain in part; as many rows in train, control and
table. Both give the same numbers. Run it on one core with ``taskset -c 0`` for seconds that can be compared.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

from hybrid.evaluation.engine import neighbours
from hybrid.evaluation.frames import measure

TRAITS = 6
SEARCH, PAIRS = 0.0, float("inf")
"""Shares of all pairs that let :func:`~hybrid.evaluation.engine.neighbours.infer` search, or compare all pairs."""


def survey(rows: int, columns: int, rng: np.random.Generator) -> pd.DataFrame:
    traits = rng.normal(size=(rows, TRAITS))
    answers = traits @ np.random.default_rng(0).normal(size=(TRAITS, columns)) * 0.5 + rng.normal(size=(rows, columns))
    return pd.DataFrame(np.clip(np.round(answers + 3), 0, 6).astype(int), columns=[f"q{at}" for at in range(columns)])


def seconds(share: float, tables: list[pd.DataFrame]) -> tuple[float, str]:
    """CPU seconds of the metric, and its numbers."""
    neighbours.SEARCHED = share
    start = time.process_time()
    found = measure("inference", *tables, sensitive=list(tables[0].columns))
    return time.process_time() - start, repr([one.outcome for one in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[15, 40, 300])
    parser.add_argument("--rows", type=int, default=1000)
    asked = parser.parse_args()
    print("| columns, each a secret | a search for each | all pairs at once |\n|---|---|---|")
    for columns in asked.columns:
        rng = np.random.default_rng(1)
        tables = [survey(asked.rows, columns, rng) for _ in range(3)]
        warm = [table.head(50) for table in tables]
        for share in (SEARCH, PAIRS):
            seconds(share, warm)
        (search, one), (pairs, other) = (seconds(share, tables) for share in (SEARCH, PAIRS))
        if one != other:
            raise SystemExit("the two ways disagree")
        print(f"| {columns} | {search:.1f} | {pairs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
