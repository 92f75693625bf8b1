"""Shadow-model membership inference from counting queries (Meeus et al. 2023)."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import by_frequency, places
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import Measure, Outcome
from hybrid.lab.attacks.shadows import attackable, judged, shadows, tests
from hybrid.table import Table
from hybrid.table.codings import numbers_of

MOST_COLUMNS = 62
"""Columns in the queries: bits of a number; of wider tables as many by chance."""
LARGEST_SET = 4
"""Columns that a query combines at most: as good as all sets, and possible in wide tables."""
MOST_SETS = 5000
"""Queries: of wider tables all sets of one and two columns, and as many of the others by chance."""
FEW_COLUMNS = 15
"""Up to these, all sets are counted at once by a transform."""
TREES, DEPTH = 100, 10


def sets_of_columns(n_columns: int, rng: np.random.Generator) -> Array:
    """Sets of at most :data:`LARGEST_SET` columns as bit masks, ascending by size; shape (n_sets,), int64."""
    found: list[Array] = []
    for size in range(min(LARGEST_SET, n_columns) + 1):
        left = MOST_SETS - sum(map(len, found))
        if math.comb(n_columns, size) <= left or size <= 2:
            members = np.array([*combinations(range(n_columns), size)], dtype=np.int64)
        else:
            shuffled = rng.permuted(np.tile(np.arange(n_columns), (left, 1)), axis=1)
            members = np.unique(np.sort(shuffled[:, :size], axis=1), axis=0)
        found.append((np.int64(1) << members).sum(axis=1))
    return np.concatenate(found)


def agreement(people: Table, table: Table, columns: list[str]) -> Array:
    """Bit masks of the columns on which rows agree with people; shape (n_people, n_rows), int64.

    Categories agree if equal, numbers if at most the person's (Meeus et al. 2023, eq. 1; METRICS D4), missing with
    missing.
    """
    mask = np.zeros((len(people), len(table)), dtype=np.int64)
    for bit, name in enumerate(columns):
        if people.schema[name].kind.is_continuous:
            mine, values = (numbers_of(each.frame[name]) for each in (people, table))
            agrees = (values <= mine[:, None]) | (np.isnan(values) & np.isnan(mine)[:, None])
        else:
            vocabulary = by_frequency(people.frame[name])
            mine, values = (places(each.frame[name], vocabulary) for each in (people, table))
            agrees = values == mine[:, None]
        mask |= agrees.astype(np.int64) << bit
    return mask


def superset_sums(counts: Array) -> Array:
    """Sums of counts over the supersets of each set of bits.

    Zeta transform, shape (2^F,). ``counts[mask]`` is how many rows agree on exactly the columns of ``mask``; the result
    is how many agree on all of them, whatever the others: the answers to all 2^F counting queries in F 2^(F-1)
    additions.
    """
    total = counts.copy()
    for bit in range(len(counts).bit_length() - 1):
        pairs = total.reshape(-1, 2, 1 << bit)
        pairs[:, 0] += pairs[:, 1]
    return total


def query_shares(masks: Array, sets: Array, n_columns: int) -> Array:
    """Share of rows that agree on all columns of a set, for each set; shape (n_sets,)."""
    if n_columns <= FEW_COLUMNS:
        counts = superset_sums(np.bincount(masks, minlength=1 << n_columns))[sets]
    else:
        distinct, times = np.unique(masks, return_counts=True)
        counts = times @ ((distinct[:, None] & sets) == sets)
    return np.asarray(counts / max(len(masks), 1))


def _observe(columns: list[str], sets: Array, people: Table, table: Table) -> Array:
    return np.array([query_shares(mask, sets, len(columns)) for mask in agreement(people, table, columns)])


def counting_queries(context: Context) -> Outcome:
    """AUC of the counting-query attack on single people, 0..1.

    Meeus et al. 2023, METRICS D4. The attacker knows the way from records to table and has people of his own (control).
    He trains on them ``shadows`` times, with and without the person, and learns a random forest (100 trees, depth 10)
    on the shares of synthetic rows that agree with the person on each set of up to four columns; it is tried on
    ``tests`` trainings on training records. Mean over the people; 0.5 where nobody is memorized. A low value from few
    shadow models is a weak attack, not safety. ``details.epsilon`` is the empirical epsilon: a lower bound, at 95 %,
    of the differential privacy that the way can have.
    """
    rng = context.random("counting queries")
    columns, sets = queries(context)
    shadow, test = shadows(context), tests(context)
    seen = [part.observed(partial(_observe, columns, sets)) for part in (shadow, test)]
    scores = [
        (at, forest_chances(seen[0][:, at], shadow.member[:, at], seen[1][:, at], int(rng.integers(2**31))))
        for at in attackable(shadow, test)
    ]
    outcome = judged(context, shadow, test, scores, context.options.confidence)
    if isinstance(outcome, Measure):
        outcome.details.update({"queries": len(sets), "columns": columns})
    return outcome


def queries(context: Context) -> tuple[list[str], Array]:
    """Columns of the queries, and the sets of them."""
    rng, names = context.random("queries"), context.encoding.names
    columns = [names[i] for i in np.sort(rng.permutation(len(names))[:MOST_COLUMNS])]
    return columns, sets_of_columns(len(columns), rng)


def forest_chances(inputs: Array, label: Array, asked: Array, seed: int) -> Array:
    """Probability that a label is True, by the random forest of the attacks on single people (Meeus et al. 2023)."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=seed, n_jobs=-1)
    with one_model:
        return np.asarray(forest.fit(inputs, label).predict_proba(asked)[:, 1])


BEFORE = "target_attention"
METRICS = (
    attack_with_trainings(
        counting_queries,
        "membership",
        "How well an attacker who can train the generator finds out whether a conspicuous person was in the "
        "training data.",
    ),
)
