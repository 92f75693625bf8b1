"""Tables of pandas, polars, Arrow and DuckDB, and files: read as one kind, and given back as the kind that came in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hybrid.base.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from hybrid.table import Table
    from hybrid.table.typed_table import Frame

    AnyTable: TypeAlias = Frame | Path | str
    """A table: a DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, any other table of Arrow's
    PyCapsule interface, or the path of a data file."""
    AnyTables: TypeAlias = AnyTable | Mapping[str, AnyTable]
    """A table, or linked tables by their names."""
else:
    AnyTable = AnyTables = Any

KINDS = "a DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, or the path of a file"


def in_memory(data: AnyTable) -> Frame:
    """Table in memory, which can be read more than once.

    A query that is not yet computed (of DuckDB, a lazy one of polars) is computed here, once.
    """
    from hybrid.table.typed_table import is_frame

    if isinstance(data, str | Path):
        return _of_file(Path(data))
    if _library(data) == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if _library(data) == "duckdb":
        return _arrow(data)
    if not is_frame(data):
        raise not_a_table(data)
    return data


def several_in_memory(data: AnyTables) -> Frame | dict[str, Frame]:
    """Table in memory, or linked ones by their names; errors as :func:`in_memory`."""
    return {name: in_memory(one) for name, one in data.items()} if isinstance(data, Mapping) else in_memory(data)


def is_several(data: AnyTables) -> bool:
    """True for linked tables: a mapping of them, or the path of their folder."""
    return isinstance(data, Mapping) or (isinstance(data, str | Path) and Path(data).is_dir())


def not_a_table(data: object, what: str = "data") -> ConfigError:
    """Error of a value in the place of a table."""
    return ConfigError(f"{what} is a {type(data).__name__}, not a table", hint=f"give {KINDS}")


def plain(data: AnyTable) -> pd.DataFrame:
    """Table as a DataFrame of pandas; arguments and errors as :func:`in_memory`."""
    import pandas as pd

    found = in_memory(data)
    if isinstance(found, pd.DataFrame):
        return found
    return _arrow(found).to_pandas()


def like(data: AnyTable) -> Callable[[Table], Any]:
    """Function that gives a table back as the kind of another one.

    Columns have the types of the source where their values fit. Of DuckDB, it is a relation of the same connection; of
    a path, pandas; of another library with Arrow's interface, an Arrow table.
    """
    library = _library(data)
    if library == "pandas":
        wanted = dict(data.dtypes)  # type: ignore[union-attr]
        return lambda table: typed(table, wanted)
    if isinstance(data, str | Path):
        return lambda table: typed(table, {})
    if library == "polars":
        # The caller's table is of it, so that it is there; the package needs none of its own.
        polars: Any = sys.modules["polars"]
        return lambda table: polars.DataFrame(_of_table(table))
    if library == "duckdb":
        return lambda table: _relation(data, _of_table(table))
    return _of_table


def _library(data: object) -> str:
    return type(data).__module__.partition(".")[0].lstrip("_")


def _of_file(path: Path) -> pd.DataFrame:
    from hybrid.pipeline.starter.reading import guess_reading
    from hybrid.table.read_file import read_table
    from hybrid.table.read_options import ALL_ACCEPTED

    options = guess_reading(path)
    return read_table(path, options.model_copy(update={"accept": ALL_ACCEPTED})).frame


def _arrow(data: Any) -> pa.Table:
    import pyarrow as pa

    from hybrid.base.errors import DataError

    try:
        return pa.table(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        raise DataError(
            "the table cannot be read as Arrow columns", hint="give named columns of one type each"
        ) from None


def _of_table(table: Table) -> pa.Table:
    from hybrid.table.arrow import to_arrow

    return to_arrow(table)


def _relation(source: Any, made: pa.Table) -> Any:  # noqa: ARG001 - DuckDB finds it by its name
    """Relation of the connection of another one, which DuckDB does not name: a query of that one reads the table."""
    return source.query("hybrid_source", "SELECT * FROM made")


def typed(table: Table, wanted: Mapping[Any, Any]) -> pd.DataFrame:
    """DataFrame in the dtypes of the source; texts as the source writes them, such as yes and no."""
    import pandas as pd
    import pyarrow as pa

    written = _of_table(table)
    found = {}
    for name, values in table.frame.items():
        dtype = wanted.get(name)
        is_text = pa.types.is_string(written.schema.field(name).type) if dtype is None else _is_text(dtype)
        found[name] = _as(written[name].to_pandas() if is_text else values, dtype)
        own = table.schema[name].format
        if dtype is None and table.schema[name].kind.value == "boolean" and own.true.lower() != "true":
            found[name] = values.astype(object).map({True: own.true, False: own.false}, na_action="ignore")
    return pd.DataFrame(found, index=table.frame.index)


def _is_text(dtype: Any) -> bool:
    import numpy as np
    import pandas as pd

    return bool(dtype == np.dtype(object) or pd.api.types.is_string_dtype(dtype))


def _as(values: pd.Series, dtype: Any) -> pd.Series:
    import pandas as pd

    if dtype is None:
        return values
    if isinstance(dtype, pd.CategoricalDtype):
        # Categories that no row has may be values of the source that few people hold.
        there = set(values.dropna().unique())
        known = [one for one in dtype.categories if one in there]
        is_known = len(known) == len(there)
        return values.astype(pd.CategoricalDtype(known, dtype.ordered) if is_known else "category")
    if values.dtype == dtype:
        return values
    if getattr(dtype, "tz", None) is not None:
        return values.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    try:
        return values.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return values
