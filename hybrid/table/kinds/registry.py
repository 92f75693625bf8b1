"""The kinds that columns may have."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from hybrid.table.kinds.categories import BooleanType, CategoricalType
from hybrid.table.kinds.moments import DatetimeType, DateType
from hybrid.table.kinds.numbers import DecimalType, IntegerType
from hybrid.table.kinds.time_of_day import TimeType
from hybrid.table.kinds.value_type import Measure, ValueType


class Kind(StrEnum):
    """Kind of a column's values; :attr:`type` answers what depends on it."""

    _value_: str
    type: ValueType
    """The class of the kind."""

    INTEGER = IntegerType()
    DECIMAL = DecimalType()
    CATEGORICAL = CategoricalType()
    BOOLEAN = BooleanType()
    DATE = DateType()
    DATETIME = DatetimeType()
    TIME = TimeType()

    def __new__(cls, type_: ValueType) -> Self:
        kind = str.__new__(cls, type_.name)
        kind._value_, kind.type = type_.name, type_
        return kind

    @property
    def measure(self) -> Measure | None:
        """Scale of the values; values of one measure can be compared."""
        return self.type.measure

    @property
    def is_continuous(self) -> bool:
        """True if values have order and distance (numbers, dates and times)."""
        return self.type.measure is not None

    @property
    def is_number(self) -> bool:
        """True for whole numbers and decimals."""
        return self.type.measure == "number"

    @property
    def is_temporal(self) -> bool:
        """True if values are dates, with or without a time."""
        return self.type.measure == "calendar"


DTYPES = {kind: kind.type.dtype for kind in Kind}
"""dtype of each kind in ``Table.frame``; missing values are NA, NaN, NaN (no category), NA, NaT, NaT."""


def recognized(texts: list[str], date_format: str | None, mark: str) -> Kind:
    """Kind of the distinct texts of a column: the first that recognizes them, or categorical."""
    others = (kind for kind in Kind if kind is not Kind.CATEGORICAL)
    found = (kind for kind in others if texts and kind.type.recognizes(texts, date_format, mark))
    return next(found, Kind.CATEGORICAL)
