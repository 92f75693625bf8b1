"""Risk of households: that at least one member is recognized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Codes
from hybrid.table.persons import person_groups


@dataclass(frozen=True)
class HouseholdRisk:
    """Risk of the households of an anonymized table."""

    risk: Array
    """Probability that at least one member is recognized, shape (n_households,), 0..1."""
    worst_class: Array
    """Persons in the smallest class of a member, shape (n_households,), int."""


def household_risk(class_ids: Codes, persons: Codes | None, households: Codes) -> HouseholdRisk:
    """Risk of each household: 1 - prod(1 - r) over its members.

    The hierarchical risk of sdcMicro (Templ, Kowarik, Meindl 2015, doi 10.18637/jss.v067.i04) and mu-Argus, which takes
    the members to be recognized independently of each other. The risk r of a member is 1/F, F the persons of its class;
    that of the smallest class where it has several rows.

    Parameters
    ----------
    class_ids : numpy.ndarray, shape (n,), int64
        Equivalence class of each record.
    persons : numpy.ndarray, shape (n,), int64, or None
        Person of each record, negative without a key (nobody is counted then); None: each record is another person.
    households : numpy.ndarray, shape (n,), int64
        Household of each record; a person is in one.
    """
    sizes = np.bincount(class_ids)
    if persons is not None:
        pairs = pd.DataFrame({"class": class_ids, "person": persons}).drop_duplicates()
        sizes = np.bincount(pairs["class"][pairs["person"] >= 0], minlength=len(sizes))
    members = np.arange(len(class_ids)) if persons is None else person_groups(persons)
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


def summarized(anonymized: AnonymizedTable) -> dict[str, float] | None:
    """Households, their mean and highest risk, and their worst members' classes.

    None where households are not known.
    """
    originals = anonymized.originals
    if originals.households is None:
        return None
    found = household_risk(anonymized.class_ids, originals.persons, originals.households)
    return {
        "households": len(found.risk),
        "risk_mean": float(found.risk.mean()),
        "risk_max": float(found.risk.max()),
        "worst_class_min": int(found.worst_class.min()),
        "worst_class_median": float(np.median(found.worst_class)),
    }
