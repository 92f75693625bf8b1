"""Split a table into train and control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import ConfigError, DataError
from hybrid.table.households import kept_together
from hybrid.table.options import SplitOptions
from hybrid.table.persons import person_groups
from hybrid.table.record_hash import SECRET_BYTES, each_once, record_hashes
from hybrid.table.schema import Table


def split(
    table: Table,
    options: SplitOptions,
    rng: np.random.Generator,
    person: Sequence[str] = (),
    household: Sequence[str] = (),
) -> tuple[Table, Table | None]:
    """Part the records into a training and a control set.

    Parameters
    ----------
    table : Table, n_rows records
        Everything.
    options : SplitOptions
        The control share; if one person can have several records, the key column; whether sides are stable.
    rng : numpy.random.Generator
        Decides who goes where. With ``options.stable``, a generator in the same state gives the same record the
        same side in every table, but for the few that keep the share exact.
    person : sequence of str
        The columns that name the person of a row, where several rows may have the same one: ``table.persons``.
    household : sequence of str
        The columns that name the household of a row, where ``table.households`` has them.

    Returns
    -------
    train, control : Table, Table or None
        Disjoint, together all records (or ``options.rows`` of them), in the table's order.
        ``round(control * n_rows)`` records are control; with households, persons or a key, that share of the
        households, the persons or the key's distinct values (records without one count as one person each).
        ``control`` is None if the share is 0.

    Raises
    ------
    ConfigError
        The key column does not exist.
    DataError
        One side would be empty.
    """
    if options.key is not None and options.key not in table.schema:
        raise ConfigError(
            f"split.key names the column {options.key!r}, which the data does not have",
            hint=f"use one of: {', '.join(table.schema.names)}",
        )
    if options.rows is not None and options.rows < len(table):
        table = table.take(np.sort(rng.permutation(len(table))[: options.rows]))
    if options.control == 0:
        return table, None
    groups, order = _ranked(table, options, rng, person, household)
    mask = _first(order, options.control)[groups]
    return table.take(~mask), table.take(mask)


def control_mask(n_rows: int, options: SplitOptions, rng: np.random.Generator, persons: Codes | None = None) -> Array:
    """Mask of the control records of :func:`split` without stable sides.

    Parameters
    ----------
    n_rows : int
        Records.
    options, rng
        As for :func:`split`.
    persons : numpy.ndarray, shape (n_rows,), int, optional
        Person of each record, who is on one side; each record is another person if not given.

    Returns
    -------
    numpy.ndarray, shape (n_rows,), bool

    Raises
    ------
    ConfigError
        Only some of the records are to be used.
    DataError
        One side would be empty.
    """
    if options.rows is not None:
        raise ConfigError("split.rows is for tables that are read as a whole", hint="leave it out")
    if options.control == 0:
        return np.zeros(n_rows, dtype=bool)
    if persons is None:
        return _first(rng.permutation(n_rows), options.control)
    groups = person_groups(persons)
    return _first(rng.permutation(int(groups.max(initial=-1)) + 1), options.control)[groups]


def _first(order: Array, share: float) -> Array:
    """Mask of the first groups of the order; shape (n_groups,), bool."""
    n_control = round(share * len(order))
    if not 0 < n_control < len(order):
        raise DataError(
            f"a control share of {share} leaves one side of the split empty ({len(order)} separable records)",
            hint="use a larger table, or set split.control: 0",
        )
    in_control = np.zeros(len(order), dtype=bool)
    in_control[order[:n_control]] = True
    return in_control


def _ranked(
    table: Table, options: SplitOptions, rng: np.random.Generator, person: Sequence[str], household: Sequence[str]
) -> tuple[Array, Array]:
    """Group of each record, and the groups in control order.

    In this order they become the control group.
    """
    key = tuple(household) or tuple(person) or (() if options.key is None else (options.key,))
    if options.stable:
        secret = rng.bytes(SECRET_BYTES)
        hashes = record_hashes(table, secret, key)
        if household and person:  # Who has no household is one alone, with all rows.
            alone = table.frame[list(household)].isna().any(axis=1).to_numpy()
            hashes[alone] = record_hashes(table.take(alone), secret, person)
        distinct, groups = np.unique(hashes if key else each_once(hashes), return_inverse=True)
        return groups, np.arange(len(distinct))
    together = kept_together(table)
    if together is not None:
        groups = together
    else:
        groups = np.arange(len(table)) if options.key is None else _groups(table.frame[options.key])
    return groups, rng.permutation(int(groups.max()) + 1)


def _groups(key: pd.Series) -> Array:
    codes: Array
    codes, distinct = pd.factorize(key)
    missing = codes < 0
    codes[missing] = len(distinct) + np.arange(int(missing.sum()))
    return codes
