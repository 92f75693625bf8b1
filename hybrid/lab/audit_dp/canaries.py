"""Tables of canaries, with declared values or made-up ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.privacy.domain import KnownColumn, PrivacyOptions, ValueGrid
from hybrid.privacy.plan import bounds_of
from hybrid.table import DTYPES, Column, Kind, Role, Schema

_MOST = 16
"""Values of a column that canaries have, at most."""


@dataclass(frozen=True)
class Letters:
    """Values of one column that canaries have.

    Parameters
    ----------
    column : Column
        Of the configuration's table.
    values : pandas.Series, shape (n,)
        1 or more, ascending where they have an order.
    """

    column: Column
    values: pd.Series

    def take(self, codes: Codes) -> pd.Series:
        """Values at these positions; -1 is the missing value."""
        return self.values.reindex(codes).reset_index(drop=True)

    def nearest(self, drawn: pd.Series) -> Codes:
        """Position of the value next to each drawn one.

        A category equals its value or has position -1, as the missing value.
        """
        if not self.column.kind.is_continuous:
            plain = drawn.astype(object).where(drawn.notna(), None)
            codes: Codes = pd.Index(self.values, dtype=object).get_indexer(pd.Index(plain, dtype=object))
            return codes
        known, wanted = _as_numbers(self.values), _as_numbers(drawn)
        found = np.searchsorted((known[:-1] + known[1:]) / 2, wanted, side="right")
        return np.where(np.isnan(wanted), -1, found)

    def lists(self, drawn: pd.Series, code: int) -> bool:
        """True if a value is among the categories of a drawn column."""
        if code < 0 or not isinstance(drawn.dtype, pd.CategoricalDtype):
            return False
        return str(self.values[code]) in drawn.dtype.categories


def _as_numbers(values: pd.Series) -> Array:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        whole = values.to_numpy("datetime64[us]").view(np.int64).astype(np.float64)
        return np.where(values.isna(), np.nan, whole)
    found: Array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def declared_letters(schema: Schema, options: PrivacyOptions, listed: Mapping[str, Array]) -> tuple[Letters, ...]:
    """Values of each column of a private table.

    Of the listed ones, between the bounds, or made up where categories are searched for.
    """
    return tuple(
        Letters(column, _declared(column, options.columns.get(column.name, KnownColumn()), listed)) for column in schema
    )


def listed_letters(schema: Schema, listed: Mapping[str, Array]) -> tuple[Letters, ...]:
    """Values of each column that hierarchy files list."""
    return tuple(Letters(column, _some(pd.Series(listed[column.name]), column.kind)) for column in schema)


def _declared(column: Column, known: KnownColumn, listed: Mapping[str, Array]) -> pd.Series:
    kind = column.kind
    if kind.is_continuous:
        bounds = bounds_of(column, known, listed)
        assert bounds is not None
        grid = ValueGrid.of(kind, bounds, known.decimals or 0)
        positions = np.unique(np.linspace(0, grid.last, _MOST).astype(np.int64))
        return grid.values(positions, np.zeros(len(positions), dtype=bool)).astype(DTYPES[kind])
    if kind is Kind.BOOLEAN:
        return pd.Series([False, True])
    if known.values is not None:
        return _some(pd.Series(known.values), kind)
    if column.name in listed:
        return _some(pd.Series(listed[column.name]), kind)
    return pd.Series([f"canary {at}" for at in range(_MOST)], dtype=object)


def _some(values: pd.Series, kind: Kind) -> pd.Series:
    """At most so many values, evenly taken."""
    at = np.unique(np.linspace(0, len(values) - 1, _MOST).astype(np.int64))
    taken = values.iloc[at].reset_index(drop=True)
    if not kind.is_continuous:
        return taken.astype(object)
    return taken.astype(DTYPES[kind]).sort_values(ignore_index=True)


def as_frame(schema: Schema, letters: Sequence[Letters], codes: Codes, persons: Codes) -> pd.DataFrame:
    """Table of canaries in the columns of a source.

    Parameters
    ----------
    schema : Schema
        All columns of the source, identifiers too; these name the person.
    letters : sequence of Letters
        Of each column that is no identifier.
    codes : numpy.ndarray, shape (n_rows, n_letters)
        Positions of values.
    persons : numpy.ndarray, shape (n_rows,)
        Person of each row.
    """
    values = {one.column.name: one.take(column) for one, column in zip(letters, codes.T, strict=True)}
    for column in schema.having(Role.IDENTIFIER):
        number = schema[column].kind in (Kind.INTEGER, Kind.DECIMAL)
        values[column] = pd.Series(persons) if number else "p" + pd.Series(persons).astype(str)
    return pd.DataFrame({name: values[name] for name in schema.names})
