"""Analyses of users: what they estimate from the table, beside the same estimates from real people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import HybridError
from hybrid.estimates import Design, Fit, Formula, NotEstimable, fit, propensities
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import quantile
from hybrid.evaluation.families import utility
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Kind, Role, Schema, Table
from hybrid.table.weights import weight_column

MOST_COLUMNS, MOST_PREDICTORS, MOST_LEVELS = 30, 8, 10
"""Of the default analyses: columns whose mean or share is estimated, predictors of a model, levels of each."""


@dataclass(frozen=True)
class ComparedEstimate:
    """One estimate, real beside the table.

    Estimates and ends of intervals are rounded to a power of ten, half a standard error at most: they do not tell of
    one person. Other numbers have three significant digits.

    Parameters
    ----------
    analysis, name : str
        Formula, and what is estimated.
    real, table : (float, float, float)
        Estimate, and both ends of its interval for conclusions about the population. None: the table has no estimate.
    overlap : float
        Of the intervals, 0 (apart) to 1 (equal).
    difference : float
        Estimate of the table less the real one, in standard errors of the real one.
    noise : float
        Standard error of that difference where chance alone makes it: of the rows that were drawn, and of the sample of
        records that they were learned from.
    concluded : bool or None
        Whether both intervals say the same: above 0, below 0, or neither. None for means, shares and intercepts.
    """

    analysis: str
    name: str
    real: tuple[float, float, float]
    table: tuple[float, float, float] | None
    overlap: float
    difference: float
    noise: float
    concluded: bool | None


class Comparison(NamedTuple):
    """All estimates of a table, those of control, and analyses that could not be made, with the reason."""

    estimates: list[ComparedEstimate]
    reference: list[ComparedEstimate]
    left_out: dict[str, str]


def interval_overlap(context: Context) -> Outcome:
    """Mean overlap of the intervals of real estimates and of those from the table, 0..1; higher is better.

    Estimates are those of ``evaluate.analyses``, or of default analyses: means and shares of the columns, and a model
    of each target by up to eight other columns; where there is none, of each sensitive column, or of one that is no
    quasi-identifier.

    Of intervals [L, U] of both, with o = max(0, min(U) - max(L)), it is the mean of o over their lengths (Karr et al.
    2006, The American Statistician 60(3)). The table's interval is that which the real table would give: its variance
    is taken times rows of the table over real rows, as in synthpop. A copy has 1, a table drawn from the right model
    and of the real size about .8. The reference is the overlap of control records.

    ``details`` list every estimate. Where a generator drew the table, its interval there is that for conclusions about
    the population (T_s of :func:`hybrid.estimates.combine`); all tables of a release are one table here, which is the
    same. Where a model can be fitted to real people alone, the overlap is 0.
    """
    found = _compared(context)
    if isinstance(found, NotComputable):
        return found
    value = float(np.mean([one.overlap for one in found.estimates]))
    reference = float(np.mean([one.overlap for one in found.reference])) if found.reference else None
    worst = max(found.estimates, key=lambda one: abs(one.difference))
    concluded = [one.concluded for one in found.estimates if one.concluded is not None]
    details = {
        "estimates": [asdict(one) for one in found.estimates],
        "left_out": found.left_out,
        "conclusions": len(concluded),
        "kept": sum(concluded),
        "said": f"Of {worst.analysis}, {worst.name} differs most, by {abs(worst.difference):.1f} standard errors",
    }
    return Measure(value, reference=reference, n=len(found.estimates), details=details)


def conclusions_kept(context: Context) -> Outcome:
    """Share of the coefficients about which the table and real people lead to the same conclusion, 0..1.

    The conclusion is that the interval lies above 0, below 0, or holds 0. Analyses and intervals are those of
    :func:`interval_overlap`; means, shares and intercepts do not count.
    """
    found = _compared(context)
    if isinstance(found, NotComputable):
        return found
    kept, real = ([one.concluded for one in side if one.concluded is not None] for side in found[:2])
    if not kept:
        return NotComputable("no analysis has a coefficient: evaluate.analyses names models", lacks="target")
    return Measure(float(np.mean(kept)), reference=float(np.mean(real)) if real else None, n=len(kept))


def default_analyses(schema: Schema, targets: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Formulas for a table whose configuration names none, whatever the order of its columns."""
    columns = [one for one in schema if one.role is not Role.WEIGHT and one.kind.measure in (None, "number")]
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


def _compared(context: Context) -> Comparison | NotComputable:
    if not context.train.rows_are_persons:
        reason = "persons have several rows, and the standard errors of users' estimates are here those of single rows"
        return NotComputable(reason, lacks="single_rows")
    return context.once("analyses", lambda: _comparison(context))


def _comparison(context: Context) -> Comparison | NotComputable:
    options, train = context.options, context.train.frame
    texts = options.analyses or default_analyses(_varying(context), context.targets, train)
    found = Comparison([], [], {})
    for text in texts:
        try:
            design = Design.of(Formula.parse(text), train, options.min_cell, _weights(context))
            real = _real(design, context)
        except HybridError as error:
            found.left_out[text] = error.problems[0].message
            continue
        found.estimates.extend(_estimates(design, real, context.table, context, context.learned))
        if context.control is not None:
            found.reference.extend(_estimates(design, real, context.control, context, None))
    return found if found.estimates else NotComputable("no analysis could be made of real people", "too_few")


def _weights(context: Context) -> str | None:
    """Column of sampling weights; None without one."""
    column = weight_column(context.train)
    return None if column is None else column.name


def _real(design: Design, context: Context) -> Fit:
    """Fit to real people; refused where fewer than ``min_cell`` of them would decide an estimate."""
    numbers, least = design.numbers(context.train.frame), context.options.min_cell
    few = NotEstimable(f"{design.formula.text}: fewer than {least} people would decide an estimate")
    spread = [*numbers.inputs.T, *([] if design.event is None else [numbers.outcome])]
    for values in spread:
        counts = np.unique(values, return_counts=True)[1]
        if len(counts) > 1 and len(values) - counts.max() < least:
            raise few
    if len(numbers.inputs) - numbers.inputs.shape[1] < least:
        raise few
    return fit(design, numbers)


def _estimates(
    design: Design, real: Fit, table: Table, context: Context, learned: int | None
) -> Iterator[ComparedEstimate]:
    """Estimates of one table beside the real ones; intercepts of models with predictors are left out."""
    try:
        its: Fit | None = fit(design, design.numbers(table.frame))
    except NotEstimable:
        its = None
    sampled = 0.0 if learned is None else max(len(context.train) / learned - 1, 0.0)
    z = quantile(context.options.confidence)
    for at, name in enumerate(real.names):
        if name == "(intercept)":
            continue
        value, error = float(real.estimates[at]), float(np.sqrt(real.variances[at]))
        ends = value - z * error, value + z * error
        is_model = bool(design.formula.predictors)
        digits = 1 - int(np.floor(np.log10(5 * error))) if error else 0
        shown = _shown(digits, value, *ends)
        if its is None or not error:
            yield ComparedEstimate(design.formula.text, name, shown, None, 0.0, 0.0, 0.0, False if is_model else None)
            continue
        other, variance, size = float(its.estimates[at]), float(its.variances[at]), its.rows / real.rows
        like_real = z * float(np.sqrt(variance * size))
        # T_s = v (k/n + 1) of all rows together, with the same share of complete rows as among real people.
        factor = 1.0 if learned is None else 1 + size * len(context.train) / learned
        wide = z * float(np.sqrt(variance * factor))
        found = other - wide, other + wide
        yield ComparedEstimate(
            design.formula.text,
            name,
            shown,
            _shown(digits, other, *found),
            _rounded(_overlap(ends, (other - like_real, other + like_real))),
            _rounded((other - value) / error),
            _rounded(float(np.sqrt(variance / error**2 + sampled))),
            _conclusion(*ends) == _conclusion(*found) if is_model else None,
        )


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    common = max(0.0, min(one[1], other[1]) - max(one[0], other[0]))
    lengths = [end[1] - end[0] for end in (one, other)]
    return float(np.mean([common / length if length else 0.0 for length in lengths]))


def _conclusion(low: float, high: float) -> int:
    return 1 if low > 0 else -1 if high < 0 else 0


def _shown(digits: int, *values: float) -> tuple[float, float, float]:
    a, b, c = (round(value, digits) + 0.0 for value in values)
    return a, b, c


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


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


def _varying(context: Context) -> Schema:
    """Columns without those of one value, or of another one in nearly each row, as for every other metric."""
    known = {*context.encoding.names}
    return Schema(tuple(one for one in context.schema if one.name in known))


def _main_effects(context: Context, frame: pd.DataFrame) -> Array:
    """Numbers, with an indicator of gaps, and an indicator of each level of ``min_cell`` training people."""
    train, least, columns = context.train.frame, context.options.min_cell, []
    for column in _varying(context):
        if column.role is Role.WEIGHT:
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
    numbers: Array = values.to_numpy(dtype=float, na_value=np.nan)
    return numbers


def _independent(inputs: Array) -> Array:
    """Columns of which none follows from others, after their means are taken off."""
    from scipy.linalg import qr

    if not inputs.shape[1]:
        return np.empty(0, dtype=int)
    diagonal, pivots = qr(inputs - inputs.mean(axis=0), mode="r", pivoting=True)
    sizes = np.abs(np.diag(diagonal))
    kept: Array = np.sort(pivots[: len(sizes)][sizes > 1e-8 * max(float(sizes[0]), 1e-300)])
    return kept


METRICS = (
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
