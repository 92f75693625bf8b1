"""Reader of files of Stata, SPSS and SAS.

Codes with labels become the labels. Missing values that a user defined are missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.table.files import File
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import Moment
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.statistics.codebook import Codebook, code_text, content, read_codebook
from hybrid.table.typed_table import column_problems

_WHOLE = re.compile(r"-?[0-9]{1,9}")
_LARGEST_WHOLE = 2.0**53
_A_DAY = 86_400 * 10**6
_DAYS = np.iinfo(np.int32).min, np.iinfo(np.int32).max
"""Of dates in 32 bits."""


def read_statistics_file(file: File, options: ReadOptions) -> pa.Table:
    """Read the columns of a file: texts for labels and times of day, dates, moments, whole numbers and decimals.

    A column that is declared a number keeps its codes; one that is declared a category or boolean has the labels of all
    codes that have one. Of others, a column has labels unless most of its different values have none: its labels then
    explain a few special numbers. Markers of missing values are codes or labels.
    """
    book = read_codebook(file, options.encoding)
    problems = column_problems(str(file), list(book.names), options)
    if problems:
        raise DataError(problems)
    frame, _ = content(file, options.encoding)
    columns = {name: _column(frame[name], name, book, options) for name in book.names}
    return pa.table(columns)


def _column(values: pd.Series, name: str, book: Codebook, options: ReadOptions) -> pa.Array:
    kind = options.columns.get(name, ColumnOptions()).kind
    labels = book.labels.get(name, {})
    if name in book.texts:
        return pa.array(values.map(lambda text: labels.get(text, text)), pa.string(), from_pandas=True)
    numbers = pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan)
    if name in book.moments:
        return _moments(numbers, book, book.moments[name])
    if name in book.singles:
        numbers = numbers.astype(np.float32).astype(str).astype(np.float64)  # 0.1, not 0.10000000149011612
    numbers = np.where(np.isin(numbers, _missing_codes(labels, options.missing)), np.nan, numbers)
    if labels and not (kind is not None and kind.is_number) and (named := _named(numbers, labels, kind)) is not None:
        return named
    return _plain(numbers)


def _plain(numbers: Array) -> pa.Array:
    """Whole numbers where all are."""
    whole = numbers[~np.isnan(numbers)]
    if len(whole) and (np.abs(whole) < _LARGEST_WHOLE).all() and (whole % 1 == 0).all():
        return pa.array(np.nan_to_num(numbers).astype(np.int64), mask=np.isnan(numbers))
    return pa.array(numbers, from_pandas=True)


def _missing_codes(labels: Mapping[Any, str], markers: Sequence[str]) -> list[float]:
    """Codes that are markers of missing values themselves, or whose labels are."""
    labelled = [float(code) for code, text in labels.items() if text in markers or code_text(code) in markers]
    return [*labelled, *(float(text) for text in markers if _WHOLE.fullmatch(text))]


def _named(numbers: Array, labels: Mapping[Any, str], kind: Kind | None) -> pa.Array | None:
    codes, distinct = pd.factorize(numbers)
    bare = [code_text(value) for value in distinct.tolist() if value not in labels]
    if kind is None and len(bare) > len(distinct) / 2:
        return None
    if set(bare) & set(labels.values()):
        return None
    texts = [labels.get(value, code_text(value)) for value in distinct.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(codes, mask=codes < 0))


def _moments(numbers: Array, book: Codebook, moment: Moment) -> pa.Array:
    missing = np.isnan(numbers)
    counted = book.program.microseconds(numbers, moment)
    if moment == "datetime":
        return pa.array(counted, pa.timestamp("us"), mask=missing)
    if moment == "date":
        days = np.clip(counted // _A_DAY, *_DAYS)
        return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    if ((counted < 0) | (counted >= _A_DAY))[~missing].any():
        return _plain(numbers)  # durations, not times of a day
    return _times(counted, missing)


def _times(counted: Array, missing: Array) -> pa.Array:
    times, distinct = pd.factorize(counted)
    texts = []
    for value in distinct.tolist():
        seconds, rest = divmod(value, 10**6)
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        texts.append(f"{text}.{rest:06d}" if rest else text)
    return pa.array(texts, pa.string()).take(pa.array(times, mask=missing))
