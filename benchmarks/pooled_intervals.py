"""Coverage of the intervals of membership_trained where the truth is known: docs/evidence/who-is-protected.md.

python benchmarks/pooled_intervals.py [--repeats 200]

Trainings on random halves of 1,000 people, of whom some are attacked; 60 observations of each, one of which is larger
for members. How often an interval holds the area: .5 where nothing is told, else the mean over all repeats.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np

from hybrid.evaluation.attacks.membership_trained import auc_of, pooled_scores
from hybrid.evaluation.engine.intervals import simultaneous

POOL, OBSERVED, LOOKS = 1000, 60, 3
WORLDS = {"no leak": (0.0, 0.0, 0.0), "a leak": (0.35, 0.0, 0.0), "a leak that differs by person": (0.35, 0.35, 0.5)}
"""Mean shift of members, its spread between people, and the noise that all people of a training share."""
SIZES = ((32, 40), (96, 40), (96, 200))
"""Trainings and attacked people."""


def areas(world: str, trainings: int, people: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Area and half widths at 95 % and at the level of all looks; shape (repeats, 3)."""
    shift, spread, shared = WORLDS[world]
    found = []
    for _ in range(repeats):
        inside = rng.permuted(np.tile(np.arange(POOL) < POOL // 2, (trainings, 1)), axis=1)[:, :people]
        seen = rng.normal(size=(trainings, people, OBSERVED)) + shared * rng.normal(size=(trainings, 1, OBSERVED))
        seen[:, :, 0] += inside * np.abs(rng.normal(shift, spread, people))
        scores = pooled_scores(seen.astype(np.float32), inside)
        one, every = (auc_of(scores, inside, level) for level in (0.95, simultaneous(0.95, LOOKS)))
        found.append((one.value, one.high - one.value, every.high - every.value))
    return np.array(found)


def lines(repeats: int) -> Iterator[str]:
    yield "| truth | trainings | people | mean area | 95 % interval holds it | interval of three looks |"
    yield "|---|---|---|---|---|---|"
    rng = np.random.default_rng(1)
    for world in WORLDS:
        for size in SIZES:
            value, *halves = areas(world, *size, repeats, rng).T
            truth = 0.5 if world == "no leak" else value.mean()
            held = (f"{np.mean(np.abs(value - truth) <= half):.3f}" for half in halves)
            yield f"| {world} | {size[0]} | {size[1]} | {value.mean():.3f} | {' | '.join(held)} |"
    yield f"\nStandard error of a share of .95: {math.sqrt(0.95 * 0.05 / repeats):.3f}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    for line in lines(parser.parse_args().repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
