"""Content that was lost: the column, and the link of two columns, that fell most, in the data's own words and units.

Judged on groups of values, so that a postcode may be another one of its region, but not of another region. Values and
bounds that are named are those of groups of people that are large enough to be named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.base.words import told_apart
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Table
from hybrid.table.cells import RARE_TOGETHER, PeopleGroups, in_column, people_groups
from hybrid.table.persons import n_persons

FEWEST_SHARE = 0.05
"""Groups of fewer people are not named: their own numbers are chance."""


MOSTLY = 0.5
"""Share of the rows beyond which a column is mostly rare values."""
SHOWN = 5.0
"""Points by which a share differs between groups, at least, to stand for a link."""


class _Figure(NamedTuple):
    column: str
    value: str | None
    """Of which there are shares; None: these are means of the column."""
    real: Array
    there: Array

    def at(self, group: int) -> tuple[str, str]:
        """Figures of a group in the table and in the real one; equal where nothing changed, without a figure empty."""
        real = float(self.real[group])
        if math.isnan(self.there[group]):
            return "", f"{real:,.{self._digits}f}"
        return told_apart(float(self.there[group]), real, self._digits)

    def in_words(self, group: int, where: Mapping[str, str]) -> str:
        n, m = self.at(group)
        if not n:
            return sentence("content.none.percent" if self.is_share else "content.none", m=m, **where)
        if n == m:
            return sentence("content.still.percent" if self.is_share else "content.still", n=n, **where)
        return sentence("content.changed.percent" if self.is_share else "content.changed", n=n, m=m, **where)

    @property
    def is_share(self) -> bool:
        return self.value is not None

    @property
    def shows_little(self) -> bool:
        """True of shares that are about the same in all groups."""
        return self.is_share and float(np.ptp(self.real)) < SHOWN

    @property
    def _digits(self) -> int:
        largest = float(np.nanmax(np.abs(self.real), initial=0))
        return 0 if largest >= 100 else 1 if largest >= 1 else 3


def column_in_words(context: Context, name: str) -> str | None:
    """The group of a column whose share changed most; empty where none changed.

    None where no group is large enough, or where it is that of all rare values and holds most rows: its share says
    little of a column whose values are nearly all rare.
    """
    groups = _groups(context, name)
    if groups is None:
        return None
    real, there = (_shares(groups, side) for side in (context.train, context.table))
    at = int(np.argmax(np.abs(real - there)))
    if groups.labels[at] == RARE_TOGETHER and real[at] > MOSTLY:
        return None
    percent = told_apart(100 * float(there[at]), 100 * float(real[at]), 0)
    if percent[0] == percent[1]:
        return ""
    group = in_column(name, groups.labels[at])
    return sentence("content.share", group=group, n=percent[0], m=percent[1], unit="rows")


def relation_in_words(context: Context, a: str, b: str) -> str | None:
    """Values of one column where another says most about it, in the real table and in the judged one.

    The explained column is the one with fewer groups; its mean where it is a number, else the share of the value that
    differs most. None where no two groups of the other column are large enough, where no share differs by
    :data:`SHOWN`, as of a column whose values are nearly all too rare to be named, or where both groups are as before.
    """
    groups = {name: _groups(context, name) for name in (a, b)}
    counted = {name: 0 if of is None else len(of) for name, of in groups.items()}
    x, y = (a, b) if counted[a] >= counted[b] else (b, a)
    by = groups[x]
    if by is None or len(by) < 2:
        return None
    figure = _means(context, by, y) if _is_number(context, y) else _value_shares(context, by, groups[y])
    if figure is None or np.isnan(figure.real).any() or figure.shows_little:
        return None
    least, most = int(np.argmin(figure.real)), int(np.argmax(figure.real))
    if all(there == real for there, real in map(figure.at, (least, most))):
        return None
    one, other = (figure.in_words(at, {"by": x, "group": by.labels[at]}) for at in (least, most))
    if figure.value is not None:
        return sentence("content.relation", column=figure.column, value=figure.value, one=one, other=other)
    return sentence("content.relation.mean", column=figure.column, one=one, other=other)


def _groups(context: Context, name: str) -> PeopleGroups | None:
    least = max(context.options.min_cell, int(FEWEST_SHARE * n_persons(context.train)))
    return next(people_groups(context.train, [name], least), None)


def _is_number(context: Context, name: str) -> bool:
    return context.schema[name].kind.is_number


def _shares(of: PeopleGroups, table: Table) -> Array:
    return np.asarray(np.bincount(of.places(table) + 1, minlength=len(of) + 1)[1:] / max(len(table), 1))


def _means(context: Context, by: PeopleGroups, y: str) -> _Figure:
    real, there = (
        _mean_of(by, side, side.frame[y].to_numpy(np.float64, na_value=np.nan))
        for side in (context.train, context.table)
    )
    return _Figure(y, None, real, there)


def _value_shares(context: Context, by: PeopleGroups, of: PeopleGroups | None) -> _Figure | None:
    if of is None:
        return None
    train, table = context.train, context.table
    marks = of.places(train)
    real = np.array([_mean_of(by, train, (marks == at).astype(np.float64)) for at in range(len(of))])
    # Of two values that mirror each other, such as yes and no, the rarer one.
    at = int(np.lexsort((real.mean(axis=1), -np.ptp(real, axis=1).round(6)))[0])
    there = _mean_of(by, table, (of.places(table) == at).astype(np.float64))
    return _Figure(of.column.name, of.labels[at], 100 * real[at], 100 * there)


def _mean_of(by: PeopleGroups, table: Table, values: Array) -> Array:
    """Mean of each group's known values, shape (n_groups,); NaN where there are none."""
    places, known = by.places(table), ~np.isnan(values)
    rows = (places >= 0) & known
    counts = np.bincount(places[rows], minlength=len(by))
    sums = np.bincount(places[rows], values[rows], minlength=len(by))
    return np.divide(sums, counts, out=np.full(len(by), np.nan), where=counts > 0)


GROUPS = 20
"""Groups of a column at most, of about equally many training rows."""
GROUPS_OF_PAIRS = 8
"""The same where pairs of columns are counted."""
LEAST_OF_PAIRS = 0.01
"""Share of the training rows that a group has at least where pairs are counted; of fewer than 10,000 rows it has at
least their root, so that chance alone puts a row into every pair of groups (Cochran's rule, Biometrics 10(4), 1954): V
would follow a few rows alone."""
LINKED = 0.1
"""Association of two columns below which the real table says nothing of one by the other."""
MOST_LISTED = 30


class Groups(NamedTuple):
    """Groups of one column's values, below ``n``, of the rows of each table; missing values are one of them."""

    codes: dict[Role, Array]
    n: int


def _roles(context: Context) -> tuple[Role, ...]:
    return ("train", "table") if context.control is None else ("train", "table", "control")


def groups_of(context: Context, at: int, most: int) -> Groups:
    """Groups of a column's values by size, or by text, so that codes which begin alike are together; most are cut."""
    ranks = {role: context.encoded(role).ranks[:, at].astype(np.int64) for role in _roles(context)}
    size, place = int(context.encoding.cardinality[at]), context.once(("places", at), lambda: _places(context, at))
    if size > most:
        order = place[ranks["train"][ranks["train"] >= 0]]
        counts = np.bincount(order, minlength=size)
        middle = np.cumsum(counts) - counts / 2
        group = np.minimum((middle * most / max(counts.sum(), 1)).astype(np.int64), most - 1)
        place, size = group[place], most
    lookup = np.append(place, size)
    return Groups({role: lookup[codes] for role, codes in ranks.items()}, size + 1)


def _without_rare(found: Groups) -> Groups:
    """Groups of enough training rows: the others join the missing values; where these are few, the largest group."""
    counts = np.bincount(found.codes["train"], minlength=found.n)
    least, rest = max(LEAST_OF_PAIRS * counts.sum(), math.sqrt(counts.sum())), found.n - 1
    rare = counts < least
    rare[rest] = True
    if not counts[rare].sum() >= least:
        rest = int(counts.argmax())
    lookup = np.where(rare, rest, np.arange(found.n))
    return Groups({role: lookup[codes] for role, codes in found.codes.items()}, found.n)


def _places(context: Context, at: int) -> Array:
    """Place of each rank of a column: by size, and of categories by their text; shape (cardinality,), int64."""
    column, size = context.encoding.columns[at], int(context.encoding.cardinality[at])
    place = np.arange(size)
    if column.kind.is_continuous:
        return place
    texts = np.full(size, "", dtype=object)
    for role in _roles(context):
        ranks, first = np.unique(context.encoded(role).ranks[:, at], return_index=True)
        known = ranks >= 0
        texts[ranks[known]] = context.records(role).frame[column.name].iloc[first[known]].astype(str).to_numpy()
    place[np.argsort(texts, kind="stable")] = np.arange(size)
    return place


def grouped(context: Context, most: int) -> list[Groups]:
    """Groups of every column, in the order of the coding; see :func:`groups_of`."""

    def find() -> list[Groups]:
        found = [groups_of(context, at, most) for at in range(len(context.encoding.columns))]
        return [_without_rare(of) for of in found] if most == GROUPS_OF_PAIRS else found

    return context.once(("groups of values", most), find)


def _people(context: Context, role: Role) -> int:
    return n_persons(context.records(role))


def distance_beyond_chance(mine: Array, its: Array, sizes: tuple[int, int]) -> tuple[float, float]:
    """Total variation of two samples beyond what two samples of one population have, and its bound's width.

    For samples of n and m people from shares p the expectation of |difference| of a share is about sqrt(2 / pi * p * (1
    - p) * (1 / n + 1 / m)); the total variation is half the sum over the groups. One person changes it by at most 1 / n
    or 1 / m, so it exceeds its expectation by t with a chance of at most exp(-2 t**2 / (1 / n + 1 / m)) (McDiarmid
    1989, Lemma 1.2). Of the rows of each group, and the people behind both: the distance beyond chance, and sqrt((1 / n
    + 1 / m) / 2), which times sqrt(log(1 / alpha)) is t.
    """
    p, q = mine / max(mine.sum(), 1), its / max(its.sum(), 1)
    varying = 1 / max(sizes[0], 1) + 1 / max(sizes[1], 1)
    together = (mine + its) / max((mine + its).sum(), 1)
    chance = 0.5 * np.sqrt(2 / math.pi * together * (1 - together) * varying).sum()
    return float(0.5 * np.abs(p - q).sum() - chance), math.sqrt(varying / 2)


def lost_column(context: Context) -> Outcome:
    """Share of the rows that lie in other groups of a column than in the training table, at worst; at most 1.

    The total variation of the groups of a column (:func:`groups_of`), less what chance gives two samples of one
    population, of the column with the largest (:func:`distance_beyond_chance`). The low end holds for all columns
    together. The reference is the worst column of control.
    """
    if not context.encoding.columns:
        return NotComputable("no column varies")
    found = _column_distances(context, "table")
    reference = None if context.control is None else max(value for value, _ in _column_distances(context, "control"))
    alpha = 1 - simultaneous(context.options.confidence, len(found))
    width = math.sqrt(math.log(1 / alpha))
    order = sorted(range(len(found)), key=lambda at: (-found[at][0], context.encoding.names[at]))
    value, step = found[order[0]]
    worst = context.encoding.names[order[0]]
    listed = [{"column": context.encoding.names[at], "value": found[at][0]} for at in order[:MOST_LISTED]]
    details = {
        "columns": listed,
        "worst": worst,
        "said": _numbers_of_values(context, worst) if (words := column_in_words(context, worst)) is None else words,
        "interval": f"simultaneous over {len(found)}",
    }
    ends = value - step * width, value + step * width
    return Measure(value, *ends, reference, _people(context, "table"), details, together=len(found))


def _numbers_of_values(context: Context, name: str) -> str:
    there, real = (int(table.frame[name].nunique()) for table in (context.table, context.train))
    if there == real:
        return sentence("content.other_rows", column=name, n=real)
    return sentence("content.values", column=name, n=there, m=real)


def _column_distances(context: Context, role: Role) -> list[tuple[float, float]]:
    sizes = _people(context, "train"), _people(context, role)
    found = []
    for of in grouped(context, GROUPS):
        mine, its = (np.bincount(of.codes[side], minlength=of.n) for side in ("train", role))
        found.append(distance_beyond_chance(mine, its, sizes))
    return found


def corrected_v(counts: Array, groups: Array) -> Array:
    """Cramer's V of every pair of columns corrected for its bias, 0..1; NaN where a side is constant.

    phi**2 less its expectation under independence, (r - 1)(c - 1) / (n - 1), over the corrected numbers of rows and
    columns r - (r - 1)**2 / (n - 1) (Bergsma 2013, doi 10.1016/j.jkss.2012.10.002). ``counts``: rows in each group of
    one column and each of another, those of each group on the diagonal; ``groups``: first group of each column.
    """
    rows = np.diag(counts)
    n = rows[: groups[1] if len(groups) > 1 else None].sum()
    expected = np.outer(rows, rows) / n
    excess = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0)
    phi = np.add.reduceat(np.add.reduceat(excess, groups, axis=0), groups, axis=1) / n
    used = np.add.reduceat((rows > 0).astype(np.float64), groups)
    independent = np.outer(used - 1, used - 1) / (n - 1)
    corrected = used - (used - 1) ** 2 / (n - 1)
    least = np.minimum.outer(corrected, corrected) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = np.where(least > 0, np.maximum(phi - independent, 0) / least, np.nan)
    return np.asarray(np.sqrt(np.minimum(squared, 1)))


def lost_link(context: Context) -> Outcome:
    """Largest fall of the link between two columns, at most 1.

    The link is the corrected V (:func:`corrected_v`) of the groups of both (:func:`groups_of`), so relations of any
    form count. Of the real tables the weaker counts, training or control: what one of two halves shows alone is chance.
    Pairs below :data:`LINKED` are left out. The fall is that V less the synthetic table's, of the pair whose low end is
    the highest. That end takes of both the error of a V of independent columns, sqrt(1 / (n (min(r, c) - 1))), and of
    the training table that of its own V (:func:`error_of_v`) where that is larger; simultaneously over all pairs. The
    reference is the largest fall from training to control.
    """
    columns = grouped(context, GROUPS_OF_PAIRS)
    if len(columns) < 2:
        return NotComputable("fewer than two columns vary", lacks="linked_columns")
    counts, first = {role: _counts(columns, role) for role in _roles(context)}, _first_groups(columns)
    train, table = (corrected_v(counts[role], first) for role in ("train", "table"))
    control = train if context.control is None else corrected_v(counts["control"], first)
    a, b = np.triu_indices(len(columns), 1)
    real = np.fmin(train, control)[a, b]
    linked = np.flatnonzero(np.nan_to_num(real) >= LINKED)
    if not len(linked):
        return NotComputable("no two columns of the real table are linked", lacks="linked_columns")
    a, b, real = a[linked], b[linked], real[linked]
    there = np.nan_to_num(table[a, b])
    people = [_people(context, role) for role in ("train", "table")]
    sizes = np.array([of.n - 1 for of in columns])
    independent = [1 / np.sqrt(max(n, 1) * np.maximum(np.minimum(sizes[a], sizes[b]) - 1, 1)) for n in people]
    error = np.hypot(np.maximum(error_of_v(counts["train"], first, (a, b), people[0]), independent[0]), independent[1])
    width = quantile(simultaneous(context.options.confidence, len(linked))) * error
    low = real - there - width
    order = np.lexsort((b, a, there - real, -low))
    names = context.encoding.names
    worst = names[a[order[0]]], names[b[order[0]]]
    fell = told_apart(float(real[order[0]]), float(there[order[0]]), 2)
    details: dict[str, Any] = {
        "pairs": [
            {"a": names[a[at]], "b": names[b[at]], "train": float(real[at]), "table": float(there[at])}
            for at in order[:MOST_LISTED]
        ],
        "worst": f"{worst[0]} and {worst[1]}",
        "said": relation_in_words(context, *worst)
        or sentence("content.link", a=worst[0], b=worst[1], n=fell[1], m=fell[0]),
        "interval": f"simultaneous over {len(linked)}",
    }
    reference = None if context.control is None else float(np.nanmax((train - control)[a, b]))
    value = float((real - there)[order[0]])
    ends = float(low[order[0]]), value + float(width[order[0]])
    return Measure(value, *ends, reference, people[1], details, together=len(linked))


def error_of_v(counts: Array, groups: Array, pairs: tuple[Array, Array], people: int) -> Array:
    """Standard error of the corrected V of some linked pairs of columns, shape (n_pairs,).

    By the delta method, from that of phi**2 + 1 = sum p_ij**2 / (p_i p_j): the influence of a row in cell ij is
    2 r_ij - sum_j p_ij r_ij / p_i - sum_i p_ij r_ij / p_j with r_ij = p_ij / (p_i p_j). It is large where few rows make
    a link, such as eleven people of a minority who were born abroad. Of independent columns it says nothing. Counts and
    groups are those of :func:`corrected_v`.
    """
    ends = np.append(groups[1:], len(counts))
    most = int((ends - groups).max())
    first, second = (groups[side][:, None] + np.arange(most) for side in pairs)
    inside = (first < ends[pairs[0]][:, None])[:, :, None] & (second < ends[pairs[1]][:, None])[:, None, :]
    first, second = (np.minimum(places, len(counts) - 1) for places in (first, second))
    cells = np.where(inside, counts[first[:, :, None], second[:, None, :]], 0)
    shares = cells / cells.sum(axis=(1, 2), keepdims=True)
    rows, columns = shares.sum(axis=2, keepdims=True), shares.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(shares > 0, shares / (rows * columns), 0)
        parts = shares * ratio
        influence = 2 * ratio - np.nan_to_num(parts.sum(axis=2, keepdims=True) / rows)
        influence -= np.nan_to_num(parts.sum(axis=1, keepdims=True) / columns)
    dimensions = np.minimum((rows > 0).sum(axis=(1, 2)), (columns > 0).sum(axis=(1, 2))) - 1
    of_squares = np.sqrt((shares * influence**2).sum(axis=(1, 2)) / max(people, 1)) / np.maximum(dimensions, 1)
    return np.asarray(of_squares / (2 * np.maximum(corrected_v(counts, groups)[pairs], LINKED)))


def _first_groups(columns: Sequence[Groups]) -> Array:
    return np.asarray(np.cumsum([0, *(of.n for of in columns)])[:-1])


def _counts(columns: Sequence[Groups], role: Role) -> Array:
    """Rows of one table in each group of one column and each of another, as :func:`corrected_v` takes them."""
    from scipy.sparse import csr_array

    size = sum(of.n for of in columns)
    codes = np.column_stack([of.codes[role] for of in columns]) + _first_groups(columns)
    n, p = codes.shape
    rows = np.repeat(np.arange(n), p)
    marks = csr_array((np.ones(n * p), (rows, codes.ravel())), shape=(n, size))
    return np.asarray((marks.T @ marks).toarray())


METRICS = (
    fidelity(
        lost_column,
        "The share of rows that would need another value for the worst column to look as in the real table.",
        low=-1,
    ),
    fidelity(
        lost_link,
        "How much weaker the link of two columns is than in the real table, at worst; 1 is all of a full one.",
        low=-1,
    ),
)
