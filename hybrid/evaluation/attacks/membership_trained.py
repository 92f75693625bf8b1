"""Membership attack by an attacker who repeats the whole process, pooled over people.

The attacker knows a pool of people, of whom each training has a random half, and can train as often as he likes: the
game of Carlini et al. 2022 (doi 10.1109/SP46214.2022.9833649). One model learns from all attacked people together. So
it takes far fewer trainings than a model for each person (Meeus et al. 2023), and there are enough trials for rates at
few false alarms.

Trainings end at one of ``retrain.looks`` looks, once no limit lies within an interval any more. The intervals of all
looks hold together (repeated confidence intervals, Jennison and Turnbull 1989, doi 10.1111/j.2517-6161.1989.tb01763.x;
here at Sidak's level instead of Pocock's, which is 4 % narrower at three looks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.retraining import by_frequency, ordered, places, retrained, with_places
from hybrid.evaluation.attacks.vulnerability import unlike_others
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import Interval, auc, clustered_error, placements, simultaneous
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.options import RetrainOptions
from hybrid.evaluation.people_in_tables import LinkedPeople
from hybrid.table import Table
from hybrid.table.codings import numbers_of
from hybrid.table.persons import person_groups

NEAR = 0.02
"""Numbers agree within this share of the range that the pool has."""
NEAREST = 10
"""Rows whose distance to a person is observed."""
MOST_PAIRED = 30
"""Columns whose pairs are observed; of wider tables as many by chance."""


def rows_of_people(context: Context) -> tuple[list[Array], Array]:
    """Rows of the training table of each person, and how little each row is like others.

    Of each person the row least like others comes first (:func:`~.vulnerability.unlike_others`), and people come in an
    order of their content. The second is -inf for rows that searches do not ask about.
    """
    options = context.retrain
    order, whole = context.encoded("train").order, context.whole("train")
    person = person_groups(context.train.persons)
    unlike = np.full(len(order), -np.inf)
    unlike[context.asked(whole).rows] = unlike_others(context, whole, options.distance, options.neighbours)
    by_person = order[np.lexsort((-unlike[order], person[order]))]
    rows = np.split(by_person, np.flatnonzero(np.diff(person[by_person])) + 1)
    place = np.argsort(order)
    rows.sort(key=lambda mine: int(place[mine[0]]))  # By content: numbers of persons follow the order of the file.
    return rows, unlike


def observer_of_people(context: Context, people: Sequence[Array]) -> Callable[[Table], Array]:
    """Observation (:func:`observer`) of each person's row least like others, also in each table below; 0 without."""
    first = np.array([rows[0] for rows in people], dtype=np.int64)
    train, table = context.train, context.table
    own = observer(context, train.take(first))
    if not (isinstance(train, LinkedPeople) and isinstance(table, LinkedPeople)):
        return own
    persons = train.numbers[first]
    below = [
        _observer_below(Context(real, None, made, context.options, context.seed, context.stage), persons)
        for real, made in zip(train.below, table.below, strict=True)
    ]

    def observe(table: Table) -> Array:
        assert isinstance(table, LinkedPeople)
        return np.hstack([own(table), *(see(rows) for see, rows in zip(below, table.below, strict=True))])

    return observe


def _observer_below(context: Context, persons: Array) -> Callable[[Table], Array]:
    """Observation of a table below that of people, about these."""
    rows = np.array([mine[0] for mine in rows_of_people(context)[0]], dtype=np.int64)
    found = pd.Index(context.train.persons[rows]).get_indexer(pd.Index(persons))
    there = found >= 0
    see = observer(context, context.train.take(rows[found[there]]))

    def observe(table: Table) -> Array:
        seen = see(table)
        whole = np.zeros((len(persons), seen.shape[1]), dtype=seen.dtype)
        whole[there] = seen
        return whole

    return observe


def observer(context: Context, people: Table) -> Callable[[Table], Array]:
    """Observation of a synthetic table about people: shape (n_people, features).

    Shares of rows that agree with a person on each column and on each pair of columns, shares that agree on at least 1,
    2, ... columns, and Gower's distances of the nearest rows. Numbers agree within :data:`NEAR` of the range; missing
    agrees with missing and is 1 from any value.
    """
    from hybrid.evaluation.engine import kernels

    names, rng = context.encoding.names, context.random("queries of a pool")
    paired = np.sort(rng.permutation(len(names))[:MOST_PAIRED])
    first, second = np.triu_indices(len(paired))
    columns = [_Column.of(context.train, people, name) for name in names]
    mine = np.stack([column.placed(people) for column in columns], 1)
    is_category = np.array([column.vocabulary is not None for column in columns])

    def observe(table: Table) -> Array:
        rows = np.stack([column.placed(table) for column in columns])
        return np.stack([_observed(rows, own) for own in mine])

    def _observed(rows: Array, own: Array) -> Array:
        agrees, (n_agreeing, far) = np.empty_like(rows), np.zeros((2, len(rows.T)), dtype=np.float32)
        kernels.agreements(rows, own, is_category, np.float32(NEAR), agrees, n_agreeing, far)
        some = agrees[paired]
        both = (some @ some.T)[first, second] / len(agrees.T)
        together = np.bincount(n_agreeing.astype(np.int64), minlength=len(names) + 1)
        least = np.cumsum(together[::-1])[-2::-1] / len(agrees.T)
        far /= np.float32(len(names))
        near = np.sort(np.partition(far, NEAREST - 1)[:NEAREST] if len(far) > NEAREST else far)
        return np.concatenate([both, least, np.pad(near, (0, max(NEAREST - len(near), 0)), mode="edge")])

    return observe


@dataclass(frozen=True)
class _Column:
    """Values of a column as numbers whose differences are distances."""

    name: str
    vocabulary: pd.Index | None
    """Of a categorical column; None for numbers and dates."""
    least: float = 0.0
    range: float = 1.0

    @classmethod
    def of(cls, pool: Table, people: Table, name: str) -> _Column:
        if not people.schema[name].kind.is_continuous:
            return cls(name, by_frequency(people.frame[name]))
        known = numbers_of(pool.frame[name])
        known = known[~np.isnan(known)]
        return cls(name, None, float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else cls(name, None)

    def placed(self, table: Table) -> Array:
        """Shares of the range that the pool has, or places of categories; shape (n,), float32, NaN where missing."""
        values = table.frame[self.name]
        if self.vocabulary is not None:
            return places(values, self.vocabulary).astype(np.float32)
        return ((numbers_of(values) - self.least) / self.range).astype(np.float32)


FOLDS = 6
"""Parts of the trainings: each is attacked with what was learned from the others."""
CLIPPED = 4.0
"""Standard deviations beyond which an observation counts as this far."""
PENALTIES = np.logspace(0, 6, 13)
DRAWS = 200
"""Draws of people and trainings for intervals."""


def pooled_scores(seen: Array, member: Array) -> Array:
    """Membership score of every person in every training, larger for likely members.

    Observations of a person are standardized over all trainings, and a ridge regression of membership on them is fitted
    to all people together; its penalty has the least generalized cross-validation error (Golub, Heath and Wahba 1979).
    Each training is scored by a regression that was learned without it. ``seen`` has shape (n, people, features),
    ``member`` says who was in, half of the pool in each training; scores (n, people).
    """
    part = np.arange(len(seen)) % FOLDS
    center, spread = seen.mean(axis=0), seen.std(axis=0)
    usual = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    placed = np.clip((seen - center) * usual, -CLIPPED, CLIPPED)
    sums = [_sums(placed[part == fold], member[part == fold]) for fold in range(FOLDS)]
    scores = np.empty(member.shape)
    for fold in range(FOLDS):
        products, shared, trials = zip(*(sums[:fold] + sums[fold + 1 :]), strict=True)
        scores[part == fold] = placed[part == fold] @ _ridge(sum(products), sum(shared), sum(trials))
    return scores


def _sums(placed: Array, member: Array) -> tuple[Array, Array, int]:
    """Sums over trials for a regression: products of the features, those with membership (+-1/2), and a count."""
    features = placed.reshape(-1, placed.shape[-1])
    shared = features.T @ (member.reshape(-1) - 0.5).astype(features.dtype)
    return (features.T @ features).astype(np.float64), shared.astype(np.float64), len(features)


def _ridge(products: Array, shared: Array, trials: int) -> Array:
    """Weights of the features; shape (n_features,)."""
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ shared
    shrunk = projected / (values + PENALTIES[:, None])
    left = trials / 4 - 2 * shrunk @ projected + (shrunk**2) @ values
    freedom = (values / (values + PENALTIES[:, None])).sum(axis=1)
    best = int(np.argmin(left / np.maximum(trials - freedom, 1.0) ** 2))
    return np.asarray(vectors @ shrunk[best])


def auc_of(scores: Array, member: Array, confidence: float) -> Interval:
    """AUC with an interval for trials that share people and trainings.

    The variance is that of the mean of placements (DeLong et al. 1988), dependent within people and within trainings:
    V_people + V_trainings (Cameron, Gelbach and Miller 2011, doi 10.1198/jbes.2010.07136). Their overlap is not taken
    off, since the scores share what was learned, too: with it taken off, such intervals cover 77 to 93 % instead of 95
    %, without that 90 to 99 % (``benchmarks/pooled_intervals.py``). Student's quantile and c/(c - 1), with c the fewer
    of people and trainings. Both have shape (n, people).
    """
    from scipy.stats import t as student

    inside, outside = scores[member], scores[~member]
    value = auc(inside, outside)
    centered = np.empty(scores.shape)
    centered[member], centered[~member] = (
        (side - value) * scores.size / len(side) for side in placements(inside, outside)
    )
    training, person = np.indices(scores.shape).reshape(2, -1)
    error = math.hypot(*(clustered_error(centered.reshape(-1), each) for each in (training, person)))
    fewest = min(scores.shape)
    half = float(student.ppf((1 + confidence) / 2, fewest - 1)) * error * math.sqrt(fewest / (fewest - 1))
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def found_at(
    scores: Array, member: Array, false_alarms: tuple[float, ...], confidence: float, rng: np.random.Generator
) -> list[Interval]:
    """Share of members found at each false-alarm rate.

    Bounds are percentiles over draws of people and of trainings with replacement, both at once: the pigeonhole
    bootstrap (Owen 2007, doi 10.1214/07-AOAS122), which is a little too wide rather than too narrow. Scores, and who
    was in, have shape (n, people); between two thresholds the attacker tosses a coin.
    """
    n, people = scores.shape
    order = np.argsort(-scores.ravel(), kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores.ravel()[order])), len(order) - 1)
    truth, training, person = member.ravel()[order], order // people, order % people
    found = [rates(truth.astype(float), (~truth).astype(float), last, false_alarms)]
    for _ in range(DRAWS):
        drawn = [rng.multinomial(size, np.full(size, 1 / size)).astype(float) for size in (n, people)]
        weights = drawn[0][training] * drawn[1][person]
        found.append(rates(weights * truth, weights * ~truth, last, false_alarms))
    tails = np.nanquantile(found[1:], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    values = zip(found[0], *tails, strict=True)
    return [Interval(float(value), float(min(low, value)), float(max(high, value))) for value, low, high in values]


def rates(inside: Array, outside: Array, last: Array, false_alarms: tuple[float, ...]) -> list[float]:
    """Rates of detection of one ranking, from the weights of members and of non-members by falling score."""
    detected, alarms = (np.concatenate([[0.0], np.cumsum(side)[last]]) for side in (inside, outside))
    if not detected[-1] or not alarms[-1]:
        return [float("nan")] * len(false_alarms)
    detected, alarms = detected / detected[-1], alarms / alarms[-1]
    corners = np.append(np.diff(alarms) > 0, True)  # The highest rate of detection at each rate of false alarms.
    return [float(share) for share in np.interp(false_alarms, alarms[corners], detected[corners])]


Targets = Literal["exposed", "random"]
TARGETS: tuple[Targets, ...] = ("exposed", "random")
FALSE_ALARMS = (0.01, 0.001)
"""Shares of non-members whom the attacker may take for members (Carlini et al. 2022 print 0.1 %)."""
LEAST_EXPOSED = 80
"""Fewest people among the most exposed; fewer in a pool that is too small for them."""
ASKED, MOST_ASKED = 4_000_000, 2_000
"""Random people who are attacked times people of the pool, about: what it costs to observe them; and most such people.
400 of a pool of 10,000, all of one of 2,000: the more there are, the more one attacker learns, and the narrower the
interval."""
WIDER = 1.4
"""Factor of the intervals that must decide before trainings end: a third draw of the same data is judged so much more
strictly than the first (:func:`~hybrid.publication.gate.strictness`), and further trainings decide it, too."""
LEAST_PEOPLE, LEAST_TRAININGS = 10, 20
"""Attacked people, and trainings, below which nothing is said."""


@dataclass(frozen=True)
class Trainings:
    """Trainings on random halves of a pool, as an attacker saw them.

    ``member`` (n, people), bool; the first ``exposed`` of the people are the most exposed, the others random.
    ``scores`` (n, people) and ``auc``, with the interval of all looks, are of each group.
    """

    member: Array
    exposed: int
    pool: int
    scores: dict[Targets, Array]
    auc: dict[Targets, Interval]

    def members(self, targets: Targets) -> Array:
        return _side(self.member, self.exposed, targets)


def _side(values: Array, exposed: int, targets: Targets) -> Array:
    return values[:, :exposed] if targets == "exposed" else values[:, exposed:]


def chosen_people(context: Context) -> tuple[list[Array], Array, int]:
    """Rows of each person of the pool, and positions in it of the most exposed, then of random others; their number."""
    options, rng = context.retrain, context.random("pool")
    rows, unlike = rows_of_people(context)
    pool = [rows[at] for at in rng.permutation(len(rows))[: options.pool]]
    ranked = np.argsort([-unlike[mine[0]] for mine in pool], kind="stable")
    count = min(max(round(options.share * len(pool)), LEAST_EXPOSED), len(pool) // 4)
    return pool, np.concatenate([ranked[:count], rng.permutation(ranked[count:])[: n_random(len(pool))]]), count


def n_random(pool: int) -> int:
    """Random people of a pool who are attacked, at most."""
    return min(ASKED // pool, MOST_ASKED)


def trainings_of(context: Context) -> Trainings:
    """Train on random halves of the pool, and attack each synthetic table."""
    return context.once("trainings", lambda: _train(ordered(context), context))


def _train(plain: Context, context: Context) -> Trainings:
    options, rng = context.retrain, context.random("halves")
    pool, attacked, exposed = chosen_people(plain)
    inside = rng.permuted(np.tile(np.arange(len(pool)) < len(pool) // 2, (options.halves, 1)), axis=1)
    rows = np.concatenate(pool)
    owner = np.repeat(np.arange(len(pool)), [len(mine) for mine in pool])
    observe = observer_of_people(plain, [pool[at] for at in attacked])

    def build(i: int) -> Table:
        return context.train.take(rng.permutation(rows[inside[i][owner]]))

    made = retrained(context, "halves of a pool", options.halves, build, rng)
    seen: list[Array] = []
    for look in looks(options):
        seen += [observe(with_places(table, options.ordinal)) for _, table in islice(made, look - len(seen))]
        member = inside[: len(seen), attacked]
        found = _attacked(np.array(seen, dtype=np.float32), member, exposed, len(pool), context)
        if len(seen) < look or is_certain(found, options):
            break
    return found


def looks(options: RetrainOptions) -> list[int]:
    """Trainings at whose end the verdict may be certain: each twice as many, the first :data:`LEAST_TRAININGS` or more.

    Twice as many make an interval narrower by 3 tenths. Steps that are equal would ask more often where little changes.
    """
    steps = [-(-options.halves // 2**left) for left in reversed(range(options.looks))]
    return [step for step in steps if step >= LEAST_TRAININGS]


def is_certain(found: Trainings, options: RetrainOptions) -> bool:
    """True if no limit lies within the interval of either group of people, :data:`WIDER` on both sides."""
    limits = {"exposed": options.exposed_limits, "random": options.random_limits}
    return all(
        not value - WIDER * (value - low) <= limit < value + WIDER * (high - value)
        for of, (value, low, high) in found.auc.items()
        for limit in limits[of]
    )


def _attacked(seen: Array, member: Array, exposed: int, pool: int, context: Context) -> Trainings:
    """Success of the attacker with the trainings so far; none with too few of them, or of people."""
    scores: dict[Targets, Array] = {}
    auc: dict[Targets, Interval] = {}
    confidence = simultaneous(context.options.confidence, len(looks(context.retrain)))
    for targets in TARGETS:
        members = _side(member, exposed, targets)
        if len(seen) >= LEAST_TRAININGS and members.shape[1] >= LEAST_PEOPLE:
            scores[targets] = pooled_scores(_side(seen, exposed, targets), members)
            auc[targets] = auc_of(scores[targets], members, confidence)
    return Trainings(member, exposed, pool, scores, auc)


def _success(context: Context, targets: Targets) -> Outcome:
    found = trainings_of(context)
    member = found.members(targets)
    if member.shape[1] < LEAST_PEOPLE:
        reason = sentence("metric.few.pool", n=LEAST_PEOPLE, who=targets, pool=found.pool)
        return NotComputable(reason, "too_few")
    if targets not in found.auc:
        return NotComputable(sentence("metric.time.trainings", n=len(member), least=LEAST_TRAININGS), "timed_out")
    options, auc = context.retrain, found.auc[targets]
    rng = context.random(f"intervals of {targets} people")
    shares = found_at(found.scores[targets], member, FALSE_ALARMS, context.options.confidence, rng)
    details: dict[str, object] = {
        "people": member.shape[1],
        "pool": found.pool,
        "trainings": len(member),
        "most_trainings": options.halves,
        "detected": {f"{alarms:g}": list(each) for alarms, each in zip(FALSE_ALARMS, shares, strict=True)},
        "noticeable": 0.5 + (auc.value - auc.low),
    }
    if context.options.paper:
        details["paper"] = {
            f"TPR at {alarms:g} FPR": each.value for alarms, each in zip(FALSE_ALARMS, shares, strict=True)
        }
    return Measure(*auc, 0.5, member.size, details, together=len(looks(options))).above(0.5)


def membership_trained(context: Context) -> Outcome:
    """AUC of the attack on the most exposed people, 0..1.

    Carlini et al. 2022 and Meeus et al. 2023. Up to ``retrain.halves`` trainings repeat the whole process, each on a
    random half of ``retrain.pool`` training people; attacked are the ``retrain.share`` of them least like others, at
    least 80 (or a quarter of a small pool). One ridge regression learns from what is observed about all of them
    (:func:`observer_of_people`, :func:`pooled_scores`), and is tried on trainings that it has not seen. It is about
    tables of half the size. Trainings end earlier once the interval holds none of ``retrain.exposed_limits``, and that
    of random people none of ``retrain.random_limits``; intervals are corrected for looking several times.

    Of linked tables all are made again, and people are attacked with their rows in all of them
    (:class:`~hybrid.evaluation.people_in_tables.LinkedPeople`).
    ``details.detected`` has the share of members found at 1 % and 0.1 % false alarms, which chance finds in the same
    shares; ``details.noticeable`` is about the least AUC that so many trials tell from chance. A value near 0.5 is no
    proof: a person may be worse off than the mean of all, and a stronger attack may exist.
    """
    return _success(context, "exposed")


def membership_trained_random(context: Context) -> Outcome:
    """AUC of the attack on random people of the pool, 0..1.

    As :func:`membership_trained`, of people who are not among the most exposed, with a regression of their own: 400 in
    a pool of 10,000, in smaller ones more, up to 2,000, as observing them costs less.
    """
    return _success(context, "random")


METRICS = (
    attack_with_trainings(
        membership_trained,
        "membership",
        "How well an attacker who can repeat the whole process finds out which of the people least like others "
        "were in the data.",
        needs=("trainings",),
        printed=("TPR at 0.01 FPR", "TPR at 0.001 FPR"),
    ),
    attack_with_trainings(
        membership_trained_random,
        "membership",
        "How well the same attacker finds out which of some random people were in the data.",
        needs=("trainings",),
        printed=("TPR at 0.01 FPR", "TPR at 0.001 FPR"),
    ),
)
