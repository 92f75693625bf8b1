"""Membership attack on random halves of a pool, pooled over people.

The attacker knows a pool of people, of whom each training has a random half, and can train as often as he likes: the
game of Carlini et al. 2022 (doi 10.1109/SP46214.2022.9833649) with the queries of Meeus et al. 2023. One model learns
from all attacked people together. So it takes far fewer trainings than a model for each person
(:mod:`hybrid.evaluation.attacks.counting_queries`), and there are enough trials for rates at few false alarms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.coded_rows import by_frequency, numbers_of, places
from hybrid.evaluation.attacks.counting_queries import FEW_COLUMNS, query_shares, sets_of_columns
from hybrid.evaluation.attacks.ordinal import ordered, with_places
from hybrid.evaluation.attacks.pooled_scores import pooled_scores, success
from hybrid.evaluation.attacks.retraining import retrained
from hybrid.evaluation.attacks.vulnerability import unlike_others
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import RetrainOptions
from hybrid.table import Table
from hybrid.table.persons import person_groups

Targets = Literal["exposed", "random"]
FALSE_ALARMS = (0.01, 0.001)
"""Shares of non-members whom the attacker may take for members (Carlini et al. 2022 print 0.1 %)."""
NEAR = 0.02
"""Numbers agree within this share of the range that the pool has."""
NEAREST = 10
"""Rows whose distance to a person is observed."""
MOST_SETS = 600
"""Sets of columns whose agreement is counted; of wider tables as many by chance."""
LEAST_PEOPLE, LEAST_TRAININGS = 10, 20
"""Attacked people, and trainings, below which nothing is said."""


@dataclass(frozen=True)
class Halves:
    """Trainings on random halves of a pool, as an attacker saw them.

    ``member`` (n, people), bool; ``seen`` (n, people, features), float32: observed of the synthetic table about each
    attacked person. The first half of the people are the most exposed, the others random.
    """

    member: Array
    seen: Array
    pool: int

    def of(self, targets: Targets) -> tuple[Array, Array]:
        """Observations and membership of the most exposed, or of the random."""
        half = self.member.shape[1] // 2
        side = slice(0, half) if targets == "exposed" else slice(half, None)
        return self.seen[:, side], self.member[:, side]


def chosen_people(context: Context) -> tuple[list[Array], Array]:
    """The pool, and the people of it who are attacked.

    Returns
    -------
    pool : list of numpy.ndarray
        Rows of the training table of each person.
    attacked : numpy.ndarray, shape (2 n,), int
        Positions in the pool: the n most exposed, then n random others. A person is as exposed as the row least like
        others (:func:`~.vulnerability.unlike_others`).
    """
    options, rng = _options(context), context.random("pool")
    persons, order, whole = context.train.persons, context.encoded("train").order, context.whole("train")
    person = np.arange(len(order)) if persons is None else person_groups(persons)
    unlike = np.full(len(order), -np.inf)
    unlike[context.asked(whole).rows] = unlike_others(context, whole, options.distance, options.neighbours)
    by_person = order[np.lexsort((-unlike[order], person[order]))]
    rows = np.split(by_person, np.flatnonzero(np.diff(person[by_person])) + 1)
    place = np.argsort(order)
    rows.sort(key=lambda mine: int(place[mine[0]]))  # By content: numbers of persons follow the order of the file.
    pool = [rows[at] for at in rng.permutation(len(rows))[: options.pool]]
    ranked = np.argsort([-unlike[mine[0]] for mine in pool], kind="stable")
    count = min(round(options.share * len(pool)), len(pool) // 2)
    return pool, np.concatenate([ranked[:count], rng.permutation(ranked[count:])[:count]])


def halves(context: Context) -> Halves:
    """Train on random halves of the pool, and observe each synthetic table."""
    return context.once("halves", lambda: _train(ordered(context), context))


def _train(plain: Context, context: Context) -> Halves:
    options, rng = _options(context), context.random("halves")
    pool, attacked = chosen_people(plain)
    inside = rng.permuted(np.tile(np.arange(len(pool)) < len(pool) // 2, (options.halves, 1)), axis=1)
    rows = np.concatenate(pool)
    owner = np.repeat(np.arange(len(pool)), [len(mine) for mine in pool])
    observe = observer(plain, plain.train.take(np.array([pool[at][0] for at in attacked], dtype=np.int64)))

    def build(i: int) -> Table:
        return context.train.take(rng.permutation(rows[inside[i][owner]]))

    made = retrained(context, "halves of a pool", options.halves, build, rng)
    seen = np.array([observe(with_places(table, options.ordinal)) for _, table in made], dtype=np.float32)
    return Halves(inside[: len(seen), attacked], seen, len(pool))


def observer(context: Context, people: Table) -> Callable[[Table], Array]:
    """Observation of a synthetic table about people: shape (n_people, features).

    Shares of rows that agree with a person on all columns of a set, shares that agree on at least 1, 2, ... columns,
    and Gower's distances of the nearest rows. Numbers agree within :data:`NEAR` of the range; missing agrees with
    missing and is 1 from any value.
    """
    names, rng = context.encoding.names, context.random("queries of a pool")
    queried = np.sort(rng.permutation(len(names))[:FEW_COLUMNS])
    sets = sets_of_columns(len(queried), rng)[1:]
    sets = sets[np.sort(rng.permutation(len(sets))[:MOST_SETS])]
    columns = [_Column.of(context.train, people, name) for name in names]

    def observe(table: Table) -> Array:
        apart = [column.distances(table) for column in columns]
        agrees = [each <= NEAR for each in apart]
        masks = np.zeros(agrees[0].shape, dtype=np.int64)
        for bit, at in enumerate(queried):
            masks |= agrees[at].astype(np.int64) << bit
        counted = np.array([query_shares(mask, sets, len(queried)) for mask in masks])
        together = np.sum(agrees, axis=0, dtype=np.int64)
        least = np.array([(together >= least).mean(axis=1) for least in range(1, len(names) + 1)]).T
        near = np.sort(np.mean(apart, axis=0, dtype=np.float64), axis=1)[:, :NEAREST]
        return np.hstack([counted, least, near])

    return observe


@dataclass(frozen=True)
class _Column:
    """Column of the attacked people, to compare rows with."""

    name: str
    mine: Array
    """Numbers of the people, or places of their categories."""
    vocabulary: pd.Index | None = None
    """Of a categorical column; None for numbers and dates."""
    range: float = 1.0

    @classmethod
    def of(cls, pool: Table, people: Table, name: str) -> _Column:
        if people.schema[name].kind.is_continuous:
            known = numbers_of(pool.frame[name])
            span = float(np.ptp(known[~np.isnan(known)])) if not np.isnan(known).all() else 0.0
            return cls(name, numbers_of(people.frame[name]), None, span or 1.0)
        vocabulary = by_frequency(people.frame[name])
        return cls(name, places(people.frame[name], vocabulary), vocabulary)

    def distances(self, table: Table) -> Array:
        """Distance of every row to every person in this column.

        Shape (n_people, n_rows), float32, 0..1.
        """
        if self.vocabulary is not None:
            codes = places(table.frame[self.name], self.vocabulary)
            different: Array = (self.mine[:, None] != codes).astype(np.float32)
            return different
        values = numbers_of(table.frame[self.name])
        apart = np.minimum(np.abs(self.mine[:, None] - values) / self.range, 1.0)
        both = np.isnan(self.mine)[:, None] & np.isnan(values)
        distances: Array = np.where(both, 0.0, np.nan_to_num(apart, nan=1.0)).astype(np.float32)
        return distances


def _success(context: Context, targets: Targets) -> Outcome:
    found = halves(context)
    seen, member = found.of(targets)
    if member.shape[1] < LEAST_PEOPLE:
        return NotComputable(f"{_options(context).share:.3g} of the pool are fewer than {LEAST_PEOPLE}", "too_few")
    if len(member) < LEAST_TRAININGS:
        return NotComputable(f"the time allowed for {len(member)} trainings of {LEAST_TRAININGS}", "timed_out")
    rng = context.random(f"intervals of {targets} people")
    auc, *shares = success(pooled_scores(seen, member), member, FALSE_ALARMS, context.options.confidence, rng)
    details: dict[str, object] = {
        "people": member.shape[1],
        "pool": found.pool,
        "trainings": len(member),
        "detected": {f"{alarms:g}": list(each) for alarms, each in zip(FALSE_ALARMS, shares, strict=True)},
        "noticeable": 0.5 + (auc.value - auc.low),
    }
    if context.options.paper:
        details["paper"] = {
            f"TPR at {alarms:g} FPR": each.value for alarms, each in zip(FALSE_ALARMS, shares, strict=True)
        }
    return Measure(*auc, 0.5, member.size, details).above(0.5)


def membership_pool(context: Context) -> Outcome:
    """AUC of the pooled attack on the most exposed people, 0..1.

    Carlini et al. 2022 and Meeus et al. 2023. ``retrain.halves`` trainings, each on a random half of ``retrain.pool``
    training people; attacked are the ``retrain.share`` of them least like others. One ridge regression learns from
    what is observed about all of them (:func:`observer`, :func:`~.pooled_scores.pooled_scores`), and is tried on
    trainings that it has not seen. It is about tables of half the size. ``details.detected`` has the share of members
    found at 1 % and 0.1 % false alarms, which chance finds in the same shares; ``details.noticeable`` is about the
    least AUC that so many trials tell from chance. A value near 0.5 is no proof: a person may be worse off than the
    mean of all, and a stronger attack may exist.
    """
    return _success(context, "exposed")


def membership_pool_random(context: Context) -> Outcome:
    """AUC of the attack on random people of the pool, 0..1.

    As :func:`membership_pool`, about as many people who are not among the most exposed, with a regression of their own.
    """
    return _success(context, "random")


def _options(context: Context) -> RetrainOptions:
    assert context.options.retrain is not None
    return context.options.retrain


def _metric(compute: Callable[[Context], Outcome], sentence: str) -> Metric:
    return Metric(
        name=compute.__name__,
        family="privacy",
        direction="lower",
        sentence=sentence,
        low=0,
        high=1,
        no_leak=0.5,
        copy=None,
        compute=compute,
        needs=("retraining",),
        pillar="attack",
        risk="membership",
        mechanism="shadow",
        access="black_box",
        knows="own people and the generator",
        unit="AUC",
        by_default=False,
        printed=tuple(f"TPR at {alarms:g} FPR" for alarms in FALSE_ALARMS),
    )


METRICS = (
    _metric(
        membership_pool,
        "How well an attacker who can train the generator finds out which of the people least like others were in the "
        "training data.",
    ),
    _metric(
        membership_pool_random,
        "How well the same attacker finds out which of some random people were in the training data.",
    ),
)
