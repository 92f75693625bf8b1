"""k-anonymity: every class has at least k persons (Sweeney 2002, doi 10.1142/S0218488502001648).

A person with several records in a class is one of them; where each record is another person, records are counted.

Always asked for, as ``anonymize.k``; all other models come besides.

Pruning: record-monotone. Under a finer generalization a class only loses members, so a record whose class is too
small stays in one that is too small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.anonymize.models.released import equivalence_classes
from hybrid.base.arrays import Codes
from hybrid.table import Table


def k_reached(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> int:
    """Size of the smallest class of records with equal quasi-identifiers.

    0 for an empty table. Higher is safer.
    """
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    return int(np.bincount(classes, minlength=n_classes).min()) if n_classes else 0


def persons_per_class(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str], persons: Codes) -> pd.Series:
    """Number of different persons with a key in each class.

    Parameters
    ----------
    table : Table or pandas.DataFrame, n records
        Any table.
    quasi_identifiers : sequence of str
        Columns that an attacker knows.
    persons : numpy.ndarray, shape (n,), int
        Person of each record; negative ones have no key and count as no person.

    Returns
    -------
    pandas.Series
        By class number; 0 for classes without such a person.
    """
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    members = pd.DataFrame({"class": classes, "person": persons})
    counted = members[members["person"] >= 0].groupby("class")["person"].nunique()
    return counted.reindex(range(n_classes), fill_value=0)
