"""Every kind of generalization hierarchy as a function on a column of values, made from the descriptions' models.

``hybrid.hierarchies.intervals(frame["age"], widths=[5, 10])`` shows the label of each value on every level, and can be
given to :func:`hybrid.anonymize` as ``hierarchies={"age": ...}``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from hybrid.python.functions import docstring, function, option_lines, option_parameters, paragraphs, parameter

if TYPE_CHECKING:
    import pandas as pd

    from hybrid.base.options import Options
    from hybrid.table import Column


class Described:
    """Hierarchy of a column: its description, and what it makes of some values. Private: it holds values.

    Parameters
    ----------
    spec : Options
        The description, as a YAML file would have it.
    frame : pandas.DataFrame
        A row per value; column 0 is the value, column i its label on level i.
    """

    def __init__(self, spec: Options, frame: pd.DataFrame) -> None:
        self.spec = spec
        self._frame = frame

    def to_frame(self) -> pd.DataFrame:
        """Labels as a DataFrame: a row per value, a column per level."""
        return self._frame.copy()

    @property
    def n_levels(self) -> int:
        """Number of levels, the values themselves and the root included."""
        return len(self._frame.columns)

    def __repr__(self) -> str:
        kind = getattr(self.spec, "type", "")
        return f"Hierarchy of type {kind}: {len(self._frame):,} values, {self.n_levels} levels; .to_frame() shows them"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"


def guess(values: Any, name: str | None = None) -> Described:
    """Guess a hierarchy to start from, as :func:`hybrid.guess` does for quasi-identifiers.

    Parameters
    ----------
    values : pandas.Series, or any sequence of values, shape (n,)
        At least two different ones.
    name : str, optional
        Of the column, which says something about codes and places; by default that of the series.

    Returns
    -------
    Described
        For a person to look at.

    Raises
    ------
    DataError
        The values cannot be read, or there are not two different ones.
    """
    from hybrid.base.errors import DataError
    from hybrid.pipeline.starter.columns import guess_hierarchy

    column, read = _column(values, name)
    if read.nunique() < 2:
        raise DataError("a hierarchy needs two different values", hint="give the whole column")
    return _described(guess_hierarchy(column, read), column, read)


def _column(values: Any, name: str | None) -> tuple[Column, pd.Series]:
    import pandas as pd

    from hybrid.pipeline.starter.reading import guess_frame_reading
    from hybrid.table.typed_table import read_frame

    series = values if isinstance(values, pd.Series) else pd.Series(list(values))
    own = name or (str(series.name) if series.name is not None else "values")
    frame = pd.DataFrame({own: series.reset_index(drop=True)})
    table = read_frame(frame, guess_frame_reading(frame))
    return table.schema[own], table.frame[own]


def _described(spec: Options, column: Column, values: pd.Series) -> Described:
    import pandas as pd

    from hybrid.hierarchy.build import build_hierarchy
    from hybrid.hierarchy.files import rows_of

    rows = rows_of(build_hierarchy(spec, column, values))  # type: ignore[arg-type]
    return Described(spec, pd.DataFrame(rows))


@cache
def _specs() -> dict[str, type[Options]]:
    from hybrid.hierarchy.spec import HierarchySpec

    return {str(one.model_fields["type"].default): one for one in get_args(get_args(HierarchySpec)[0])}


@cache
def _made(type_: str) -> Callable[..., Any]:
    model = _specs()[type_]

    def built(values: Any, name: str | None = None, **options: Any) -> Described:
        from hybrid.base.config_files import validated

        return _described(validated(model, {"type": type_, **options}, type_), *_column(values, name))

    first, *more = paragraphs(model.__doc__)
    doc = docstring(
        first,
        more,
        [
            ("values", "pandas.Series, or any sequence of values, shape (n,)", "The column."),
            *option_lines(model, ["type"]),
            ("name", "str, optional", "Of the column; by default that of the series."),
        ],
        ("Described", "``.to_frame()`` has a row per value and a column per level."),
        {
            "ConfigError": "An option is wrong.",
            "HierarchyError": "The description does not fit the values.",
            "DataError": "The values cannot be read.",
        },
    )
    parameters = [
        parameter("values", "Series", keyword=False),
        *option_parameters(model, ["type"]),
        parameter("name", "str | None", None),
    ]
    return function(_called(type_), __name__, built, parameters, "Described", doc)


def _called(type_: str) -> str:
    return "public_list" if type_ == "list" else type_


def _names() -> dict[str, str]:
    return {_called(type_): type_ for type_ in _specs()}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _names():
        raise AttributeError(
            f"module 'hybrid.hierarchies' has no attribute {name!r}; dir(hybrid.hierarchies) lists all"
        )
    return _made(_names()[name])


def __dir__() -> list[str]:
    return sorted([*_names(), "Described", "guess"])
