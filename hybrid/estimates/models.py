"""Linear, logistic and Cox models, fitted to the numbers of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.estimates.formula import Design, Numbers
from hybrid.estimates.survey import NotEstimable

STEPS = 50
"""Newton steps at most."""
CLOSE = 1e-9
"""Largest change of the log likelihood per row that ends the steps."""
UNSURE = 10.0
"""Standard error of a standardized logistic or Cox coefficient beyond which it has no finite estimate."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of a model."""

    names: tuple[str, ...]
    estimates: Array
    variances: Array
    """Coefficients and their squared standard errors; shape (p,)."""
    rows: int
    """Rows without missing values, which were used."""
    freedom: float
    """Degrees of freedom of Student's distribution: of a survey with strata or clusters, clusters + 1 less strata and
    coefficients, as in R's survey; else rows less coefficients of linear models, and infinite for others."""


def fit(design: Design, numbers: Numbers) -> Fit:
    """Fit a model by least squares, maximum likelihood, or Cox's partial likelihood with Efron's ties.

    Standard errors are those of the model: of the residual variance (linear), or of the observed information
    (logistic and Cox). Efron, B. (1977): The efficiency of Cox's likelihood function for censored data. JASA 72(359).

    Of a survey with weights w, all models solve the weighted equations, such as: the sum of w x (y - m(x)) is 0. The
    variance is that of Taylor linearization with ultimate clusters within strata
    (:meth:`hybrid.estimates.survey.Clusters.covariance`); without clusters each row is one.

    Raises
    ------
    NotEstimable
        There are too few rows or clusters for the coefficients, predictors determine each other, one decides the
        outcome, or a stratum has a single cluster.
    """
    x, n, p = numbers.inputs, len(numbers.inputs), numbers.inputs.shape[1]
    if n <= p + 1:
        raise NotEstimable(f"{design.formula.text}: {n} rows for {p} coefficients", hint="leave predictors out")
    # Numbers of very different sizes make the equations inexact: each column is divided by its spread.
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    center = np.where(x.std(axis=0) > 0, x.mean(axis=0), 0.0) if design.model != "cox" else x.mean(axis=0)
    z = (x - center) / scale
    if np.linalg.matrix_rank(z) < p:
        raise NotEstimable(f"{design.formula.text}: predictors determine each other", hint="leave one of them out")
    found, covariance = _MODELS[design.model](z, numbers)
    if design.model != "linear" and not np.sqrt(covariance.diagonal()).max() < UNSURE:
        raise NotEstimable(f"{design.formula.text}: a predictor decides the outcome", hint="leave it out")
    back = np.diag(1 / scale)
    if design.model != "cox":
        back[0, 1:] = -center[1:] / scale[1:]
    estimates, variances = back @ found, np.einsum("ij,jk,ik->i", back, covariance, back)
    return Fit(design.names, estimates, variances, n, _freedom(design, numbers))


def _freedom(design: Design, numbers: Numbers) -> float:
    n, p = numbers.inputs.shape
    if numbers.drawn is None or not design.survey.has_clusters:
        return n - p if design.model == "linear" else np.inf
    freedom = numbers.drawn.clusters.freedom + 1 - p
    if freedom < 1:
        few = f"{design.formula.text}: too few clusters for so many coefficients"
        raise NotEstimable(few, hint="leave predictors out")
    return freedom


def propensities(inputs: Array, labels: Array) -> Array:
    """Fitted chances of a logistic regression of labels 0 and 1, shape (n,); the labels where the inputs separate them.

    Inputs, shape (n, p), have no intercept, and none follows from others.
    """
    x = np.column_stack([np.ones(len(inputs)), inputs])
    try:
        found = _logistic(x, Numbers(x, labels, np.empty(0)))[0]
    except NotEstimable:
        return labels
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ found, -500, 500))))


def _linear(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    weights = _mean_one(numbers)
    inverse = np.linalg.inv((x * weights[:, None]).T @ x)
    found = inverse @ (x.T @ (weights * numbers.outcome))
    residuals = numbers.outcome - x @ found
    if numbers.drawn is None:
        return found, inverse * (residuals @ residuals) / (len(x) - x.shape[1])
    return found, numbers.drawn.clusters.covariance(inverse, x * (weights * residuals)[:, None])


def _logistic(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    weights = _mean_one(numbers)

    def chances(found: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-np.clip(x @ found, -500, 500))))

    def steps(found: Array) -> tuple[float, Array, Array]:
        score, chance = x @ found, chances(found)
        likelihood = (weights * numbers.outcome) @ score - weights @ np.logaddexp(0, score)
        information = (x * (weights * chance * (1 - chance))[:, None]).T @ x
        return float(likelihood), x.T @ (weights * (numbers.outcome - chance)), information

    found, inverse = _newton(steps, x.shape[1], len(x))
    if numbers.drawn is None:
        return found, inverse
    _decided(inverse)
    residuals = weights * (numbers.outcome - chances(found))
    return found, numbers.drawn.clusters.covariance(inverse, x * residuals[:, None])


def _cox(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    if not numbers.outcome.any():
        raise NotEstimable("no event occurred in the table")
    of = PartialLikelihood(x, numbers, _mean_one(numbers))
    found, inverse = _newton(of.step, x.shape[1], len(x))
    if numbers.drawn is None:
        return found, inverse
    _decided(inverse)
    return found, numbers.drawn.clusters.covariance(inverse, of.scores(found))


def _mean_one(numbers: Numbers) -> Array:
    if numbers.drawn is None:
        return np.ones(len(numbers.inputs))
    return np.asarray(numbers.drawn.weights / numbers.drawn.weights.mean())


def _decided(inverse: Array) -> None:
    """Refuse a predictor that decides the outcome: its scores are 0, and linearization would call it exact."""
    if not np.sqrt(inverse.diagonal()).max() < UNSURE:
        raise NotEstimable("a predictor decides the outcome", hint="leave it out")


def _newton(steps: object, p: int, n: int) -> tuple[Array, Array]:
    """Maximum of a concave log likelihood, and the inverse of its information there."""
    assert callable(steps)
    found = np.zeros(p)
    likelihood, gradient, information = steps(found)
    for _ in range(STEPS):
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            break
        size, more = 1.0, steps(found + step)
        while not more[0] >= likelihood - CLOSE * n and size > 1e-4:
            size /= 2
            more = steps(found + size * step)
        change, found = more[0] - likelihood, found + size * step
        likelihood, gradient, information = more
        if abs(change) < CLOSE * n:
            break
    try:
        return found, np.linalg.inv(information)
    except np.linalg.LinAlgError:
        raise NotEstimable("a predictor decides the outcome", hint="leave it out") from None


_MODELS = {"linear": _linear, "logistic": _logistic, "cox": _cox}


class PartialLikelihood:
    """Partial likelihood of weighted rows, by Efron's approximation for ties.

    For an event of a group of d at one time, l = 0 .. d - 1 before it in the group, the sum over those at risk loses
    the share l/d of the sum over the group. All sums are weighted, and the event counts with the mean weight of its
    group, as in R's survival. Efron, B. (1977): The efficiency of Cox's likelihood function for censored data. JASA
    72(359). ``numbers`` are outcome and time, with one event or more; weights are 1 on average.
    """

    def __init__(self, inputs: Array, numbers: Numbers, weights: Array) -> None:
        self._order = np.lexsort((-numbers.outcome, numbers.time))
        time = numbers.time[self._order]
        self._x, self._weights = inputs[self._order], weights[self._order]
        self._event = numbers.outcome[self._order].astype(bool)
        self._first, self._after = np.searchsorted(time, time, "left"), np.searchsorted(time, time, "right")
        self._happened = np.flatnonzero(self._event)
        self._at = self._first[self._happened]
        events = self._so_far(self._event.astype(float))
        self._deaths = (events[self._after] - events[self._first])[self._happened]
        self._lost = (self._happened - self._at) / self._deaths
        weight = self._so_far(np.where(self._event, self._weights, 0.0))
        self._mean_weight = (weight[self._after] - weight[self._first])[self._happened] / self._deaths

    def step(self, found: Array) -> tuple[float, Array, Array]:
        """Log likelihood, gradient and information at some coefficients."""
        hazard, total, mean = self._sums(found)
        times = self._mean_weight[:, None]
        event = self._weights[self._event]
        likelihood = event @ (self._x @ found)[self._event] - self._mean_weight @ np.log(total)
        gradient = event @ self._x[self._event] - (times * mean).sum(axis=0)
        information = (self._x * (hazard * self._at_risk(1 / total))[:, None]).T @ self._x - (times * mean).T @ mean
        return float(likelihood), gradient, information

    def scores(self, found: Array) -> Array:
        """Weighted score of each row, shape (n, p): how the gradient changes with its weight, times the weight.

        Binder, D. (1992): Fitting Cox's proportional hazards models from survey data. Biometrika 79(1).
        """
        hazard, total, mean = self._sums(found)
        own = self._so_far(self._over_events(mean / self._deaths[:, None]))
        centered = np.where(self._event[:, None], self._x - (own[self._after] - own[self._first]), 0.0)
        at_risk = self._at_risk(1 / total)[:, None] * self._x - self._at_risk(mean / total[:, None])
        back: Array = np.empty_like(self._x)
        back[self._order] = self._weights[:, None] * centered - hazard[:, None] * at_risk
        return back

    def _sums(self, found: Array) -> tuple[Array, Array, Array]:
        """Weighted hazard of each row; weighted sum of them, and mean of the predictors, at risk at each event."""
        hazard = self._weights * np.exp(np.clip(self._x @ found, -500, 500))
        parts = []
        for values in (hazard, hazard[:, None] * self._x):
            risk = values[::-1].cumsum(axis=0)[::-1][self._at]
            tied = self._so_far(np.where(_beside(self._event, values), values, 0.0))
            lost = _beside(self._lost, values)
            parts.append(risk - lost * (tied[self._after[self._happened]] - tied[self._at]))
        total, sums = parts
        return hazard, total, sums / total[:, None]

    def _at_risk(self, values: Array) -> Array:
        """Weighted sum of the values of all events at which a row is at risk, less its share of its own group."""
        times = _beside(self._mean_weight, values) * values
        until = self._so_far(self._over_events(times))
        own = self._so_far(self._over_events(_beside(self._lost, times) * times))
        mine = own[self._after] - own[self._first]
        return np.asarray(until[self._after] - np.where(_beside(self._event, mine), mine, 0.0))

    def _over_events(self, values: Array) -> Array:
        found = np.zeros((len(self._x), *values.shape[1:]))
        found[self._happened] = values
        return found

    @staticmethod
    def _so_far(values: Array) -> Array:
        return np.concatenate([np.zeros_like(values[:1]), values.cumsum(axis=0)])


def _beside(rows: Array, values: Array) -> Array:
    return rows if values.ndim == 1 else rows[:, None]
