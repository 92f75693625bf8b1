"""Protocol of a kind of values: reading, dtypes, numbers, writing and description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array, Mask, Numbers

Measure = Literal["number", "calendar", "clock"]
"""What values are measured on. Values of one measure have differences and can be compared."""
Sort = Literal["number", "text", "truth", "time", "clock"]
"""What an expression of a constraint takes values for."""
HierarchySort = Literal["intervals", "dates", "groups", "mask"]
"""Types of hierarchy descriptions that are made from the values of a column."""
Moment = Literal["date", "datetime", "time"]
"""What numbers of a statistics program mean that are no plain numbers."""


class InWords(NamedTuple):
    """Words in the languages of the desk."""

    en: str
    de: str


@dataclass(frozen=True)
class ColumnFormat:
    """Format in which the source writes a column, kept for the output."""

    missing: str = ""
    """The marker written for a missing value (CSV)."""
    padding: str = ""
    """White space before every value (CSV files separated by ``", "``)."""
    decimals: int | None = None
    """Digits after the point; None: as many as needed."""
    fixed_decimals: bool = False
    """Whether every value is written with exactly :attr:`decimals` digits."""
    least_decimals: int = 0
    """Digits that are written although they are zeros ("10.0"), where the number of digits varies."""
    decimal_mark: str = "."
    date_format: str = "%Y-%m-%d"
    true: str = "True"
    false: str = "False"
    arrow_type: str | None = None
    """Arrow type of a Parquet source, as :func:`str` of it shows it; None for CSV."""


@dataclass(frozen=True)
class ParsedTexts:
    """The distinct texts of a column as typed values."""

    values: pd.Series
    """In the dtype of the kind; missing where a text is not of the kind; shape (n_texts,)."""
    format: ColumnFormat
    """How the texts are written."""
    bad: tuple[int, ...] = ()
    """Positions of the texts that are not of the kind."""


class ValueType(ABC):
    """Everything that other rooms ask about a kind of values.

    A subclass and its entry in :class:`hybrid.table.kinds.registry.Kind` make a kind.
    """

    name: ClassVar[str]
    """As configurations spell it."""
    words: ClassVar[str]
    """One value in plain words, such as "whole number"."""
    plural: ClassVar[InWords]
    """Values in plain words."""
    dtype: ClassVar[str]
    """dtype in ``Table.frame``, which has a missing value."""
    plain_dtype: ClassVar[str]
    """NumPy dtype of values none of which is missing."""
    measure: ClassVar[Measure | None] = None
    """None for values without order and distance."""
    sort: ClassVar[Sort]
    has_decimals: ClassVar[bool] = False
    """Whether other values lie between any two; a column may write them with some digits only."""
    finest: ClassVar[int] = 1
    """Least distance of values without decimals, whatever a column writes; of dates and times in microseconds."""
    hierarchies: ClassVar[tuple[HierarchySort, ...]] = ("groups", "mask")
    """Hierarchies that suit the kind, the usual one first."""
    periods: ClassVar[tuple[str, ...]] = ()
    """Periods that a hierarchy of the type ``dates`` may have, from fine to coarse."""
    moment: ClassVar[Moment | None] = None
    has_date_format: ClassVar[bool] = False
    """Whether values are written by :attr:`ColumnFormat.date_format`."""
    unit: ClassVar[int] = 1
    """What values are counted in where no source says it; of dates and times in microseconds."""
    axis: ClassVar[tuple[tuple[str, int, int], ...]] = ()
    """Steps of a chart of dates or times, from fine to coarse: unit of NumPy, how many of them, and where counting
    starts. The axis of numbers has steps of 1, 2 or 5 times a power of ten."""
    made_up: ClassVar[tuple[Any, Any]]
    """Bounds of a column of which nothing is public but its kind; of kinds that have a measure."""
    sql: ClassVar[str]
    """Type of a database column: a class of SQLAlchemy."""
    croissant: ClassVar[str]
    """Type in a description by Croissant."""
    datapackage: ClassVar[str]
    """Type in a description as a data package."""

    @abstractmethod
    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:
        """True if all texts are certainly of this kind.

        ``texts``: one or more distinct values, stripped, none of them a missing marker; ``date_format``: as declared
        for the column; ``mark``: the decimal mark.
        """

    @abstractmethod
    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:
        """Read texts that are declared, or were recognized, to be of this kind."""

    def text(self, value: Any, shape: ColumnFormat) -> str:  # noqa: ARG002
        """A value as its source writes it."""
        return str(value)

    def read_format(self, shape: ColumnFormat) -> str:
        """Strptime format by which others read what :meth:`text` writes."""
        return shape.date_format

    def iso(self, value: Any) -> str:
        """A value as it is written where nothing says how."""
        return str(value)

    def cell(self, text: str, shape: ColumnFormat) -> Any:  # noqa: ARG002
        """A written value as a workbook holds it."""
        return text

    def searched_texts(self, values: pd.Index) -> Iterable[str]:  # noqa: ARG002
        """Texts by which a value would be found in a report; none where they say nothing."""
        return ()

    @abstractmethod
    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        """CSV format of a column of this Arrow type, which is no text; None if it is not of this kind."""

    def format_of_values(self, values: pd.Series, shape: ColumnFormat) -> ColumnFormat:  # noqa: ARG002
        """CSV format of a typed column, where it follows from the values and not from their Arrow type."""
        return shape

    def unstorable(self, raw: pa.ChunkedArray) -> str:  # noqa: ARG002
        """Description of values of a typed column that :attr:`dtype` cannot hold; empty if there are none."""
        return ""

    @abstractmethod
    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        """A column of one of the types of :meth:`format_of`, all of it storable, in :attr:`dtype`; times in UTC."""

    def to_arrow(self, values: pd.Series) -> pa.Array:
        """A column in its natural Arrow type."""
        return pa.array(values, from_pandas=True)

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:  # noqa: ARG002
        """A typed column of another kind as this one, or None where something would be lost by it."""
        return None

    def step(self, shape: ColumnFormat) -> float:
        """Distance of neighbouring values that a column can write: 0 if there is none; of times in microseconds."""
        raise NotImplementedError(f"{self.name} values have no distance")

    def scale(self, values: pd.Series, shape: ColumnFormat) -> int | None:  # noqa: ARG002
        """Power of ten that makes distinct values whole; None where a float64 has too few digits for it."""
        return 1

    def usual_scale(self, values: pd.Series, scale: int | None) -> int | None:  # noqa: ARG002
        """Power of ten that makes all values whole but those of a few rows, 0 or more of them; else ``scale``.

        ``values``: of all rows, shape (n,), none missing.
        """
        return scale

    def whole(self, values: Any, scale: int) -> Array:
        """Values, none of them missing, as whole numbers; shape (n,), int64; dates in microseconds since 1970.

        ``scale`` is the power of ten that makes decimals whole; other kinds do not look at it.
        """
        raise NotImplementedError(f"{self.name} values have no distance")

    def series(self, whole: Array, missing: Mask, scale: int) -> pd.Series:
        """A column in :attr:`dtype` from whole numbers; the reverse of :meth:`whole`."""
        raise NotImplementedError(f"{self.name} values have no distance")

    def written(self, positions: Numbers, missing: Mask, shape: ColumnFormat) -> pd.Series:
        """Values that the column can write nearest to these positions, shape (n,), in :attr:`dtype`."""
        raise NotImplementedError(f"{self.name} values have no distance")

    def floor(self, values: pd.Series) -> pd.Series:
        """The last value of this kind that is not after each moment: of a date and time its day."""
        return values

    def within(self, values: pd.Series) -> pd.Series:
        """Values of :attr:`dtype` that were moved, those outside of the kind's range at its nearer end."""
        return values

    def tick_texts(self, ticks: Array) -> list[str]:
        """Texts of :attr:`axis` at some places, datetime64 of one of its units."""
        return [str(tick) for tick in ticks]

    def decimals(self, shape: ColumnFormat) -> int | None:  # noqa: ARG002
        """Digits after the point that a column writes, None for any number of them."""
        return 0

    def bound(self, value: object, scale: int) -> int | None:  # noqa: ARG002
        """A declared bound as a whole number of :attr:`unit`, times ``scale``; None if it is not of this kind."""
        return None

    def as_bound(self, value: Any) -> Any:
        """A value in :attr:`plain_dtype` as it would be declared as a bound."""
        return value

    def neutral_format(self, decimals: int | None) -> ColumnFormat:  # noqa: ARG002
        """A format that no record decides."""
        return ColumnFormat()

    def usual_periods(self, values: pd.Series) -> tuple[str, ...]:  # noqa: ARG002
        """Periods of a hierarchy to start from, of those in :attr:`periods`."""
        return ()


def positions_of_bad(good: Sequence[bool] | Array) -> tuple[int, ...]:
    return tuple(int(at) for at in np.flatnonzero(~np.asarray(good, dtype=bool)))


def matches(texts: list[str], pattern: str) -> Mask:
    """True for texts in which a pattern of RE2 is found, shape (n_texts,)."""
    found = pc.match_substring_regex(pa.array(texts, pa.large_string()), pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False))


def ends(raw: pa.ChunkedArray) -> tuple[Any, Any]:
    """Smallest and largest number of a column; 0 where there is none."""
    found = pc.min_max(raw).as_py()
    return found["min"] or 0, found["max"] or 0


def plain_values(raw: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that may be a dictionary."""
    return raw.cast(raw.type.value_type) if pa.types.is_dictionary(raw.type) else raw
