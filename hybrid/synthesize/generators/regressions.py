"""Regressions that draw single columns of ``cart``.

The methods norm, logreg and polyreg of synthpop (Nowok, Raab, Dibben, J. Stat. Softw. 74(11), 2016,
doi:10.18637/jss.v074.i11): coefficients are estimated once, and only the residual is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError, Problem
from hybrid.synthesize.protocol import Encoded, Feature

Method = Literal["tree", "linear", "logistic"]


@dataclass(frozen=True)
class DesignMatrix:
    """Design matrix of columns: 1, standardized numbers, indicators."""

    numbers: Mapping[int, tuple[float, float, float]]
    """Scale of the numeric columns, and mean and standard deviation of the scaled ones."""
    flagged: frozenset[int]
    """Numeric columns with an indicator of missing values."""
    states: Mapping[int, Array]
    """States of the discrete columns that have an indicator. The others, and the most frequent one, have none, so that
    no coefficient is of theirs alone."""

    @classmethod
    def of(cls, data: Encoded, before: Sequence[int], least: int, weights: Array) -> DesignMatrix:
        """Design of the columns ``before``.

        An indicator stands for records (by weight: persons) that number ``least`` at least, as do the others: the
        coefficient of fewer would follow single records.
        """
        numbers, flagged, states = {}, set(), {}
        for at in before:
            values, feature = data.columns[at], data.features[at]
            if feature.is_discrete:
                counts = np.bincount(values, weights, minlength=feature.n_levels)
                states[at] = np.setdiff1d(np.flatnonzero(counts >= least), counts.argmax())
                continue
            missing = np.isnan(values)
            scale = scale_of(values)
            held = values[~missing] / scale
            numbers[at] = (scale, float(held.mean()), float(held.std()) or 1.0)
            if min(weights[missing].sum(), weights[~missing].sum()) >= least:
                flagged.add(at)
        return cls(numbers, frozenset(flagged), states)

    def matrix(self, known: Mapping[int, Array], n_rows: int) -> Array:
        """Matrix of shape (n_rows, 1 + numbers + indicators)."""
        columns = [np.ones(n_rows)]
        for at, (scale, mean, deviation) in self.numbers.items():
            columns.append(np.nan_to_num((known[at] / scale - mean) / deviation, nan=0.0))
            if at in self.flagged:
                columns.append(np.isnan(known[at]).astype(np.float64))
        columns += [(known[at] == state).astype(np.float64) for at, states in self.states.items() for state in states]
        return np.column_stack(columns)


@dataclass(frozen=True)
class LogisticStep:
    """Multinomial logistic regression of a discrete column, with a ridge penalty.

    ``classes`` (k,): the states; ``model``: None where there is only one.
    """

    target: int
    design: DesignMatrix
    classes: Array
    model: Any

    @classmethod
    def fit(cls, target: int, design: DesignMatrix, matrix: Array, codes: Array, weights: Array) -> LogisticStep:
        """Fit to ``codes`` (n,) by L-BFGS; ``matrix`` (n, p) is the design's."""
        from sklearn.linear_model import LogisticRegression

        used = weights > 0
        classes = np.unique(codes[used])
        if len(classes) < 2:
            return cls(target, design, classes, None)
        model = LogisticRegression(fit_intercept=False, max_iter=1000)
        model.fit(matrix[used], codes[used], sample_weight=weights[used])
        return cls(target, design, model.classes_, model)

    def draw(self, drawn: Mapping[int, Array], n_rows: int, rng: np.random.Generator) -> Array:
        return self.pick(self.design.matrix(drawn, n_rows), rng)

    def pick(self, matrix: Array, rng: np.random.Generator) -> Array:
        if self.model is None:
            return np.repeat(self.classes, len(matrix))
        below = np.cumsum(self.model.predict_proba(matrix), axis=1)[:, :-1] < rng.random((len(matrix), 1))
        return np.asarray(self.classes[below.sum(axis=1)])


@dataclass(frozen=True)
class LinearStep:
    """Linear regression of a numeric column with normal residuals.

    Of the column divided by ``scale``. ``deviation``: standard deviation of the residuals; ``low``, ``high``: ends of
    the learned range, at which draws are reflected; ``missing``: a regression of whether a value is missing, None
    where none is.
    """

    target: int
    design: DesignMatrix
    coefficients: Array
    scale: float
    deviation: float
    low: float
    high: float
    missing: LogisticStep | None

    @classmethod
    def fit(cls, target: int, design: DesignMatrix, matrix: Array, values: Array, weights: Array) -> LinearStep:
        """Fit to values by least squares.

        ``values`` (n,) are NaN where missing; ``matrix`` (n, p) is the design's.
        With weights that sum to the number of persons, the residual variance has as many degrees of freedom.
        """
        held = ~np.isnan(values)
        flags = None if held.all() else LogisticStep.fit(target, design, matrix, (~held).astype(np.int64), weights)
        counted = weights[held]
        root, scale = np.sqrt(counted), scale_of(values)
        scaled = values[held] / scale
        found, _, rank, _ = np.linalg.lstsq(matrix[held] * root[:, None], scaled * root)
        residuals = scaled - matrix[held] @ found
        deviation = np.sqrt((counted * residuals**2).sum() / max(counted.sum() - rank, 1.0))
        return cls(target, design, found, scale, float(deviation), float(scaled.min()), float(scaled.max()), flags)

    def draw(self, drawn: Mapping[int, Array], n_rows: int, rng: np.random.Generator) -> Array:
        """One number per row, NaN where it is drawn as missing."""
        matrix = self.design.matrix(drawn, n_rows)
        drawn_values = matrix @ self.coefficients + rng.normal(0, self.deviation, n_rows)
        values = self.scale * reflected(drawn_values, self.low, self.high)
        if self.missing is not None:
            values[self.missing.pick(matrix, rng) == 1] = np.nan
        return values


def scale_of(values: Array) -> float:
    """Largest absolute value, 1 if that is 0: sums of squares of huge numbers would overflow."""
    return float(np.nanmax(np.abs(values))) or 1.0


def reflected(values: Array, low: float, high: float) -> Array:
    """Values folded into [low, high] at its ends, so that none piles up there."""
    width = high - low
    if width == 0:
        return np.full_like(values, low)
    return np.asarray(low + width - np.abs(width - (values - low) % (2 * width)))


def refuse_methods(features: Sequence[Feature], methods: Mapping[str, Method]) -> None:
    """Check that every method fits its column."""
    known = {feature.name: feature for feature in features}
    wrong = []
    for name, method in methods.items():
        if name not in known:
            hint = f"use columns that vary: {', '.join(known)}"
            wrong.append(Problem(f"cart: methods names a column that is not learned: {name!r}", hint))
        elif known[name].is_discrete and method == "linear":
            wrong.append(Problem(f"cart: linear predicts numbers and dates, not {name!r}", "use logistic or tree"))
        elif not known[name].is_discrete and method == "logistic":
            wrong.append(Problem(f"cart: logistic predicts categories, not {name!r}", "use linear or tree"))
    if wrong:
        raise GeneratorError(wrong)


def fit_regression(
    data: Encoded, target: int, before: Sequence[int], method: Method, least: int, weights: Array | None
) -> LinearStep | LogisticStep:
    """Regression of one column on the columns before it.

    Without any it is drawn from its own mean and deviation, or its own shares. An indicator stands for at least
    ``least`` records, or persons; records of weight 0 are not learned from.
    """
    weights = np.ones(len(data)) if weights is None else weights
    if not weights.any():
        raise GeneratorError("cart: no record has a person, so that a regression has nothing to learn from")
    design = DesignMatrix.of(data, before, least, weights)
    matrix = design.matrix(dict(enumerate(data.columns)), len(data))
    fit = LinearStep.fit if method == "linear" else LogisticStep.fit
    return fit(target, design, matrix, data.columns[target], weights)
