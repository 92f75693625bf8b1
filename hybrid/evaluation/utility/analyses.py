"""Analyses of users: what they count and estimate from the table, beside the same from real people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.estimates import ModelFormula, propensities
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import mean_interval
from hybrid.evaluation.families import utility
from hybrid.evaluation.fidelity.exclusion import MOST_NAMED, groups_of
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.utility.compared_estimates import (
    ComparedEstimate,
    GroupRows,
    TableEstimates,
    compared,
    conclusions,
    survey_of,
)
from hybrid.table import Kind, Schema
from hybrid.table import Role as ColumnRole
from hybrid.table.cells import PeopleGroups


@dataclass(frozen=True)
class GroupAgreement:
    """Agreement of the estimates of one group, from the table, with those from real people of the group."""

    column: str
    group: str
    """The column, and its values."""
    estimates: int
    overlap: float
    """Mean overlap of their intervals, 0..1."""
    reference: float | None
    """That of people kept apart; None without them, or where fewer than ``min_cell`` of them are of the group."""
    conclusions: int
    kept: int
    """Coefficients, and those about which both lead to the same conclusion."""
    worst: ComparedEstimate


def agreement_of_groups(context: Context, formulas: Sequence[ModelFormula]) -> list[GroupAgreement]:
    """Agreement of each group, the lowest overlap first; of the released table alone, of at most 50 groups.

    Groups are those of ``group_exclusion``, with at least ``min_cell`` training people in the group and outside of it,
    so that no group of few people follows from others. Within a group its own column is no predictor.
    """
    if context.stage != "synthetic":
        return []
    found = [one for groups in groups_of(context) for one in _of_column(context, groups, formulas)]
    return sorted(found, key=lambda one: (one.overlap, one.column, one.group))[:MOST_NAMED]


def _of_column(context: Context, groups: PeopleGroups, formulas: Sequence[ModelFormula]) -> Iterator[GroupAgreement]:
    asked = (formula.without(groups.column.name) for formula in formulas)
    within = list({formula.text: formula for formula in asked if formula is not None}.values())
    least, people = context.options.min_cell, groups.people(context.train)
    tables = [context.train, context.table, *([] if context.control is None else [context.control])]
    places = [(table.frame, groups.places(table)) for table in tables]
    for at, label in enumerate(groups.labels):
        if len(context.train) - people[at] < least:
            continue
        real, drawn, *apart = (GroupRows(frame, place == at) for frame, place in places)
        control = apart[0] if apart and len(apart[0].rows) >= least else None
        found = compared(context, within, real, drawn, control)
        if found.estimates:
            yield _agreement(groups.column.name, label, found)


def _agreement(column: str, group: str, found: TableEstimates) -> GroupAgreement:
    concluded, apart = conclusions(found.estimates), found.overlap_apart
    return GroupAgreement(
        column,
        group,
        len(found.estimates),
        round(found.overlap, 3),
        None if apart is None else round(apart, 3),
        len(concluded),
        sum(concluded),
        found.worst,
    )


MOST_COLUMNS, MOST_PREDICTORS, MOST_LEVELS = 30, 8, 10
"""Of the default analyses: columns whose mean or share is estimated, predictors of a model, levels of each."""


def interval_overlap(context: Context) -> Outcome:
    """Mean overlap of the intervals of real estimates and of those from the table, 0..1; higher is better.

    Estimates are those of ``evaluate.analyses``, or of default analyses: means and shares of the columns, and a model
    of each target by up to eight other columns; where there is none, of each sensitive column, or of one that is no
    quasi-identifier.

    Of intervals [L, U] of both, with o = max(0, min(U) - max(L)), it is the mean of o over their lengths (Karr et al.
    2006, The American Statistician 60(3)). The table's interval is that which the real table would give: its variance
    is taken times rows of the table over real rows, as in synthpop. A copy has 1, a table drawn from the right model
    and of the real size about .8. The reference is the overlap of control records.

    ``details`` list every estimate, and how far those of each group of people agree. Where a generator drew the table,
    its interval there is that for conclusions about the population (T_s of :func:`hybrid.estimates.combine`); all
    tables of a release are one table here, which is the same. Where a model can be fitted to real people alone, the
    overlap is 0.
    """
    found = _compared(context)
    if isinstance(found, NotComputable):
        return found
    worst, concluded = found.worst, conclusions(found.estimates)
    details = {
        "estimates": [asdict(one) for one in found.estimates],
        "left_out": found.left_out,
        "width_of_survey": round(found.width, 2) if survey_of(context).has_clusters else None,
        "conclusions": len(concluded),
        "kept": sum(concluded),
        "said": sentence(
            "analyses.worst",
            analysis=worst.analysis.replace("`", ""),
            name=worst.name,
            n=round(abs(worst.difference), 1),
        ),
        "groups": [asdict(one) for one in agreement_of_groups(context, _within_groups(context))],
    }
    return Measure(found.overlap, reference=found.overlap_apart, n=len(found.estimates), details=details)


def conclusions_kept(context: Context) -> Outcome:
    """Share of the coefficients about which the table and real people lead to the same conclusion, 0..1.

    The conclusion is that the interval lies above 0, below 0, or holds 0. Analyses and intervals are those of
    :func:`interval_overlap`; means, shares and intercepts do not count.
    """
    found = _compared(context)
    if isinstance(found, NotComputable):
        return found
    kept, real = (conclusions(side) for side in found[:2])
    if not kept:
        return NotComputable("no analysis has a coefficient: evaluate.analyses names models", lacks="target")
    return Measure(float(np.mean(kept)), reference=float(np.mean(real)) if real else None, n=len(kept))


def default_analyses(schema: Schema, targets: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Formulas for a table whose configuration names none, whatever the order of its columns."""
    columns = [one for one in schema if one.role is not ColumnRole.WEIGHT and one.kind.measure in (None, "number")]
    levels = {one.name: 2 if one.kind.is_number else int(frame[one.name].nunique()) for one in columns}
    names = sorted(one.name for one in columns if levels[one.name] > 1)
    known = {*schema.quasi_identifiers}
    ordered = sorted((name for name in names if levels[name] <= MOST_LEVELS), key=lambda name: name not in known)
    usable = [name for name in names if schema[name].kind.is_number or levels[name] == 2]
    others = [name for name in usable if name not in known][:1]
    asked = ([name for name in usable if name in of] for of in (targets, schema.sensitive))
    explained = next(filter(None, asked), others)
    models = [(name, [one for one in ordered if one != name][:MOST_PREDICTORS]) for name in explained]
    return [
        *(f"`{name}` ~ 1" for name in names[:MOST_COLUMNS]),
        *(f"`{name}` ~ {' + '.join(f'`{one}`' for one in others)}" for name, others in models if others),
    ]


def _compared(context: Context) -> TableEstimates | NotComputable:
    if not context.train.rows_are_persons:
        reason = "persons have several rows, and the standard errors of users' estimates are here those of single rows"
        return NotComputable(reason, lacks="single_rows")
    return context.once("analyses", lambda: _comparison(context))


def _comparison(context: Context) -> TableEstimates | NotComputable:
    control = None if context.control is None else GroupRows(context.control.frame)
    people = GroupRows(context.train.frame), GroupRows(context.table.frame), control
    found = compared(context, formulas_of(context), *people)
    if found.estimates:
        return found
    reason = next(iter(found.left_out.values()), "no column has two values")
    return NotComputable(sentence("analyses.none", reason=reason), "too_few")


def formulas_of(context: Context) -> list[ModelFormula]:
    """Analyses of the configuration, or the default ones."""
    texts = context.options.analyses
    found = texts or default_analyses(_varying(context), context.targets, context.train.frame)
    return [ModelFormula.parse(text) for text in found]


def pmse_ratio(context: Context) -> Outcome:
    """Error of a propensity score over that expected of a table drawn from the right model; lower is better.

    A logistic regression with p coefficients tells the N rows of the table and of training apart by all columns, each
    by itself. pMSE is the mean of (score - c)^2 with c the table's share of the rows. From the right model its
    expectation is (p - 1) (1 - c)^2 c / N (Snoke, Raab, Nowok, Dibben and Slavkovic 2018, JRSS A 181(3)). 0 is a copy,
    1 the right model; above 10 the columns themselves differ visibly.
    """
    sides = [_main_effects(context, table.frame) for table in (context.train, context.table)]
    inputs = np.concatenate(sides)
    labels = np.repeat([0.0, 1.0], [len(side) for side in sides])
    kept = inputs[:, _independent(inputs)]
    share, n, p = float(labels.mean()), len(labels), kept.shape[1] + 1
    if p < 2:
        return NotComputable("no column has two values", "too_few")
    error = float(((propensities(kept, labels) - share) ** 2).mean())
    expected = (p - 1) * (1 - share) ** 2 * share / n
    return Measure(error / expected, n=n, details={"pmse": error, "expected": expected, "coefficients": p})


def _within_groups(context: Context) -> list[ModelFormula]:
    """Analyses of the configuration, or the models of the default ones: their means and shares would be many."""
    found = formulas_of(context)
    return [formula for formula in found if context.options.analyses or formula.predictors]


def _varying(context: Context) -> Schema:
    """Columns without those of one value, or of another one in nearly each row, as for every other metric."""
    known = {*context.encoding.names}
    return Schema(tuple(one for one in context.schema if one.name in known))


def _main_effects(context: Context, frame: pd.DataFrame) -> Array:
    train, least, columns = context.train.frame, context.options.min_cell, []
    for column in _varying(context):
        if column.role is ColumnRole.WEIGHT:
            continue
        if column.kind.is_continuous and column.kind is not Kind.TIME:
            known, values = (_as_numbers(one[column.name]) for one in (train, frame))
            spread = float(np.nanstd(known)) or 1.0
            columns += [np.nan_to_num((values - np.nanmean(known)) / spread), np.isnan(values).astype(float)]
        else:
            counts = train[column.name].value_counts(dropna=False)
            values = frame[column.name].astype(object)
            columns += [(values == level).to_numpy(bool).astype(float) for level in counts.index[counts >= least][1:]]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def _as_numbers(values: pd.Series) -> Array:
    if values.dtype.kind == "M":
        return np.where(values.isna(), np.nan, values.astype("datetime64[us]").astype("int64") / 1e6)
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))


def _independent(inputs: Array) -> Array:
    """Columns of which none follows from others, after their means are taken off."""
    from scipy.linalg import qr

    if not inputs.shape[1]:
        return np.empty(0, dtype=int)
    diagonal, pivots = qr(inputs - inputs.mean(axis=0), mode="r", pivoting=True)
    sizes = np.abs(np.diag(diagonal))
    return np.asarray(np.sort(pivots[: len(sizes)][sizes > 1e-8 * max(float(sizes[0]), 1e-300)]))


QUERIES = 500
COLUMNS = 3


def _answers(context: Context) -> dict[Role, Array]:
    """Share of rows (or weights) in each of 500 random ranges.

    Per table; shape (500,). A range is drawn on up to three random columns around a random training record: for numbers
    an interval of ranks between two training values, for categories a random half of the categories with the record's
    own in it.
    """
    encoding, train = context.encoding, context.encoded("train")
    p, rng = len(encoding.columns), context.random("query_error")
    roles: tuple[Role, ...] = ("train", "table") if context.control is None else ("train", "table", "control")
    tables = {role: np.ascontiguousarray(context.encoded(role).ranks.T) for role in roles}
    weights = {role: context.weights(role) for role in roles}
    answers: dict[Role, Array] = {role: np.empty(QUERIES) for role in tables}
    for i in range(QUERIES):
        record = train.ranks[train.order[rng.integers(len(train))]]
        inside = {role: np.ones(ranks.shape[1], dtype=bool) for role, ranks in tables.items()}
        for at in rng.permutation(p)[:COLUMNS]:
            wanted = np.zeros(encoding.cardinality[at] + 1, dtype=bool)
            if encoding.continuous[at] and record[at] >= 0:
                other = train.ranks[train.order[rng.integers(len(train))], at]
                wanted[min(record[at], max(other, 0)) : max(record[at], other) + 1] = True
            else:
                wanted[:] = rng.random(len(wanted)) < 0.5
            wanted[record[at]] = True
            for role, ranks in tables.items():
                inside[role] &= wanted[ranks[at]]
        for role, rows in inside.items():
            answers[role][i] = rows.mean() if weights[role] is None else np.average(rows, weights=weights[role])
    return answers


def query_error(context: Context) -> Measure:
    """Mean absolute error of random range counts, 0..1.

    Over three columns, as a share of all rows; with sampling weights, of their sum. The reference is the error of the
    control set. ``details`` carry the mean error relative to the true share (at least 1 % of the rows).
    """
    answers = _answers(context)
    truth = answers["train"]
    error = np.abs(answers["table"] - truth)
    value, low, high = mean_interval(error, context.options.confidence)
    reference = None
    details = {"relative": float((error / np.maximum(truth, 0.01)).mean())}
    if "control" in answers:
        other = np.abs(answers["control"] - truth)
        reference = float(other.mean())
        details["relative_reference"] = float((other / np.maximum(truth, 0.01)).mean())
    return Measure(value, max(low, 0.0), high, reference, QUERIES, details)


METRICS = (
    utility(
        query_error,
        "How far counts of people with given properties are from the real counts, as a share of all people.",
        needs=(),
        headline=True,
    ),
    utility(
        interval_overlap,
        "How far the intervals of users' estimates overlap with those from real people.",
        direction="higher",
        needs=(),
        headline=True,
    ),
    utility(
        conclusions_kept,
        "For how many coefficients of users' models the table leads to the same conclusion as real people.",
        direction="higher",
        needs=(),
        copy=None,
    ),
    utility(
        pmse_ratio,
        "How much easier rows are told from real ones by single columns than chance allows; 1 is chance.",
        needs=(),
        high=None,
        copy=0.0,
    ),
)
