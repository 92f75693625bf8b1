"""Suppression of the people least like others: their share beside that of random people and of all records.

    python benchmarks/exposed_suppressed.py adult bank

The arguments are scales of configs/who_is_protected.yaml. People are chosen as by the attack `membership_trained`; the
whole pool is anonymized as the strategy says. Results are kept in benchmarks/results/who_is_protected/.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.comparison import load_plan
from hybrid.comparison.schedule import Configuration, expand
from hybrid.evaluation.attacks.membership_trained import chosen_people
from hybrid.evaluation.attacks.retraining import ordered
from hybrid.evaluation.context import Context
from hybrid.pipeline.table_run import TableRun
from hybrid.table.record_hash import SECRET_BYTES, record_hashes

PLAN = Path(__file__).parents[1] / "configs" / "who_is_protected.yaml"
KEPT = Path(__file__).parent / "results" / "who_is_protected" / "suppressed.csv"
STRATEGIES = {
    "k 5, tree": "k = 5",
    "k 20, tree": "k = 20",
    "k 5, tree, at most 2 % suppressed": "k = 5, at most 2 % suppressed",
}


def measured(scale: str) -> Iterator[dict[str, object]]:
    """One row for each strategy and pool."""
    plan = load_plan(PLAN, scale)
    for configuration in expand(plan, PLAN.parent).configurations:
        name = configuration.factors["strategy"]
        if name in STRATEGIES:
            yield from ({"table": scale, "anonymized": STRATEGIES[name]} | shares(configuration, s) for s in plan.seeds)


def shares(configuration: Configuration, seed: int) -> dict[str, object]:
    """Suppressed shares of one pool."""
    assert configuration.config is not None
    config = configuration.config.model_copy(update={"seed": seed})
    pipeline = TableRun(config)
    assert pipeline.anonymization is not None
    train, secret = pipeline.train, b"\0" * SECRET_BYTES
    context = Context(train, pipeline.control, train, config.evaluate, seed)
    pool, attacked = chosen_people(ordered(context))
    gone = np.isin(record_hashes(train, secret), record_hashes(pipeline.anonymization.anonymized.suppressed, secret))
    lost = np.array([gone[rows].mean() for rows in pool])
    exposed, chance = np.split(lost[attacked], 2)
    means = {"all": lost.mean(), "most exposed": exposed.mean(), "random": chance.mean()}
    return {"seed": seed, "people": len(pool), "attacked": len(exposed)} | means


def table() -> str:
    """Markdown: means over the pools, and the range of the most exposed."""
    rows = pd.read_csv(KEPT)
    lines = [
        "### Suppressed people, in the whole pool",
        "",
        "| table | anonymized | pools | of all | of random people | of the most exposed (pool by pool) |",
        "|---|---|---|---|---|---|",
    ]
    for (scale, name), pools in rows.groupby(["table", "anonymized"], sort=False):
        mean = pools[["all", "random", "most exposed"]].mean()
        each = ", ".join(f"{share:.0%}" for share in pools["most exposed"])
        cells = [scale, name, str(len(pools)), f"{mean['all']:.1%}", f"{mean['random']:.0%}"]
        lines.append(f"| {' | '.join(cells)} | {mean['most exposed']:.0%} ({each}) |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scales", nargs="*", help="scales to measure; none: the kept results")
    chosen = parser.parse_args()
    if chosen.scales:
        pd.DataFrame([row for scale in chosen.scales for row in measured(scale)]).to_csv(
            KEPT, index=False, float_format="%.5g"
        )
    print(table())


if __name__ == "__main__":
    main()
