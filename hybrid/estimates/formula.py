"""Formulas of models, and the numbers that a table has for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.errors import ConfigError, Problem
from hybrid.estimates.survey import SampledRows, Survey

if TYPE_CHECKING:
    import pandas as pd

Model = Literal["linear", "logistic", "cox"]
OTHER = "other"
"""Level that stands for all levels of few rows."""
_NAME = r"(?:`[^`]+`|[^\s~+,()`*:|^]+)"
_FORMULA = re.compile(rf"\s*(?:Surv\(\s*({_NAME})\s*,\s*({_NAME})\s*\)|({_NAME}))\s*~(.+)", re.DOTALL)
_WRITE = "write OUTCOME ~ COLUMN + COLUMN, OUTCOME ~ 1 for a mean, or Surv(TIME, EVENT) ~ COLUMN"


@dataclass(frozen=True)
class ModelFormula:
    """A model by the names of its columns."""

    text: str
    outcome: str
    """Column that is explained; of survival times, the column that says whether the event occurred."""
    predictors: tuple[str, ...]
    """Columns that explain it; none for a mean or a share."""
    time: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a formula such as ``died ~ age + sex``, ``income ~ 1`` or ``Surv(days, died) ~ age``.

        Names with spaces or signs are written between backticks.
        """
        found = _FORMULA.fullmatch(text)
        terms = [] if found is None else [term.strip() for term in re.split(r"\+(?=(?:[^`]*`[^`]*`)*[^`]*$)", found[4])]
        if found is None or not all(re.fullmatch(_NAME, term) for term in terms):
            raise ConfigError(f"the formula {text!r} cannot be read", hint=_WRITE)
        names = [term.strip("`") for term in terms if term != "1"]
        time, event, plain = (None if name is None else name.strip("`") for name in found.groups()[:3])
        used = [*names, *filter(None, (time, event, plain))]
        if len(set(used)) < len(used):
            raise ConfigError(f"the formula {text!r} has a column twice", hint="name each column once")
        if time is not None and not names:
            raise ConfigError(f"the formula {text!r} explains survival times by nothing", hint=_WRITE)
        return cls(text.strip(), event or plain or "", tuple(names), time)

    def without(self, column: str) -> Self | None:
        """The model without a predictor, as within a group of that column; None where it explains nothing else."""
        if column in (self.outcome, self.time):
            return None
        rest = [f"`{name}`" for name in self.predictors if name != column]
        if len(rest) == len(self.predictors):
            return self
        if self.time is not None and not rest:
            return None
        explained = f"`{self.outcome}`" if self.time is None else f"Surv(`{self.time}`, `{self.outcome}`)"
        return type(self).parse(f"{explained} ~ {' + '.join(rest) or 1}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*((self.time,) if self.time else ()), self.outcome, *self.predictors)


class Numbers(NamedTuple):
    """Numbers of a table for a model, without rows with a missing value; weights and clusters of a survey, if any.

    ``outcome`` is 1 where the event occurred, of logistic and survival models; ``time`` is empty without survival.
    """

    inputs: Array
    outcome: Array
    time: Array
    drawn: SampledRows | None = None


@dataclass(frozen=True)
class Design:
    """A formula, fitted to the columns of a table: the same coefficients for every table."""

    formula: ModelFormula
    model: Model
    """linear for numbers and for shares (``OUTCOME ~ 1``), logistic for two values, cox for survival times."""
    event: object
    """Value of the outcome that counts as 1; None for numbers."""
    levels: Mapping[str, tuple[object, ...]]
    """Levels of each categorical predictor that have a coefficient; all others are the reference."""
    others: Mapping[str, tuple[object, ...]]
    """Levels that count as :data:`OTHER`."""
    survey: Survey = Survey()  # noqa: RUF009 - frozen
    """Columns that say how the rows were drawn."""

    @classmethod
    def of(cls, formula: ModelFormula, frame: pd.DataFrame, least: int = 1, survey: Survey = Survey()) -> Self:  # noqa: B008
        """Choose the model, and the levels of categorical columns, by the real table where there is one.

        Levels of fewer than ``least`` rows have no coefficient of their own. They count as ``other``, or as the
        reference where all of them together have fewer rows. The reference is the first of the others in alphabetical
        order.
        """
        problems = [*_unusable(formula, frame), *survey.problems(formula.text, formula.columns, frame)]
        if problems:
            raise ConfigError(problems)
        outcome = frame[formula.outcome].dropna()
        model, event = _model(formula, outcome)
        levels, others = {}, {}
        for name in formula.predictors:
            if not _is_number(frame[name]):
                levels[name], others[name] = _levels(frame[name], least)
        return cls(formula, model, event, levels, others, survey)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, of which a Cox model has no intercept."""
        first = {"cox": (), "logistic": ("(intercept)",), "linear": ("(intercept)",)}[self.model]
        if not self.formula.predictors:
            first = ("(mean)",) if self.event is None else (f"(share of {self.event})",)
        named = [
            f"{name} = {level}" if name in self.levels else name
            for name in self.formula.predictors
            for level in self.levels.get(name, (None,))
        ]
        return (*first, *named)

    def numbers(self, frame: pd.DataFrame, among: Mask | None = None) -> Numbers:
        """The numbers of a table with these columns, or of some of its rows, a domain of the survey.

        ``among``: shape (n,), True for the rows; None: all.
        """
        formula, is_drawn = self.formula, self.survey.is_drawn(frame)
        whole = frame.loc[is_drawn]
        there: Mask = whole[list(formula.columns)].notna().all(axis=1).to_numpy()
        if among is not None:
            there = there & among[is_drawn]
        rows = whole.loc[there]
        columns = [] if self.model == "cox" else [np.ones(len(rows))]
        for name in formula.predictors:
            if name in self.levels:
                values = rows[name].astype(object)
                values = values.where(~values.isin(self.others[name]), OTHER)
                columns += [(values == level).to_numpy(float) for level in self.levels[name]]
            else:
                columns.append(rows[name].to_numpy(float))
        outcome = rows[formula.outcome]
        found = outcome.to_numpy(float) if self.event is None else (outcome == self.event).to_numpy(float)
        time = np.empty(0) if formula.time is None else rows[formula.time].to_numpy(float)
        return Numbers(np.column_stack(columns), found, time, self.survey.drawn(whole, there))


def _unusable(formula: ModelFormula, frame: pd.DataFrame) -> list[Problem]:
    absent = [name for name in formula.columns if name not in frame]
    if absent:
        known = ", ".join(map(str, frame.columns))
        return [Problem(f"{formula.text}: no such column: {', '.join(absent)}", f"one of: {known}")]
    problems = []
    for name in formula.columns:
        values = frame[name].dropna()
        if values.nunique() < 2:
            problems.append(Problem(f"{formula.text}: {name} has fewer than two values", "leave it out"))
        elif values.dtype.kind in "mM" or (name == formula.time and not _is_number(values)):
            problems.append(Problem(f"{formula.text}: {name} is no number", "name a number, such as days since a date"))
    outcome = frame[formula.outcome].dropna()
    two = outcome.nunique() == 2 or not formula.predictors
    if not problems and not two and (formula.time is not None or not _is_number(outcome)):
        problems.append(
            Problem(f"{formula.text}: {formula.outcome} has more than two values, which are no numbers", _WRITE)
        )
    return problems


def _is_number(values: pd.Series) -> bool:
    return values.dtype.kind in "iuf"


def _model(formula: ModelFormula, outcome: pd.Series) -> tuple[Model, object]:
    """Model, and the value of the outcome that counts as 1: the higher of two, or the most frequent of several."""
    values = sorted(outcome.unique(), key=str)
    is_number = _is_number(outcome)
    binary = len(values) == 2 and (not is_number or set(map(float, values)) == {0.0, 1.0})
    if formula.time is not None:
        return "cox", values[-1]
    if binary:
        return "logistic" if formula.predictors else "linear", values[-1]
    return "linear", None if is_number else outcome.value_counts().index[0]


def _levels(values: pd.Series, least: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
    counts = values.astype(object).value_counts()
    order = sorted(counts.index, key=str)
    own = [level for level in order if counts[level] >= least]
    rare = tuple(level for level in order if counts[level] < least)
    together: Sequence[object] = [OTHER] if rare and sum(counts[level] for level in rare) >= least else []
    return (*own[1:], *together), rare
