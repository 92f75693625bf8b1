"""Cox's partial likelihood, with Efron's ties and sampling weights."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.estimates.formula import Numbers


class PartialLikelihood:
    """Partial likelihood of weighted rows, by Efron's approximation for ties.

    For an event of a group of d at one time, l = 0 .. d - 1 before it in the group, the sum over those at risk loses
    the share l/d of the sum over the group. All sums are weighted, and the event counts with the mean weight of its
    group, as in R's survival. Efron, B. (1977): The efficiency of Cox's likelihood function for censored data. JASA
    72(359).

    Parameters
    ----------
    inputs : numpy.ndarray, shape (n, p)
        Predictors.
    numbers : Numbers
        Outcome and time, with one event or more.
    weights : numpy.ndarray, shape (n,)
        Sampling weights, 1 on average.
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
        found: Array = until[self._after] - np.where(_beside(self._event, mine), mine, 0.0)
        return found

    def _over_events(self, values: Array) -> Array:
        found = np.zeros((len(self._x), *values.shape[1:]))
        found[self._happened] = values
        return found

    @staticmethod
    def _so_far(values: Array) -> Array:
        return np.concatenate([np.zeros_like(values[:1]), values.cumsum(axis=0)])


def _beside(rows: Array, values: Array) -> Array:
    return rows if values.ndim == 1 else rows[:, None]
