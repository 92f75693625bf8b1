"""Shadow-model membership inference from counting queries (Meeus et al. 2023)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import retrained
from hybrid.evaluation.attacks.vulnerability import vulnerability
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import Metric
from hybrid.table import Table

MAX_COLUMNS = 15
"""Columns in the queries: all 2^15 counts; of wider tables as many by chance."""
TREES, DEPTH = 100, 10
MIN_SIDE = 3
"""Trainings with, and without, a record that it takes to learn or to judge an attack on it."""


class Trained(NamedTuple):
    """Counts that an attacker observes in some trainings, and the members.

    Counts (n, records, 2^F), and membership (n, records), bool.
    """

    counts: Array
    member: Array


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


def all_counts(person: Table, table: Table, columns: list[str]) -> Array:
    """Share of rows that agree with a person per set of columns.

    Shape (2^F,) (METRICS D4). Categories and booleans agree if equal, numbers and dates if at most the person's (Meeus
    et al. 2023, eq. 1); missing agrees with missing.
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
    return superset_sums(np.bincount(mask, minlength=1 << len(columns))) / max(len(table), 1)


def _targets(context: Context, count: int) -> Array:
    """Most vulnerable of the queried training records: rows of train.

    Ties are ordered by content.
    """
    people, order = context.whole("train"), context.encoded("train").order
    values = np.full(len(order), -np.inf)
    values[context.asked(people).rows] = vulnerability(context, people)
    chosen: Array = order[np.argsort(-values[order], kind="stable")[:count]]
    return chosen


def _train(context: Context, step: str, role: Role, count: int, targets: Array, columns: list[str]) -> Trained:
    """Train repeatedly on records of a role, with random targets.

    Each target replaces another record with probability one half.
    """
    rng = context.random(f"counting queries {step}")
    source = context.train if role == "train" else context.control
    assert source is not None and context.options.retrain is not None
    usable = context.encoded(role).order
    usable = np.setdiff1d(usable, targets) if role == "train" else usable
    rows = min(context.options.retrain.rows, len(usable))
    member = rng.random((count, len(targets))) < 0.5
    people = context.train.take(targets)

    def build(i: int) -> Table:
        others = source.take(rng.permutation(usable)[: rows - int(member[i].sum())])
        return _together(others, people.take(np.flatnonzero(member[i])))

    counts = []
    for _, table in retrained(context, f"counting queries, {step}", count, build, rng):
        counts.append([all_counts(people.take(np.array([at])), table, columns) for at in range(len(targets))])
    shape = (len(counts), len(targets), 1 << len(columns))
    return Trained(np.array(counts, dtype=np.float32).reshape(shape), member[: len(counts)])


def _together(first: Table, second: Table) -> Table:
    import pandas as pd

    columns = {
        name: pd.concat([first.frame[name].astype(object), second.frame[name].astype(object)], ignore_index=True)
        for name in first.schema.names
    }
    frame = pd.DataFrame(columns)
    types = {name: first.frame[name].dtype for name in columns}
    for name, dtype in types.items():
        if isinstance(dtype, pd.CategoricalDtype):
            types[name] = pd.CategoricalDtype(first.frame[name].cat.categories.union(second.frame[name].cat.categories))
    return Table(frame.astype(types), first.schema)


def counting_queries(context: Context) -> Outcome:
    """AUC of the counting-query attack on the most vulnerable records, 0..1.

    Meeus et al. 2023, METRICS D4. The attacker knows the way from records to table and has people of his own (control).
    He trains on them ``shadows`` times, with and without the record, and learns a random forest (100 trees, depth 10)
    on the shares of synthetic rows that agree with the record on each set of columns; it is tried on ``tests``
    trainings on training records. In each training every attacked record is in by the toss of a coin of its own, so
    that one set of trainings serves all. Mean over the records; 0.5 where no record is memorized.
    """
    from sklearn.ensemble import RandomForestClassifier

    options = context.options.retrain
    assert options is not None
    targets = _targets(context, min(options.records, len(context.train) // 10))
    rng = context.random("counting queries")
    names = context.encoding.names
    columns = [names[i] for i in np.sort(rng.permutation(len(names))[:MAX_COLUMNS])]
    shadow = _train(context, "shadows", "control", options.shadows, targets, columns)
    test = _train(context, "tests", "train", options.tests, targets, columns)
    attacks = []
    for at in range(len(targets)):
        sides = [np.bincount(part.member[:, at], minlength=2).min() for part in (shadow, test)]
        if min(sides) < MIN_SIDE:
            continue
        forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=int(rng.integers(2**31)), n_jobs=-1)
        with one_model:
            forest.fit(shadow.counts[:, at], shadow.member[:, at])
            score = forest.predict_proba(test.counts[:, at])[:, 1]
        inside = test.member[:, at]
        attacks.append(auc_interval(score[inside], score[~inside], context.options.confidence))
    if not attacks:
        return NotComputable(
            f"the time allowed for {len(shadow.counts)} shadows and {len(test.counts)} tests", "timed_out"
        )
    return _measured(np.array(attacks), shadow, test, columns)


def _measured(attacks: Array, shadow: Trained, test: Trained, columns: list[str]) -> Measure:
    """The mean over the records, whose coins are independent."""
    values, lows, highs = attacks.T
    value, n = float(values.mean()), len(values)
    low, high = (float(np.sqrt(((values - ends) ** 2).sum())) / n for ends in (lows, highs))
    details = {
        "advantage": 2 * value - 1,
        "records": n,
        "shadows": len(shadow.counts),
        "tests": len(test.counts),
        "queries": int(shadow.counts.shape[2]),
        "columns": columns,
        "highest": float(values.max()),
        "lowest": float(values.min()),
    }
    return Measure(value, max(value - low, 0.0), min(value + high, 1.0), 0.5, n * len(test.counts), details).above(0.5)


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
