"""Number of people who hold each value."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array


def holders(codes: Array, n_codes: int, persons: Array | None) -> Array:
    """Count the distinct people who hold each value.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,), int
        Number of each record's value, 0..n_codes - 1; -1 where it is missing.
    n_codes : int
        Number of distinct values.
    persons : numpy.ndarray, shape (n,), int, or None
        Person of each record; None: every record is a person.

    Returns
    -------
    numpy.ndarray, shape (n_codes,), int64
    """
    known = codes >= 0
    held = codes[known].astype(np.int64)
    if persons is None:
        return np.bincount(held, minlength=n_codes)
    pairs = pd.DataFrame({"value": held, "person": persons[known]}).drop_duplicates()
    return np.bincount(pairs["value"].to_numpy(), minlength=n_codes)


def bounds(codes: Array, least: int, persons: Array | None) -> tuple[int, int] | None:
    """Codes of the values of the ``least``-th smallest and ``least``-th largest person.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,), int
        Numbers of the values by size; -1 where missing.
    least : int
        People at and beyond each bound.
    persons : numpy.ndarray, shape (n,), int, or None
        As for :func:`holders`; of a person with several values the outermost counts.

    Returns
    -------
    tuple of int or None
        Lower and upper bound; None where too few people have a value to set any.
    """
    known = np.flatnonzero(codes >= 0)
    people = known if persons is None else persons[known]
    table = pd.DataFrame({"person": people, "value": codes[known]}).groupby("person")["value"]
    lowest, highest = np.sort(table.min().to_numpy()), np.sort(table.max().to_numpy())
    if len(lowest) < least or highest[-least] < lowest[least - 1]:
        return None
    return int(lowest[least - 1]), int(highest[-least])
