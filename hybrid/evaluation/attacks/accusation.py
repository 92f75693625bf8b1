"""Accusing the people with the highest scores of being in the data."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import Risk, auc, exact_share_interval, simultaneous
from hybrid.evaluation.measure import Measure, excesses
from hybrid.table.persons import person_groups

ACCUSED = (0.01, 0.03)
"""Shares of the people who are accused."""
FALSE_ALARMS = 0.01
"""Share of people never seen who score higher than the threshold at which true positives are given."""


def accused(context: Context, train: Array, control: Array) -> Measure:
    """Risk of accusing the people with the highest scores.

    A leak of few people hardly moves the mean of all scores, but fills their upper tail. Accused are the 1 % or 3 % of
    train and control together with the highest scores, each side counting half. The risk is R = (r_T - r_C)/(1 - r_C)
    of the shares accused of both sides, of the threshold with the highest lower bound; bounds hold for both at once
    (Sidak). It is at most .06, where all accused are training people. How many are accused is given, so what varies is
    the share of training people among them: Clopper and Pearson's bounds of it, for h / (1 - h / N) people instead of
    the h accused of N, since without a leak they are drawn without putting back (the variance of the hypergeometric
    distribution). The AUC, and the share of training people above 99 % of the people never seen, are in the details.

    Parameters
    ----------
    context : Context
        Whose confidence counts.
    train, control : numpy.ndarray, shapes (n_train,), (n_control,)
        Score of each person, higher where the person seems to be in the data.
    """
    level = simultaneous(context.options.confidence, len(ACCUSED))
    found = {f"{100 * share:g} %": _accusation(train, control, share, level) for share in ACCUSED}
    top = max(found, key=lambda name: (found[name].low, found[name].value))
    edge = np.quantile(control, 1 - FALSE_ALARMS, method="higher")
    details = {
        "people_never_seen": len(control),
        "accused": {name: list(risk) for name, risk in found.items()},
        "worst_accused": top,
        "auc": auc(train, control),
        "true_positives": {"false_alarms": FALSE_ALARMS, "share": float((train > edge).mean())},
        "interval": f"simultaneous over {len(found)}",
    }
    value, low, high = found[top]
    n, parts = len(train), excesses({name: (*risk,) for name, risk in found.items()}, len(train))
    return Measure(value, low, high, 0.0, n, details, (value, low, high), len(found), parts)


def highest(scores: Array, persons: Array) -> Array:
    """Highest score of each person, shape (n_persons,).

    Parameters
    ----------
    scores : numpy.ndarray, shape (n,)
        Score of each record.
    persons : numpy.ndarray, shape (n,), int
        Person of each record.
    """
    groups = person_groups(persons)
    found = np.full(int(groups.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(found, groups, scores)
    return found


def _accusation(train: Array, control: Array, share: float, confidence: float) -> Risk:
    """Risk of accusing ``share`` of the people, with its bounds."""
    sizes = len(train), len(control)
    hits = _hits(train, control, share)
    together = sum(hits)
    worth = together / (1 - together / (sum(sizes) + 1))
    bounds = exact_share_interval(hits[0] / together * worth, worth, confidence)
    return Risk(*(_risk(part * together, together, sizes) for part in (hits[0] / together, *bounds)))


def _hits(train: Array, control: Array, share: float) -> tuple[float, float]:
    """Numbers of accused training people and people never seen.

    Both sides count alike, whatever their sizes. Of people with the same score at the threshold, such as those whose
    records are copied, equal parts of both sides are accused.
    """
    both = np.concatenate([train, control])
    mass = np.concatenate([np.full(len(side), 0.5 / len(side)) for side in (train, control)])
    order = np.argsort(-both, kind="stable")
    edge = both[order][min(int(np.searchsorted(np.cumsum(mass[order]), share)), len(both) - 1)]
    above, tied = (float(mass[chosen].sum()) for chosen in (both > edge, both == edge))
    part = (share - above) / tied
    found = (float((side > edge).sum() + part * (side == edge).sum()) for side in (train, control))
    return next(found), next(found)


def _risk(train: float, together: float, sizes: tuple[int, int]) -> float:
    """Risk where so many of the accused are training people."""
    mine, other = min(train / sizes[0], 1.0), min((together - train) / sizes[1], 1.0 - 1e-9)
    return (mine - other) / (1 - other)
