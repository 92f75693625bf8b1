"""Linear, logistic and Cox models, fitted to the numbers of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.estimates.formula import Design, Numbers

STEPS = 50
"""Newton steps at most."""
CLOSE = 1e-9
"""Largest change of the log likelihood per row that ends the steps."""
UNSURE = 10.0
"""Standard error of a standardized logistic or Cox coefficient beyond which it has no finite estimate."""


class NotEstimable(DataError):
    """A model that a table does not determine: too few rows, or columns that decide each other."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of a model.

    Parameters
    ----------
    names : tuple of str
        Of the coefficients.
    estimates, variances : numpy.ndarray, shape (p,)
        Coefficients and their squared standard errors.
    rows : int
        Rows without missing values, which were used.
    freedom : float
        Degrees of freedom of Student's distribution; infinite but for linear models.
    """

    names: tuple[str, ...]
    estimates: Array
    variances: Array
    rows: int
    freedom: float


def fit(design: Design, numbers: Numbers) -> Fit:
    """Fit a model by least squares, maximum likelihood, or Cox's partial likelihood with Efron's ties.

    Standard errors are those of the model: of the residual variance (linear), or of the observed information
    (logistic and Cox). Efron, B. (1977): The efficiency of Cox's likelihood function for censored data. JASA 72(359).

    With sampling weights w, linear and logistic models solve the weighted equations: the sum of w x (y - m(x)) is 0.
    The variance is that of Taylor linearization, for rows drawn with replacement with unequal probabilities:
    A^-1 B A^-1, with A the weighted information, u = w x (y - m(x)) of each row and B = n / (n - 1) times the sum of
    u u'. Binder, D. (1983): On the variances of asymptotically normal estimators from complex surveys. International
    Statistical Review 51(3). Strata and clusters are not known here: with them the variance is another one.

    Raises
    ------
    NotEstimable
        There are not more rows than coefficients, predictors determine each other, or one decides the outcome.
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
    return Fit(design.names, estimates, variances, n, n - p if design.model == "linear" else np.inf)


def propensities(inputs: Array, labels: Array) -> Array:
    """Fitted chances of a logistic regression, shape (n,); the labels where the inputs separate them.

    Parameters
    ----------
    inputs : numpy.ndarray, shape (n, p)
        Without an intercept; none follows from others.
    labels : numpy.ndarray, shape (n,)
        0 or 1.
    """
    x = np.column_stack([np.ones(len(inputs)), inputs])
    try:
        found = _logistic(x, Numbers(x, labels, np.empty(0)))[0]
    except NotEstimable:
        return labels
    chances: Array = 1 / (1 + np.exp(-np.clip(x @ found, -500, 500)))
    return chances


def _linear(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    if numbers.weights is not None:
        inverse = np.linalg.inv((x * numbers.weights[:, None]).T @ x)
        found = inverse @ (x.T @ (numbers.weights * numbers.outcome))
        return found, _linearized(inverse, x, numbers.weights * (numbers.outcome - x @ found))
    inverse = np.linalg.inv(x.T @ x)
    found = inverse @ (x.T @ numbers.outcome)
    residuals = numbers.outcome - x @ found
    return found, inverse * (residuals @ residuals) / (len(x) - x.shape[1])


def _linearized(inverse: Array, x: Array, residuals: Array) -> Array:
    """Covariance by linearization, from the inverse information and the weighted residuals of the rows."""
    scores = x * residuals[:, None]
    n = len(x)
    covariance: Array = inverse @ (scores.T @ scores * (n / (n - 1))) @ inverse
    return covariance


def _logistic(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    given = numbers.weights
    # Weights that are 1 on average: the limits of the steps are those of rows.
    weights = np.ones(len(x)) if given is None else given / given.mean()

    def chances(found: Array) -> Array:
        likely: Array = 1 / (1 + np.exp(-np.clip(x @ found, -500, 500)))
        return likely

    def steps(found: Array) -> tuple[float, Array, Array]:
        score, chance = x @ found, chances(found)
        likelihood = (weights * numbers.outcome) @ score - weights @ np.logaddexp(0, score)
        information = (x * (weights * chance * (1 - chance))[:, None]).T @ x
        return float(likelihood), x.T @ (weights * (numbers.outcome - chance)), information

    found, inverse = _newton(steps, x.shape[1], len(x))
    if given is None:
        return found, inverse
    # Where a predictor decides the outcome, residuals are 0, and linearization would call the estimate exact.
    if not np.sqrt(inverse.diagonal()).max() < UNSURE:
        raise NotEstimable("a predictor decides the outcome", hint="leave it out")
    return found, _linearized(inverse, x, weights * (numbers.outcome - chances(found)))


def _cox(x: Array, numbers: Numbers) -> tuple[Array, Array]:
    """Newton steps on Efron's partial likelihood.

    For an event of a group of d at one time, l = 0 .. d - 1 before it in the group, the sum over those at risk loses
    the share l/d of the sum over the group.
    """
    order = np.lexsort((-numbers.outcome, numbers.time))
    x, time, event = x[order], numbers.time[order], numbers.outcome[order].astype(bool)
    first, after = np.searchsorted(time, time, "left"), np.searchsorted(time, time, "right")
    happened = np.flatnonzero(event)
    if not len(happened):
        raise NotEstimable("no event occurred in the table")
    at = first[happened]
    deaths = np.add.reduceat(event.astype(float), np.unique(first))[np.unique(first, return_inverse=True)[1]]
    lost = (happened - at) / deaths[happened]

    def sums(values: Array) -> tuple[Array, Array]:
        """Sums over those at risk at each event, and over the events at its time."""
        risk = values[::-1].cumsum(axis=0)[::-1]
        tied = np.concatenate(
            [np.zeros_like(values[:1]), np.where(event.reshape(-1, *[1] * (values.ndim - 1)), values, 0).cumsum(axis=0)]
        )
        return risk[at], tied[after[happened]] - tied[at]

    def steps(found: Array) -> tuple[float, Array, Array]:
        score = x @ found
        hazard = np.exp(np.clip(score, -500, 500))
        (at_risk, tied), (risk_x, tied_x) = sums(hazard), sums(hazard[:, None] * x)
        total = at_risk - lost * tied
        mean = (risk_x - lost[:, None] * tied_x) / total[:, None]
        # Weight of a row in all sums of squares: of every event while it is at risk, less its share of its own group.
        until = np.concatenate([[0.0], np.bincount(happened, 1 / total, len(x)).cumsum()])[after]
        own = np.concatenate([[0.0], np.bincount(happened, lost / total, len(x)).cumsum()])
        weight = hazard * (until - event * (own[after] - own[first]))
        information = (x * weight[:, None]).T @ x - mean.T @ mean
        return float(score[event].sum() - np.log(total).sum()), x[event].sum(axis=0) - mean.sum(axis=0), information

    return _newton(steps, x.shape[1], len(x))


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
