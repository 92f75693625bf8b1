"""Codec between tables and numeric columns, the same for every generator.

=====================  =====================================================================================
categorical, boolean   discrete; the categories that occur, in the dtype's order; unused ones never come out
integer, date, time    continuous on a grid: steps of the largest width that reaches every value (the
                       greatest common divisor of the differences), counted from the smallest value;
                       dates that are never on some days of the week: without these days
decimal                the same on the grid of its digits; a plain number if it needs more than 15 digits
missing                a state of its own: the last code of a discrete column, NaN in a continuous one (or a
                       flag column, as :class:`~hybrid.synthesize.protocol.Encoding` asks)
constant, all missing  not learned, restored
=====================  =====================================================================================

Decoding rounds to the grid and clips to the range that was learned. Integers and times whose range exceeds
2**53 steps come back to 53 significant bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, GeneratorError
from hybrid.synthesize.protocol import Encoded, Encoding, Feature
from hybrid.table import Column, Kind, Schema, Table
from hybrid.table.codings import numbers_of
from hybrid.table.kinds.moments import DAY

WEEK = 7
LEAST_DAYS = 50
"""Different dates from which on days of the week without any are left out: by chance, 1 table of 300 has such a day."""


@dataclass(frozen=True)
class _Discrete:
    """Discrete column with the states ``levels`` (n_levels,).

    In order, in the column's dtype; missing, if it occurs, is last.
    """

    feature: Feature
    levels: pd.Series

    def encode(self, values: pd.Series) -> Array:
        present = self.levels.dropna()
        codes = pd.Index(present).get_indexer(pd.Index(values.astype(self.levels.dtype)))
        codes[values.isna().to_numpy()] = len(present)
        return np.asarray(codes, dtype=np.int32)

    def decode(self, codes: Array) -> pd.Series:
        if codes.size and not 0 <= codes.min() <= codes.max() < len(self.levels):
            raise GeneratorError(f"column {self.feature.name!r}: the model drew a state that does not exist")
        return self.levels.take(codes).reset_index(drop=True)


@dataclass(frozen=True)
class _Grid:
    """Values ``(base + step * i) / scale`` for i in 0..last, int64 before scaling."""

    feature: Feature
    kind: Kind
    base: int
    step: int
    last: int
    scale: int

    def encode(self, values: pd.Series) -> Array:
        encoded = np.full(len(values), np.nan)
        present = values.notna().to_numpy()
        whole = self.kind.type.whole(values[present], self.scale)
        above, base = whole >= self.base, _wrapped(self.base)
        offsets = np.where(above, whole.view(np.uint64) - base, base - whole.view(np.uint64))
        encoded[present] = np.where(above, 1.0, -1.0) * (offsets // np.uint64(self.step))
        return encoded

    def decode(self, encoded: Array) -> pd.Series:
        missing = np.isnan(encoded)
        steps = np.rint(np.where(missing, 0, encoded)).clip(0, np.nextafter(2.0**64, 0)).astype(np.uint64)
        whole = np.minimum(steps, np.uint64(self.last)) * np.uint64(self.step) + _wrapped(self.base)
        return self.kind.type.series(whole.view(np.int64), missing, self.scale)


@dataclass(frozen=True)
class _Calendar(_Grid):
    """Dates on some days of the week."""

    days: Array
    """These, counted from ``base``: ascending, the first is 0."""

    def encode(self, values: pd.Series) -> Array:
        week, day = np.divmod(super().encode(values), WEEK)
        return week * len(self.days) + np.searchsorted(self.days, day, side="right") - 1

    def decode(self, encoded: Array) -> pd.Series:
        week, at = np.divmod(np.rint(encoded).clip(0), len(self.days))
        return super().decode(week * WEEK + self.days[np.nan_to_num(at).astype(np.int64)])


@dataclass(frozen=True)
class _Real:
    """Decimals without a grid, between ``low`` and ``high``."""

    feature: Feature
    low: float
    high: float

    def encode(self, values: pd.Series) -> Array:
        return np.array(values, dtype=np.float64)

    def decode(self, encoded: Array) -> pd.Series:
        return pd.Series(np.clip(encoded, self.low, self.high))


@dataclass(frozen=True)
class _Flagged:
    """Continuous column with its missing values as a discrete column."""

    values: _Grid | _Real
    flag: Feature


_Part = _Discrete | _Grid | _Real | _Flagged


class Codec:
    """Encoder and decoder fitted to one table's schema and values.

    It has one row or more, and no column with the role identifier. ``domains`` are the values of columns that were
    listed beforehand, all that the table has among them; only looked at if the encoding asks for it. Whether a column
    has missing values is taken from the table all the same.
    """

    def __init__(self, table: Table, encoding: Encoding, domains: Mapping[str, Array] | None = None) -> None:
        if table.schema.identifiers:
            raise GeneratorError(f"identifiers are never learned: {', '.join(table.schema.identifiers)}")
        if len(table) == 0 or len(table.schema) == 0:
            raise DataError(f"a table of {len(table)} rows and {len(table.schema)} columns cannot be learned from")
        self.schema: Schema = table.schema
        listed = (domains or {}) if encoding.listed_domains else {}
        self._parts: list[_Part] = [
            _listed(table.frame[column.name], column, listed[column.name])
            if column.name in listed
            else _fit(table.frame[column.name], column, encoding)
            for column in table.schema
        ]

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that vary, as a generator sees them; may be empty."""
        return tuple(feature for part in self._parts for feature in _features(part))

    @property
    def origins(self) -> tuple[str, ...]:
        """Name of the table's column behind each of :attr:`features`."""
        pairs = zip(self.schema, self._parts, strict=True)
        return tuple(column.name for column, part in pairs for _ in _features(part))

    def encode(self, table: Table, rng: np.random.Generator) -> Encoded:
        """Turn a table into numbers.

        Of the table the codec was fitted to, some of its rows, or others with its columns: numbers outside the learned
        range are encoded as such, unseen categories as -1.
        """
        columns: list[Array] = []
        for column, part in zip(self.schema, self._parts, strict=True):
            values = table.frame[column.name]
            if isinstance(part, _Flagged):
                encoded = part.values.encode(values)
                missing = np.isnan(encoded)
                encoded[missing] = rng.choice(encoded[~missing], size=int(missing.sum()))
                columns += [encoded, missing.astype(np.int32)]
            elif _features(part):
                columns.append(part.encode(values))
        return Encoded(self.features, columns, table.persons)

    def decode(self, columns: Sequence[Array], n_rows: int) -> Table:
        """Turn drawn columns into a table with the schema, dtypes and categories of the learned one."""
        features = self.features
        if len(columns) != len(features):
            raise GeneratorError(f"the model drew {len(columns)} columns instead of {len(features)}")
        for feature, drawn in zip(features, columns, strict=True):
            _check(feature, drawn, n_rows)
        left = iter(columns)
        frame: dict[str, pd.Series] = {}
        for column, part in zip(self.schema, self._parts, strict=True):
            if isinstance(part, _Flagged):
                encoded, missing = next(left), next(left)
                frame[column.name] = part.values.decode(np.where(missing.astype(bool), np.nan, encoded))
            else:
                frame[column.name] = part.decode(next(left) if _features(part) else np.zeros(n_rows, dtype=np.int32))
        return Table(pd.DataFrame(frame, index=pd.RangeIndex(n_rows)), self.schema)


def _features(part: _Part) -> tuple[Feature, ...]:
    if isinstance(part, _Flagged):
        return part.values.feature, part.flag
    return () if part.feature.n_levels == 1 else (part.feature,)


def _check(feature: Feature, drawn: Array, n_rows: int) -> None:
    if len(drawn) != n_rows:
        raise GeneratorError(f"the model drew {len(drawn)} rows instead of {n_rows}")
    if feature.is_discrete:
        return
    if np.isinf(drawn).any() or (not feature.missing and np.isnan(drawn).any()):
        raise GeneratorError(
            f"column {feature.name!r}: the model drew values that are not numbers",
            hint="train longer or with a smaller learning rate",
        )


def _fit(values: pd.Series, column: Column, encoding: Encoding) -> _Part:
    missing = bool(values.isna().any())
    if not column.kind.is_continuous:
        return _discrete(values, column, missing)
    distinct = values.dropna().drop_duplicates()
    if len(distinct) <= max(1, encoding.max_levels):
        return _discrete(values, column, missing)
    if np.isinf(numbers_of(distinct)).any():
        raise DataError(f"column {column.name!r} holds infinite numbers", hint="list their text under data.missing")
    flagged = missing and encoding.flag_missing
    feature = Feature(column.name, 0, ordered=True, missing=missing and not flagged, target=column.target)
    part = _grid(values.dropna(), distinct, column, feature) or _Real(
        feature, float(distinct.min()), float(distinct.max())
    )
    if flagged:
        return _Flagged(part, Feature(f"{column.name} is missing", 2, ordered=False, missing=False))
    return part


def _discrete(values: pd.Series, column: Column, missing: bool) -> _Discrete:
    return _of_states(list(values.dropna().drop_duplicates().sort_values()), values.dtype, column, missing)


def _of_states(states: list[Any], dtype: Any, column: Column, missing: bool, public: bool = False) -> _Discrete:
    levels = pd.Series([*states, None] if missing else states, dtype=dtype)
    ordered = column.kind.is_continuous or bool(getattr(dtype, "ordered", False))
    return _Discrete(Feature(column.name, len(levels), ordered, missing, column.target, public), levels)


def _listed(values: pd.Series, column: Column, domain: Array) -> _Discrete:
    """Discrete column with the states of its domain, in the dtype of its kind."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        states = [str(value) for value in domain]
        dtype: object = pd.CategoricalDtype(states, ordered=bool(values.dtype.ordered))
    else:
        states, dtype = sorted(domain), values.dtype
    strange = ~values.isin(states) & values.notna()
    if strange.any():
        raise DataError(
            f"column {column.name!r}: {int(values[strange].nunique())} values are not in its listed domain",
            hint="add them to the column's hierarchy file",
        )
    return _of_states(states, dtype, column, bool(values.isna().any()), public=True)


def _grid(known: pd.Series, distinct: pd.Series, column: Column, feature: Feature) -> _Grid | None:
    """The widest grid that holds the distinct ones of the known values; None for decimals that need too many digits.

    Digits that hardly any row needs are left out: one person's 0.92248062015503 among numbers of three digits would
    give fourteen to every number that is drawn.
    """
    scale = column.kind.type.usual_scale(known, column.kind.type.scale(distinct, column.format))
    if scale is None:
        return None
    whole = np.sort(column.kind.type.whole(distinct, scale))
    offsets = whole.view(np.uint64) - whole.view(np.uint64)[0]
    step = int(np.gcd.reduce(offsets))
    about = feature, column.kind, int(whole[0]), step, int(offsets[-1]) // step, scale
    days = np.unique(offsets // np.uint64(step) % np.uint64(WEEK)).astype(np.int64)
    if column.kind is Kind.DATE and step == DAY and len(whole) >= LEAST_DAYS and len(days) < WEEK:
        return _Calendar(*about, days)
    return _Grid(*about)


def _wrapped(value: int) -> np.uint64:
    return np.uint64(value % 2**64)
