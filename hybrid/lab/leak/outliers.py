"""Removal of unusual training records before anything learns.

Whether metrics, and people who stay, are better off without outliers is what the risk model ``outliers`` of
:mod:`hybrid.lab.risk` asks; the removal by chance is its control.
"""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors, vulnerability
from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EvaluateOptions
from hybrid.pipeline.risk import RemovalOptions
from hybrid.table import Table
from hybrid.table.persons import person_groups


def without_unusual(train: Table, options: RemovalOptions, seed: int) -> Table:
    """Training records without the most unusual people.

    With one seed, a larger share removes those of every smaller one, too. Of a person with several rows the most
    unusual one counts, and all are removed.

    Parameters
    ----------
    train : Table, shape (n, n_columns)
        The training records.
    options : RemovalOptions
        Share of the people, 0..0.5, and what makes them unusual.
    seed : int
        Decides among equals.

    Returns
    -------
    Table
        The others, in their order; ``round(remove * n)`` people fewer.
    """
    people = np.arange(len(train)) if train.persons is None else person_groups(train.persons)
    n = int(people.max(initial=-1)) + 1
    unusual = np.full(n, -np.inf)
    np.maximum.at(unusual, people, _unusual(train, options))
    order = np.lexsort((rng_for(seed, "removal").permutation(n), -unusual))
    return train.take(~np.isin(people, order[: round(options.remove * n)]))


def _unusual(train: Table, options: RemovalOptions) -> Array:
    """Unusualness of each record, larger being more so; shape (n,)."""
    if options.by == "random":
        return np.zeros(len(train))
    context = Context(train, None, train, EvaluateOptions(max_records=None))
    if options.by == "vulnerability":
        return vulnerability(context, context.whole("train"))
    return local_outlier_factors(context.space, context.place(context.whole("train")))
