"""Membership of single people against shadow models, as in Meeus et al. (Achilles' Heels, 2023), Table 2.

    python benchmarks/shadows.py ADULT.csv [--generator baynet] [--preset meeus] [--shadows 1000] [--tests 200]

The attacker has 10,000 people of his own, training records are drawn from 5,000 others, each training has 1,000. Prints
the AUC of the counting-query attack for each way of choosing the 10 people (mean, standard deviation over them), beside
the paper's for Adult.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.options import DataOptions
from hybrid.table.read_file import read_table

PAPER = {"vulnerable": (0.810, 0.110), "random": (0.618, 0.120), "rare": (0.704, None), "unlikely": (0.787, None)}
"""AUC with BayNet on Adult, mean and standard deviation over ten people (Table 2)."""


def attack(train: Table, control: Table, chosen: argparse.Namespace, targets: str) -> Measure:
    """The counting-query attack on ten people."""

    def learned(table: Table, seed: int) -> Table:
        options = SynthesizeOptions(generator=chosen.generator, preset=chosen.preset)
        return fit(table, options, seed).sample(len(table), seed)

    retrain = {"shadows": chosen.shadows, "tests": chosen.tests, "records": chosen.records, "targets": targets}
    options = EvaluateOptions.model_validate({"metrics": ("counting_queries",), "retrain": retrain})
    found = evaluate(
        train, control, {"synthetic": train}, options, rng_for(chosen.seed, "shadows"), retrain={"synthetic": learned}
    )
    outcome = found.metrics[0].outcome
    assert isinstance(outcome, Measure), outcome
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--generator", default="baynet")
    parser.add_argument("--preset", default="meeus")
    parser.add_argument("--shadows", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--targets", nargs="+", default=list(PAPER))
    chosen = parser.parse_args()
    table = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    order = rng_for(chosen.seed, "people").permutation(len(table))
    control, train = table.take(order[:10_000]), table.take(order[10_000:15_000])
    for targets in chosen.targets:
        started = time.process_time()
        found = attack(train, control, chosen, targets)
        mean, spread = PAPER[targets]
        details = found.details
        print(
            f"{targets:<12}AUC {found.value:.3f} ({found.low:.3f} to {found.high:.3f}), "
            f"{details['lowest']:.3f} to {details['highest']:.3f} over {details['records']} people, "
            f"epsilon at least {details['epsilon']:.2f}; "
            f"paper {mean:.3f}{'' if spread is None else f' +- {spread:.3f}'}; "
            f"{time.process_time() - started:.0f} CPU s",
            flush=True,
        )


if __name__ == "__main__":
    main()
