"""Intervals of ``split.control: cross`` where the truth is known: the table of docs/concepts/control-group.md.

python benchmarks/cross_control.py [--repeats 100] [--people 800]

Tables of one population; a procedure that fits a normal distribution and shares of categories, alone or with 5 % rows
that are noisy copies of people. The truth of a number is its mean over all repeats, or 0 without a leak. For each
metric: how often the interval holds it, how often the low end lies above it, and the mean half width beside that of
30 % control.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from hybrid.base.rng import rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.pooled import pooled_metric
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.split import SplitOptions, folds, split

METRICS = (
    *("identical_match_quasi", "hitting_rate", "dcr_share", "knn_share", "nndr_share", "nnaa", "authenticity"),
    *("singling_out", "shared_cells", "linkability", "inference", "membership", "membership_exposed"),
    *("membership_subgroups", "inference_subgroups"),
)
COPIED, NOISE = 0.05, 0.05
OPTIONS = EvaluateOptions(metrics=METRICS)
SCHEMA = Schema(
    (
        Column("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("place", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        *(Column(f"x{at}", Role.INSENSITIVE, Kind.DECIMAL) for at in range(4)),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)
NUMBERS = [f"x{at}" for at in range(4)]


def population(people: int, rng: np.random.Generator) -> Table:
    """People with four dependent numbers and three categories."""
    x = rng.normal(size=(people, 4)) @ np.linalg.cholesky(0.5 * np.eye(4) + 0.5).T
    frame = pd.DataFrame(np.round(x, 2), columns=NUMBERS)
    frame["sex"] = rng.choice(["f", "m"], people)
    frame["place"] = np.char.add("p", rng.zipf(1.7, people).clip(max=40).astype(str))
    frame["ill"] = np.where(rng.random(people) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")
    return Table(_typed(frame), SCHEMA)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    categories = dict.fromkeys(("sex", "place", "ill"), "category")
    return frame[SCHEMA.names].astype(categories).reset_index(drop=True)


def made(train: Table, rng: np.random.Generator, copied: float) -> Table:
    """Drawn rows, of which a share are noisy copies of people."""
    frame, n = train.frame, len(train)
    x = rng.multivariate_normal(frame[NUMBERS].mean(), frame[NUMBERS].cov(), n)
    drawn = pd.DataFrame(np.round(x, 2), columns=NUMBERS)
    for name in ("sex", "place", "ill"):
        drawn[name] = frame[name].astype(str).to_numpy()[rng.integers(n, size=n)]
    rows, people = (rng.choice(n, round(copied * n), replace=False) for _ in range(2))
    for name in SCHEMA.names:
        values = frame[name].to_numpy()[people]
        values = np.round(values * rng.uniform(1 - NOISE, 1 + NOISE, len(people)), 2) if name in NUMBERS else values
        drawn.loc[rows, name] = values
    return Table(_typed(drawn), SCHEMA)


def judged(parts: tuple[Table, Table], copied: float, seed: int) -> Evaluation:
    table = made(parts[0], rng_for(seed, "made"), copied)
    return evaluate(parts[0], parts[1], {"synthetic": table}, OPTIONS, rng_for(seed, "evaluate"))


def both(people: int, copied: float, seed: int) -> tuple[Evaluation, Evaluation]:
    """One table judged by 30 % control, and on four folds."""
    table = population(people, rng_for(seed, "people"))
    single = split(table, SplitOptions(), rng_for(seed, "split"))
    crossed = folds(table, SplitOptions(control="cross"), rng_for(seed, "split"))
    found = [judged((one.train, one.control), copied, 10 * seed + at) for at, one in enumerate(crossed, 1)]
    pooled = Evaluation(tuple(one for name in METRICS for one in pooled_metric(name, found, "synthetic")))
    return judged((single.train, single.control), copied, 10 * seed), pooled


def rows(repeats: int, people: int) -> Iterator[list[str]]:
    for copied in (0.0, COPIED):
        ends: dict[str, list[list[tuple[float, float, float]]]] = defaultdict(lambda: [[], []])
        for seed in range(repeats):
            for side, evaluation in enumerate(both(people, copied, seed)):
                for one in evaluation.metrics:
                    if isinstance(one.outcome, Measure) and one.outcome.excess is not None:
                        ends[one.name][side].append(one.outcome.excess)
        for name, sides in ends.items():
            cells = []
            widths = []
            for found in map(np.array, sides):
                if not len(found):
                    continue
                truth = 0.0 if not copied else found[:, 0].mean()
                held = (found[:, 1] <= truth) & (truth <= found[:, 2])
                cells += [f"{held.mean():.2f}", f"{(found[:, 1] > truth).mean():.2f}"]
                widths.append((found[:, 2] - found[:, 1]).mean() / 2)
            ratio = f"{widths[1] / widths[0]:.2f}" if len(widths) == 2 else "-"
            yield [f"{100 * copied:.0f} %", name, *cells, ratio]


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--people", type=int, default=800)
    arguments = parser.parse_args()
    say("| copied | metric | 30 %: holds | low end above | cross: holds | low end above | width, cross to 30 % |")
    say("|---|---|---|---|---|---|---|")
    for row in rows(arguments.repeats, arguments.people):
        say(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
