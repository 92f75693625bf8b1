"""Bagging membership attack: generators trained on bootstrap samples."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import Rows, coder, ordered
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import simultaneous
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.lab.attacks.counting_queries import forest_chances
from hybrid.lab.attacks.shadows import Trained, attackable, bootstraps, judged, tests

NEAR = 50
"""Rows nearest to a person, and as many random ones, that the attack by rows looks at."""


class Scores(NamedTuple):
    """Scores of the tests about one person, by both readings; shape (n_tests,)."""

    person: int
    by_tables: Array
    by_rows: Array


def bagging_membership(context: Context) -> Outcome:
    """AUC of the bagging attack on single people, 0..1.

    The attacker draws bootstrap samples of his own people (control), with and without the person, trains the generator
    on each, and learns a random forest (100 trees, depth 10) to tell the two worlds; it is tried on ``tests`` trainings
    on training records. Two readings. By tables: of mean, median and variance of numbers, of the number of categories
    and the most and the least frequent one, and of all correlations of codes. By rows: of rows labelled by their
    world, a table scoring the mean over the 50 rows nearest to the person minus that over 50 random ones. The reading
    with the higher lower bound is given; the interval holds for both (Sidak). 0.5 where nobody is memorized; mean over
    the people. ``accuracy`` is that of guesses at a probability of one half, by tables.
    """
    own = ordered(context).control
    assert own is not None
    learned, tested = bootstraps(context), tests(context)
    coding = coder(own, learned.people, context.encoding.names)
    rng = context.random("bagging")
    tables = [[coding.rows(table) for table in part.tables] for part in (learned, tested)]
    worlds = [np.array([described(rows) for rows in part]) for part in tables]
    scores = []
    for at in attackable(learned, tested):
        seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
        label = learned.member[:, at]
        by_tables = forest_chances(worlds[0], label, worlds[1], seeds[0])
        person = coding.rows(learned.person(at))
        parts = [np.array([_near_and_random(rows, person, rng) for rows in part]) for part in tables]
        by_rows = _row_scores(parts[0], label, parts[1], seeds[1])
        scores.append(Scores(at, by_tables, by_rows))
    return _worse(context, learned, tested, scores)


def described(rows: Rows) -> Array:
    """Summary of a table: its columns one by one, and their correlations."""
    numbers, codes = rows.numbers, rows.codes
    summary = [numbers.mean(axis=0), np.median(numbers, axis=0), numbers.var(axis=0)]
    for column in codes.T:
        values, times = np.unique(column, return_counts=True)
        summary.append(np.array([len(values), values[times.argmax()], values[times.argmin()]]))
    whole = rows.features
    centred = whole - whole.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    above = np.triu_indices(whole.shape[1], 1)
    return np.asarray(np.concatenate([*summary, (unit.T @ unit)[above]]))


def _near_and_random(rows: Rows, person: Rows, rng: np.random.Generator) -> Array:
    shuffled = rng.permutation(len(rows))
    near = shuffled[np.argsort(rows.distances_to(person)[shuffled], kind="stable")[:NEAR]]
    return np.asarray(rows.features[np.concatenate([np.resize(near, NEAR), np.resize(shuffled, NEAR)])])


def _row_scores(learned: Array, label: Array, tested: Array, seed: int) -> Array:
    """Score of each tested table: nearest rows against random ones."""
    flat = [part.reshape(-1, part.shape[-1]) for part in (learned, tested)]
    found = forest_chances(flat[0], np.repeat(label, learned.shape[1]), flat[1], seed).reshape(len(tested), 2, NEAR)
    scores: Array = found[:, 0].mean(axis=1) - found[:, 1].mean(axis=1)
    return np.round(scores, 9)  # Rounding must not break ties.


def _worse(context: Context, learned: Trained, tested: Trained, scores: list[Scores]) -> Outcome:
    """The reading with the higher lower bound."""
    level = simultaneous(context.options.confidence, 2)
    readings = {
        "tables": judged(context, learned, tested, [(each.person, each.by_tables) for each in scores], level),
        "rows": judged(context, learned, tested, [(each.person, each.by_rows) for each in scores], level),
    }
    made = {name: outcome for name, outcome in readings.items() if isinstance(outcome, Measure)}
    if not made:
        return next(outcome for outcome in readings.values() if isinstance(outcome, NotComputable))
    top = max(made, key=lambda name: (made[name].low or 0.0, made[name].value, name))
    right = [((each.by_tables >= 0.5) == tested.member[:, each.person]).mean() for each in scores]
    more: dict[str, object] = {
        "reading": top,
        "readings": {name: [each.value, each.low, each.high] for name, each in made.items()},
        "accuracy": float(np.mean(right)),
        "interval": "simultaneous over 2",
    }
    return replace(made[top], details=made[top].details | more, together=2)


BEFORE = "membership_trained"
METRICS = (
    attack_with_trainings(
        bagging_membership,
        "membership",
        "How well an attacker who trains the generator on random samples of own people finds out whether a "
        "conspicuous person was in the training data.",
        by_default=False,
    ),
)
