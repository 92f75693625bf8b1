"""Columns in the form that TabDDPM takes: numbers as normally distributed ones, persons and rows without holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from hybrid.base.arrays import Array
from hybrid.synthesize.protocol import Encoded, Feature

ATOM_SHARE = 0.005
"""A value that at least this share of records has comes back exactly; others spread between their neighbours."""


@dataclass(frozen=True)
class Quantiles:
    """A column's empirical distribution."""

    distinct: Array
    """Sorted distinct values, m >= 2; shape (m,), float64."""
    cumulated: Array
    """Share of records below each distinct value, and 1; shape (m + 1,), float64."""

    @classmethod
    def of(cls, values: Array) -> Quantiles:
        """Learn from values (n,) without NaN."""
        distinct, counts = np.unique(values, return_counts=True)
        return cls(distinct, np.concatenate([[0.0], np.cumsum(counts) / len(values)]))

    def to_normal(self, values: Array, rng: np.random.Generator) -> Array:
        """Standard normal scores (n,), equal values spread over their share of the distribution."""
        at = np.searchsorted(self.distinct, values)
        low, high = self.cumulated[at], self.cumulated[at + 1]
        return ndtri(np.clip(low + (high - low) * rng.random(len(values)), 1e-9, 1 - 1e-9))

    def middle_scores(self, values: Array) -> Array:
        """Standard normal scores (n,) of any values: the middle of the share of the next learned value from below."""
        at = np.minimum(np.searchsorted(self.distinct, values), len(self.distinct) - 1)
        return ndtri((self.cumulated[at] + self.cumulated[at + 1]) / 2)

    def from_normal(self, scores: Array) -> Array:
        """Values (n,) of normal scores."""
        share = ndtr(scores)
        at = np.clip(np.searchsorted(self.cumulated, share, side="right") - 1, 0, len(self.distinct) - 1)
        width = np.diff(self.cumulated)
        inside = (share - self.cumulated[at]) / width[at]
        middles = (self.distinct[1:] + self.distinct[:-1]) / 2
        edges = np.concatenate([self.distinct[:1], middles, self.distinct[-1:]])
        spread = edges[at] + np.clip(inside, 0, 1) * (edges[at + 1] - edges[at])
        return np.where(width[at] >= ATOM_SHARE, self.distinct[at], spread)


@dataclass(frozen=True)
class ColumnForm:
    """One column as columns without holes."""

    feature: Feature
    """The column."""
    values: Array
    """Distinct known values where states are learned; empty where numbers are; shape (m,)."""
    holes: bool
    """Whether values are missing (NaN): a state of their own, or a flag beside the numbers."""

    @classmethod
    def of(cls, feature: Feature, column: Array, max_levels: int) -> ColumnForm:
        """The form of a column; numbers with few distinct values become states."""
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        if not len(values):
            return cls(feature, np.array([np.nan]), holes=False)
        learned = values if feature.is_discrete or len(values) <= max(max_levels, 1) else values[:0]
        return cls(feature, learned, bool(missing.any()))

    @property
    def features(self) -> list[Feature]:
        """The columns that it becomes: none for a constant."""
        name, size = self.feature.name, len(self.values) + self.holes
        if len(self.values):
            return [Feature(name, size, self.feature.ordered, False)] if size > 1 else []
        return [Feature(name, 0, True, False)] + [Feature(f"{name} is missing", 2, False, False)] * self.holes

    def encode(self, column: Array, rng: np.random.Generator) -> list[Array]:
        """The columns; holes of numbers are filled with draws from the others."""
        missing = np.isnan(column)
        if len(self.values):
            codes = np.where(missing, len(self.values), np.searchsorted(self.values, np.where(missing, 0, column)))
            return [codes.astype(np.int32)] * bool(self.features)
        filled = column.copy()
        filled[missing] = rng.choice(column[~missing], int(missing.sum()))
        return [filled] + [missing.astype(np.int32)] * self.holes

    def decode(self, columns: Sequence[Array], n: int) -> Array:
        """The column of drawn ones, shape (n,)."""
        if not len(self.values):
            return np.where(columns[1] == 1, np.nan, columns[0]) if self.holes else columns[0]
        codes = columns[0] if columns else np.zeros(n, dtype=np.int32)
        if not self.holes:
            return self.values[codes]
        with_hole: Array = np.append(self.values.astype(np.float64), np.nan)
        return with_hole[codes]


@dataclass(frozen=True)
class TableForm:
    """All columns of a table as columns without holes and constants."""

    columns: tuple[ColumnForm, ...]

    @classmethod
    def of(cls, features: Sequence[Feature], columns: Sequence[Array], max_levels: int) -> TableForm:
        pairs = zip(features, columns, strict=True)
        return cls(tuple(ColumnForm.of(feature, column, max_levels) for feature, column in pairs))

    def encode(self, columns: Sequence[Array], rng: np.random.Generator) -> Encoded | None:
        """The columns; None where all are constant."""
        pairs = zip(self.columns, columns, strict=True)
        encoded = [part for form, column in pairs for part in form.encode(column, rng)]
        return Encoded([feature for form in self.columns for feature in form.features], encoded) if encoded else None

    def decode(self, drawn: Sequence[Array], n: int) -> list[Array]:
        """The columns of drawn ones, each of shape (n,)."""
        left, found = list(drawn), []
        for form in self.columns:
            own = [left.pop(0) for _ in form.features]
            found.append(form.decode(own, n))
        return found


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of a row before it is drawn, for a network."""

    states: Mapping[str, Array] = field(default_factory=dict)
    """Distinct values of each column of states."""
    numbers: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    """Distinct known values of each column of numbers, and their normal scores. A column with missing values has a flag
    among the numbers."""

    @classmethod
    def of(cls, features: Mapping[str, Feature], columns: Mapping[str, Array]) -> Knowledge:
        """Learn from training rows; columns with one value say nothing."""
        states, numbers = {}, {}
        for name, column in columns.items():
            known = column[~np.isnan(column)]
            values, counts = np.unique(known, return_counts=True)
            if features[name].is_discrete and len(values) > 1:
                states[name] = values
            elif not features[name].is_discrete and len(values) and (len(values) > 1 or len(known) < len(column)):
                numbers[name] = values, ndtri((np.cumsum(counts) - counts / 2) / len(known))
        return cls(states, numbers)

    @property
    def n_states(self) -> int:
        return sum(map(len, self.states.values()))

    def encode(self, known: Mapping[str, Array], n: int) -> tuple[Array, Array]:
        """States and numbers of n rows.

        States (n, n_columns), int64, numbered through all columns, and numbers (n, n_numbers), float32. A number counts
        by its normal score among the training rows (0 where it is missing), beside a flag.
        """
        first, states, numbers = 0, [], []
        for name, values in self.states.items():
            states.append(first + np.clip(np.searchsorted(values, known[name]), 0, len(values) - 1))
            first += len(values)
        for name, (values, scores) in self.numbers.items():
            missing = np.isnan(known[name])
            numbers += [np.where(missing, 0, np.interp(known[name], values, scores)), missing.astype(np.float64)]
        return (
            np.column_stack(states).astype(np.int64) if states else np.empty((n, 0), dtype=np.int64),
            np.column_stack(numbers).astype(np.float32) if numbers else np.empty((n, 0), dtype=np.float32),
        )
