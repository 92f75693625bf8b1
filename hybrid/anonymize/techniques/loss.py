"""Information that masked values lose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.anonymize.techniques.space import positions_of
from hybrid.base.arrays import Mask, Numbers
from hybrid.table import Table


def column_loss(table: Table, masked: pd.Series, name: str) -> float:
    """Loss of one column, 0 (nothing) to 1 (everything).

    Numbers and dates: the squared error over the sum of squares about the mean, SSE/SST (Domingo-Ferrer and Mateo-Sanz
    2002), at most 1. Other columns: the share of records with another value. A value that became missing, or was, and
    is none any more, counts as lost.

    Parameters
    ----------
    table : Table, n records
        The originals.
    masked : pandas.Series, shape (n,)
        The column that takes the place of ``name``.
    """
    before = table.frame[name]
    if not len(before):
        return 0.0
    lost = before.isna().to_numpy() != masked.isna().to_numpy()
    kind = table.schema[name].kind
    if not kind.is_continuous:
        changed = before.astype(object).fillna("").to_numpy() != masked.astype(object).fillna("").to_numpy()
        return float((changed | lost).mean())
    plain, moved = positions_of(before, kind), positions_of(masked, kind)
    return _squared(plain, moved, lost)


def _squared(plain: Numbers, moved: Numbers, lost: Mask) -> float:
    both = ~np.isnan(plain) & ~np.isnan(moved)
    total = float(((plain[both] - plain[both].mean()) ** 2).sum()) if both.any() else 0.0
    error = float(((plain[both] - moved[both]) ** 2).sum())
    share = 0.0 if error == 0 else 1.0 if total == 0 else min(1.0, error / total)
    return float(lost.mean() + (1 - lost.mean()) * share)


def il1s(table: Table, masked: dict[str, pd.Series], names: Sequence[str]) -> float | None:
    """Mean of abs(x - x') / (sqrt(2) S) over records and numbers.

    None without numeric columns. The measure IL1s of Mateo-Sanz, Sebe and Domingo-Ferrer 2004 (doi
    10.1007/978-3-540-25955-8_16) and sdcMicro; S is
    the sample standard deviation (n - 1) of the column's originals, constant columns are left out. 0 is no loss;
    about 0.8 (2 / sqrt(2 pi)) is what drawing normal values anew costs. Missing values are left out.
    """
    found = []
    for name in names:
        kind = table.schema[name].kind
        if not kind.is_continuous:
            continue
        plain, moved = positions_of(table.frame[name], kind), positions_of(masked[name], kind)
        spread = float(np.nanstd(plain, ddof=1)) if (~np.isnan(plain)).sum() > 1 else 0.0
        gaps = np.abs(plain - moved)
        if spread > 0 and not np.isnan(gaps).all():
            found.append(float(np.nanmean(gaps)) / (np.sqrt(2.0) * spread))
    return float(np.mean(found)) if found else None
