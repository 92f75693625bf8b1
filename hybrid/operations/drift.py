"""Drift of tonight's tables from those of the last release, by coarse statistics in the private zone.

No record can be read from the statistics. Numbers and dates are counted between rounded deciles, categories under keyed
hashes; what fewer than :data:`LEAST_ROWS` rows share counts as "other". Of identifiers only the missing are counted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, TypeAdapter, model_validator

from hybrid.base.arrays import Array
from hybrid.base.errors import OutputError
from hybrid.base.options import Options
from hybrid.base.sentence import Fact, sentence
from hybrid.store import keep_private
from hybrid.table import Kind
from hybrid.table.codings import numbers_of
from hybrid.table.schema import Column, Role, Table


class DriftOptions(Options):
    """Limits of drift.

    Beyond ``warn`` it is reported, beyond ``stop`` no stage runs until a person accepts the change.
    """

    warn: float = Field(default=0.1, ge=0)
    """Population stability index of a column, 0 (same) upwards. The custom of credit scoring (Siddiqi 2006):
    up to 0.1 little, up to 0.25 some, above that a changed population."""
    stop: float = Field(default=0.25, ge=0)
    """As ``warn``."""
    rows_warn: float = Field(default=0.1, ge=0)
    """Change of the number of rows, relative to the last release."""
    rows_stop: float = Field(default=0.3, ge=0)
    """As ``rows_warn``, in both directions."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn > self.stop or self.rows_warn > self.rows_stop:
            raise ValueError("a warning must come before the stop: warn at most stop, rows_warn at most rows_stop")
        return self


LEAST_ROWS = 5
MOST_CATEGORIES = 50
_DECILES = np.arange(0.1, 0.95, 0.1)
_DIGITS = 50
"""Edges are rounded to about this part of the distance between the outer deciles."""
_TAG_BYTES = 8


@dataclass(frozen=True)
class ColumnStatistics:
    """Distribution of the rows of one column."""

    kind: Kind
    missing: int
    """Rows without a value."""
    edges: tuple[float, ...] = ()
    """Of numbers (dates: microseconds since 1970): bin i holds edges[i-1] < x <= edges[i]; empty for categories."""
    categories: tuple[str, ...] = ()
    """Keyed hashes of the frequent categories; empty for numbers."""
    counts: tuple[int, ...] = ()
    """Rows in each bin: len(edges) + 1 of them; or of each category, and the others last."""


@dataclass(frozen=True)
class TableStatistics:
    """The columns of a table and how its rows spread over them."""

    rows: int
    columns: dict[str, ColumnStatistics]


STATISTICS = TypeAdapter(dict[str, TableStatistics])
"""Statistics of tables by their names, as JSON."""


def describe(table: Table, secret: bytes, like: TableStatistics | None = None) -> TableStatistics:
    """Count the rows of every column.

    Categories become hashes (HMAC-SHA256) under the key ``secret``. With ``like``, its bins and categories are taken,
    so that the two can be compared; columns it lacks get their own.
    """
    known = {} if like is None else like.columns
    columns = {column.name: _describe(table.frame[column.name], column, secret, known) for column in table.schema}
    return TableStatistics(len(table), columns)


def _describe(
    values: pd.Series, column: Column, secret: bytes, known: Mapping[str, ColumnStatistics]
) -> ColumnStatistics:
    like = known.get(column.name)
    if like is not None and like.kind is not column.kind:
        like = None
    missing = int(values.isna().sum())
    present = values.dropna()
    if column.role is Role.IDENTIFIER:
        return ColumnStatistics(column.kind, missing)
    if column.kind.is_continuous:
        numbers = numbers_of(present)
        edges = _edges(numbers) if like is None else np.asarray(like.edges)
        counts = np.bincount(np.searchsorted(edges, numbers, side="left"), minlength=len(edges) + 1)
        return ColumnStatistics(column.kind, missing, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))
    sizes = {_tag(secret, str(value)): int(size) for value, size in present.value_counts().items()}
    if like is None:
        frequent = [tag for tag, size in sizes.items() if size >= LEAST_ROWS]
        tags = tuple(sorted(frequent, key=lambda tag: (-sizes[tag], tag))[:MOST_CATEGORIES])
    else:
        tags = like.categories
    found = [sizes.get(tag, 0) for tag in tags]
    return ColumnStatistics(column.kind, missing, categories=tags, counts=(*found, len(present) - sum(found)))


def _edges(numbers: Array) -> Array:
    """Deciles, as many as leave enough rows in every bin, rounded so that none is the value of a person."""
    if len(numbers) < LEAST_ROWS * (len(_DECILES) + 1):
        return np.empty(0)
    edges = np.quantile(numbers, _DECILES)
    span = edges[-1] - edges[0]
    step = 10.0 ** math.floor(math.log10(span / _DIGITS)) if span > 0 else 0.0
    rounded = np.round(edges / step) * step if step > 0 else np.round(edges[:1])
    distinct: Array = np.unique(rounded)
    return distinct


def _tag(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()[: 2 * _TAG_BYTES]


Status = Literal["pass", "warn", "stop"]
_SURE = 0.999
_PRIOR = 0.5


@dataclass(frozen=True)
class DriftFinding:
    """One thing that was compared. ``message`` holds names and shares, no value.

    ``psi`` is the population stability index (0 upwards, lower is closer), ``tv`` the total variation distance
    (0 the same .. 1 nothing in common); None where they do not apply.
    """

    subject: str
    status: Status
    message: str
    psi: float | None = None
    tv: float | None = None


def compare(old: TableStatistics, new: TableStatistics, options: DriftOptions) -> tuple[DriftFinding, ...]:
    """List the changes since the last release.

    ``new`` was counted in the bins of ``old``. Rows come first, then every column of either table. A column that is
    new, gone or of another kind is a stop. A column's limit is raised to what chance alone would exceed once in a
    thousand columns.
    """
    return (_rows(old.rows, new.rows, options), *_columns(old, new, options))


def compare_tables(
    old: Mapping[str, TableStatistics], new: Mapping[str, TableStatistics], options: DriftOptions
) -> tuple[DriftFinding, ...]:
    """List the changes of all tables since the last release.

    As :func:`compare`, with the names of tables; where there is only one, its name is empty. A table that is new or
    gone is a stop.
    """
    return tuple(finding for name in dict.fromkeys([*old, *new]) for finding in _table(name, old, new, options))


def population_stability(old: Array, new: Array) -> tuple[float, float]:
    """The population stability index and the total variation distance of two counts.

    Parameters
    ----------
    old, new : numpy.ndarray, shape (n_bins,)
        Rows in each bin.

    Returns
    -------
    psi : float
        sum (q - p) ln(q / p) over the bins (Siddiqi, Credit Risk Scorecards, 2006; the divergence of Jeffreys 1946),
        with half a row added to every bin so that empty ones do not make it infinite.
    tv : float
        sum |q - p| / 2.
    """
    p, q = ((counts + _PRIOR) / (counts.sum() + _PRIOR * len(counts)) for counts in (old, new))
    plain = [counts / max(counts.sum(), 1) for counts in (old, new)]
    return float(((q - p) * np.log(q / p)).sum()), float(np.abs(plain[1] - plain[0]).sum() / 2)


def by_chance(n_bins: int, old_rows: int, new_rows: int) -> float:
    """0.999 quantile of the index for two samples of one population.

    It is then about (1/n + 1/m) times a chi-square with n_bins - 1 degrees of freedom (Yurdakul and Naranjo,
    Journal of Risk Model Validation 14(4), 2020).
    """
    if n_bins < 2 or not old_rows or not new_rows:
        return 0.0
    from scipy.special import gammaincinv

    chi_square = 2 * gammaincinv((n_bins - 1) / 2, _SURE)
    return float((1 / old_rows + 1 / new_rows) * chi_square)


def _table(
    name: str, old: Mapping[str, TableStatistics], new: Mapping[str, TableStatistics], options: DriftOptions
) -> Iterator[DriftFinding]:
    if name not in old or name not in new:
        template = "drift.table.gone" if name in old else "drift.table.new"
        yield DriftFinding(name, "stop", sentence(template, table=repr(name)))
        return
    for found in compare(old[name], new[name], options):
        of_table = sentence("of_table", table=name, found=found.message)
        yield replace(found, subject=f"{name}.{found.subject}", message=of_table) if name else found


def _rows(old: int, new: int, options: DriftOptions) -> DriftFinding:
    change = new / old - 1 if old else 1.0
    status = _status(abs(change), options.rows_warn, options.rows_stop)
    facts: dict[str, Fact] = {"n": new, "before": old, "change": f"{change:+.1%}"}
    if status == "pass":
        return DriftFinding("rows", status, sentence("drift.rows", **facts))
    return DriftFinding("rows", status, sentence("drift.rows.limit", **facts, limit=f"{options.rows_stop:.0%}"))


def _columns(old: TableStatistics, new: TableStatistics, options: DriftOptions) -> Iterator[DriftFinding]:
    for name in [*old.columns, *(name for name in new.columns if name not in old.columns)]:
        before, after = old.columns.get(name), new.columns.get(name)
        if before is None:
            yield DriftFinding(name, "stop", sentence("drift.new", column=repr(name)))
        elif after is None:
            yield DriftFinding(name, "stop", sentence("drift.gone", column=repr(name)))
        elif before.kind is not after.kind:
            kinds = {"before": str(before.kind), "after": str(after.kind)}
            yield DriftFinding(name, "stop", sentence("drift.kind", column=repr(name), **kinds))
        else:
            yield _spread(name, before, after, options)


def _spread(name: str, before: ColumnStatistics, after: ColumnStatistics, options: DriftOptions) -> DriftFinding:
    old, new = (np.array([*column.counts, column.missing], dtype=float) for column in (before, after))
    if not before.counts:
        return DriftFinding(name, "pass", sentence("drift.identifier", column=repr(name)))
    psi, tv = population_stability(old, new)
    chance = by_chance(len(old), int(old.sum()), int(new.sum()))
    status = _status(psi, max(options.warn, chance), max(options.stop, chance))
    facts = {"column": repr(name), "psi": f"{psi:.3f}", "share": f"{tv:.1%}"}
    message = sentence("drift.spread", **facts)
    if status != "pass":
        message = sentence("drift.spread.limit", **facts, limit=f"{max(options.stop, chance):.3g}")
    return DriftFinding(name, status, message, psi, tv)


def _status(number: float, warn: float, stop: float) -> Status:
    return "stop" if number > stop else "warn" if number > warn else "pass"


FOLDER = "baselines"
FORMAT = 2
"""1 had the statistics of a single table."""
KEPT_DAYS = 30
"""How long a run may wait for its approval; the baseline of a release in use is renewed every night."""


@dataclass(frozen=True)
class Baseline:
    """Statistics of the source's tables, and the seconds of the run's stages.

    Tables are known by their names; a single one has the empty name.
    """

    statistics: Mapping[str, TableStatistics]
    seconds: Mapping[str, float]


def keep_baseline(private_dir: Path, data_set: str, data_tag: str, baseline: Baseline) -> None:
    """Keep the baseline for the next night under the tag of the source (mode 0600)."""
    statistics = STATISTICS.dump_python(dict(baseline.statistics), mode="json")
    content = {"format": FORMAT, "statistics": statistics, "seconds": dict(baseline.seconds)}
    keep_private(_path(private_dir, data_set, data_tag), json.dumps(content).encode(), KEPT_DAYS)


def find_baseline(private_dir: Path, data_set: str, data_tag: str) -> Baseline | None:
    """Baseline under the tag of a source; None if absent or damaged."""
    path = _path(private_dir, data_set, data_tag)
    try:
        content = json.loads(path.read_text())
        if content["format"] > FORMAT:
            raise OutputError(f"{path}: a newer version of this program wrote it", hint="use that version")
        tables = content["statistics"] if content["format"] == FORMAT else {"": content["statistics"]}
        found = Baseline(STATISTICS.validate_python(tables), content["seconds"])
        os.utime(path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return found


def _path(private_dir: Path, data_set: str, data_tag: str) -> Path:
    return private_dir / FOLDER / data_set / f"{data_tag}.json"
