"""Void that a filter leaves round training records, found by an attacker who knows the filter.

    python benchmarks/void.py ADULT.csv [--rows 2000] [--times 1 10] [--limits 0 0.02 0.25] [--seed 1]

`cart` learns from training records and draws as many rows or more; the filter `distance` of
`synthesize.filter` leaves out those that lie near a training record. The attacker knows the radius of that, and
trains the same generator on people of his own: a person round whom his table has rows and the filtered one has none
is taken for a training person. Prints his AUC with its interval, beside the excess over chance of the metrics
`dcr_share` and `membership`, which look from the other side (wholly below 0: a void).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.evaluation.attacks.row_scores import row_scores
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.engine.neighbours import within
from hybrid.synthesize.fitted import fit
from hybrid.synthesize.options import SynthesizeOptions
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

ALL = EvaluateOptions(max_records=None)
METRICS = ("dcr_share", "membership")


def counted(people: Table, rows: Table, strangers: Table, radius: float) -> Array:
    """Rows within the radius of each of the people; distances as in the filter's context."""
    context = Context(people, strangers, rows, ALL, 1)
    train, table = context.whole("train"), context.whole("table")
    return within(context.space, context.place(train), context.place(table), np.full(len(people), radius), None)


def radius_of(train: Table, control: Table, table: Table, limit: float) -> float:
    """Largest distance to a training record at which rows are left out."""
    context = Context(train, control, table, ALL, 1)
    strangers = np.sort(context.distances(context.whole("control"), context.whole("train"))[:, 0])
    return float(strangers[max(int(np.ceil(limit * len(strangers))) - 1, 0)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--limits", type=float, nargs="+", default=[0, 0.02, 0.25])
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    people = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    order = rng_for(chosen.seed, "people").permutation(len(people))[: 4 * chosen.rows]
    train, filters, control, own = (people.take(rows) for rows in np.split(order, 4))
    made, his = (fit(records, SynthesizeOptions(), chosen.seed) for records in (train, own))
    print("| rows | limit | left out | attacker who knows the filter | dcr_share | membership |")
    for times in chosen.times:
        drawn, beside = (model.sample(times * chosen.rows, 1) for model in (made, his))
        scores = row_scores(Context(train, filters, drawn, ALL, chosen.seed), "distance")
        for limit in chosen.limits:
            table = drawn.take(np.flatnonzero(scores >= limit))
            radius = radius_of(train, filters, drawn, max(limit, 0.02))
            there, foreseen = (
                [counted(group, rows, filters, radius) for group in (train, control)] for rows in (table, beside)
            )
            said = [np.where(t > 0, -1.0, np.log1p(f)) for t, f in zip(there, foreseen, strict=True)]
            auc = auc_interval(said[0], said[1], 0.95)
            found = evaluate(
                train, control, {"synthetic": table}, EvaluateOptions(metrics=METRICS), np.random.default_rng(1)
            )
            excess = []
            for metric in found.metrics:
                assert isinstance(metric.outcome, Measure) and metric.outcome.excess is not None
                excess.append("{:+.3f} ({:+.3f} to {:+.3f})".format(*metric.outcome.excess))
            left_out = f"{float((scores < limit).mean()):.1%}"
            told = "{:.3f} ({:.3f} to {:.3f})".format(*auc)
            print(f"| {times} times | {limit:g} | {left_out} | {told} | {' | '.join(excess)} |", flush=True)


if __name__ == "__main__":
    main()
