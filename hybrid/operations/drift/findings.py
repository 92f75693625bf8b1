"""Distance between two tables: schema, row count, and column distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hybrid.base.arrays import Array
from hybrid.operations.drift.options import DriftOptions
from hybrid.operations.drift.statistics import ColumnStatistics, TableStatistics

Status = Literal["pass", "warn", "stop"]
SEVERITY: dict[Status, int] = {"pass": 0, "warn": 1, "stop": 2}
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

    Parameters
    ----------
    old : TableStatistics
        Of the table behind the last release.
    new : TableStatistics
        Of tonight's, counted in the bins of ``old``.
    options : DriftOptions
        The limits.

    Returns
    -------
    tuple of DriftFinding
        Rows first, then every column of either table. A column that is new, gone or of another kind is a stop. A
        column's limit is raised to what chance alone would exceed once in a thousand columns.
    """
    return (_rows(old.rows, new.rows, options), *_columns(old, new, options))


def compare_tables(
    old: Mapping[str, TableStatistics], new: Mapping[str, TableStatistics], options: DriftOptions
) -> tuple[DriftFinding, ...]:
    """List the changes of all tables since the last release.

    Parameters
    ----------
    old, new : mapping of str to TableStatistics
        By the name of the table; the empty name where there is only one.
    options : DriftOptions
        The limits.

    Returns
    -------
    tuple of DriftFinding
        As :func:`compare`, with the names of tables. A table that is new or gone is a stop.
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
    """Changes of one table."""
    if name not in old or name not in new:
        yield DriftFinding(name, "stop", f"table {name!r} is {'gone' if name in old else 'new'}")
        return
    for found in compare(old[name], new[name], options):
        yield replace(found, subject=f"{name}.{found.subject}", message=f"{name}: {found.message}") if name else found


def _rows(old: int, new: int, options: DriftOptions) -> DriftFinding:
    change = new / old - 1 if old else 1.0
    status = _status(abs(change), options.rows_warn, options.rows_stop)
    limit = f" (limit: {options.rows_stop:.0%})" if status != "pass" else ""
    return DriftFinding("rows", status, f"{new:,} rows, {old:,} at the last release: {change:+.1%}{limit}")


def _columns(old: TableStatistics, new: TableStatistics, options: DriftOptions) -> Iterator[DriftFinding]:
    for name in [*old.columns, *(name for name in new.columns if name not in old.columns)]:
        before, after = old.columns.get(name), new.columns.get(name)
        if before is None:
            yield DriftFinding(name, "stop", f"column {name!r} is new")
        elif after is None:
            yield DriftFinding(name, "stop", f"column {name!r} is gone")
        elif before.kind is not after.kind:
            yield DriftFinding(name, "stop", f"column {name!r} was {before.kind} and is {after.kind}")
        else:
            yield _spread(name, before, after, options)


def _spread(name: str, before: ColumnStatistics, after: ColumnStatistics, options: DriftOptions) -> DriftFinding:
    old, new = (np.array([*column.counts, column.missing], dtype=float) for column in (before, after))
    if not before.counts:
        return DriftFinding(name, "pass", f"column {name!r} is an identifier: its values are not compared")
    psi, tv = population_stability(old, new)
    chance = by_chance(len(old), int(old.sum()), int(new.sum()))
    status = _status(psi, max(options.warn, chance), max(options.stop, chance))
    limit = f" (limit: {max(options.stop, chance):.3g})" if status != "pass" else ""
    message = f"column {name!r}: stability index {psi:.3f}{limit}, {tv:.1%} of the rows lie elsewhere"
    return DriftFinding(name, status, message, psi, tv)


def _status(number: float, warn: float, stop: float) -> Status:
    return "stop" if number > stop else "warn" if number > warn else "pass"
