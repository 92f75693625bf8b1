"""Excess of rare values after the protection of numbers, on dense grids, before and after smoothing.

    python benchmarks/protected_numbers.py [--seeds 6] > protected_numbers.md

Training and control people have amounts from the same lognormal distribution (43 control people for 100 training
people). A value is rare if at most four of all people hold it. The excess is the share of protected cells with a rare
value of a training person less that of a person never seen, of equally many of both and per whole training set.
Smoothed cells are drawn anew between five neighbours, as trees do.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.protect.numbers import protect_numbers
from hybrid.table import Column, ColumnFormat, Kind, Role

CASES = ((524_000, 7.2, 2), (100_000, 7.2, 2), (10_000, 8.6, 0), (30_000, 8.6, 0), (3_000, 7.0, 0))
"""Training people, mean of the logarithm, decimals."""
NEIGHBOURS = 5


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    print("| records | decimals | excess of protected cells | smoothed | change of the distribution |")
    print("|---|---|---|---|---|")
    for people, mean, decimals in CASES:
        found = np.mean([measured(people, mean, decimals, seed) for seed in range(seeds)], axis=0)
        print(
            f"| {people:,} | {decimals} | {1000 * found[0]:.1f} | {1000 * found[1]:.1f} | {found[2]:.4f} |", flush=True
        )


def measured(people: int, mean: float, decimals: int, seed: int) -> tuple[float, float, float]:
    """Excess before and after smoothing, and the largest change of the distribution function."""
    rng, steps = np.random.default_rng(seed), 10**decimals
    sizes = people, int(0.43 * people)
    train, control = (np.rint(rng.lognormal(mean, 0.9, n) * steps).astype(np.int64) for n in sizes)
    kind = Kind.DECIMAL if decimals else Kind.INTEGER
    column = Column("amount", Role.INSENSITIVE, kind, format=ColumnFormat(decimals=decimals))
    values = pd.Series(train / steps if decimals else train)
    protected = np.rint(protect_numbers(values, column, 5, rng).values.to_numpy(float) * steps).astype(np.int64)
    return excess(train, control, protected), excess(train, control, smoothed(protected, rng)), change(train, protected)


def excess(train: Array, control: Array, cells: Array) -> float:
    """Share of cells with a rare value of a training person, less that of a person never seen."""
    size = int(max(train.max(), control.max(), cells.max())) + 1
    held = [np.bincount(side, minlength=size) for side in (train, control)]
    rare, n = held[0] + held[1] <= 4, len(control)
    shuffled = np.random.default_rng(0).permutation(train)
    parts = [np.bincount(shuffled[at : at + n], minlength=size) for at in range(0, len(train) - n + 1, n)]
    known = np.mean([((part > 0) & rare)[cells].mean() for part in parts])
    return float((known - ((held[1] > 0) & rare)[cells].mean()) * len(train) / n)


def smoothed(cells: Array, rng: np.random.Generator) -> Array:
    """Cells drawn anew between neighbours."""
    ordered = np.sort(cells)
    at = rng.integers(0, len(cells) - NEIGHBOURS + 1, len(cells))
    return rng.integers(ordered[at], ordered[at + NEIGHBOURS - 1] + 1)


def change(before: Array, after: Array) -> float:
    """Largest difference of two distribution functions."""
    at = np.concatenate([before, after])
    ranks = [np.searchsorted(np.sort(side), at, "right") / len(side) for side in (before, after)]
    return float(np.abs(ranks[0] - ranks[1]).max())


if __name__ == "__main__":
    main()
