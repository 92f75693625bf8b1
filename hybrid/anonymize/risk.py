"""Risk of an anonymized table: that a member of a household, or of the population, is recognized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Codes
from hybrid.table.holders import NOBODY, holders
from hybrid.table.persons import person_groups
from hybrid.table.weights import weights_of


@dataclass(frozen=True)
class HouseholdRisk:
    """Risk of the households of an anonymized table."""

    risk: Array
    """Probability that at least one member is recognized, shape (n_households,), 0..1."""
    worst_class: Array
    """Persons in the smallest class of a member, shape (n_households,), int."""


def household_risk(class_ids: Codes, persons: Codes, households: Codes) -> HouseholdRisk:
    """Risk of each household: 1 - prod(1 - r) over its members.

    The hierarchical risk of sdcMicro (Templ, Kowarik, Meindl 2015, doi 10.18637/jss.v067.i04) and mu-Argus, which takes
    the members to be recognized independently of each other. The risk r of a member is 1/F, F the persons of its class;
    that of the smallest class where it has several rows. Records without a key (negative) are nobody's.
    """
    sizes = holders(class_ids, int(class_ids.max(initial=-1)) + 1, np.where(persons < 0, NOBODY, persons))
    members = person_groups(persons)
    smallest = np.full(int(members.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, members, np.maximum(sizes, 1)[class_ids])
    groups = person_groups(households)
    home = np.empty(len(smallest), dtype=np.int64)
    home[members] = groups
    n = int(groups.max(initial=-1)) + 1
    worst = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(worst, home, smallest)
    with np.errstate(divide="ignore"):
        spared = np.bincount(home, np.log1p(-1 / smallest), minlength=n)
    return HouseholdRisk(-np.expm1(spared), worst)


def household_summary(anonymized: AnonymizedTable) -> dict[str, float] | None:
    """Number of households, their mean and highest risk, worst members' classes; None if they are not known."""
    originals = anonymized.originals
    if not originals.has_households:
        return None
    found = household_risk(anonymized.class_ids, originals.persons, originals.households)
    return {
        "households": len(found.risk),
        "risk_mean": float(found.risk.mean()),
        "risk_max": float(found.risk.max()),
        "worst_class_min": int(found.worst_class.min()),
        "worst_class_median": float(np.median(found.worst_class)),
    }


SERIES_FROM = 10
"""Sampled persons of a class from which the risk is summed as a series."""
TERMS = 200


def individual_risk(sizes: Array, totals: Array) -> Array:
    """Probability that a member of a class is recognized in the population; shape (n_classes,).

    The estimate of mu-Argus and sdcMicro (Benedetti and Franconi 1998; Templ, Kowarik, Meindl 2015, doi
    10.18637/jss.v067.i04): the F people of the population in the class, f of whom are in the sample (``sizes``), follow
    F - f ~ NB(f, p) with p = f / (sum of the weights in the class, ``totals``, at least f). The risk is E[1/F] = (p/f)
    2F1(1, 1; f+1; 1-p); for f = 1 that is -p log(p)/(1-p), and 1/f where everybody was sampled.
    """
    from scipy.special import hyp2f1

    p = sizes / np.maximum(totals, sizes)
    few = np.minimum(sizes, SERIES_FROM)
    factor = np.where(sizes < SERIES_FROM, hyp2f1(1.0, 1.0, few + 1.0, 1 - p), _series(sizes, 1 - p))
    risk: Array = p / sizes * factor
    return risk


def _series(sizes: Array, z: Array) -> Array:
    """Series of 2F1(1, 1; f+1; z), for f of at least :data:`SERIES_FROM`.

    The terms n!/((f+1)...(f+n)) z^n are below 1e-16 then before the last; SciPy's function overflows for large f.
    """
    term = found = np.ones(len(sizes))
    for n in range(TERMS):
        term = term * z * (n + 1) / (sizes + 1 + n)
        found = found + term
    return found


def class_risk(class_ids: Codes, persons: Codes, weights: Array) -> tuple[Array, Array]:
    """Risk and number of persons of each class; shapes (n_classes,).

    A person with several rows in a class has their mean weight; one without a key is not counted.
    """
    n = int(class_ids.max(initial=-1)) + 1
    rows = pd.DataFrame({"class": class_ids, "person": persons, "weight": weights})[persons >= 0]
    each = rows.groupby(["class", "person"], sort=True)["weight"].mean().reset_index()
    sizes = np.bincount(each["class"], minlength=n)
    totals = np.bincount(each["class"], each["weight"], minlength=n)
    return individual_risk(np.maximum(sizes, 1), totals), sizes


def population_risk_summary(anonymized: AnonymizedTable) -> dict[str, float] | None:
    """Mean and highest risk in the population, expected re-identifications; None without sampling weights."""
    weights = weights_of(anonymized.originals)
    if weights is None:
        return None
    risk, sizes = class_risk(anonymized.class_ids, anonymized.originals.persons, weights)
    expected = float(risk @ sizes)
    return {"risk_mean": expected / max(int(sizes.sum()), 1), "risk_max": float(risk.max()), "expected": expected}
