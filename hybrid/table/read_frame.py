"""Table from a pandas DataFrame, with the checks of a file."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from hybrid.base.errors import DataError, Problem
from hybrid.table.read_file import column_problems, typed_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table

DATA_FRAME = "<DataFrame>"
"""Name of the source in messages and manifests."""


def read_frame(frame: pd.DataFrame, options: ReadOptions) -> Table:
    """Give every column of a DataFrame its role and kind.

    Parameters
    ----------
    frame : pandas.DataFrame
        One record per row. The index is not a column and is ignored; ``frame.reset_index()`` makes it one.
    options : ReadOptions
        The columns' roles and kinds, missing markers.

    Returns
    -------
    Table
        Columns of texts are parsed as those of a Parquet file; other dtypes keep their kind.

    Raises
    ------
    DataError
        With all problems at once: names that are not texts or occur twice, columns that the config names and the
        frame lacks, a column of mixed or unsupported types, values that are not of the declared kind; no rows.
    """
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{DATA_FRAME}: column names must be texts", hint="rename the columns: frame.rename(columns=str)"
        )
    problems = column_problems(DATA_FRAME, names, options)
    if problems:
        raise DataError(problems)
    arrays: dict[str, pa.Array] = {}
    for name in names:
        try:
            arrays[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            # Arrow's own message quotes a value.
            problems.append(
                Problem(
                    f"{DATA_FRAME}: column {name!r} mixes types, or holds objects that are no cell values",
                    f"convert it to one type, such as frame[{name!r}].astype('string')",
                )
            )
    if problems:
        raise DataError(problems)
    return typed_table(DATA_FRAME, pa.table(arrays), options, keep_types=True)
