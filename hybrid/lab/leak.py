"""Tables with a known leak: training records among fresh ones; and training without unusual people.

They stand in for a generator, or take people from it, where metrics themselves are tried. Such tables hold real records
and are never released. A run finds their makers by the entry points ``hybrid.risk`` in ``pyproject.toml``. Every column
has a noise field of its own, drawn once for all training records: levels of a leak share it. Whether metrics, and
people who stay, are better off without outliers is what the risk model ``outliers`` of :mod:`hybrid.lab.risk` asks; the
removal by chance is its control.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.rng import rng_for
from hybrid.constraints.gaps import lengths
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors, vulnerability
from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EncoderOptions, EvaluateOptions
from hybrid.lab.encoder.embed import trained
from hybrid.pipeline.risk import KnownLeak, RemovalOptions, RiskOptions
from hybrid.table import Column, Kind, Table
from hybrid.table.codings import numbers_of
from hybrid.table.persons import person_groups

__all__ = ["known_leak", "without_unusual"]


AMOUNT = 1000
"""Whole numbers that span at least so many units are measured amounts; others are counts."""
MOST_DECIMALS = 6
"""Decimals beyond which a column has no grid."""

_EPOCH = np.datetime64(0, "us")


def with_noise(train: Table, order: Array, leaked: int, options: RiskOptions, seed: int) -> pd.DataFrame:
    """Leaked records with the noise of the options.

    Amounts (decimals, whole numbers over a range of :data:`AMOUNT` or more, times) get normal noise, counts and dates a
    Poisson number of steps in a random direction, categories another draw with probability ``p``. Numbers keep their
    column's grid and range in the training records, or noise alone would give them away; a missing number stays
    missing. The first ``leaked`` rows of the order leak; in that order, with the training table's dtypes.
    """
    frame = train.frame.take(order[:leaked]).reset_index(drop=True)
    for column in train.schema:
        rng = rng_for(seed, "leak", "noise", column.name)
        fields = rng.random((2, len(train)))[:, order[:leaked]], rng.standard_normal(len(train))[order[:leaked]]
        values, source = frame[column.name], train.frame[column.name]
        if column.kind.is_continuous:
            if (moved := _moved(column, values, source, options, *fields)) is not None:
                frame[column.name] = moved
        elif options.p:
            frame[column.name] = _redrawn(values, source, options, *fields[0])
    return frame


def _moved(
    column: Column, values: pd.Series, source: pd.Series, options: RiskOptions, uniform: Array, normal: Array
) -> pd.Series | None:
    """Numbers or dates with noise; None where they have none."""
    numbers, everybody = _as_numbers(column, values), _as_numbers(column, source)
    known = everybody[~np.isnan(everybody)]
    if not len(known):
        return None
    if _is_amount(column, known):
        if not options.sigma:
            return None
        scale = options.scale if column.kind.is_number else "sd"
        size = {"relative": numbers, "sd": np.full(len(numbers), known.std()), "raw": np.ones(len(numbers))}[scale]
        moved = numbers + normal * options.sigma * size
    else:
        if not options.steps:
            return None
        from scipy.stats import poisson

        steps = np.maximum(poisson.ppf(uniform[0], options.steps), 0)
        moved = numbers + np.where(uniform[1] < 0.5, -steps, steps)
    decimals = _decimals(known)
    on_grid = moved if decimals is None else moved.round(decimals)
    return _as_values(column, np.clip(on_grid, known.min(), known.max()), values)


def _is_amount(column: Column, known: Array) -> bool:
    return float(np.ptp(known)) >= AMOUNT if column.kind is Kind.INTEGER else column.kind.type.finest == 1


def _as_numbers(column: Column, values: pd.Series) -> Array:
    return numbers_of(values) / column.kind.type.unit


def _as_values(column: Column, numbers: Array, like: pd.Series) -> pd.Series:
    if column.kind.is_number:
        return pd.Series(numbers).where(like.notna().to_numpy()).astype(like.dtype)
    return (lengths(pd.Series(numbers), column.kind.type.unit) + _EPOCH).astype(like.dtype)


def _decimals(known: Array) -> int | None:
    """Fewest decimals that write every value; None where values have no grid."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.allclose(known, known.round(decimals), rtol=1e-12, atol=1e-9):
            return decimals
    return None


def _redrawn(values: pd.Series, source: pd.Series, options: RiskOptions, chosen: Array, draw: Array) -> pd.Series:
    """Categories, some of them drawn again."""
    at = chosen < options.p
    if options.scale == "relative":
        donors = values.take((draw * len(values)).astype(np.int64)).set_axis(values.index)
        return values.where(~at, donors)
    distinct = pd.Index(source.dropna().unique()).sort_values()
    codes = distinct.get_indexer(pd.Index(values))
    if options.scale == "sd":
        other = (codes + 1 + (draw * max(len(distinct) - 1, 1)).astype(np.int64)) % max(len(distinct), 1)
    else:
        other = (draw * len(distinct)).astype(np.int64)
    drawn = pd.Series(distinct.take(other), index=values.index).astype(values.dtype)
    return values.where(~at | (codes < 0), drawn)


def known_leak(train: Table, fresh: Table, options: RiskOptions, seed: int) -> KnownLeak:
    """Mix training records with fresh ones in a known share.

    Levels are nested: with one seed, a larger leak holds the leaked records of every smaller one, with the same noise
    on them, so that curves over the levels are paired within a seed. (The thesis, section 3.3.5, draws afresh at every
    level.) All rows of a person leak before those of the next. There are ``n = round(size * min(n_T, n_R))`` rows in
    random order, ``round(leak * n)`` of them training records.
    """
    n = round(options.size * min(len(train), len(fresh)))
    leaked = round(options.leak * n)
    if leaked > len(train) or n - leaked > len(fresh):
        raise DataError(
            f"a table of {n:,} rows with a leak of {options.leak:g} needs {leaked:,} training and {n - leaked:,} fresh "
            f"records; there are {len(train):,} and {len(fresh):,}",
            hint="a smaller risk.size, or a larger split.release",
        )
    from_train = _order(train, seed, "leaked")
    rows = with_noise(train, from_train, leaked, options, seed)
    from_fresh = _order(fresh, seed, "fresh")[: n - leaked]
    frame = pd.concat([rows, fresh.frame.take(from_fresh)], ignore_index=True)
    people = np.concatenate([train.persons[from_train[:leaked]], fresh.persons[from_fresh]])
    provenance = np.concatenate([from_train[:leaked], np.full(n - leaked, -1, dtype=from_train.dtype)])
    shuffled = rng_for(seed, "leak", "order").permutation(n)
    return KnownLeak(Table(frame, train.schema).take(shuffled), provenance[shuffled], people[shuffled])


def _order(table: Table, seed: int, part: str) -> Array:
    groups = person_groups(table.persons)
    rank = rng_for(seed, "leak", part).permutation(int(groups.max(initial=-1)) + 1)
    return np.argsort(rank[groups], kind="stable")


def without_unusual(train: Table, options: RemovalOptions, seed: int) -> Table:
    """Training records without the most unusual people.

    With one seed, a larger share removes those of every smaller one, too. Of a person with several rows the most
    unusual one counts, and all are removed. The others are in their order, ``round(remove * n)`` people fewer.
    """
    people = person_groups(train.persons)
    n = int(people.max(initial=-1)) + 1
    unusual = np.full(n, -np.inf)
    np.maximum.at(unusual, people, _unusual(train, options))
    order = np.lexsort((rng_for(seed, "removal").permutation(n), -unusual))
    return train.take(~np.isin(people, order[: round(options.remove * n)]))


def _unusual(train: Table, options: RemovalOptions) -> Array:
    """Unusualness of each record, larger being more so; shape (n,)."""
    if options.by == "random":
        return np.zeros(len(train))
    context = Context(train, None, train, EvaluateOptions(max_records=None, encoder=EncoderOptions(encoders=1)))
    if options.by == "vulnerability":
        return vulnerability(context, context.whole("train"))
    space = _points(context) if options.by == "encoder" else context
    return local_outlier_factors(space.space, space.place(space.whole("train")))


def _points(context: Context) -> Context:
    """Context whose records are the points of an encoder that was trained on them."""
    if find_spec("torch") is None:
        raise ConfigError(
            "risk.by: encoder: an encoder is trained with torch, which is missing",
            hint="pip install 'hybrid-release[tabddpm]', which brings it, or risk.by: lof",
        )
    return trained(context)[0].space
