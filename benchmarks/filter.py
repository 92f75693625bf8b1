"""Filter of rows near a training record on tables with a known leak, beside random removal.

    python benchmarks/filter.py ADULT.csv [--rows 2000] [--seeds 1 2] [--target income]

Random people are cut into training records, two sets of control records (for the filter and for the metrics) and fresh
people, each of so many rows. Of tables with a share of training records the filter leaves out rows; prints the share of
copies and of fresh rows that it leaves out, both metrics' interval of the excess (chance is 0; wholly below is a void),
and the utility, beside the same table without as many random rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.row_scores import row_scores
from hybrid.evaluation.context import Context
from hybrid.lab.leak import known_leak
from hybrid.pipeline.risk import RiskOptions
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

LEAKS = (0.0, 0.1, 0.5)
LIMITS = (0.02, 0.25, 0.5)
METRICS = ("dcr_share", "membership")


def judged(train: Table, control: Table, table: Table, target: str, seed: int) -> list[float]:
    """Excess with its interval of both metrics, and the accuracy of what was trained on the table."""
    options = EvaluateOptions(metrics=(*METRICS, "tstr"), targets=(target,))
    found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(seed))
    values: list[float] = []
    for name in METRICS:
        result = found.find(name, "synthetic")
        assert result is not None and isinstance(result.outcome, Measure) and result.outcome.excess is not None
        values += result.outcome.excess
    result = found.find("tstr", "synthetic")
    assert result is not None and isinstance(result.outcome, Measure)
    return [*values, result.outcome.value]


def row(name: str, values: list[float]) -> str:
    dcr, membership = (f"{v:+.3f} ({low:+.3f} to {high:+.3f})" for v, low, high in (values[:3], values[3:6]))
    return f"| {name} | {dcr} | {membership} | {values[6]:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--target", default="income")
    chosen = parser.parse_args()
    people = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    seen: dict[str, list[list[float]]] = {}
    for seed in chosen.seeds:
        order = rng_for(seed, "people").permutation(len(people))[: 4 * chosen.rows]
        train, mine, control, fresh = (people.take(rows) for rows in np.split(order, 4))
        for leak in LEAKS:
            found = known_leak(train, fresh, RiskOptions(model="leaky", leak=leak), seed)
            copies = found.provenance >= 0
            context = Context(train, mine, found.table, EvaluateOptions(max_records=None), seed)
            seen.setdefault(f"{leak:g}, all rows", []).append(judged(train, control, found.table, chosen.target, seed))
            for score in ("distance", "ratio", "alpha"):
                scores = row_scores(context, score)
                limits = LIMITS if score == "distance" else (0.1,) if score == "ratio" else (1.0,)
                for limit in limits:
                    risky = scores < limit
                    recall = float(risky[copies].mean()) if copies.any() else float("nan")
                    label = f"{leak:g}, {score} below {limit:g}"
                    seen.setdefault(f"{label}: copies, fresh rows left out", []).append(
                        [recall, float(risky[~copies].mean())]
                    )
                    if score != "distance":
                        continue
                    random = rng_for(seed, "random removal").permutation(len(risky))[int(risky.sum()) :]
                    for what, rows in (("filtered", np.flatnonzero(~risky)), ("as many at random", random)):
                        part = found.table.take(rows)
                        seen.setdefault(f"{label}, {what}", []).append(
                            judged(train, control, part, chosen.target, seed)
                        )
    for label, each in seen.items():
        mean = [float(x) for x in np.mean(each, axis=0)]
        print(row(label, mean) if len(mean) > 2 else f"{label}: {mean[0]:.3f}, {mean[1]:.3f}")


if __name__ == "__main__":
    main()
