"""Estimates of analyses, from a table beside those from real people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask
from hybrid.base.errors import HybridError
from hybrid.base.sentence import sentence
from hybrid.estimates import Design, Fit, ModelFormula, NotEstimable, Survey, fit
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import quantile
from hybrid.table.weights import weight_column


class GroupRows(NamedTuple):
    """Rows of a table, or those of a group of people: ``among`` has the shape (n,), or is None for all."""

    frame: pd.DataFrame
    among: Mask | None = None

    @property
    def rows(self) -> pd.DataFrame:
        return self.frame if self.among is None else self.frame.loc[self.among]


@dataclass(frozen=True)
class ComparedEstimate:
    """One estimate, real beside the table, with three significant digits.

    Estimates and ends of intervals are rounded to a power of ten, half a standard error at most: they tell of nobody.
    """

    analysis: str
    name: str
    """Formula, and what is estimated."""
    real: tuple[float, float, float]
    table: tuple[float, float, float] | None
    """Estimate, and both ends of its interval for conclusions about the population. None: the table has no estimate."""
    overlap: float
    """Of the intervals, 0 (apart) to 1 (equal)."""
    difference: float
    """Estimate of the table less the real one, in standard errors of the real one."""
    noise: float
    """Standard error of that difference where chance alone makes it: of the rows that were drawn, and of the sample of
    records that they were learned from."""
    width: float
    """Standard error of the table's estimate, as for a table of the real size, in standard errors of the real one."""
    concluded: bool | None
    """Whether both intervals say the same: above 0, below 0, or neither. None for means, shares and intercepts."""


class TableEstimates(NamedTuple):
    """All estimates of a table, those of control, and analyses that could not be made, with the reason."""

    estimates: list[ComparedEstimate]
    reference: list[ComparedEstimate]
    left_out: dict[str, str]

    @property
    def overlap(self) -> float:
        return float(np.mean([one.overlap for one in self.estimates]))

    @property
    def overlap_apart(self) -> float | None:
        """Mean overlap of the intervals of control, 0..1; None without control."""
        return float(np.mean([one.overlap for one in self.reference])) if self.reference else None

    @property
    def width(self) -> float:
        """Median of the standard errors of the table, in real ones; 0 where the table has no estimate."""
        return float(np.median([one.width for one in self.estimates]))

    @property
    def worst(self) -> ComparedEstimate:
        return max(self.estimates, key=lambda one: abs(one.difference))


def conclusions(estimates: Sequence[ComparedEstimate]) -> list[bool]:
    """Of each coefficient, whether both intervals say the same."""
    return [one.concluded for one in estimates if one.concluded is not None]


def compared(
    context: Context, formulas: Sequence[ModelFormula], real: GroupRows, table: GroupRows, control: GroupRows | None
) -> TableEstimates:
    """Estimates of analyses from the table beside those from real people, of all or of a group; control is optional."""
    found, least = TableEstimates([], [], {}), context.options.min_cell
    for formula in formulas:
        try:
            design = Design.of(formula, real.rows, least, survey_of(context))
            fitted = _real(design, real, least)
        except HybridError as error:
            found.left_out[formula.text] = error.problems[0].message
            continue
        found.estimates.extend(_estimates(design, fitted, table, context, context.learned))
        if control is not None:
            found.reference.extend(_estimates(design, fitted, control, context, None))
    return found


def survey_of(context: Context) -> Survey:
    """Columns that say how the records were drawn."""
    column, options = weight_column(context.train), context.options
    return Survey(None if column is None else column.name, options.strata, options.clusters)


def _real(design: Design, people: GroupRows, least: int) -> Fit:
    numbers = design.numbers(people.frame, people.among)
    few = NotEstimable(sentence("analyses.few", formula=design.formula.text, n=least))
    spread = [*numbers.inputs.T, *([] if design.event is None else [numbers.outcome])]
    for values in spread:
        counts = np.unique(values, return_counts=True)[1]
        if len(counts) > 1 and len(values) - counts.max() < least:
            raise few
    if len(numbers.inputs) - numbers.inputs.shape[1] < least:
        raise few
    return fit(design, numbers)


def _estimates(
    design: Design, real: Fit, people: GroupRows, context: Context, learned: int | None
) -> Iterator[ComparedEstimate]:
    """Estimates of one table beside the real ones; intercepts of models with predictors are left out."""
    try:
        its: Fit | None = fit(design, design.numbers(people.frame, people.among))
    except NotEstimable:
        its = None
    sampled = 0.0 if learned is None else max(len(context.train) / learned - 1, 0.0)
    z = _quantile(design, real, context)
    its_z = z if its is None else _quantile(design, its, context)
    for at, name in enumerate(real.names):
        if name == "(intercept)":
            continue
        value, error = float(real.estimates[at]), float(np.sqrt(real.variances[at]))
        ends = value - z * error, value + z * error
        is_model = bool(design.formula.predictors)
        digits = 1 - int(np.floor(np.log10(5 * error))) if error else 0
        shown = _shown(digits, value, *ends)
        if its is None or not error:
            yield ComparedEstimate(
                design.formula.text, name, shown, None, 0.0, 0.0, 0.0, 0.0, False if is_model else None
            )
            continue
        other, variance, size = float(its.estimates[at]), float(its.variances[at]), its.rows / real.rows
        like_real = its_z * float(np.sqrt(variance * size))
        # T_s = v (k/n + 1) of all rows together, with the same share of complete rows as among real people.
        factor = 1.0 if learned is None else 1 + size * len(context.train) / learned
        wide = its_z * float(np.sqrt(variance * factor))
        found = other - wide, other + wide
        yield ComparedEstimate(
            design.formula.text,
            name,
            shown,
            _shown(digits, other, *found),
            _rounded(_overlap(ends, (other - like_real, other + like_real))),
            _rounded((other - value) / error),
            _rounded(float(np.sqrt(variance / error**2 + sampled))),
            _rounded(float(np.sqrt(variance * size)) / error),
            _conclusion(*ends) == _conclusion(*found) if is_model else None,
        )


def _quantile(design: Design, fitted: Fit, context: Context) -> float:
    """Standard errors of half an interval: of Student's distribution where clusters are few, else of the normal one."""
    from scipy.stats import t

    confidence = context.options.confidence
    return float(t.ppf((1 + confidence) / 2, fitted.freedom)) if design.survey.has_clusters else quantile(confidence)


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
