"""Tables unlike the data and without a leak: how often do metrics notice a leak, or a void?

    python benchmarks/unlike.py ADULT.csv [--rows 1000] [--seeds 40] [--metrics dcr_share membership_density ...]

Random thirds are training, control and fresh records. Judged are tables whose columns are drawn alone, each value of
the fresh records as often as any other, and tables of ``privbayes`` with a budget of .1, which hold no more of a person
than the values that occur. Prints mean and standard deviation of the excess over the repetitions, the mean half width
of its interval, and how many intervals lie above and below 0: chance is 2.5 % each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

METRICS = ["dcr_share", "knn_share", "nndr_share", "membership", "membership_density"]


def flat(people: Table, rng: np.random.Generator) -> Table:
    """Columns drawn alone, every value that occurs as often as any other."""
    columns = {}
    for name in people.frame:
        values = people.frame[name].dropna().drop_duplicates().reset_index(drop=True)
        columns[name] = values.iloc[rng.integers(len(values), size=len(people))].reset_index(drop=True)
    return Table(pd.DataFrame(columns), people.schema)


def tables(train: Table, fresh: Table, seed: int) -> Iterator[tuple[str, Table]]:
    """Both tables of a repetition."""
    yield "columns alone, values equally often", flat(fresh, rng_for(seed, "flat"))
    options = SynthesizeOptions.model_validate({"generator": "privbayes", "options": {"epsilon": 0.1}})
    yield "`privbayes`, epsilon .1", fit(train, options, seed).sample(len(train), seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    chosen = parser.parse_args()
    people = read_table(chosen.table, DataOptions(path=str(chosen.table), missing=("", "?")))
    options = EvaluateOptions(metrics=tuple(chosen.metrics))
    seen: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for seed in range(chosen.seeds):
        order = rng_for(seed, "people").permutation(len(people))[: 3 * chosen.rows]
        train, control, fresh = (people.take(rows) for rows in np.split(order, 3))
        for label, table in tables(train, fresh, seed):
            for found in evaluate(train, control, {"synthetic": table}, options, rng_for(seed, "evaluate")).metrics:
                if isinstance(found.outcome, Measure) and found.outcome.excess is not None:
                    seen.setdefault((label, found.name), []).append(found.outcome.excess)
    print("| table | metric | excess, mean (sd) | half width | above 0 | below 0 |\n|---|---|---|---|---|---|")
    for (label, name), each in seen.items():
        value, low, high = np.array(each).T
        print(
            f"| {label} | `{name}` | {value.mean():.3f} ({value.std(ddof=1):.3f}) | {(high - low).mean() / 2:.3f} "
            f"| {(low > 0).sum()} of {len(each)} | {(high < 0).sum()} |"
        )


if __name__ == "__main__":
    main()
