"""Information that masked values lose, and the share of values that a technique changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Mask, Numbers
from hybrid.base.sentence import sentence
from hybrid.table import Table
from hybrid.table.codings import numbers_of

_SINGULAR = 1e-9
"""Eigenvalue of correlations at which a column is taken for a function of others."""


def column_loss(table: Table, masked: pd.Series, name: str) -> float:
    """Loss of one column, 0 (nothing) to 1 (everything).

    Numbers and dates: the squared error over the sum of squares about the mean, SSE/SST (Domingo-Ferrer and Mateo-Sanz
    2002), at most 1. Other columns: the share of records with another value. A value that became missing, or was, and
    is none any more, counts as lost.
    """
    before = table.frame[name]
    if not len(before):
        return 0.0
    lost = before.isna().to_numpy() != masked.isna().to_numpy()
    kind = table.schema[name].kind
    if not kind.is_continuous:
        changed = before.astype(object).fillna("").to_numpy() != masked.astype(object).fillna("").to_numpy()
        return float((changed | lost).mean())
    plain, moved = numbers_of(before), numbers_of(masked)
    return _squared(plain, moved, lost)


def _squared(plain: Numbers, moved: Numbers, lost: Mask) -> float:
    both = ~np.isnan(plain) & ~np.isnan(moved)
    total = float(((plain[both] - plain[both].mean()) ** 2).sum()) if both.any() else 0.0
    error = float(((plain[both] - moved[both]) ** 2).sum())
    share = 0.0 if error == 0 else 1.0 if total == 0 else min(1.0, error / total)
    return float(lost.mean() + (1 - lost.mean()) * share)


def il1s(table: Table, masked: Mapping[str, pd.Series], names: Sequence[str]) -> float | None:
    """Mean of abs(x - x') / (sqrt(2) S) over records and numbers; None without numeric columns.

    The measure IL1s of Mateo-Sanz, Sebe and Domingo-Ferrer 2004 (doi 10.1007/978-3-540-25955-8_16) and sdcMicro; S is
    the sample standard deviation (n - 1) of the column's originals, constant columns are left out. 0 is no loss; about
    0.8 (2 / sqrt(2 pi)) is what drawing normal values anew costs. Missing values are left out.
    """
    found = []
    for name in names:
        kind = table.schema[name].kind
        if not kind.is_continuous:
            continue
        plain, moved = numbers_of(table.frame[name]), numbers_of(masked[name])
        spread = float(np.nanstd(plain, ddof=1)) if (~np.isnan(plain)).sum() > 1 else 0.0
        gaps = np.abs(plain - moved)
        if spread > 0 and not np.isnan(gaps).all():
            found.append(float(np.nanmean(gaps)) / (np.sqrt(2.0) * spread))
    return float(np.mean(found)) if found else None


def eigenvalue_difference(table: Table, masked: Mapping[str, pd.Series], names: Sequence[str]) -> float | None:
    """Relative difference of the eigenvalues of correlations, 0 or more.

    Correlations are those of numbers; None for fewer than two numeric columns, or where one is constant or a function
    of others. The sum of abs(a - b) / a over the eigenvalues a of the originals and b of the masked values, each in
    descending order: the measure ``eigen`` of sdcMicro (Templ and Meindl 2008, doi 10.1007/978-3-540-87471-3_10).
    Correlations are over the records that have both values. 0: all linear dependences are kept.
    """
    numbers = [name for name in names if table.schema[name].kind.is_continuous]
    found = []
    for source in (table.frame, masked):
        points = {name: numbers_of(source[name]) for name in numbers}
        correlations = pd.DataFrame(points).corr().to_numpy()
        if len(numbers) < 2 or np.isnan(correlations).any():
            return None
        found.append(np.sort(np.linalg.eigvalsh(correlations))[::-1])
    before, after = found
    if before[-1] < _SINGULAR:
        return None
    return float((np.abs(before - after) / before).sum())


def masking_measures(
    table: Table, masked: Mapping[str, pd.Series], class_ids: Codes, suppressed: int
) -> dict[str, float]:
    """Measures of information loss as sdcMicro and ARX define them; lower is less loss in each.

    ``il1s`` (:func:`il1s`) and ``eigenvalues`` (:func:`eigenvalue_difference`), of numbers and dates, where they have a
    value; ``squared_error``: the mean of SSE/SST over them, 0 to 1 (1 less ARX's attribute-level squared error);
    ``changed``: the mean share of other values over the other columns, 0 to 1; ``average_class_size``: records per
    class, those left out being one class (LeFevre et al. 2006 in ARX's form); ``discernibility``: the sum of squared
    class sizes, and all records for each one left out (Bayardo and Agrawal 2005, doi 10.1109/ICDE.2005.42).
    """
    names = list(masked)
    numbers = [name for name in names if table.schema[name].kind.is_continuous]
    others = [name for name in names if name not in numbers]
    sizes, records = np.bincount(class_ids), len(class_ids) + suppressed
    found = {
        "il1s": il1s(table, masked, names),
        "eigenvalues": eigenvalue_difference(table, masked, names),
        "squared_error": _mean([column_loss(table, masked[name], name) for name in numbers]),
        "changed": _mean([column_loss(table, masked[name], name) for name in others]),
        "average_class_size": records / (int((sizes > 0).sum()) + (suppressed > 0)),
        "discernibility": float((sizes.astype(np.float64) ** 2).sum() + suppressed * records),
    }
    return {name: published_loss(value) for name, value in found.items() if value is not None}


def published_loss(value: float) -> float:
    """Published form of a loss: three digits.

    All digits of a sum over the records would confirm a guess of the last record to whoever knows the others.
    """
    return float(f"{value:.3g}")


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def changed_shares(frame: pd.DataFrame, masked: Mapping[str, pd.Series]) -> dict[str, float]:
    """Share of the known values of each column that changed, 0 to 1, rounded down to hundredths.

    A value that a draw, a tie or rounding left as it was is not masked, and the share says how many were not.
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
    """Sentence on the share of changed values; empty where the share is not known."""
    changed = facts.get("changed") or {}
    shares = (sentence("technique.changed.share", column=name, n=f"{100 * one:.0f}") for name, one in changed.items())
    return sentence("technique.changed", shares=tuple(shares)) if changed else ""
