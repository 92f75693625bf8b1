"""Does the first box of a comparison say what is true? Table behind docs/evidence/comparison.md.

python benchmarks/recommendation.py [--comparisons 100]

Simulated comparisons of seven configurations, four transitions before and after the generator, with known scores. Each
run has its configuration's score, what all runs of its seed share, and its own noise. Everything else is
`hybrid.analysis`, as `hybrid compare` calls it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.analysis import Results, results
from hybrid.analysis.ranking import contest
from hybrid.analysis.recommend import Recommendation, recommend

METHODS = ("single", "uniform", "conditional", "tree")
PLAN = [(method, order) for method in METHODS for order in ("pre", "post") if (method, order) != ("single", "post")]
SCORES = {
    "usefulness": "synthetic.tstr.y",
    "privacy": "synthetic.strongest_attack",
    "closeness": "synthetic.discriminator",
}
"""Metric of each concern; higher is better for the first alone."""
START = {"usefulness": 0.80, "privacy": 0.10, "closeness": 0.70}
NOISE = {"usefulness": 0.01, "privacy": 0.02, "closeness": 0.005}
"""Standard deviation of a run's own noise; what the runs of a seed share has half of it."""
MARGIN = 0.02
SEEDS = (3, 5, 10)
Truth = dict[str, "np.ndarray[Any, np.dtype[np.float64]]"]
"""Gain of every configuration by concern, in the metric's unit: larger is better."""


def nothing_differs(_: np.random.Generator) -> Truth:
    """All seven configurations are the same."""
    return {concern: np.zeros(len(PLAN)) for concern in SCORES}


def uniform_is_bad(_: np.random.Generator) -> Truth:
    """Uniform is far from the data, whatever the order; nothing else differs."""
    far = np.array([-0.25 if method == "uniform" else 0.0 for method, _ in PLAN])
    return nothing_differs(_) | {"closeness": far}


def all_differ(rng: np.random.Generator) -> Truth:
    """Differences of all sizes, drawn anew for every comparison."""
    spread = {"usefulness": 0.03, "privacy": 0.04, "closeness": 0.1}
    return {concern: rng.normal(scale=scale, size=len(PLAN)) for concern, scale in spread.items()}


def a_trade(_: np.random.Generator) -> Truth:
    """What is more useful discloses more."""
    rank = np.arange(len(PLAN)) / (len(PLAN) - 1)
    return {"usefulness": 0.1 * rank, "privacy": -0.2 * rank, "closeness": 0 * rank}


TRUTHS: Mapping[str, Callable[[np.random.Generator], Truth]] = {
    "nothing differs": nothing_differs,
    "uniform is bad": uniform_is_bad,
    "all differ": all_differ,
    "a trade": a_trade,
}


def simulated(truth: Truth, seeds: int, rng: np.random.Generator) -> Results:
    """Results of one comparison."""
    columns = {}
    for concern, name in SCORES.items():
        sign = 1 if concern == "usefulness" else -1
        noise = rng.normal(size=(len(PLAN), seeds)) + 0.5 * rng.normal(size=(1, seeds))
        columns[name] = np.clip(START[concern] + sign * truth[concern][:, None] + NOISE[concern] * noise, 0, 1).ravel()
    rows = [
        {"configuration": f"{method}, {order}", "transition.method": method, "transition.order": order, "seed": seed}
        for method, order in PLAN
        for seed in range(seeds)
    ]
    table = pd.DataFrame(rows).assign(status="ok", **columns)
    return Results(table, ["transition.method", "transition.order"], {}, results(table, []).metrics, MARGIN)


def advised(found: Results) -> Recommendation:
    """What the first box is made from."""
    advice = recommend(contest(found), found.configurations)
    assert advice is not None
    return advice


def is_within_margins(truth: Truth, chosen: int) -> bool:
    """True if no configuration that is as good by the earlier concerns is better by more than the margin."""
    rivals = np.ones(len(PLAN), dtype=bool)
    for concern in SCORES:
        gain = truth[concern] - truth[concern][chosen]
        if gain[rivals].max() > MARGIN + 1e-9:
            return False
        rivals &= gain >= 0
    return True


@dataclass
class Counts:
    """Comparisons of one truth by what their first box says."""

    within: int = 0
    settled: int = 0
    settled_within: int = 0
    alike: int = 0
    uniform: int = 0

    def add(self, advice: Recommendation, truth: Truth) -> None:
        assert advice.chosen is not None
        names = [f"{method}, {order}" for method, order in PLAN]
        within = is_within_margins(truth, names.index(advice.chosen.configuration))
        self.within += within
        self.settled += advice.is_settled
        self.settled_within += within and advice.is_settled
        self.alike += not advice.differing and not advice.levels
        self.uniform += any(level.level == "uniform" and not level.is_better for level in advice.levels)


def counted(name: str, seeds: int, comparisons: int, rng: np.random.Generator) -> Counts:
    """Counts over simulated comparisons with one truth."""
    counts = Counts()
    for _ in range(comparisons):
        truth = TRUTHS[name](rng)
        counts.add(advised(simulated(truth, seeds, rng)), truth)
    return counts


def rows(comparisons: int) -> Iterator[list[str]]:
    for at, name in enumerate(TRUTHS):
        for seeds in SEEDS:
            found = counted(name, seeds, comparisons, np.random.default_rng([at, seeds]))
            numbers = found.within, found.settled, found.settled_within, found.alike, found.uniform
            yield [name, str(seeds), *(f"{count} of {comparisons}" for count in numbers)]


HEAD = [
    "truth",
    "seeds",
    "first within the margins of the best",
    "said to be settled",
    "of these, within the margins",
    "said: none told apart",
    "said: uniform is worse",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=100)
    lines = (HEAD, ["---"] * len(HEAD), *rows(parser.parse_args().comparisons))
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
