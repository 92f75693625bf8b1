"""Content hashes of values, tables, code and files, process-independent."""

from __future__ import annotations

import hashlib
import importlib.metadata
import struct
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import BaseModel

from hybrid.base.arrays import Array
from hybrid.base.regular_file import open_regular

LIBRARIES = (
    *("PyYAML", "joblib", "numba", "numpy", "pandas", "pyarrow"),
    *("pydantic", "ruamel.yaml", "scikit-learn", "scipy"),
)
"""Distributions whose versions can change any result, beside those that a stage or a generator names."""
ABSENT_UNLESS_SET = {"absent_unless_set": True}
"""Metadata of a dataclass field that counts only where it is not None."""


def fingerprint(*parts: Any) -> str:
    """SHA-256, as 64 hexadecimal digits, of any mixture of values, tables and options.

    Types count: ``1``, ``1.0``, ``True`` and ``"1"`` differ. The order of a mapping and private attributes of pydantic
    models do not. Of a table, the names, order, dtypes, categories (with their order) and values of the columns count;
    a RangeIndex from 0 does not. What has no defined content, such as an open file, is a TypeError. Ten million rows of
    fifteen columns take about a second.
    """
    sink = hashlib.sha256()
    _feed(sink, parts)
    return sink.hexdigest()


@cache
def code_version() -> str:
    """SHA-256 of the names and contents of all ``.py`` files of the package.

    An editable install and two commits of one version differ in it, as the version of the package does not.
    """
    package = Path(__file__).parents[1]
    sources = sorted(package.rglob("*.py"))
    return fingerprint([(path.relative_to(package).as_posix(), path.read_bytes()) for path in sources])


def library_versions(*distributions: str) -> dict[str, str]:
    """Installed version of each distribution; absent ones are left out."""
    versions = ((name, _version(name)) for name in distributions)
    return {name: version for name, version in versions if version is not None}


@cache
def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits; errors as :func:`hybrid.base.regular_file.open_regular`."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_stamp(path: Path) -> tuple[str, int, int] | None:
    """Name, time of the last change (ns) and size (bytes) of a file; None where there is no file.

    It tells without reading that a file was written again.
    """
    if not path.is_file():
        return None
    known = path.stat()
    return str(path), known.st_mtime_ns, known.st_size


class _Sink(Protocol):
    def update(self, data: Any, /) -> None: ...


def _feed(sink: _Sink, value: Any) -> None:
    """Feed type tag, length and content of one value to the hash, so that no two values collide."""
    match value:
        case None:
            _bytes(sink, "none", b"")
        case Enum():
            _bytes(sink, "enum", _name(value).encode())
            _feed(sink, value.value)
        case np.generic():
            _array(sink, np.asarray(value))
        case bool() | int():
            _bytes(sink, type(value).__name__, str(value).encode())
        case float():
            _bytes(sink, "float", struct.pack("<d", value))
        case str() | Path():
            _bytes(sink, "str" if isinstance(value, str) else "path", str(value).encode("utf-8", "surrogatepass"))
        case bytes():
            _bytes(sink, "bytes", value)
        case datetime() | date() | time():
            _bytes(sink, type(value).__name__, value.isoformat().encode())
        case Decimal():
            _bytes(sink, "decimal", str(value).encode())
        case timedelta():
            _bytes(sink, "timedelta", repr(value).encode())
        case _:
            _feed_composite(sink, value)


def _feed_composite(sink: _Sink, value: Any) -> None:
    match value:
        case _ if value is pd.NA:
            _bytes(sink, "NA", b"")
        case tuple() | list():
            _sequence(sink, "sequence", value)
        case Mapping():
            _sequence(sink, "mapping", sorted((fingerprint(key), fingerprint(item)) for key, item in value.items()))
        case AbstractSet():
            _sequence(sink, "set", sorted(map(fingerprint, value)))
        case np.ndarray():
            _array(sink, value)
        case pd.DataFrame():
            _frame(sink, value)
        case pd.Series() | pd.Index():
            _series(sink, value.to_series() if isinstance(value, pd.Index) else value)
        case BaseModel():
            _bytes(sink, "model", _name(value).encode())
            _sequence(sink, "fields", [(name, getattr(value, name)) for name in sorted(type(value).model_fields)])
        case _ if is_dataclass(value) and not isinstance(value, type):
            _bytes(sink, "dataclass", _name(value).encode())
            _sequence(sink, "fields", list(_counting(value)))
        case _:
            raise TypeError(f"a {_name(value)} has no fingerprint")


def _counting(value: Any) -> Iterator[tuple[str, Any]]:
    for item in fields(value):
        content = getattr(value, item.name)
        if content is not None or not item.metadata.get("absent_unless_set"):
            yield item.name, content


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _bytes(sink: _Sink, tag: str, content: Any) -> None:
    sink.update(f"{tag}:{memoryview(content).nbytes}:".encode())
    sink.update(content)


def _sequence(sink: _Sink, tag: str, items: Any) -> None:
    sink.update(f"{tag}:{len(items)}:".encode())
    for item in items:
        _feed(sink, item)


def _array(sink: _Sink, array: Array) -> None:
    _sequence(sink, "array", (str(array.dtype), *array.shape))
    if array.dtype == object:
        _objects(sink, array.reshape(-1))
    else:
        _bytes(sink, "values", np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _objects(sink: _Sink, values: Array) -> None:
    """Feed an object array: texts (or None) as one text with lengths, others one by one."""
    try:
        texts = pa.array(values, type=pa.large_string(), from_pandas=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        _sequence(sink, "objects", values)
        return
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, dtype=np.int64)
    _array(sink, texts.is_null().to_numpy(zero_copy_only=False))
    _array(sink, np.diff(ends))
    _bytes(sink, "texts", b"" if data is None else memoryview(data)[: ends[-1]])


def _frame(sink: _Sink, frame: pd.DataFrame) -> None:
    _sequence(sink, "frame", (len(frame), list(frame.columns)))
    if not (isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))):
        _series(sink, frame.index.to_series())
    for position in range(frame.shape[1]):
        _series(sink, frame.iloc[:, position])


def _series(sink: _Sink, series: pd.Series) -> None:
    dtype = series.dtype
    _sequence(sink, "series", (str(dtype), len(series)))
    if isinstance(dtype, pd.CategoricalDtype):
        _sequence(sink, "categories", (bool(dtype.ordered), dtype.categories.to_numpy()))
        _array(sink, series.cat.codes.to_numpy())
    elif isinstance(dtype, np.dtype):
        _array(sink, series.to_numpy())
    elif dtype.kind in "biuf":
        _array(sink, series.isna().to_numpy())
        _array(sink, series.to_numpy(dtype.numpy_dtype, na_value=0))
    else:
        _objects(sink, series.astype(object).to_numpy())
