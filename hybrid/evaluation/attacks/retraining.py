"""Repeated trainings of the generator, and the rows of their tables as an attacker with own people codes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.evaluation.context import Context
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import RetrainOptions
from hybrid.table import DTYPES, Kind, Schema, Table
from hybrid.table.codings import numbers_of
from hybrid.table.schema import concat_rows

POOLED = ("membership_trained", "membership_trained_random")
"""Metrics that share trainings on halves of a pool."""


def trainings(options: RetrainOptions, metrics: Iterable[Metric], n_secrets: int) -> int:
    """Number of trainings of the generator at one stage without a time limit; attacks of a kind share theirs."""
    chosen = {metric.name: metric.mechanism for metric in metrics}
    bagged, canaries = "bagging_membership" in chosen, "canary" in chosen.values()
    pooled = any(name in POOLED for name in chosen)
    alone = {"bagging_membership", *POOLED}
    shadowed = any(mechanism == "shadow" and name not in alone for name, mechanism in chosen.items())
    parts = (
        n_secrets * -(-options.canaries // options.together) * canaries,
        options.shadows * shadowed,
        options.tests * (shadowed or bagged),
        2 * options.bagging * bagged,
        options.halves * pooled,
    )
    return sum(parts)


def most_rows(options: RetrainOptions, metrics: Iterable[Metric]) -> int:
    """Records in the largest of the trainings of these metrics, at most."""
    names = {metric.name for metric in metrics if {"retraining", "trainings"} & set(metric.needs)}
    pooled = names & set(POOLED)
    return max(options.rows if names - pooled else 0, options.pool // 2 if pooled else 0)


def retrained(
    context: Context, step: str, count: int, build: Callable[[int], Table], rng: np.random.Generator
) -> Iterator[tuple[int, Table]]:
    """Number and synthetic table of each of ``count`` trainings, or of as many as the time allows."""
    assert context.making.again is not None
    limit, started = context.retrain.seconds, time.monotonic()
    for i in range(count):
        if limit is not None and time.monotonic() - started > limit:
            return
        context.progress(f"{step} ({context.stage})", i, count)
        yield i, context.making.again(build(i), int(rng.integers(2**31)))


Order = Mapping[str, tuple[str, ...]]
"""Values of columns, from the lowest to the highest."""


def with_places(table: Table, order: Order) -> Table:
    """Table whose ordered columns hold the places of their values."""
    if not order:
        return table
    frame = table.frame.copy(deep=False)
    for name, values in order.items():
        places = pd.Index(values).get_indexer(pd.Index(table.frame[name].astype(object).map(str, na_action="ignore")))
        unlisted = (places < 0) & table.frame[name].notna().to_numpy()
        if unlisted.any():
            raise ConfigError(
                f"evaluate.retrain.ordinal.{name}: {int(unlisted.sum()):,} records have values that are not listed",
                hint="list every value of the column, from the lowest to the highest",
            )
        numbers = pd.Series(np.where(places < 0, np.nan, places), index=frame.index)
        frame[name] = numbers.astype(DTYPES[Kind.INTEGER])
    columns = (replace(column, kind=Kind.INTEGER) if column.name in order else column for column in table.schema)
    return Table(frame, Schema(tuple(columns)), table.named_persons)


def ordered(context: Context) -> Context:
    """Context in which columns with a declared order are numbers; the same one where no order is declared."""
    order = context.retrain.ordinal
    if not order:
        return context

    def build() -> Context:
        control = None if context.control is None else with_places(context.control, order)
        train, table = (with_places(each, order) for each in (context.train, context.table))
        return Context(train, control, table, context.options, context.seed, context.stage)

    return context.once("ordered", build)


MISSING = -2
"""Number of a missing value."""


@dataclass(frozen=True)
class Rows:
    """Coded rows.

    ``codes`` (n, q), int: numbers of categories, each column's after those of the one before; ``numbers`` (n, p + p),
    float64: scaled to 0..1 by the attacker's people, 0 where missing, then 1 where missing.
    """

    codes: Array
    numbers: Array

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Array) -> Rows:
        return Rows(self.codes[rows], self.numbers[rows])

    @property
    def features(self) -> Array:
        """All of it side by side, shape (n, q + 2p)."""
        return np.asarray(np.column_stack([self.codes, self.numbers]))

    def distinct(self) -> tuple[Rows, Array]:
        """Distinct rows in order of their content, and how often each occurs."""
        whole = np.ascontiguousarray(self.features, dtype=np.float64)
        keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
        _, first, times = np.unique(keys, return_index=True, return_counts=True)
        return self.take(first), times

    def distances_to(self, person: Rows) -> Array:
        """Distances of Meeus et al. 2023 to one row; shape (n,).

        d = 1 - matches/F - (F_n/F) cos, over F columns, F_n of them numbers (METRICS D1).
        """
        p, q = self.numbers.shape[1] // 2, self.codes.shape[1]
        matches = (self.codes == person.codes[0]).sum(axis=1)
        lengths = np.linalg.norm(self.numbers, axis=1) * np.linalg.norm(person.numbers[0])
        product = self.numbers @ person.numbers[0]
        cosine = np.divide(product, lengths, out=np.zeros(len(self)), where=lengths > 0)
        return np.asarray(1 - (matches + p * cosine) / max(p + q, 1))


@dataclass(frozen=True)
class Coder:
    """Coding that an attacker learns from own people and the attacked."""

    vocabularies: tuple[tuple[str, pd.Index], ...]
    """Values of the categorical columns, the most frequent first; the code after the last is missing, and a value that
    is not in it has the code :attr:`unseen`."""
    ranges: tuple[tuple[str, float, float], ...]
    """Least value and range of the other columns."""

    @property
    def unseen(self) -> int:
        """Code of values in no vocabulary: the number of others."""
        return sum(len(values) + 1 for _, values in self.vocabularies)

    def rows(self, table: Table) -> Rows:
        codes, start = np.empty((len(table), len(self.vocabularies)), dtype=np.int32), 0
        for at, (name, values) in enumerate(self.vocabularies):
            found = places(table.frame[name], values)
            codes[:, at] = np.select([found == MISSING, found >= 0], [len(values) + start, found + start], self.unseen)
            start += len(values) + 1
        numbers = np.empty((len(table), 2 * len(self.ranges)))
        for at, (name, low, span) in enumerate(self.ranges):
            values = numbers_of(table.frame[name])
            missing = np.isnan(values)
            numbers[:, at] = np.where(missing, 0.0, (values - low) / span)
            numbers[:, len(self.ranges) + at] = missing
        return Rows(codes, numbers)


def coder(own: Table, people: Table, columns: Sequence[str]) -> Coder:
    """Coding learned from the attacker's own people and the attacked."""
    known = Table(concat_rows(own.frame, people.frame), own.schema)
    continuous = [name for name in columns if known.schema[name].kind.is_continuous]
    vocabularies = [(name, by_frequency(known.frame[name])) for name in columns if name not in continuous]
    ranges = []
    for name in continuous:
        values = numbers_of(known.frame[name])
        values = values[~np.isnan(values)]
        span = float(np.ptp(values)) if len(values) else 0.0
        ranges.append((name, float(values.min()) if len(values) else 0.0, span or 1.0))
    return Coder(tuple(vocabularies), tuple(ranges))


def by_frequency(values: pd.Series) -> pd.Index:
    """Names of the values that occur, the most frequent first."""
    codes, distinct = pd.factorize(values)
    counts = pd.Series(np.bincount(codes[codes >= 0], minlength=len(distinct)), index=[str(each) for each in distinct])
    return pd.Index(counts.sort_index().sort_values(ascending=False, kind="stable").index, dtype=object)


def places(values: pd.Series, vocabulary: pd.Index) -> Array:
    """Number of each category in a vocabulary of names, -1 for others, :data:`MISSING` where there is none."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, distinct = values.cat.codes.to_numpy(), values.cat.categories
    else:
        codes, distinct = pd.factorize(values)
    found: Array = np.append(vocabulary.get_indexer(pd.Index([str(each) for each in distinct], dtype=object)), MISSING)
    return np.asarray(found[codes])
