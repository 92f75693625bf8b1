"""Membership of single people by target attention."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import Rows, coder, ordered
from hybrid.evaluation.context import Context
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.lab.attacks.attention_network import Nearest, fitted_scores
from hybrid.lab.attacks.shadows import attackable, judged, shadows, tests

NEAREST = 100
"""Distinct rows, the nearest to the person, that the network sees of a table."""


def target_attention(context: Context) -> Outcome:
    """AUC of the target-attention attack on single people, 0..1.

    Meeus et al. 2023, appendix A. As ``counting_queries``, on the same trainings, with a network in the place of the
    queries: it sees the 100 distinct rows nearest to the person, each with its number and its distance, and weighs them
    by their likeness to the person. 0.5 where nobody is memorized; mean over the people. A low value from few shadow
    models is a weak attack, not safety.
    """
    if find_spec("torch") is None:
        reason = "a network is trained with torch, which is missing: pip install 'hybrid-release[tabddpm]' brings it"
        return NotComputable(reason, "failed")
    own = ordered(context).control
    assert own is not None
    shadow, test = shadows(context), tests(context)
    coding = coder(own, shadow.people, context.encoding.names)
    distinct = [[coding.rows(table).distinct() for table in part.tables] for part in (shadow, test)]
    rng = context.random("target attention")
    scores = []
    for at in attackable(shadow, test):
        person = coding.rows(shadow.person(at))
        seen = [stacked([nearest(rows, times, person) for rows, times in part], coding.unseen) for part in distinct]
        member, seed = shadow.member[:, at], int(rng.integers(2**31))
        scores.append((at, fitted_scores(seen[0], member, seen[1], coding.unseen, seed)))
    return judged(context, shadow, test, scores, context.options.confidence)


def nearest(rows: Rows, times: Array, person: Rows) -> tuple[Rows, Array]:
    """The person, then the rows nearest to it.

    With multiplicity and distance of each.

    Shapes (n, ...) and (n, 2), n at most :data:`NEAREST` + 1. The person has multiplicity 1 and distance 0.
    """
    distances = rows.distances_to(person)
    chosen = np.argsort(np.round(distances, 9), kind="stable")[:NEAREST]
    near = rows.take(chosen)
    about = np.column_stack([times[chosen], distances[chosen]])
    both = Rows(np.concatenate([person.codes, near.codes]), np.concatenate([person.numbers, near.numbers]))
    return both, np.concatenate([[[1.0, 0.0]], about])


def stacked(seen: list[tuple[Rows, Array]], unseen: int) -> Nearest:
    """Nearest rows of several tables, padded to one length."""
    longest = max(len(rows) for rows, _ in seen)

    def padded(part: Array, filler: float) -> Array:
        whole = np.full((longest, part.shape[1]), filler, dtype=part.dtype)
        whole[: len(part)] = part
        return whole

    return Nearest(
        np.array([padded(rows.codes, unseen) for rows, _ in seen]),
        np.array([padded(np.column_stack([rows.numbers, about]), 0.0) for rows, about in seen], dtype=np.float32),
        np.array([np.arange(longest) < len(rows) for rows, _ in seen]),
    )


BEFORE = "bagging_membership"
METRICS = (
    attack_with_trainings(
        target_attention,
        "membership",
        "How well a network that an attacker trains on rows like a conspicuous person finds out whether the "
        "person was in the training data.",
        by_default=False,
    ),
)
