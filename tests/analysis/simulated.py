"""Results of comparisons that never ran, with effects that are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hybrid.analysis import Results, results

PRIVACY, UTILITY, CLOSENESS = "synthetic.singling_out", "synthetic.tstr.income", "synthetic.discriminator"
Truth = Callable[[Mapping[str, Any]], float]


def levels(**factors: Sequence[Any]) -> pd.DataFrame:
    """A full factorial plan as text, by configuration."""
    combinations = list(product(*factors.values()))
    names = [f"c{i}" for i in range(1, len(combinations) + 1)]
    return pd.DataFrame(combinations, columns=list(factors), index=names).astype(str)


def noise(plan: pd.DataFrame, seeds: int, rng: np.random.Generator) -> np.ndarray:
    """Errors as comparisons have them, shape (n_configurations, n_seeds).

    A seed moves all runs (its split), all runs with one level of the first factor (an anonymized table that they share)
    and, unequally, those of each level of the second (a strategy that depends more on the draw than another).
    """
    first, second = (pd.factorize(plan[name])[0] for name in plan.columns[:2])
    shared = rng.normal(size=seeds)
    tables = 0.6 * rng.normal(size=(first.max() + 1, seeds))[first]
    strategies = (rng.normal(size=(second.max() + 1, seeds)) * (0.1 + np.arange(second.max() + 1))[:, None])[second]
    return shared + tables + strategies + 0.3 * rng.normal(size=(len(plan), seeds))


def run_table(plan: pd.DataFrame, columns: Mapping[str, np.ndarray], verdicts: Sequence[str] = ()) -> pd.DataFrame:
    """A results table from matrices of shape (n_configurations, n_seeds); a run without any number has failed."""
    rows = []
    for at, (name, factors) in enumerate(plan.iterrows()):
        for seed in range(next(iter(columns.values())).shape[1]):
            values = {column: matrix[at, seed] for column, matrix in columns.items()}
            failed = all(np.isnan(value) for value in values.values())
            rows.append(
                {"configuration": name, **factors, "seed": seed + 1}
                | {"status": "failed" if failed else "ok", "reason": "too small" if failed else ""}
                | {"verdict": None if failed or not verdicts else verdicts[at]}
                | values
            )
    return pd.DataFrame(rows)


def simulated(
    plan: pd.DataFrame,
    columns: Mapping[str, np.ndarray],
    verdicts: Sequence[str] = (),
    facets: Mapping[str, Mapping[str, str]] | None = None,
) -> Results:
    return results(run_table(plan, columns, verdicts), list(plan.columns), facets)
