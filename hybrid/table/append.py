"""Rows of one table after those of another."""

from __future__ import annotations

import pandas as pd


def appended(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, in columns that are :func:`alike`.

    Parameters
    ----------
    frame, other : pandas.DataFrame, n and m rows
        With the same columns.
    """
    return pd.DataFrame({name: pd.concat(alike(old, other[name]), ignore_index=True) for name, old in frame.items()})


def alike(old: pd.Series, new: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Two columns in one dtype.

    Categories that only the second has come last.
    """
    if not isinstance(old.dtype, pd.CategoricalDtype) or old.dtype == new.dtype:
        return old, new
    known = set(old.cat.categories)
    whole = old.cat.add_categories([value for value in new.cat.categories if value not in known])
    return whole, new.astype(whole.dtype)
