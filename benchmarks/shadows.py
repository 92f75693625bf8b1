"""Attacks on single people with shadow models, as in Meeus et al. (Achilles' Heels, 2023), Tables 2 and 3.

    python benchmarks/shadows.py ADULT.csv [--generator baynet] [--preset meeus] [--shadows 1000] [--tests 200]
        [--metrics counting_queries target_attention bagging_membership inference_queries] [--secret income]
        [--targets vulnerable random rare unlikely] [--distances cosine hamming chebyshev 1 2 4 8] [--remove 0.1]

The attacker has 10,000 people of his own, training records are drawn from 5,000 others, each training has 1,000. Prints
the AUC of every attack for each way of choosing the 10 people (mean, standard deviation over them), beside the paper's
for Adult and counting queries. With ``--remove``, that share of the most vulnerable training records is removed, or as
many random ones, and the most vulnerable of the rest are attacked.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.vulnerability import vulnerability
from hybrid.evaluation.context import Context, Making
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

PAPER = {"vulnerable": (0.810, 0.110), "random": (0.618, 0.120), "rare": (0.704, None), "unlikely": (0.787, None)}
"""AUC with BayNet on Adult, mean and standard deviation over ten people (Table 2)."""


def attacks(train: Table, control: Table, chosen: argparse.Namespace, targets: str, distance: Any) -> list[Any]:
    """Results of the attacks on ten people."""

    def learned(table: Table, seed: int) -> Table:
        options = SynthesizeOptions(generator=chosen.generator, preset=chosen.preset)
        return fit(table, options, seed).sample(len(table), seed)

    retrain = {"shadows": chosen.shadows, "tests": chosen.tests, "records": chosen.records, "targets": targets}
    retrain |= {"distance": distance, "bagging": max(chosen.shadows // 2, 10)}
    options = EvaluateOptions.model_validate(
        {"metrics": tuple(chosen.metrics), "secrets": (chosen.secret,), "retrain": retrain}
    )
    drawn = rng_for(chosen.seed, "shadows")
    found = evaluate(train, control, {"synthetic": train}, options, drawn, making={"synthetic": Making(again=learned)})
    return list(found.metrics)


def without(train: Table, control: Table, share: float, by: str, seed: int) -> Table:
    """Training records without the most vulnerable, or without random ones."""
    context = Context(train, control, train, EvaluateOptions(max_records=None), seed)
    score = vulnerability(context, context.whole("train")) if by == "vulnerable" else np.zeros(len(train))
    ranked = np.lexsort((rng_for(seed, "removed").random(len(train)), -score))
    return train.take(np.sort(ranked[round(share * len(train)) :]))


def shown(label: str, found: list[Any], paper: str) -> None:
    """Print one line per attack."""
    for result in found:
        outcome, details = result.outcome, getattr(result.outcome, "details", {})
        if not isinstance(outcome, Measure):
            print(f"{label:<24}{result.name:<20}{outcome.reason}", flush=True)
            continue
        of_people = f"{details['lowest']:.3f} to {details['highest']:.3f}" if "lowest" in details else ""
        spread = f"sd {details['spread']:.3f}" if "spread" in details else f"of {details['possible']} secrets"
        epsilon = f"epsilon at least {details['epsilon']:.2f}" if "epsilon" in details else ""
        numbers = f"{outcome.value:.3f} ({outcome.low:.3f} to {outcome.high:.3f})"
        beside = paper if result.name == "counting_queries" else str(details.get("readings", ""))
        print(
            f"{label:<24}{result.name:<20}{numbers}  {spread}  {of_people}  {epsilon}  {beside}  "
            f"{result.cpu_seconds:.0f} CPU s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--generator", default="baynet")
    parser.add_argument("--preset", default="meeus")
    parser.add_argument("--shadows", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--metrics", nargs="+", default=["counting_queries"])
    parser.add_argument("--secret", default="income")
    parser.add_argument("--targets", nargs="+", default=list(PAPER))
    parser.add_argument("--distances", nargs="+", default=["cosine"])
    parser.add_argument("--remove", type=float, default=0.0)
    chosen = parser.parse_args()
    table = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    order = rng_for(chosen.seed, "people").permutation(len(table))
    control, train = table.take(order[:10_000]), table.take(order[10_000:15_000])
    if chosen.remove:
        for by in ("vulnerable", "random"):
            rest = without(train, control, chosen.remove, by, chosen.seed)
            started = time.process_time()
            found = attacks(rest, control, chosen, "vulnerable", chosen.distances[0])
            shown(f"{chosen.remove:.0%} {by} removed", found, f"{time.process_time() - started:.0f} CPU s in all")
        return
    for targets in chosen.targets:
        mean, spread = PAPER[targets]
        paper = f"paper {mean:.3f}{'' if spread is None else f' +- {spread:.3f}'}"
        for distance in chosen.distances if targets == "vulnerable" else chosen.distances[:1]:
            number = distance if distance in ("cosine", "hamming", "chebyshev") else float(distance)
            label = targets if distance == "cosine" else f"{targets}, {distance}"
            shown(label, attacks(train, control, chosen, targets, number), paper)


if __name__ == "__main__":
    main()
