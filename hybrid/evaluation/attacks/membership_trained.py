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

from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.observed import observer_of_people, rows_of_people
from hybrid.evaluation.attacks.ordinal import ordered, with_places
from hybrid.evaluation.attacks.pooled_scores import Interval, auc_of, found_at, pooled_scores
from hybrid.evaluation.attacks.retraining import options_of, retrained
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import simultaneous
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.options import RetrainOptions
from hybrid.table import Table

Targets = Literal["exposed", "random"]
TARGETS: tuple[Targets, ...] = ("exposed", "random")
FALSE_ALARMS = (0.01, 0.001)
"""Shares of non-members whom the attacker may take for members (Carlini et al. 2022 print 0.1 %)."""
LEAST_EXPOSED, RANDOM = 80, 400
"""Fewest people among the most exposed, and random others; both are fewer in a pool that is too small for them."""
LEAST_PEOPLE, LEAST_TRAININGS = 10, 20
"""Attacked people, and trainings, below which nothing is said."""


@dataclass(frozen=True)
class Trainings:
    """Trainings on random halves of a pool, as an attacker saw them.

    ``member`` (n, people), bool; ``seen`` (n, people, features), float32: observed of the synthetic table about each
    attacked person. The first ``exposed`` of the people are the most exposed, the others random. ``scores``: of
    each group, shape (n, people of it); ``auc``: of each group, with the interval of all looks.
    """

    member: Array
    exposed: int
    pool: int
    scores: dict[Targets, Array]
    auc: dict[Targets, Interval]

    def members(self, targets: Targets) -> Array:
        """Membership of the most exposed, or of the random people."""
        return _side(self.member, self.exposed, targets)


def _side(values: Array, exposed: int, targets: Targets) -> Array:
    return values[:, :exposed] if targets == "exposed" else values[:, exposed:]


def chosen_people(context: Context) -> tuple[list[Array], Array, int]:
    """The pool, and the people of it who are attacked.

    Returns
    -------
    pool : list of numpy.ndarray
        Rows of the training table of each person.
    attacked : numpy.ndarray, shape (n,), int
        Positions in the pool: the most exposed, then random others. A person is as exposed as the row least like
        others (:func:`~.vulnerability.unlike_others`).
    exposed : int
        Number of the most exposed.
    """
    options, rng = options_of(context), context.random("pool")
    rows, unlike = rows_of_people(context)
    pool = [rows[at] for at in rng.permutation(len(rows))[: options.pool]]
    ranked = np.argsort([-unlike[mine[0]] for mine in pool], kind="stable")
    count = min(max(round(options.share * len(pool)), LEAST_EXPOSED), len(pool) // 4)
    return pool, np.concatenate([ranked[:count], rng.permutation(ranked[count:])[:RANDOM]]), count


def trainings_of(context: Context) -> Trainings:
    """Train on random halves of the pool, and attack each synthetic table."""
    return context.once("trainings", lambda: _train(ordered(context), context))


def _train(plain: Context, context: Context) -> Trainings:
    options, rng = options_of(context), context.random("halves")
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
    """Trainings at whose end the verdict may be certain: equal steps, the first of :data:`LEAST_TRAININGS` or more."""
    steps = [-(-options.halves * look // options.looks) for look in range(1, options.looks + 1)]
    return [step for step in steps if step >= LEAST_TRAININGS]


def is_certain(found: Trainings, options: RetrainOptions) -> bool:
    """True if no limit lies within the interval of either group of people."""
    limits = {"exposed": options.exposed_limits, "random": options.random_limits}
    return all(not interval.low <= limit < interval.high for of, interval in found.auc.items() for limit in limits[of])


def _attacked(seen: Array, member: Array, exposed: int, pool: int, context: Context) -> Trainings:
    """Success of the attacker with the trainings so far; none with too few of them, or of people."""
    scores: dict[Targets, Array] = {}
    auc: dict[Targets, Interval] = {}
    confidence = simultaneous(context.options.confidence, len(looks(options_of(context))))
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
        reason = f"the attack needs at least {LEAST_PEOPLE} {targets} people, and the pool of {found.pool:,} is smaller"
        return NotComputable(reason, "too_few")
    if targets not in found.auc:
        return NotComputable(f"the time allowed for {len(member)} trainings of {LEAST_TRAININGS}", "timed_out")
    options, auc = options_of(context), found.auc[targets]
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
    least 80 (or a quarter of a small pool). One ridge
    regression learns from what is observed about all of them (:func:`~.observed.observer_of_people`,
    :func:`~.pooled_scores.pooled_scores`), and is tried on trainings that it has not seen. It is about tables of half
    the size. Trainings end earlier once the interval holds none of ``retrain.exposed_limits``, and that of random
    people none of ``retrain.random_limits``; intervals are corrected for looking several times.
    Of linked tables all are made again, and people are attacked with their rows in all of them
    (:class:`~hybrid.evaluation.linked_people.LinkedPeople`).
    ``details.detected`` has the share of members found at 1 % and 0.1 % false alarms, which chance finds in the same
    shares; ``details.noticeable`` is about the least AUC that so many trials tell from chance. A value near 0.5 is no
    proof: a person may be worse off than the mean of all, and a stronger attack may exist.
    """
    return _success(context, "exposed")


def membership_trained_random(context: Context) -> Outcome:
    """AUC of the attack on random people of the pool, 0..1.

    As :func:`membership_trained`, up to 400 people who are not among the most exposed, with a regression of their own.
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
