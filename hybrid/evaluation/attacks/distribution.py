"""Uniqueness of the distribution: frequencies of exactly these people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import PEOPLE, ROLES, Context
from hybrid.evaluation.engine.intervals import auc_interval, clustered_error, quantile
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

BINS = 10
"""Parts of a column of numbers, each with as many people."""
MOST_PAIRS = 200
"""Pairs of columns that are counted; random ones where there are more."""


class PeopleCells(NamedTuple):
    """Cells of all people and rows, by a column or a pair."""

    people: Array
    """Of train, then of control; shape (n_T + n_C,), int."""
    rows: Array
    """Of the table; shape (n_S,), int."""
    n: int


def distribution_uniqueness(context: Context) -> Outcome:
    """Way of the table from the population's frequencies to those of train.

    0 fresh people, 1 the frequencies of train, as of a copy. Counted are the cells of every column and every pair of
    columns (numbers in tenths of the people; cells of fewer than ``min_cell`` people together). With the shares of a
    cell t among training persons, c among control, s in the table, and m among both kinds of people, the number is
    sum((s - m) (t - c) / m) / sum((t - m) (t - c) / m): the projection of s - m on t - m along the line on which
    sampling alone moved train away from control.

    The numerator is the mean over training persons, minus that over control, of the score a(x) = sum of (s - m)/m over
    the cells of x, by which an attacker with the population's frequencies traces a person (Homer et al. 2008, doi
    10.1371/journal.pgen.1000167; to first order the likelihood ratio of Sankararaman et al. 2009, doi 10.1038/ng.436).
    Without a leak, exchanging people of train and control changes nothing, so the mean difference is 0; its interval is
    that of two independent means, clustered by person, over the denominator (or what drawing the table's rows again
    would vary it by, if that is more). ``details.tracing_auc`` is what the score tells of one person: the AUC of
    training persons against control, .5 without a leak.
    """
    size, others, rows = (len(context.encoded(role)) for role in ROLES)
    scores, drawn, length, cells = np.zeros(size + others), np.zeros(rows), 0.0, 0
    for found in _marginals(context):
        all_people, mine = (np.bincount(part, minlength=found.n) for part in (found.people, found.people[:size]))
        mean, table = all_people / len(scores), np.bincount(found.rows, minlength=found.n) / rows
        held = np.maximum(mean, 1 / len(scores))  # A cell without people has none to score.
        apart = mine / size - (all_people - mine) / others
        scores += ((table - mean) / held)[found.people]
        drawn += (apart / held)[found.rows]
        length += float((apart**2 / held).sum())
        cells += int(np.count_nonzero(all_people))
    if length == 0:
        return NotComputable("training and control records have the same frequencies")
    way = length * others / len(scores)
    parts, confidence = (scores[:size], scores[size:]), context.options.confidence
    errors = [clustered_error(each, context.persons(role)) for each, role in zip(parts, PEOPLE, strict=True)]
    error = max(math.hypot(*errors), clustered_error(drawn, context.persons("table"))) * quantile(confidence) / way
    value = float(parts[0].mean() - parts[1].mean()) / way
    traced = auc_interval(*parts, confidence, context.clusters(np.arange(size), np.arange(others)))
    details = dict(zip(("tracing_auc", "tracing_low", "tracing_high"), traced, strict=True)) | {"cells": cells}
    return Measure(value, value - error, value + error, 0.0, len(scores), details).above(0.0)


def _marginals(context: Context) -> Iterator[PeopleCells]:
    """Cells of every column, then of pairs of columns."""
    columns = [_column(context, at) for at in range(len(context.encoding.columns))]
    yield from columns
    pairs = list(combinations(range(len(columns)), 2))
    if len(pairs) > MOST_PAIRS:
        chosen = context.random("distribution_uniqueness").permutation(len(pairs))[:MOST_PAIRS]
        pairs = [pairs[at] for at in sorted(chosen)]
    for one, other in pairs:
        first, second = columns[one], columns[other]
        people = first.people * second.n + second.people
        rows = first.rows * second.n + second.rows
        yield _without_small(PeopleCells(people, rows, first.n * second.n), context.options.min_cell)


def _column(context: Context, at: int) -> PeopleCells:
    """Cells of one column: tenths of numbers, categories, missing values."""
    tables = [context.encoded(role) for role in ROLES]
    if context.encoding.continuous[at]:
        people = np.concatenate([part.numbers[:, at] for part in tables[:2]])
        known = people[~np.isnan(people)]
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="higher")) if len(known) else known

        def cell(values: Array) -> Array:
            return np.where(np.isnan(values), 0, np.searchsorted(edges, values, "left") + 1)

        found = PeopleCells(cell(people), cell(tables[2].numbers[:, at]), len(edges) + 2)
    else:
        ranks = [part.ranks[:, at].astype(np.int64) + 1 for part in tables]
        found = PeopleCells(np.concatenate(ranks[:2]), ranks[2], int(context.encoding.cardinality[at]) + 1)
    return _without_small(found, context.options.min_cell)


def _without_small(cells: PeopleCells, least: int) -> PeopleCells:
    """Cells with those of fewer people together, as cell 0."""
    large = np.bincount(cells.people, minlength=cells.n) >= least
    place = np.where(large, np.cumsum(large), 0)
    return PeopleCells(place[cells.people], place[cells.rows], int(large.sum()) + 1)


METRICS = (
    indicator(
        distribution_uniqueness,
        "How far the table's frequencies are those of exactly these training people instead of the population's; "
        "0 not at all, 1 all the way.",
        low=None,
        high=None,
        no_leak=0.0,
        mechanism="uniqueness",
        unit="risk",
        by_default=False,
    ),
)
