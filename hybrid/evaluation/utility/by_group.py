"""Errors of models, and likeness, for each group of people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_intervals, clustered_error, simultaneous
from hybrid.evaluation.families import utility
from hybrid.evaluation.fidelity.exclusion import MOST_NAMED, groups_of
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.utility.discriminator import told_apart
from hybrid.evaluation.utility.prediction import scores_of, tested_rows
from hybrid.table import Table


def tstr_groups(context: Context, column: str) -> Outcome:
    """Largest rise of squared error for a group of unseen people.

    Mean difference, over the control records of a group, of the squared error of the model trained on the table and of
    that trained on real rows (:func:`hybrid.evaluation.utility.prediction.tstr`), for the group whose interval has the
    highest low end. Of classes the error is Brier's score, half the squared distance of the probabilities from the
    truth (0..1); of numbers a share of the variance of the truth. Above 0 the table serves the group worse.

    Groups are those of ``group_exclusion`` but by the target itself, with at least ``min_cell`` control people.
    Student's intervals of the paired differences, clustered by person, hold for all groups together (Sidak). The
    reference is the rise for everybody.
    """
    scores = scores_of(context, column, "boosting")
    if isinstance(scores, NotComputable):
        return scores
    synthetic, real = scores
    rows, rise = tested_rows(context, column), synthetic.errors - real.errors
    persons = context.persons("control")[rows]
    least = context.options.min_cell
    found = [
        (about, label, member)
        for about, label, member in _members(context, context.control, rows)
        if about != column and len(np.unique(persons[member])) >= least
    ]
    if not found:
        return NotComputable(sentence("metric.few.unseen_group", n=least), "too_few")
    level, everybody = simultaneous(context.options.confidence, len(found)), float(rise.mean())
    parts = []
    for about, label, member in found:
        n = len(np.unique(persons[member]))
        mean, error = float(rise[member].mean()), clustered_error(rise[member], persons[member])
        half = _student(level, n - 1) * error * math.sqrt(n / (n - 1))
        named = {"column": about, "group": label}
        parts.append(Measure(mean, mean - half, mean + half, everybody, n, named, together=len(found)))
    return _worst(parts, len(rows))


def discriminator_groups(context: Context) -> Outcome:
    """Largest AUC of the discriminator within a group.

    Scores of :func:`hybrid.evaluation.utility.discriminator.discriminator`; of each group of ``group_exclusion`` its
    control records against the table's rows of the same group, at least ``min_cell`` of each, for the group whose
    interval has the highest low end. .5: the table's rows of the group look like real ones. Intervals as of the AUC of
    clustered scores, for all groups together (Sidak). The reference is the AUC of everybody.
    """
    told = told_apart(context, "control")
    real, drawn = (told.scores[told.labels == side] for side in (0, 1))
    persons = context.persons("control")[told.rows[0]], context.persons("table")[told.rows[1]]
    least, found = context.options.min_cell, []
    sides = (context.control, told.rows[0]), (context.table, told.rows[1])
    for mine, its in zip(*(_members(context, *side) for side in sides), strict=True):
        if min(len(np.unique(of[member[2]])) for of, member in zip(persons, (mine, its), strict=True)) >= least:
            found.append((mine[0], mine[1], its[2], mine[2]))
    if not found:
        return NotComputable(sentence("metric.few.group_of_both", n=least), "too_few")
    pairs = [(drawn[its], real[mine]) for _, _, its, mine in found]
    linked = not context.train.rows_are_persons
    clusters = [(persons[1][its], persons[0][mine]) if linked else None for _, _, its, mine in found]
    level = simultaneous(context.options.confidence, len(found))
    everybody = auc_intervals([(drawn, real)], [level], [None])[0][0]
    parts = []
    for (about, label, _, mine), ends in zip(found, auc_intervals(pairs, [level] * len(pairs), clusters), strict=True):
        n, named = len(np.unique(persons[0][mine])), {"column": about, "group": label}
        parts.append(Measure(*ends, everybody, n, named, together=len(found)))
    return _worst(parts, len(told.labels))


def _members(context: Context, table: Table | None, rows: Array) -> Iterator[tuple[str, str, Array]]:
    assert table is not None
    for groups in groups_of(context):
        places = groups.places(table)[rows]
        for at, label in enumerate(groups.labels):
            yield groups.column.name, label, np.flatnonzero(places == at)


def _student(level: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, freedom))


def _worst(scored: list[Measure], n: int) -> Measure:
    """The group with the highest low end; scores are of unseen (control) people of each."""
    order = sorted(scored, key=lambda one: (-one.interval[1], -one.value, *one.details.values()))
    named = [
        one.details | {"people": one.n, "value": one.value, "low": one.low, "high": one.high}
        for one in order[:MOST_NAMED]
    ]
    details = {"groups": named, "interval": f"simultaneous over {len(order)}"}
    parts = {"{column} {group}".format_map(one.details): one for one in order}
    return replace(order[0], n=n, details=details, parts=parts)


METRICS = (
    utility(
        tstr_groups,
        "How much more models trained on these rows err for a group of real people, at worst.",
        low=None,
        high=None,
        per="target",
    ),
    utility(
        discriminator_groups,
        "How well a classifier separates the rows of one group of people from real ones, at worst.",
        copy=None,
    ),
)
