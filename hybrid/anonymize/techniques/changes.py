"""Share of values that a random technique changed, and its public words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd


def changed_shares(frame: pd.DataFrame, masked: Mapping[str, pd.Series]) -> dict[str, float]:
    """Share of the known values of each column that changed.

    0 to 1, rounded down to hundredths.

    A value that a draw, a tie or rounding left as it was is not masked, and the share says how many were not.

    Parameters
    ----------
    frame : pandas.DataFrame, n records
        The originals.
    masked : mapping of str to pandas.Series
        Masked columns, shape (n,).
    """
    shares = {}
    for name, after in masked.items():
        before = frame[name].reset_index(drop=True)
        known = before.notna().to_numpy()
        if known.any():
            same = (before[known].astype(object) == after[known].astype(object)).mean()
            shares[name] = math.floor((1 - float(same)) * 100 + 1e-9) / 100
    return shares


def changed_words(facts: Mapping[str, Any]) -> str:
    """Sentence on the share of changed values.

    With a space before it; empty where the share is not known.
    """
    shares = facts.get("changed") or {}
    if not shares:
        return ""
    listed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    return f" Of the known values so many became others: {listed}; the rest stayed as they were."
