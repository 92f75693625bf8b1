"""Shadow models: trainings that all attacks on membership share.

Meeus et al. 2023 (Achilles' Heels), section 3. In each training every attacked person is in by the toss of a coin of
its own, in place of another record, so that one set of trainings serves all people and all attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import retrained
from hybrid.evaluation.attacks.vulnerability import vulnerability
from hybrid.evaluation.context import Context, Role
from hybrid.table import Table
from hybrid.table.append import appended

Observer = Callable[[Table, Table], Array]
"""What an attacker notes of a synthetic table about one person: ``observe(person, table)``, always of one shape."""
RARE_NUMBER = 0.95
"""Numbers above this quantile of train count as rare."""
RARE_SHARE = 0.01
"""Categories that at most this share of train has count as rare."""
BINS = 20
"""Intervals of about as many records each, in which numbers are likely or not."""


class Trained(NamedTuple):
    """Observations in n trainings, and who was in.

    ``seen`` (n, people, ...) by the name of the observer, float32; ``member`` (n, people), bool.
    """

    seen: Mapping[str, Array]
    member: Array

    def __len__(self) -> int:
        return len(self.member)


class Shadows(NamedTuple):
    """Trainings on the attacker's own people, and on training records."""

    shadow: Trained
    test: Trained


def shadows(context: Context, observers: Mapping[str, Observer]) -> Shadows:
    """Trainings of the generator with and without the attacked people.

    ``shadows`` on control, to learn an attack from, and ``tests`` on training records, to try it on. Records with the
    content of an attacked person are left out of both, so that only the person itself makes the difference.
    """
    options = context.options.retrain
    assert options is not None
    people = context.train.take(attacked(context))
    return Shadows(
        _train(context, "shadows", "control", options.shadows, people, observers),
        _train(context, "tests", "train", options.tests, people, observers),
    )


def attacked(context: Context) -> Array:
    """Rows of the training records that are attacked, as ``retrain.targets`` says.

    ``vulnerable``: the largest vulnerability. ``rare``: the most rare categories and numbers in the upper tail.
    ``unlikely``: the least product of the shares of their values, numbers in :data:`BINS` parts. ``random``: any. Ties
    are ordered by content.
    """
    options = context.options.retrain
    assert options is not None
    people, order = context.whole("train"), context.encoded("train").order
    values = np.full(len(order), -np.inf)
    rows = context.asked(people).rows
    if options.targets == "vulnerable":
        values[rows] = vulnerability(context, people)
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


def _train(
    context: Context, step: str, role: Role, count: int, people: Table, observers: Mapping[str, Observer]
) -> Trained:
    """Train repeatedly on records of a role, with random people among them."""
    rng = context.random(f"shadow models {step}")
    source = context.train if role == "train" else context.control
    assert source is not None and context.options.retrain is not None
    usable = _others(context, role, people, source)
    rows = min(context.options.retrain.rows, len(usable))
    member = rng.random((count, len(people))) < 0.5

    def build(i: int) -> Table:
        others = source.take(rng.permutation(usable)[: max(rows - int(member[i].sum()), 0)])
        return Table(appended(others.frame, people.take(np.flatnonzero(member[i])).frame), source.schema)

    each = [people.take(np.array([at])) for at in range(len(people))]
    seen: dict[str, list[list[Array]]] = {name: [] for name in observers}
    for _, table in retrained(context, f"shadow models, {step}", count, build, rng):
        for name, observe in observers.items():
            seen[name].append([observe(person, table) for person in each])
    done = len(next(iter(seen.values())))
    arrays = {name: np.array(found, dtype=np.float32) for name, found in seen.items()}
    return Trained(arrays, member[:done])


def _others(context: Context, role: Role, people: Table, source: Table) -> Array:
    """Records of a role without those equal to an attacked person."""
    names = context.encoding.names
    mine = pd.MultiIndex.from_frame(people.frame[names].astype(object).astype(str))
    theirs = pd.MultiIndex.from_frame(source.frame[names].astype(object).astype(str))
    order = context.encoded(role).order
    kept: Array = order[~theirs.isin(mine)[order]]
    return kept
