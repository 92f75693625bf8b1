"""Metrics of the contrastive encoder on Adult with a known leak, beside those without an encoder.

    python benchmarks/encoder.py ADULT.csv [--rows 2000] [--seeds 1 2] [--secret occupation] [--quick]

Random people are cut into training records, control records and fresh people, each of so many rows. Judged are tables
with a share of training records, one with noise of 5 % on them, and tables of trees with ever smaller leaves.
Prints the excess of every metric (mean over the seeds, mean half width of its interval) without an encoder, with
trained ones and with an untrained one; the self-check; CPU seconds. With ``--quick`` no encoder is trained.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hybrid.base.rng import rng_for
from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, Measure, evaluate
from hybrid.lab.leak import known_leak
from hybrid.pipeline.risk import RiskOptions
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

ENCODED = [name for name, metric in REGISTRY.items() if "encoder" in metric.needs]
SISTERS = [name.removeprefix("cl_") for name in ENCODED]
LEAKS = (0.0, 0.1, 0.2, 0.5, 1.0)
LEAVES = (50, 5, 2)


def tables(train: Table, fresh: Table, seed: int) -> Iterator[tuple[str, Table]]:
    """Tables whose leak is known, and tables of ever smaller leaves."""
    for leak in LEAKS:
        yield f"leak {leak:g}", known_leak(train, fresh, RiskOptions(model="leaky", leak=leak), seed).table
    noise = RiskOptions.model_validate({"model": "noisy", "leak": 0.5, "sigma": 0.05, "lambda": 0.05, "p": 0.05})
    yield "leak 0.5, noise", known_leak(train, fresh, noise, seed).table
    for leaf in LEAVES:
        options = SynthesizeOptions.model_validate({"generator": "cart", "options": {"min_leaf": leaf, "smoothing": 0}})
        yield f"cart, leaves of {leaf}", fit(train, options, seed).sample(len(train), seed)


def excesses(found: Evaluation, names: list[str]) -> Iterator[tuple[str, tuple[float, float], Measure]]:
    """Excess and half width of each metric that has a number."""
    for name in names:
        result = found.find(name, "synthetic")
        if result is not None and isinstance(result.outcome, Measure) and result.outcome.excess is not None:
            value, low, high = result.outcome.excess
            yield name, (value, (high - low) / 2), result.outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--secret", default="occupation")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    people = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    engine = "untrained" if chosen.quick else "contrastive"
    options = EvaluateOptions.model_validate(
        {"metrics": ENCODED + SISTERS, "secrets": [chosen.secret], "encoder": {"engine": engine}}
    )
    seen: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    checks: dict[str, list[tuple[float, float, float, float]]] = {}
    seconds: dict[str, list[float]] = {}
    for seed in chosen.seeds:
        order = rng_for(seed, "people").permutation(len(people))[: 3 * chosen.rows]
        train, control, fresh = (people.take(rows) for rows in np.split(order, 3))
        for label, table in tables(train, fresh, seed):
            found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(seed))
            for name, excess, _ in excesses(found, SISTERS):
                seen.setdefault((label, name, "without"), []).append(excess)
            for name, excess, measure in excesses(found, ENCODED):
                seen.setdefault((label, name.removeprefix("cl_"), engine), []).append(excess)
                beside = measure.details.get("untrained")
                if beside is not None and "value" in beside:
                    shift = measure.value - measure.excess[0] if measure.excess is not None else 0.0
                    half = (beside["high"] - beside["low"]) / 2
                    seen.setdefault((label, name.removeprefix("cl_"), "untrained"), []).append(
                        (beside["value"] - shift, half)
                    )
                    encoder = measure.details["encoder"]
                    checks.setdefault(label, []).append(
                        (encoder["found"], beside["found"], encoder["loss"], beside["loss"])
                    )
            for result in found.metrics:
                seconds.setdefault(result.name, []).append(result.cpu_seconds)
    columns = ["without", "contrastive", "untrained"]
    print("| table | metric | " + " | ".join(columns) + " |")
    for label, name in dict.fromkeys((label, name) for label, name, _ in seen):
        cells = [seen.get((label, name, column)) for column in columns]
        shown = [" ± ".join(f"{x:.3f}" for x in np.mean(cell, axis=0)) if cell else "" for cell in cells]
        print(f"| {label} | {name} | {' | '.join(shown)} |")
    for label, each in checks.items():
        print(label, "found, untrained; loss, untrained:", np.round(np.mean(each, axis=0), 3).tolist())
    print({name: round(float(np.mean(each)), 2) for name, each in seconds.items()})


if __name__ == "__main__":
    main()
