"""k-anonymity: every class has at least k records (Sweeney 2002, doi 10.1142/S0218488502001648).

Always asked for, as ``anonymize.k``; all other models come besides.

Pruning: record-monotone. Under a finer generalization a class only loses members, so a record whose class is too
small stays in one that is too small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.anonymize.models.released import equivalence_classes
from hybrid.table import Table


def k_reached(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> int:
    """Size of the smallest class of records with equal quasi-identifiers.

    0 for an empty table. Higher is safer.
    """
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    return int(np.bincount(classes, minlength=n_classes).min()) if n_classes else 0
