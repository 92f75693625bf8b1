"""Metrics of PrivEval on tables of a generator with growing privacy budgets, as printed and corrected.

    python benchmarks/privacy_budgets.py ADULT.csv [--rows 2000] [--seeds 1 2] [--budgets 0.02 0.1 ...]

Trains `privbayes` once per budget and seed on ``rows`` records, and measures the table against them and as many others.
Prints for every form its mean over the seeds at each budget, and Kendall's tau of these means with the budget: 1 if the
form rises with every budget, -1 if it falls.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from hybrid.base.rng import rng_for
from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.table import Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table

BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Of PrivEval's own results."""
KEYS = ("age", "sex", "race", "education")
FORMS = {
    "hitting_rate": ("HitR",),
    "nnaa": ("NNAA'",),
    "nndr": ("NNDR",),
    "identical_match": ("CRP",),
    "zcap": ("ZCAP",),
    "gcap": ("GCAP",),
    "air": ("AIR",),
    "close_value": ("CVP", "DVP'", "NSND", "DCR'", "MDCR'"),
    "mir": ("MIR",),
    "authenticity": (),
    "identifiability": (),
}
"""Metrics, and the names of their printed forms; those without one are printed as they are."""


def measured(table: Table, rows: int, budget: float, seed: int) -> dict[str, float]:
    """Every form on one table, its name with "excess" for the corrected one."""
    order = rng_for(seed, "people").permutation(len(table))
    train, control = table.take(order[:rows]), table.take(order[rows : 2 * rows])
    options = SynthesizeOptions(generator="privbayes", options={"epsilon": budget})
    made = fit(train, options, seed).sample(rows, seed)
    chosen = EvaluateOptions(metrics=tuple(FORMS), secrets=("income",), paper=True)
    found = evaluate(train, control, {"synthetic": made}, chosen, rng_for(seed, "evaluate"))
    values = {}
    for result in found.metrics:
        if not isinstance(result.outcome, Measure):
            continue
        printed = FORMS[result.name]
        for name in printed:
            values[name] = float(result.outcome.details["paper"][name])
        if not printed:
            values[result.name] = result.outcome.value
        if result.outcome.excess is not None:
            values[f"{result.name} excess"] = result.outcome.excess[0]
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--budgets", type=float, nargs="+", default=list(BUDGETS))
    chosen = parser.parse_args()
    columns = {name: {"role": Role.QUASI_IDENTIFIER.value} for name in KEYS}
    data = DataOptions.model_validate({"path": str(chosen.table), "missing": ("", "?"), "columns": columns})
    table, started = read_table(chosen.table, data), time.process_time()
    found: dict[str, list[float]] = defaultdict(list)
    for budget in chosen.budgets:
        each = [measured(table, chosen.rows, budget, seed) for seed in chosen.seeds]
        for name in set.intersection(*(set(one) for one in each)):
            found[name].append(float(np.mean([one[name] for one in each])))
    for name, values in sorted(found.items(), key=lambda item: item[0]):
        tau = kendalltau(chosen.budgets[: len(values)], values).statistic if len(set(values)) > 1 else 0.0
        print(f"{name:<26}{tau:6.2f}  {'  '.join(f'{value:.3f}' for value in values)}")
    print(f"{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
