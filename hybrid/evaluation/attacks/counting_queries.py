"""Shadow-model membership inference from counting queries (Meeus et al. 2023)."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.shadows import Trained, shadows
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_interval, exact_share_interval
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import Metric
from hybrid.table import Table

MOST_COLUMNS = 62
"""Columns in the queries: bits of a number; of wider tables as many by chance."""
LARGEST_SET = 4
"""Columns that a query combines at most: as good as all sets, and possible in wide tables."""
MOST_SETS = 5000
"""Queries: of wider tables all sets of one and two columns, and as many of the others by chance."""
FEW_COLUMNS = 15
"""Up to these, all sets are counted at once by a transform."""
TREES, DEPTH = 100, 10
MIN_SIDE = 3
"""Trainings with, and without, a record that it takes to learn or to judge an attack on it."""
POINTS = 20
"""Thresholds that are tried for the empirical epsilon."""


def sets_of_columns(n_columns: int, rng: np.random.Generator) -> Array:
    """Sets of columns as bit masks, ascending by size.

    Of at most :data:`LARGEST_SET` columns; shape (n_sets,), int64.
    """
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


def agreement(person: Table, table: Table, columns: list[str]) -> Array:
    """Bit masks of the columns on which rows agree with a person.

    Shape (n,), int64. Categories and booleans agree if equal, numbers and dates if at most the person's (Meeus et al.
    2023, eq. 1); missing agrees with missing (METRICS D4).
    """
    mask = np.zeros(len(table), dtype=np.int64)
    for bit, name in enumerate(columns):
        mine, values = person.frame[name].iloc[0], table.frame[name]
        if person.frame[name].isna().iloc[0]:
            agrees = values.isna()
        elif person.schema[name].kind.is_continuous:
            agrees = (values <= mine).fillna(False)
        else:
            agrees = (values.astype(object) == mine).fillna(False)
        mask |= agrees.to_numpy(dtype=bool).astype(np.int64) << bit
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
    """Share of rows that agree on all columns of a set.

    For each set; shape (n_sets,).
    """
    if n_columns <= FEW_COLUMNS:
        counts = superset_sums(np.bincount(masks, minlength=1 << n_columns))[sets]
    else:
        distinct, times = np.unique(masks, return_counts=True)
        counts = times @ ((distinct[:, None] & sets) == sets)
    shares: Array = counts / max(len(masks), 1)
    return shares


def _observe(columns: list[str], sets: Array, person: Table, table: Table) -> Array:
    return query_shares(agreement(person, table, columns), sets, len(columns))


def counting_queries(context: Context) -> Outcome:
    """AUC of the counting-query attack on single people, 0..1.

    Meeus et al. 2023, METRICS D4. The attacker knows the way from records to table and has people of his own (control).
    He trains on them ``shadows`` times, with and without the person, and learns a random forest (100 trees, depth 10)
    on the shares of synthetic rows that agree with the person on each set of up to four columns; it is tried on
    ``tests`` trainings on training records. Mean over the people; 0.5 where nobody is memorized. A low value from few
    shadow models is a weak attack, not safety. ``details.epsilon`` is the empirical epsilon: a lower bound, at 95 %,
    of the differential privacy that the way can have.
    """
    from sklearn.ensemble import RandomForestClassifier

    rng = context.random("counting queries")
    names = context.encoding.names
    columns = [names[i] for i in np.sort(rng.permutation(len(names))[:MOST_COLUMNS])]
    sets = sets_of_columns(len(columns), rng)
    shadow, test = shadows(context, {"queries": partial(_observe, columns, sets)})
    attacks, scores = [], []
    for at in range(shadow.member.shape[1]):
        sides = [np.bincount(part.member[:, at], minlength=2).min() for part in (shadow, test)]
        if min(sides) < MIN_SIDE:
            continue
        forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=int(rng.integers(2**31)), n_jobs=-1)
        with one_model:
            forest.fit(shadow.seen["queries"][:, at], shadow.member[:, at])
            score = forest.predict_proba(test.seen["queries"][:, at])[:, 1]
        inside = test.member[:, at]
        attacks.append(auc_interval(score[inside], score[~inside], context.options.confidence))
        scores.append((score, inside))
    if not attacks:
        return NotComputable(f"the time allowed for {len(shadow)} shadows and {len(test)} tests", "timed_out")
    said, truth = (np.concatenate(part) for part in zip(*scores, strict=True))
    epsilon = empirical_epsilon(said, truth, rng)
    return _measured(np.array(attacks), shadow, test, {"queries": len(sets), "columns": columns, "epsilon": epsilon})


def empirical_epsilon(scores: Array, member: Array, rng: np.random.Generator, delta: float = 0.0) -> float:
    """Lower bound of epsilon that an attack's scores show, 0 or more.

    log((TPR - delta) / FPR) with Clopper and Pearson's bounds (1934), each at 97.5 %, in the one half of the trials;
    the threshold is the best one of the other half (Jagielski et al. 2020, Algorithm 2). Trials of several people that
    share trainings count as independent.
    """
    half = rng.permutation(len(scores)) < len(scores) // 2
    thresholds = np.unique(np.quantile(scores[half], np.linspace(0, 1, POINTS + 1)))
    bounds = [_epsilon(scores[half] >= edge, member[half], delta) for edge in thresholds]
    chosen = thresholds[int(np.argmax(bounds))]
    return max(_epsilon(scores[~half] >= chosen, member[~half], delta), 0.0)


def _epsilon(said: Array, member: Array, delta: float) -> float:
    inside, outside = int(member.sum()), int((~member).sum())
    if not inside or not outside:
        return 0.0
    low = exact_share_interval(int(said[member].sum()), inside, 0.95)[0]
    high = exact_share_interval(int(said[~member].sum()), outside, 0.95)[1]
    return math.log((low - delta) / high) if low > delta else 0.0


def _measured(attacks: Array, shadow: Trained, test: Trained, more: dict[str, object]) -> Measure:
    """The mean over the records, whose coins are independent."""
    values, lows, highs = attacks.T
    value, n = float(values.mean()), len(values)
    low, high = (float(np.sqrt(((values - ends) ** 2).sum())) / n for ends in (lows, highs))
    details: dict[str, object] = {
        "advantage": 2 * value - 1,
        "records": n,
        "shadows": len(shadow),
        "tests": len(test),
        "highest": float(values.max()),
        "lowest": float(values.min()),
        **more,
    }
    return Measure(value, max(value - low, 0.0), min(value + high, 1.0), 0.5, n * len(test), details).above(0.5)


METRICS = (
    Metric(
        name="counting_queries",
        family="privacy",
        direction="lower",
        sentence=(
            "How well an attacker who can train the generator finds out whether a conspicuous person was in the "
            "training data."
        ),
        low=0,
        high=1,
        no_leak=0.5,
        copy=None,
        compute=counting_queries,
        needs=("control", "retraining"),
        pillar="attack",
        risk="membership",
        mechanism="shadow",
        access="black_box",
        knows="own people and the generator",
        unit="AUC",
    ),
)
