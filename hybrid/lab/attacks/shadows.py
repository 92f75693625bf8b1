"""Shadow models: trainings that all attacks with them share, the people attacked, and the success of the attacks.

Meeus et al. 2023 (Achilles' Heels), section 3. In each training every attacked person is in by the toss of a coin of
its own, in place of another record, so that one set of trainings serves all people and all attacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.retraining import ordered, retrained, with_places
from hybrid.evaluation.attacks.vulnerability import unlike_others
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import in_parts, part_edges
from hybrid.evaluation.engine.intervals import auc_interval, exact_share_interval
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.people_in_tables import LinkedPeople
from hybrid.table import Table
from hybrid.table.schema import concat_rows

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
    options = context.retrain
    people, order = context.whole("train"), context.encoded("train").order
    values = np.full(len(order), -np.inf)
    rows = context.asked(people).rows
    if options.targets == "vulnerable":
        values[rows] = unlike_others(context, people, options.distance, options.neighbours)
    else:
        score = {"random": _any, "rare": _rare, "unlikely": _unlikely}[options.targets]
        values[rows] = score(context)[rows]
    count = min(options.records, len(context.train) // 10)
    return np.asarray(order[np.argsort(-values[order], kind="stable")[:count]])


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
            codes = in_parts(train.numbers[:, at], part_edges(train.numbers[:, at], BINS)) + 1
        found -= np.log(np.bincount(codes)[codes] / len(codes))
    return found


Observer = Callable[[Table, Table], Array]
"""What an attacker notes of a synthetic table about people: ``observe(people, table)``, shape (n_people, ...)."""
Step = Literal["shadows", "tests", "bootstraps"]


@dataclass(frozen=True)
class Trained:
    """Synthetic tables of n trainings, columns with a declared order as places, and who was in."""

    tables: tuple[Table, ...]
    member: Array
    """Shape (n, people), bool."""
    people: Table

    def __len__(self) -> int:
        return len(self.tables)

    def observed(self, observe: Observer) -> Array:
        """Observations of every training about every person; shape (n, people, ...), float32."""
        return np.array([observe(self.people, table) for table in self.tables], dtype=np.float32)

    def person(self, at: int) -> Table:
        return self.people.take(np.array([at]))


def shadows(context: Context) -> Trained:
    """Trainings on the attacker's own people (control), to learn an attack from."""
    return context.once("shadow models", lambda: _train(context, "shadows", "control", context.retrain.shadows))


def tests(context: Context) -> Trained:
    """Trainings on training records, to try an attack on."""
    return context.once("tested models", lambda: _train(context, "tests", "train", context.retrain.tests))


def bootstraps(context: Context) -> Trained:
    count = 2 * context.retrain.bagging
    return context.once("bagged models", lambda: _train(context, "bootstraps", "control", count))


def _train(context: Context, step: Step, role: Role, count: int) -> Trained:
    """Train repeatedly on records of a role, with random people among them.

    Records with the content of an attacked person are left out, so that only the person itself makes the difference.
    """
    rng, options = context.random(f"shadow models {step}"), context.retrain
    people = context.train.take(attacked(context))
    source = context.train if role == "train" else context.control
    assert source is not None
    usable = _others(context, role, people, source)
    rows = min(options.rows, len(usable))
    member = rng.random((count, len(people))) < 0.5

    def build(i: int) -> Table:
        wanted = max(rows - int(member[i].sum()), 0)
        again = step == "bootstraps"
        chosen = usable[rng.integers(len(usable), size=wanted)] if again else rng.permutation(usable)[:wanted]
        some, these = source.take(chosen), people.take(np.flatnonzero(member[i]))
        known = np.concatenate([some.persons, these.persons]) if isinstance(source, LinkedPeople) else None
        return Table(concat_rows(some.frame, these.frame), source.schema, known)

    made = retrained(context, f"shadow models, {step}", count, build, rng)
    tables = tuple(with_places(table, options.ordinal) for _, table in made)
    return Trained(tables, member[: len(tables)], with_places(people, options.ordinal))


def _others(context: Context, role: Role, people: Table, source: Table) -> Array:
    names = context.encoding.names
    mine = pd.MultiIndex.from_frame(people.frame[names].astype(object).astype(str))
    theirs = pd.MultiIndex.from_frame(source.frame[names].astype(object).astype(str))
    order = context.encoded(role).order
    return np.asarray(order[~theirs.isin(mine)[order]])


MIN_SIDE = 3
"""Trainings with, and without, a record that it takes to learn or to judge an attack on it."""
POINTS = 20
"""Thresholds that are tried for the empirical epsilon."""


def attackable(learned: Trained, tested: Trained) -> list[int]:
    """People with enough trainings with and without them, by number."""
    sides = [[np.bincount(side, minlength=2).min() for side in part.member.T] for part in (learned, tested)]
    return [at for at, (one, other) in enumerate(zip(*sides, strict=True)) if min(one, other) >= MIN_SIDE]


def judged(
    context: Context, learned: Trained, tested: Trained, scores: Sequence[tuple[int, Array]], confidence: float
) -> Outcome:
    """Mean AUC over the people, with its interval and the empirical epsilon.

    The attack learned from trainings, and is tried on others; ``scores`` have the number of each attacked person, and
    its scores in the tests, larger where it seems to have been in.
    """
    if not scores:
        return NotComputable(sentence("metric.time.shadows", n=len(learned), tests=len(tested)), "timed_out")
    inside = [tested.member[:, at] for at, _ in scores]
    attacks = [auc_interval(said[was], said[~was], confidence) for (_, said), was in zip(scores, inside, strict=True)]
    said, truth = np.concatenate([each for _, each in scores]), np.concatenate(inside)
    epsilon = empirical_epsilon(said, truth, context.random("empirical epsilon"))
    return _mean(np.array(attacks), learned, tested, {"epsilon": epsilon})


def _mean(attacks: Array, learned: Trained, tested: Trained, more: dict[str, Any]) -> Measure:
    values, lows, highs = attacks.T
    value, n = float(values.mean()), len(values)
    low, high = (float(np.sqrt(((values - ends) ** 2).sum())) / n for ends in (lows, highs))
    details: dict[str, object] = {
        "advantage": 2 * value - 1,
        "records": n,
        "shadows": len(learned),
        "tests": len(tested),
        "highest": float(values.max()),
        "lowest": float(values.min()),
        "spread": float(values.std()),
        **more,
    }
    return Measure(value, max(value - low, 0.0), min(value + high, 1.0), 0.5, n * len(tested), details).above(0.5)


def empirical_epsilon(scores: Array, member: Array, rng: np.random.Generator) -> float:
    """Lower bound of epsilon that an attack's scores show, 0 or more.

    log(TPR / FPR) with Clopper and Pearson's bounds (1934), each at 97.5 %, in the one half of the trials;
    the threshold is the best one of the other half (Jagielski et al. 2020, Algorithm 2). Trials of several people that
    share trainings count as independent.
    """
    half = rng.permutation(len(scores)) < len(scores) // 2
    thresholds = np.unique(np.quantile(scores[half], np.linspace(0, 1, POINTS + 1)))
    bounds = [_epsilon(scores[half] >= edge, member[half]) for edge in thresholds]
    chosen = thresholds[int(np.argmax(bounds))]
    return max(_epsilon(scores[~half] >= chosen, member[~half]), 0.0)


def _epsilon(said: Array, member: Array) -> float:
    inside, outside = int(member.sum()), int((~member).sum())
    if not inside or not outside:
        return 0.0
    low = exact_share_interval(int(said[member].sum()), inside, 0.95)[0]
    high = exact_share_interval(int(said[~member].sum()), outside, 0.95)[1]
    return math.log(low / high) if low > 0 else 0.0
