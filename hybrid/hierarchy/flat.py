"""Flat hierarchy: every value is a label of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.hierarchy.levels import from_levels
from hybrid.hierarchy.tree import PLAIN_DTYPES, ROOT, Hierarchy
from hybrid.hierarchy.values import distinct_values, texts_of
from hybrid.table import Column


def flat_hierarchy(column: Column, parts: Sequence[pd.Series]) -> Hierarchy:
    """Build a hierarchy of values and one root.

    For values that are masked and not generalized.

    Parameters
    ----------
    column : Column
        Name, kind and format.
    parts : sequence of pandas.Series
        Values in the dtype of the kind; all of them become leaves. It gets a missing leaf if one is missing.
    """
    dtype = np.dtype(PLAIN_DTYPES[column.kind])
    leaves = np.unique(np.concatenate([distinct_values(part, column).astype(dtype) for part in parts]))
    missing = any(bool(part.isna().any()) for part in parts)
    levels = [[ROOT] * len(leaves)]
    return from_levels(column.name, column.kind, leaves, levels, texts=texts_of(leaves, column), missing=missing)
