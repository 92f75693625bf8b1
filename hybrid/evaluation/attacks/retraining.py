"""Repeated trainings of the generator within a time budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from hybrid.evaluation.context import Context
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import RetrainOptions
from hybrid.table import Table

POOLED = ("membership_trained", "membership_trained_random")
"""Metrics that share trainings on halves of a pool."""


def trainings(options: RetrainOptions, metrics: Iterable[Metric], n_secrets: int) -> int:
    """Number of trainings of the generator at one stage.

    It holds if no time limit ends it before. Attacks with shadow models share their trainings, and so do those on
    halves of a pool.
    """
    chosen = {metric.name: metric.mechanism for metric in metrics}
    bagged, canaries = "bagging_membership" in chosen, "canary" in chosen.values()
    pooled = any(name in POOLED for name in chosen)
    alone = {"bagging_membership", *POOLED}
    shadowed = any(mechanism == "shadow" and name not in alone for name, mechanism in chosen.items())
    parts = (
        n_secrets * -(-options.canaries // options.together) * canaries,
        options.shadows * shadowed,
        options.tests * (shadowed or bagged),
        2 * options.bagging * bagged,
        options.halves * pooled,
    )
    return sum(parts)


def most_rows(options: RetrainOptions, metrics: Iterable[Metric]) -> int:
    """Records in the largest of the trainings of these metrics, at most."""
    names = {metric.name for metric in metrics if {"retraining", "trainings"} & set(metric.needs)}
    pooled = names & set(POOLED)
    return max(options.rows if names - pooled else 0, options.pool // 2 if pooled else 0)


def options_of(context: Context) -> RetrainOptions:
    """Effort of attacks with training; the defaults where none is configured."""
    return context.options.retrain or RetrainOptions()


def retrained(
    context: Context, step: str, count: int, build: Callable[[int], Table], rng: np.random.Generator
) -> Iterator[tuple[int, Table]]:
    """Number and synthetic table of each training.

    There are ``count`` trainings, or as many as the time allows.

    Parameters
    ----------
    step : str
        What progress calls it.
    build : callable
        Training records of the i-th training.
    """
    assert context.fit_and_sample is not None
    limit, started = options_of(context).seconds, time.monotonic()
    for i in range(count):
        if limit is not None and time.monotonic() - started > limit:
            return
        context.progress(f"{step} ({context.stage})", i, count)
        yield i, context.fit_and_sample(build(i), int(rng.integers(2**31)))
