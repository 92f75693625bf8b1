"""Statistics of comparisons where the truth is known: tables behind docs/evidence/comparison.md.

python benchmarks/interval_coverage.py [--repeats 200]

Splits: tables from one population, each split anew for every seed; how often an interval holds the mean over all
tables. Winner: configurations that are all equal; how often the interval of the best holds its true gain. Paradox:
known differences of privacy and utility; what the verdict says. All from `hybrid.analysis`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import estimates
from hybrid.analysis.differences import PairedDifference, paradox_verdict
from hybrid.analysis.ranking import best_per_metric
from hybrid.analysis.results import MARGIN, ResultColumn, results

SEEDS = (3, 5, 10)
RECORDS, COLUMNS, CONTROL = 600, 6, 0.3
NOISE = 0.01
"""Standard deviation of a metric between seeds, where it is drawn."""
GAIN, ALONE = "synthetic.tstr.y", "baseline.tstr.y"


def population(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A table: six normal columns and a class that depends on them, not linearly."""
    x = rng.normal(size=(RECORDS, COLUMNS))
    score = x @ np.linspace(-0.6, 0.6, COLUMNS) + 0.5 * x[:, 0] * x[:, 1]
    return x, rng.random(RECORDS) < 1 / (1 + np.exp(-score))


def measured(x: np.ndarray, y: np.ndarray, control: np.ndarray, noise: float, rng: np.random.Generator) -> list[float]:
    """AUC on control of a model of synthetic records, their total variation, and their DCR share.

    The generator draws training records with replacement and adds noise.
    """
    train, fresh, truth = x[~control], x[control], y[control]
    at = rng.integers(len(train), size=len(train))
    synthetic = train[at] + noise * rng.normal(size=train.shape)
    design = np.column_stack([np.ones(len(at)), synthetic])
    weights = np.linalg.lstsq(design, 2.0 * y[~control][at] - 1, rcond=None)[0]
    ranks = np.argsort(np.argsort(fresh @ weights[1:])) + 1
    hits = int(truth.sum())
    auc = (ranks[truth].sum() - hits * (hits + 1) / 2) / (hits * (len(truth) - hits))
    variation = 0.5 * np.abs(_shares(synthetic) - _shares(train)).sum(axis=1).mean()
    near = [
        ((synthetic[:100, None] - side[None]) ** 2).sum(axis=2).min(axis=1) for side in (train[: len(fresh)], fresh)
    ]
    return [float(auc), float(variation), float((near[0] < near[1]).mean())]


def _shares(x: np.ndarray) -> np.ndarray:
    bins = np.clip((x + 3) / 0.6, 0, 9).astype(int)
    return np.stack([np.bincount(column, minlength=10) for column in bins.T]) / len(x)


def splits(repeats: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Coverage without and with the correction for overlapping splits."""
    values = np.empty((repeats, 2, 3, max(SEEDS)))
    for table in range(repeats):
        x, y = population(rng)
        for seed in range(max(SEEDS)):
            control = np.zeros(RECORDS, dtype=bool)
            control[rng.permutation(RECORDS)[: round(CONTROL * RECORDS)]] = True
            values[table, :, :, seed] = [measured(x, y, control, noise, rng) for noise in (0.3, 1.5)]
    asked = np.concatenate([values[:, 0], values[:, 0] - values[:, 1]], axis=1)
    truth = asked.mean(axis=(0, 2))
    names = ("AUC", "total variation", "DCR share")
    for at, name in enumerate([*names, *(f"{name}, difference of two generators" for name in names)]):
        cells = []
        for overlap in (0.0, CONTROL):
            for seeds in SEEDS:
                found = estimates(np.eye(repeats), asked[:, at, :seeds], overlap=overlap)
                cells.append(f"{np.mean([one.low <= truth[at] <= one.high for one in found]):.3f}")
        yield [name, *cells]


def winner(repeats: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Coverage and bias of the best of equal configurations."""
    for configurations, seeds in ((112, 3), (112, 5), (96, 10), (16, 3)):
        own = wide = 0
        excess, again = [], []
        for _ in range(repeats):
            best = best_per_metric(*_equal(configurations, seeds, rng))[0]
            own += best.gain.low <= 0 <= best.gain.high
            wide += best.gain.wide_low <= 0 <= best.gain.wide_high
            excess.append((best.value.value - 0.8) / NOISE)
            again.append((best.again - 0.8) / NOISE)
        shares = [f"{count / repeats:.3f}" for count in (own, wide)]
        yield [f"{configurations} x {seeds}", *shares, f"{np.mean(excess):+.2f}", f"{np.mean(again):+.2f}"]


def _equal(configurations: int, seeds: int, rng: np.random.Generator) -> tuple:
    """Results without any true difference, also from the generator alone."""
    names = np.repeat([f"c{at}" for at in range(configurations)], seeds)
    table = pd.DataFrame({"configuration": names, "k": names, "seed": np.tile(np.arange(seeds), configurations)})
    table["status"] = "ok"
    table[GAIN] = 0.8 + NOISE * rng.normal(size=len(table))
    table[ALONE] = 0.8 + np.tile(NOISE * rng.normal(size=seeds), configurations)
    found = results(table, ["k"])
    return found, [found.columns[GAIN]]


def paradox(repeats: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Verdicts on known trades and known paradoxes."""
    truths = (
        ("trade: a loss of 10 sd, four gains of 2 sd", 10, (2, 2, 2, 2)),
        ("trade: a loss of 3 sd, four gains of 2 sd", 3, (2, 2, 2, 2)),
        ("trade: a loss of 10 sd, one gain of 2 sd", 10, (2, 0, 0, 0)),
        ("paradox: a loss of 10 sd, no gain", 10, (0, 0, 0, 0)),
        ("no difference", 0, (0, 0, 0, 0)),
    )
    for name, loss, gains in truths:
        for seeds in SEEDS:
            before, after = Counter(), Counter()
            for _ in range(repeats):
                found = _differences(loss, gains, seeds, rng)
                verdict = paradox_verdict(found, MARGIN)
                before["paradox"] += bool(verdict.losses and not verdict.gains)
                after[verdict.answer] += 1
            answers = ("paradox", "trade", "no paradox", "open")
            shares = [before["paradox"], *(after[answer] for answer in answers)]
            yield [name, str(seeds), *(f"{share / repeats:.3f}" for share in shares)]


def _differences(loss: float, gains: Sequence[float], seeds: int, rng: np.random.Generator) -> list[PairedDifference]:
    columns = [ResultColumn("synthetic.singling_out", "synthetic", "singling_out", "", "privacy", "lower")]
    columns += [
        ResultColumn(f"synthetic.tstr.{at}", "synthetic", "tstr", str(at), "utility", "higher") for at in range(4)
    ]
    truth = NOISE * np.array([loss, *gains])
    values = truth[:, None] + NOISE * rng.normal(size=(5, seeds))
    found = estimates(np.eye(5), values, 5)
    return [PairedDifference(column, one.value, 0.0, one, 1) for column, one in zip(columns, found, strict=True)]


def grid(head: Sequence[str], rows: Iterator[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def tables(repeats: int) -> str:
    heads = [f"{seeds} seeds{how}" for how in ("", ", corrected") for seeds in SEEDS]
    best = ["configurations x seeds", "own interval", "for all together", "its mean, sd", "chosen by other seeds, sd"]
    verdicts = ["truth", "seeds", "before: paradox", "paradox", "trade", "no paradox", "open"]
    parts = (
        ("Splits of one table", ["metric", *heads], splits(repeats, np.random.default_rng(1))),
        ("The best of many equal ones", best, winner(repeats, np.random.default_rng(2))),
        ("The paradox", verdicts, paradox(repeats, np.random.default_rng(3))),
    )
    return "\n\n".join(f"### {title}\n\n{grid(head, rows)}" for title, head, rows in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    print(tables(parser.parse_args().repeats))


if __name__ == "__main__":
    main()
