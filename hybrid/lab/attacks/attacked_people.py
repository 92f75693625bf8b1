"""Choice of the people whom attacks with training are made on."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import ordered
from hybrid.evaluation.attacks.vulnerability import unlike_others
from hybrid.evaluation.context import Context

RARE_NUMBER = 0.95
"""Numbers above this quantile of train count as rare."""
RARE_SHARE = 0.01
"""Categories that at most this share of train has count as rare."""
BINS = 20
"""Intervals of about as many records each, in which numbers are likely or not."""


def attacked(context: Context) -> Array:
    """Rows of the training records that are attacked, as ``retrain.targets`` says.

    ``vulnerable``: the largest vulnerability, by ``retrain.distance`` and ``retrain.neighbours``. ``rare``: the most
    rare categories and numbers in the upper tail. ``unlikely``: the least product of the shares of their values,
    numbers in :data:`BINS` parts. ``random``: any. Ties are ordered by content.
    """
    return context.once("attacked people", lambda: _chosen(ordered(context)))


def _chosen(context: Context) -> Array:
    options = context.options.retrain
    assert options is not None
    people, order = context.whole("train"), context.encoded("train").order
    values = np.full(len(order), -np.inf)
    rows = context.asked(people).rows
    if options.targets == "vulnerable":
        values[rows] = unlike_others(context, people, options.distance, options.neighbours)
    else:
        score = {"random": _any, "rare": _rare, "unlikely": _unlikely}[options.targets]
        values[rows] = score(context)[rows]
    count = min(options.records, len(context.train) // 10)
    chosen: Array = order[np.argsort(-values[order], kind="stable")[:count]]
    return chosen


def _any(context: Context) -> Array:
    return context.random("attacked people").random(len(context.train))


def _rare(context: Context) -> Array:
    """Number of rare values of each training record."""
    train = context.encoded("train")
    rare = np.zeros(len(train.order))
    for at, continuous in enumerate(context.encoding.continuous):
        ranks, numbers = train.ranks[:, at], train.numbers[:, at]
        if continuous:
            known = numbers[~np.isnan(numbers)]
            rare += np.nan_to_num(numbers, nan=-np.inf) > (np.quantile(known, RARE_NUMBER) if len(known) else np.inf)
        else:
            rare += np.bincount(ranks + 1)[ranks + 1] <= RARE_SHARE * len(ranks)
    return rare


def _unlikely(context: Context) -> Array:
    """Negative log-likelihood of each training record, column by column."""
    train = context.encoded("train")
    found = np.zeros(len(train.order))
    for at, continuous in enumerate(context.encoding.continuous):
        codes = train.ranks[:, at] + 1
        if continuous:
            numbers = train.numbers[:, at]
            known = numbers[~np.isnan(numbers)]
            edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else np.empty(0)
            codes = np.where(np.isnan(numbers), 0, 1 + np.searchsorted(edges, np.nan_to_num(numbers), side="right"))
        found -= np.log(np.bincount(codes)[codes] / len(codes))
    return found
