"""Attribute inference with shadow models: one membership attack per possible secret."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import attacked, measured
from hybrid.evaluation.attacks.retraining import by_frequency, ordered, places
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import in_parts, part_edges
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.lab.attacks.counting_queries import agreement, forest_chances, queries, query_shares
from hybrid.lab.attacks.shadows import Trained, attackable, shadows, tests
from hybrid.table import Table
from hybrid.table.codings import numbers_of

MOST_VALUES = 20
"""Possible secrets that are tried: the most frequent categories among the attacker's people."""
PARTS = 10
"""Numbers and dates are guessed up to their tenth of the attacker's people."""
MOST_SETS = 500
"""Queries that ask about the secret, at most: those of the fewest columns."""


class Possible(NamedTuple):
    """Possible secrets: categories, or parts of a number."""

    values: tuple[Any, ...]
    edges: Array
    """Bounds of the parts; empty for categories."""

    def of(self, people: Table, column: str) -> Array:
        """Number of each person's secret among them; -1 for none of them."""
        if not len(self.edges):
            return np.maximum(places(people.frame[column], pd.Index(self.values, dtype=object)), -1)
        return in_parts(numbers_of(people.frame[column]), self.edges)


def possible(own: Table, column: str) -> Possible:
    """Secrets that the attacker's own people have."""
    if not own.schema[column].kind.is_continuous:
        return Possible(tuple(by_frequency(own.frame[column])[:MOST_VALUES]), np.empty(0))
    edges = part_edges(numbers_of(own.frame[column]), PARTS)
    return Possible(tuple(range(len(edges) + 1)), edges)


def inference_queries(context: Context, column: str) -> Outcome:
    """Risk that shadow models reveal a person's secret.

    The attacker knows all columns of the person but the secret, the way from records to table, and people of his own.
    For every possible secret he attacks the membership of the person with that secret (``counting_queries``, the
    queries that ask about the secret), and takes the most likely one. The attack is learned from the shadow models of
    the other attacked people, whose secrets he knows: a random forest on the shares of rows, each standardized by the
    trainings without its person. Numbers and dates are guessed up to their tenth. R = (r_in - r_out)/(1 - r_out) over
    the people's tests with them in the training data and without them: 0 where nobody's secret is remembered, whatever
    the population tells of it.
    """
    names = context.encoding.names
    columns, sets = queries(context)
    own = ordered(context).control
    assert own is not None
    if column not in names or column not in columns or len(names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column", lacks="secret")
    choices = possible(own, column)
    if len(choices.values) < 2:
        return NotComputable("the secret has only one value among the attacker's people", lacks="secret")
    asking = sets[(sets >> columns.index(column)) & 1 == 1][:MOST_SETS]
    shadow, test = shadows(context), tests(context)
    people = attackable(shadow, test)
    truth = choices.of(shadow.people, column)
    if sum(truth[people] >= 0) < 2:
        return NotComputable("fewer than two attacked people have one of the possible secrets", "too_few")
    learned, tried = (_observed(part, choices, column, columns, asking) for part in (shadow, test))
    row = 1 / max(len(table) for table in shadow.tables)
    standard = [_standardized(learned[:, at], shadow.member[:, at], tried[:, at], row) for at in range(len(truth))]
    rng, right = context.random(f"inference queries {column}"), []
    for at in people:
        others = [other for other in people if other != at and truth[other] >= 0]
        inputs = np.concatenate([standard[other][0][:, truth[other]] for other in others])
        label = np.concatenate([shadow.member[:, other] for other in others])
        guessed = _guesses(inputs, label, standard[at][1], int(rng.integers(2**31)))
        right.append(guessed[:, truth[at]] if truth[at] >= 0 else np.zeros(len(guessed)))
    success, inside = np.concatenate(right), test.member[:, people].T.ravel()
    present, absent = success[inside], success[~inside]
    counts = float(present.sum()), float(absent.sum()), len(present), len(absent)
    made = attacked(*counts, context.options.confidence)
    more = {"possible": len(choices.values), "records": len(people), "shadows": len(shadow), "tests": len(test)}
    return measured(made, **more)


def _observed(part: Trained, choices: Possible, column: str, columns: list[str], asking: Array) -> Array:
    """Answers about every person with every possible secret; shape (n, people, n_values, n_sets), float32."""
    bit = columns.index(column)

    def observe(people: Table, table: Table) -> Array:
        known = agreement(people, table, columns) & ~(np.int64(1) << bit)
        secrets = choices.of(table, column)
        agrees = [(secrets == at).astype(np.int64) << bit for at in range(len(choices.values))]
        return np.array([[query_shares(mine | its, asking, len(columns)) for its in agrees] for mine in known])

    return part.observed(observe)


def _standardized(learned: Array, member: Array, tried: Array, row: float) -> tuple[Array, Array]:
    """Answers in deviations (at least one row) of those of shadow models without the person; their mean comes last."""
    out = learned[~member]
    center, scale = out.mean(axis=0), np.maximum(out.std(axis=0), row)
    parts = [(answers - center) / scale for answers in (learned, tried)]
    both = [np.concatenate([part, part.mean(axis=-1, keepdims=True)], axis=-1) for part in parts]
    return both[0], both[1]


def _guesses(inputs: Array, label: Array, asked: Array, seed: int) -> Array:
    """Probability that each possible secret is guessed, the most likely or one of these; (n, n_values)."""
    likely = np.round(forest_chances(inputs, label, asked.reshape(-1, asked.shape[-1]), seed), 9)
    likely = likely.reshape(asked.shape[:2])
    best = likely == likely.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


BEFORE = "tstr"
METRICS = (
    attack_with_trainings(
        inference_queries,
        "inference",
        "How much more often an attacker who can train the generator guesses this secret of a conspicuous person "
        "right if the person was in the training data.",
        per="declared_secret",
        by_default=False,
    ),
)
