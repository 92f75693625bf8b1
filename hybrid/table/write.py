"""Write a table the way its source was written; a file exists whole or not at all."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from hybrid.errors import OutputError
from hybrid.table.schema import Column, Kind, Table


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name to write to, renamed to ``path`` when the block ends well, removed when it does not.

    Raises
    ------
    OutputError
        The folder is not writable, or the disk is full; ``path`` is as it was before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(handle)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})", mend="choose another --out") from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path}: writing failed ({error.strerror or type(error).__name__}); nothing was changed",
            mend="free some space, or choose another --out",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8) whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(table: Table, path: Path, separator: str = ",", encoding: str = "utf-8") -> None:
    """Write ``table`` as CSV or Parquet (by the path's suffix), in its source's conventions.

    Parameters
    ----------
    table : Table
        What to write. No row index is written.
    path : Path
        ``*.parquet`` or ``*.pq`` for Parquet, anything else for CSV.
    separator, encoding : str
        For CSV.

    Raises
    ------
    OutputError
        The path is not writable or the disk is full.
    """
    with atomic(path) as temporary:
        if path.suffix.lower() in (".parquet", ".pq"):
            pq.write_table(to_arrow(table), temporary)
        else:
            _write_csv(table, temporary, separator, encoding)


def to_arrow(table: Table) -> pa.Table:
    """The table with the Arrow types of its source (or the natural ones, for a CSV source)."""
    arrays = {column.name: _arrow_array(table.frame[column.name], column) for column in table.schema}
    return pa.table(arrays) if arrays else pa.table({})


def _arrow_array(values: pd.Series, column: Column) -> pa.Array:
    if column.kind is Kind.CATEGORICAL:
        natural = pa.array(values.astype(object).where(values.notna(), None), type=pa.string())
    elif column.kind is Kind.DATE:
        natural = pa.array(values, type=pa.timestamp("us"), from_pandas=True).cast(pa.date32())
    else:
        natural = pa.array(values, from_pandas=True)
    source = column.format.arrow_type
    return natural if source is None else natural.cast(_arrow_type(source), safe=False)


def _arrow_type(text: str) -> pa.DataType:
    """The Arrow type whose ``str`` is ``text``."""
    if text.startswith("dictionary"):
        return pa.dictionary(pa.int32(), pa.string())
    if text.startswith("decimal"):
        precision, scale = text[text.index("(") + 1 : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if text.startswith("timestamp"):
        return pa.timestamp(text[text.index("[") + 1 : -1])
    if text.startswith("date"):
        return pa.date64() if text.startswith("date64") else pa.date32()
    return pa.type_for_alias(text)


def _write_csv(table: Table, path: Path, separator: str, encoding: str) -> None:
    texts = {column.name: as_text(table.frame[column.name], column) for column in table.schema}
    pd.DataFrame(texts).to_csv(
        path, index=False, sep=separator, encoding=encoding, quoting=csv.QUOTE_MINIMAL, lineterminator="\n"
    )


def as_text(values: pd.Series, column: Column) -> pd.Series:
    """The values as the source would have written them; work is done per distinct value."""
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    shape = column.format
    texts = [shape.padding + _text(value, column) for value in distinct]
    lookup = pd.Series([*texts, shape.missing], dtype=object)
    codes = pd.Series(codes).where(codes >= 0, len(texts))
    return pd.Series(lookup.to_numpy()[codes.to_numpy(dtype=int)], dtype=object)


def _text(value: Any, column: Column) -> str:
    shape = column.format
    if column.kind is Kind.BOOLEAN:
        return shape.true if value else shape.false
    if column.kind.is_temporal:
        return str(pd.Timestamp(value).strftime(shape.date_format))
    if column.kind is Kind.DECIMAL:
        return _decimal_text(float(value), shape.decimals, shape.fixed_decimals).replace(".", shape.decimal_mark)
    return str(value)


def _decimal_text(value: float, decimals: int | None, fixed: bool) -> str:
    if decimals is None:
        return repr(value)
    text = f"{value:.{decimals}f}"
    if fixed or "." not in text:
        return text
    return text.rstrip("0").rstrip(".") if decimals else text
