"""Record hashes, which recognize a record in a later table without keeping its values."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table.schema import Table

SECRET_BYTES = 12
"""As many as 16 base64 characters hold, the size of a SipHash key."""
_MISSING = np.uint64(0x9E3779B97F4A7C15)


def record_hashes(table: Table, secret: bytes, key: Sequence[str] = ()) -> Array:
    """Hash of each record, shape (n,), uint64, the same from table to table.

    SipHash of each value's text with a ``secret`` of 12 bytes, without which no attacker can test a guessed record.
    Records are told apart by the columns ``key``; without any by the identifiers, else by all columns. So is a record
    that lacks a value of the key, or has no identifier at all. Two of a million different records share a hash with a
    probability of about 3e-8.
    """
    every = table.schema.names
    names = list(key) or table.schema.identifiers or every
    hashes = _hashes(table, names, secret)
    missing = table.frame[names].isna()
    nameless = (missing.any(axis=1) if key else missing.all(axis=1)).to_numpy()
    if nameless.any() and names != every:
        hashes[nameless] = _hashes(table.take(nameless), every, secret)
    return hashes


def each_once(hashes: Array) -> Array:
    """Hashes with repeats made distinct by their count so far; shape (n,), uint64."""
    numbers = pd.Series(hashes).groupby(hashes, sort=False).cumcount().to_numpy(np.uint64)
    repeated = numbers > 0
    result = hashes.copy()
    result[repeated] = hash_pairs(hashes[repeated], numbers[repeated])
    return result


def _hashes(table: Table, names: Sequence[str], secret: bytes) -> Array:
    combined = np.full(len(table), len(names), dtype=np.uint64)
    for name in names:
        codes, distinct = pd.factorize(table.frame[name])
        texts = pd.Index(distinct).astype(str).to_numpy(dtype=object)
        hashes = pd.util.hash_array(texts, hash_key=b64encode(secret).decode(), categorize=False)
        combined = hash_pairs(combined, np.append(hashes, _MISSING)[codes])
    return combined


def hash_pairs(left: Array, right: Array | np.uint64) -> Array:
    """Hash of pairs of uint64, broadcast against each other; the order counts.

    Finalizer of SplitMix64 (Steele et al., OOPSLA 2014) over ``left * odd + right``.
    """
    with np.errstate(over="ignore"):
        z = np.asarray(left * np.uint64(0xD1342543DE82EF95) + right, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result: Array = z ^ (z >> np.uint64(31))
    return result
