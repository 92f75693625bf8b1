"""Files of the simulated tables, and the form of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from hybrid.base.arrays import Array

FileFormat = Literal["csv", "parquet"]
MAX_NUMBER = 1_000_000_000
"""Numbers that :func:`numbered` can tell apart."""


def write_batches(batches: Iterator[pa.RecordBatch], path: Path, format: FileFormat) -> None:
    """Write a table, one batch at a time."""
    (_write_csv if format == "csv" else _write_parquet)(batches, path)


def _write_csv(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    with path.open("wb") as file:
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        first = next(batches)
        file.write((",".join(first.schema.names) + "\n").encode())
        with pyarrow.csv.CSVWriter(file, first.schema, write_options=options) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def fixed_point(units: Array, digits: int, missing: Array) -> pa.Array:
    """Whole units (cents) as decimals, without a detour through floating point.

    128-bit little-endian integers.
    """
    pairs = np.zeros((len(units), 2), dtype="<i8")
    pairs[:, 0] = units
    values = pa.Array.from_buffers(pa.decimal128(12, digits), len(units), [None, pa.py_buffer(pairs)])
    return pc.if_else(pa.array(missing), None, values)


def numbered(prefix: str, positions: Array, rng: np.random.Generator) -> pa.Array:
    """Unique numbers with a prefix, in no order.

    Multiplication by a unit modulo 10^9 permutes 0..10^9-1.
    """
    offset = int(rng.integers(MAX_NUMBER))
    numbers = (positions.astype(np.int64) * 618_033_989 + offset) % MAX_NUMBER
    padded = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, padding="0")
    return pc.binary_join_element_wise(prefix, padded, "")
