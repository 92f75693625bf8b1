"""Values as texts, the way the source writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table.schema import Column, Kind


def as_text(values: pd.Series, column: Column) -> pd.Series:
    """The values as the source would have written them.

    Parameters
    ----------
    values : pandas.Series, shape (n,)
        In the dtype of the column's kind.
    column : Column
        Kind and format.

    Returns
    -------
    pandas.Series, shape (n,), object
        Texts with the column's padding; missing values are its missing marker.
    """
    codes, texts = encode_texts(values, column)
    return pd.Series(np.array(texts, dtype=object)[codes], dtype=object)


def encode_texts(values: pd.Series, column: Column) -> tuple[Array, list[str]]:
    """Texts of distinct values (missing last), and each row's text number.

    Returns
    -------
    codes : numpy.ndarray, shape (n,), int64
    texts : list of str
    """
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    padding = column.format.padding
    texts = [padding + _text(value, column) for value in distinct]
    return np.where(codes < 0, len(texts), codes), [*texts, column.format.missing]


def _text(value: Any, column: Column) -> str:
    shape = column.format
    if column.kind is Kind.BOOLEAN:
        return shape.true if value else shape.false
    if column.kind.is_temporal:
        return _date_text(pd.Timestamp(value), shape.date_format)
    if column.kind is Kind.DECIMAL:
        least = (shape.decimals or 0) if shape.fixed_decimals else shape.least_decimals
        return decimal_text(float(value), shape.decimals, least).replace(".", shape.decimal_mark)
    return str(value)


def _date_text(value: pd.Timestamp, date_format: str) -> str:
    """Date text as ``strftime``, with four-digit years on every platform.

    Years before 1000 differ between platforms otherwise.
    """
    return str(value.strftime(date_format.replace("%Y", f"{value.year:04d}")))


def decimal_text(value: float, most: int | None, least: int) -> str:
    """Number with ``least`` to ``most`` digits after the point.

    Parameters
    ----------
    value : float
        The number.
    most : int or None
        Digits to round to; None: as many as distinguish the number from its neighbours, as ``repr`` writes it.
    least : int
        Digits that stay although they are zeros; up to ``most``. Not used where ``most`` is None.
    """
    if most is None:
        return repr(value)
    whole, point, digits = f"{value:.{most}f}".partition(".")
    kept = digits.rstrip("0").ljust(least, "0")
    return whole + point + kept if kept else whole
