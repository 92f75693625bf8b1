"""Leaks that no risk model of the laboratory makes, and the metrics that notice them.

    python benchmarks/lab_planted.py CONFIG LEAGUE [--table bank] [--rows 1000] [--seeds 1 2 3] [--shares 0.05 0.1 0.2]

Random thirds of the table of a run configuration are training, control and fresh records; a share of the fresh ones
is replaced by rows that were made from training records. Prints, for every metric of the league, in the order of its
trials that noticed a leak there, in how many of the repetitions it noticed each planted leak.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from lab_leagues import RISKS, power, read
from scipy.stats import spearmanr

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation import Evaluation, Measure, evaluate
from hybrid.pipeline.config import load_config
from hybrid.table import Table

Plant = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def rounded(people: pd.DataFrame, _: np.random.Generator) -> pd.DataFrame:
    """Every number rounded to a fifth of its standard deviation."""
    return _numbers(people, lambda values: np.round(values / (values.std() / 5)) * (values.std() / 5))


def between(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers a random part of the way to another leaked person, categories kept."""
    other, part = rng.permutation(len(people)), rng.random(len(people)) / 2
    return _numbers(people, lambda values: values + part * (values[other] - values))


def exchanged(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A quarter of the columns of each person taken from other leaked people, column by column."""
    swapped = {}
    for name in people:
        mine, other = np.arange(len(people)), rng.permutation(len(people))
        swapped[name] = people[name].iloc[np.where(rng.random(len(people)) < 0.25, other, mine)].to_numpy()
    return pd.DataFrame(swapped, index=people.index).astype(people.dtypes.to_dict())


def spliced(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The first half of the columns of a person beside the second half of another."""
    names, other = list(people), rng.permutation(len(people))
    swapped = people.copy()
    for name in names[len(names) // 2 :]:
        swapped[name] = people[name].iloc[other].to_numpy()
    return swapped.astype(people.dtypes.to_dict())


PLANTS: dict[str, Plant] = {"rounded": rounded, "between two": between, "exchanged": exchanged, "spliced": spliced}


def _numbers(people: pd.DataFrame, change: Callable[[Array], Array]) -> pd.DataFrame:
    changed = people.copy()
    for name in people.select_dtypes("number"):
        values = people[name].to_numpy(float)
        if values.std() > 0:
            whole = pd.api.types.is_integer_dtype(people[name].dtype)
            moved = np.clip(change(values), values.min(), values.max())
            changed[name] = pd.Series(np.round(moved) if whole else moved, people.index).astype(people[name].dtype)
    return changed


def planted(train: Table, fresh: Table, plant: Plant, share: float, rng: np.random.Generator) -> Table:
    """Fresh people of whom a share gives way to rows made from training records."""
    n = round(share * len(fresh))
    made = plant(train.frame.iloc[rng.permutation(len(train))[:n]].reset_index(drop=True), rng)
    frame = pd.concat([made, fresh.frame.iloc[n:]], ignore_index=True)
    return Table(frame.iloc[rng.permutation(len(frame))].reset_index(drop=True), train.schema)


def noticed(found: Evaluation) -> dict[str, bool]:
    """Whether the interval of each metric's excess lies above 0."""
    outcomes = ((each.name, each.outcome) for each in found.metrics)
    excesses = ((n, o.excess) for n, o in outcomes if isinstance(o, Measure) and o.excess is not None)
    return {name: bool(excess[1] > 0) for name, excess in excesses}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("league", type=Path)
    parser.add_argument("--table", default="bank")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    chosen = parser.parse_args()
    league = {n: m for (table, n), m in read([chosen.league]).metrics.items() if table == chosen.table}
    config = load_config(chosen.config)
    people = config.load_table()
    schema = people.schema.without_identifiers()
    people = Table(people.frame[schema.names], schema)
    options = config.evaluate.model_copy(update={"metrics": tuple(league), "families": ("privacy",)})
    seen: dict[tuple[str, str], list[bool]] = {}
    for seed in chosen.seeds:
        order = rng_for(seed, "planted").permutation(len(people))[: 3 * chosen.rows]
        train, control, fresh = (people.take(rows) for rows in np.split(order, 3))
        for name, plant in PLANTS.items():
            for share in chosen.shares:
                table = planted(train, fresh, plant, share, rng_for(seed, name))
                found = evaluate(train, control, {"synthetic": table}, options, rng_for(seed, "evaluate"))
                for metric, told in noticed(found).items():
                    seen.setdefault((metric, f"{name}, {100 * share:g} %"), []).append(told)
    columns = list(dict.fromkeys(column for _, column in seen))
    there = {name: float(np.mean([power(metric, risk) for risk in RISKS])) for name, metric in league.items()}
    order_there = [name for name in sorted(there, key=lambda name: -there[name]) if (name, columns[0]) in seen]
    here = [float(np.mean([np.mean(seen[name, column]) for column in columns])) for name in order_there]
    print(f"| metric | verdict | noticed there | {' | '.join(columns)} |\n|{' --- |' * (3 + len(columns))}")
    for name in order_there:
        cells = " | ".join(str(sum(seen[name, column])) for column in columns)
        print(f"| `{name}` | {league[name]['verdict']} | {there[name]:.2f} | {cells} |")
    print("rank correlation:", round(float(spearmanr([there[name] for name in order_there], here).statistic), 2))


if __name__ == "__main__":
    main()
