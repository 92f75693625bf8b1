"""Singling out by predicates that fit exactly one training person.

Giomi et al. 2023, section 4.1; thesis section 3.2. Predicates are learned from the table alone. Their success on
training people is compared with their success on as many control people, all rows of a person together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.base.keys import pack
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.outcome import Attack, attacked, measured, printed, worst
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.intervals import clustered_error
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table.holders import holders
from hybrid.table.persons import person_groups


@dataclass(frozen=True)
class Predicates:
    """Conjunctions of conditions ``low <= rank of column <= high``; shape (m, c), int32, column -1 for none.

    A missing value has rank -1, so "is missing" is -1..-1 and "= v" is v..v.
    """

    columns: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, rows: Array) -> Predicates:
        return Predicates(self.columns[rows], self.low[rows], self.high[rows])

    def distinct(self) -> Predicates:
        """Each predicate once, in the order of first occurrence."""
        if not len(self):
            return self
        flat = np.concatenate([self.columns, self.low, self.high], axis=1).astype(np.int64) + 1
        keys, _ = pack(((part, int(part.max()) + 1) for part in flat.T), len(flat))
        return self.take(np.flatnonzero(~pd.Series(keys).duplicated()))

    def join(self, other: Predicates) -> Predicates:
        return Predicates(
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )


class Index:
    """The rows of a table sorted by every column (of so many values), for counting the persons whose they are."""

    def __init__(self, table: Encoded, cardinality: Array, persons: Codes) -> None:
        self.ranks = np.ascontiguousarray(table.ranks.T)
        p, n = self.ranks.shape
        groups = person_groups(persons)
        self.people = int(groups.max(initial=-1)) + 1
        """Number of persons."""
        self._owners = np.empty(0, dtype=np.int64) if self.people == n else groups
        # Numbers of 16 bits are sorted by their digits, several times faster than wider ones by comparing.
        narrow = np.uint16 if cardinality.max(initial=0) < np.iinfo(np.uint16).max else np.int32
        self.order = np.argsort((self.ranks + 1).astype(narrow), axis=1, kind="stable").astype(np.int32)
        self.starts = np.full((p, int(cardinality.max(initial=0)) + 3), n, dtype=np.int64)
        for c in range(p):
            counts = np.bincount(self.ranks[c] + 1, minlength=self.starts.shape[1] - 1)
            self.starts[c] = np.concatenate([[0], np.cumsum(counts)])

    def count(self, predicates: Predicates) -> Array:
        """Persons who fulfil each predicate by a row, counted up to 2: shape (m,), int8."""
        return self.find(predicates)[0]

    def whose(self, rows: Array) -> Array:
        """Person of each row; -1 stays."""
        return np.where(rows < 0, rows, self._owners[rows]) if len(self._owners) else rows

    def held(self, column: int) -> Array:
        """Persons who have each rank of a column, that of missing values first."""
        ranks, size = self.ranks[column] + 1, self.starts.shape[1] - 1
        return holders(ranks, size, self._owners) if len(self._owners) else np.bincount(ranks, minlength=size)

    def find(self, predicates: Predicates, most: int = 2) -> tuple[Array, Array]:
        """Persons who fulfil each predicate, counted up to ``most`` (at most 127), and one of the rows; -1 for none."""
        from hybrid.evaluation.engine import kernels

        out = np.zeros(len(predicates), dtype=np.int8)
        first = np.full(len(predicates), -1, dtype=np.int64)
        asked, rows = (predicates.low, predicates.high, predicates.columns), (self.order, self.starts, self.ranks)
        in_chunks(len(predicates), kernels.occurrences, *asked, *rows, self._owners, most, out=(out, first))
        return out, first


MOST = 120
"""Records that fulfil a predicate are counted up to this: of more, hardly ever exactly one is drawn."""
BATCH = 4_000
PATIENCE = 15
"""Batches without a new predicate before giving up: there may be fewer than were asked for."""
MAX_TRIES = 2_000_000
"""Predicates tried before giving up finding enough that fit one row of the table."""
MIN_PREDICATES = 1
FEW_PREDICATES = 100
"""Predicates on one column below which a rate that cannot be told is for want of values that stand alone."""


class Tables(NamedTuple):
    """Tables on which predicates are counted."""

    table: Index
    train: Index
    control: Index
    size: int
    """People that both sides are cut to: those of the smaller one."""


def tables_of(context: Context) -> Tables:
    def index() -> Tables:
        def sorted_rows(role: Role) -> Index:
            return Index(context.encoded(role), context.encoding.cardinality, context.persons(role))

        table, train, control = sorted_rows("table"), sorted_rows("train"), sorted_rows("control")
        return Tables(table, train, control, min(train.people, control.people))

    return context.once("singling out", index)


def _singled(index: Index, size: int, predicates: Predicates) -> tuple[Array, Array]:
    """Probability that each predicate fits exactly one of ``size`` people.

    The people are random; the second result is one whom the predicate fits. Of n people, of whom N fulfil the
    predicate, exactly one of them is drawn with the hypergeometric probability N C(n - N, size - 1)/C(n, size): 1 or 0
    where all are taken. All rows of a person are taken together: of a person's rows alone, one would seem to stand
    alone in train, from which more is cut away. -1 for none.
    """
    from scipy.stats import hypergeom

    n = index.people
    counts, rows = index.find(predicates, 2 if n == size else MOST)
    alone = (counts == 1).astype(float) if n == size else hypergeom.pmf(1, n, np.arange(MOST + 1), size)[counts]
    return alone, index.whose(rows)


def success(tables: Tables, predicates: Predicates, confidence: float) -> Attack | NotComputable:
    """Share of the predicates that fit exactly one person, in train and in control, both cut to one size."""
    if len(predicates) < MIN_PREDICATES:
        return NotComputable(sentence("metric.few.predicates", n=len(predicates)), "too_few")
    about, n = tables.table.whose(tables.table.find(predicates)[1]), len(predicates)
    (mine, of_train), (other, of_control) = (
        _singled(index, tables.size, predicates) for index in (tables.train, tables.control)
    )
    worth = _independent(mine, about, of_train), _independent(other, about, of_control)
    reach = tables.size / tables.train.people
    return attacked(float(mine.sum()), float(other.sum()), n, n, confidence, reach, worth)


def _independent(singled: Array, about: Array, found: Array) -> float:
    """Number of independent predicates that these are worth: those about one person succeed or fail together."""
    alone = np.where(found < 0, found.max(initial=0) + 1 + np.arange(len(found)), found)
    rate, error = float(singled.mean()), clustered_error(singled, about, alone)
    rows = float(len(np.unique(about)))
    return min(max(rate * (1 - rate) / error**2, 1.0), len(singled)) if error > 0 else rows


def _printed(tables: Tables, predicates: Predicates, confidence: float) -> dict[str, Any] | None:
    """The attack as Giomi et al. print it: on all of train and all of control, however their sizes differ."""
    train, control = (float((index.count(predicates) == 1).sum()) for index in (tables.train, tables.control))
    return printed(attacked(train, control, len(predicates), len(predicates), confidence))


def univariate_predicates(context: Context, index: Index) -> Predicates:
    """All predicates on one column that fit one person of the table: a value that one has, an extreme, the only gap."""
    found = []
    for c, ranks in enumerate(index.ranks):
        found += [(c, value, value) for value in np.flatnonzero(index.held(c) == 1) - 1]
        known = ranks[ranks >= 0]
        if context.encoding.continuous[c] and len(known):
            top = int(context.encoding.cardinality[c]) - 1
            found += [(c, 0, known.min()), (c, known.max(), top)]
    rows = np.array(found, dtype=np.int32).reshape(-1, 3)
    predicates = Predicates(rows[:, :1], rows[:, 1:2], rows[:, 2:])
    return predicates.take(np.flatnonzero(index.count(predicates) == 1)).distinct()


def stratified(predicates: Predicates, limit: int, rng: np.random.Generator) -> Predicates:
    """At most ``limit`` predicates, as evenly over the columns as these allow: no column may fill the quota."""
    shuffled = predicates.take(rng.permutation(len(predicates)))
    column = shuffled.columns[:, 0]
    order = np.argsort(column, kind="stable")
    first = np.searchsorted(column[order], column[order])
    turn = np.empty(len(column), dtype=np.int64)
    turn[order] = np.arange(len(column)) - first
    return shuffled.take(np.argsort(turn, kind="stable")[:limit])


def multivariate_predicates(context: Context, index: Index, n_columns: int, rng: np.random.Generator) -> Predicates:
    """Distinct conjunctions over ``n_columns`` columns of a random row that fit only the row's person.

    "= v" for categories, ">= v" above the column's median and "<= v" otherwise for numbers, "is missing".
    """
    p, n = index.ranks.shape
    order = context.encoded("table").order
    numbers = context.encoded("table").numbers
    median = np.array([_median(numbers[:, c]) for c in range(p)])
    top = context.encoding.cardinality.astype(np.int32) - 1

    def draw() -> Predicates:
        rows = order[rng.integers(n, size=BATCH)][:, None]
        columns = np.sort(np.argpartition(rng.random((BATCH, p)), n_columns - 1, axis=1)[:, :n_columns], axis=1)
        ranks = index.ranks.T[rows, columns]
        ordered = context.encoding.continuous[columns] & (ranks >= 0)
        above = numbers[rows, columns] > median[columns]
        low = np.where(ordered & ~above, 0, ranks)
        high = np.where(ordered & above, top[columns], ranks)
        return Predicates(*(x.astype(np.int32) for x in (columns, low, high)))

    return collected(index, draw, n_columns, context.options.attacks)


def collected(index: Index, draw: Callable[[], Predicates], width: int, limit: int) -> Predicates:
    """Distinct predicates, from random batches over at most ``width`` columns, that fit exactly one person.

    Fewer than the limit where batch after batch has no new one.
    """
    chosen, stale = Predicates(*(np.empty((0, width), np.int32) for _ in range(3))), 0
    for _ in range(MAX_TRIES // BATCH):
        if len(chosen) >= limit or stale == PATIENCE:
            break
        tried = draw()
        fits = tried.take(np.flatnonzero(index.count(tried) == 1))
        found = len(chosen)
        chosen = chosen.join(fits).distinct()
        stale = stale + 1 if len(chosen) == found else 0
    return chosen.take(np.arange(min(limit, len(chosen))))


def _median(numbers: Array) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(np.median(known)) if len(known) else np.nan


def singling_out_univariate(context: Context) -> Outcome:
    """Risk of being singled out by one column (METRICS A1).

    R = (r_T - r_C)/(1 - r_C), at most 1, 0 without a leak. Predicates from the table (a value that one person has, the
    smallest and largest number, the only missing value), spread evenly over the columns. Interval from Wilson's, over
    the predicates really made.
    """
    tables = tables_of(context)
    predicates = univariate_predicates(context, tables.table)
    predicates = stratified(predicates, context.options.attacks, context.random("singling_out_univariate"))
    attack = success(tables, predicates, context.options.confidence)
    if len(predicates) < FEW_PREDICATES and (isinstance(attack, NotComputable) or _says_nothing(attack.measure())):
        reason = sentence("metric.few.lone_values", n=len(predicates))
        return NotComputable(reason, "too_few", lacks="lone_values")
    paper = {"paper": _printed(tables, predicates, context.options.confidence)} if context.options.paper else {}
    return measured(attack, **paper)


def _says_nothing(risk: Measure) -> bool:
    """True if the interval holds no leak and a copy alike."""
    assert risk.low is not None and risk.high is not None
    return risk.low <= 0 and risk.high >= 1


def singling_out(context: Context) -> Outcome:
    """Risk of being singled out by several columns (METRICS A2).

    It is the worst over the numbers of columns that are combined. The interval holds for all of them at once (Sidak);
    ``details`` have the mean and every number of columns.
    """
    tables = tables_of(context)
    p = len(context.encoding.columns)
    sizes = [size for size in context.options.singling_out_columns if 2 <= size <= p]
    if not sizes:
        return NotComputable("too few columns to combine")
    attacks, alone = {}, {}
    for size in sizes:
        rng = context.random(f"singling_out {size}")
        predicates = multivariate_predicates(context, tables.table, size, rng)
        attacks[str(size)] = success(tables, predicates, context.options.confidence)
        if context.options.paper and isinstance(attacks[str(size)], Attack):
            alone[str(size)] = _printed(tables, predicates, context.options.confidence)
    found = worst(attacks, "columns", context.options.confidence)
    if alone and isinstance(found, Measure):
        risks = [size["risk"] for size in alone.values() if size is not None]
        found.details["paper"] = {**alone, "risk": max(risks, default=None)}  # The thesis takes the largest.
    return found


METRICS = (
    attack(
        singling_out_univariate,
        "singling out",
        "How much more often one rare value in the table describes exactly one training person than one person "
        "never seen.",
        copy=1.0,
        mechanism="uniqueness",
        leakage=True,
        printed=("risk",),
    ),
    attack(
        singling_out,
        "singling out",
        "How much more often a combination of values in the table describes exactly one training person than one "
        "never seen.",
        copy=1.0,
        mechanism="uniqueness",
        headline=True,
        leakage=True,
        decides=3,
        printed=("risk",),
    ),
)
