"""Dates, and dates with a time; what kinds of points in time have in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array, Mask, Numbers
from hybrid.table.kinds.value_type import (
    ColumnFormat,
    InWords,
    Measure,
    ParsedTexts,
    Sort,
    ValueType,
    ends,
    positions_of_bad,
)

DAY = 24 * 3600 * 10**6
"""Microseconds."""
_STEPS = {"%f": 1, "%S": 10**6, "%T": 10**6, "%s": 10**6, "%M": 60 * 10**6, "%H": 3600 * 10**6}
"""Microseconds of the parts of a format."""
_DAY_PARTS = r"%-?[aAbBcdDeFgGjmsuUVwWxyYZ]"
"""Parts of a format that tell the day."""
_CALENDAR = "0001-01-01", "10000-01-01"
"""First day that can be written as a date, and the first one after."""
_A_DAY = {"D": 1, "s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
"""Units of Arrow's dates and times in a day."""
_CELL_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S")
"""Formats of texts that a workbook holds as moments."""
_AXIS = (
    *(("h", 1, 0), ("h", 6, 0), ("D", 1, 0), ("D", 7, 4), ("M", 1, 0), ("M", 3, 0)),
    *(("Y", years, -1970) for years in (1, 2, 5, 10, 20, 50, 100, 500)),
)
"""Weeks start on Mondays, years are counted from 0."""
DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
DATETIME_FORMATS = tuple(
    f"{date}{gap}{time}{zone}"
    for date in DATE_FORMATS
    for gap in (" ", "T")
    for time in ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
    for zone in ("", "Z")
)


class MomentType(ValueType):
    """Points in time, in microseconds from 1970; a subclass says which, and how they are written."""

    dtype = plain_dtype = "datetime64[us]"
    measure: ClassVar[Measure | None] = "calendar"
    sort: ClassVar[Sort] = "time"
    hierarchies = ("dates", "groups")
    has_date_format = True
    axis = _AXIS
    formats: ClassVar[tuple[str, ...]]
    """Formats that are tried, the first that reads every text is taken."""

    @abstractmethod
    def has_parts_of(self, date_format: str) -> bool:
        """True if a declared format is one of this kind."""

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:  # noqa: ARG002
        if date_format is not None:
            return self.has_parts_of(date_format)
        return self.format_of_all(texts) is not None

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        chosen = date_format or self.format_of_all(texts) or best_format(texts, self.formats)
        values = to_moments(texts, chosen)
        good = self.holds(values)
        shape = ColumnFormat(date_format=chosen)
        return ParsedTexts(values.where(good), shape, positions_of_bad(good.to_numpy()))

    def holds(self, values: pd.Series) -> pd.Series:
        """True for moments that are values of this kind, shape (n,), bool."""
        return values.notna()

    def text(self, value: Any, shape: ColumnFormat) -> str:
        # Years of four digits also before 1000, where platforms differ.
        moment = pd.Timestamp(value)
        return str(moment.strftime(shape.date_format.replace("%Y", f"{moment.year:04d}")))

    def iso(self, value: Any) -> str:
        text = str(np.datetime64(value, "us")).replace("T", " ")
        return text.removesuffix(".000000").removesuffix(" 00:00:00")

    def unstorable(self, raw: pa.ChunkedArray) -> str:
        unit = "D" if pa.types.is_date32(raw.type) else "ms" if pa.types.is_date64(raw.type) else raw.type.unit
        counts = raw.cast(pa.int32()).cast(pa.int64()) if unit == "D" else raw.cast(pa.int64())
        low, high = ends(counts)
        first, last = (int(np.datetime64(day, "D").astype(np.int64)) for day in _CALENDAR)
        inside = first <= low // _A_DAY[unit] and high // _A_DAY[unit] < last
        return "" if inside else "dates or times outside of the years 1 to 9999"

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        cast = pc.cast(raw, pa.timestamp("us"), safe=False)
        return cast.to_pandas().astype(self.dtype).rename(None)

    def step(self, shape: ColumnFormat) -> float:
        return float(min((step for part, step in _STEPS.items() if part in shape.date_format), default=DAY))

    def whole(self, values: Any, scale: int) -> Array:  # noqa: ARG002
        return np.asarray(values, dtype=self.plain_dtype).view(np.int64)

    def series(self, whole: Array, missing: Mask, scale: int) -> pd.Series:  # noqa: ARG002
        times = whole.astype(self.plain_dtype)
        times[missing] = np.datetime64("NaT")
        return pd.Series(times).astype(self.dtype)

    def written(self, positions: Numbers, missing: Mask, shape: ColumnFormat) -> pd.Series:
        step = int(self.step(shape))
        return self.series(np.rint(positions / step).astype(np.int64) * step, missing, 1)

    def bound(self, value: object, scale: int) -> int | None:  # noqa: ARG002
        if not isinstance(value, date | datetime):
            return None
        return int(np.datetime64(value, "us").astype(np.int64)) // self.unit

    def as_bound(self, value: Any) -> Any:
        return pd.Timestamp(value).to_pydatetime()

    def neutral_format(self, decimals: int | None) -> ColumnFormat:  # noqa: ARG002
        return ColumnFormat(date_format=self.formats[0])

    def usual_periods(self, values: pd.Series) -> tuple[str, ...]:
        """Months, quarters, years, and decades where the dates span more than twenty years."""
        known = values.dropna()
        years = known.dt.year.max() - known.dt.year.min() if len(known) else 0
        levels = ("month", "quarter", "year")
        return (*levels, "decade") if years > 20 else levels

    def format_of_all(self, texts: list[str]) -> str | None:
        """First format that reads every text; day comes before month where both would do."""
        if not texts or not texts[0][:1].isdigit():
            return None
        for candidate in self.formats:
            if _moment(texts[0], candidate) is not None and to_moments(texts, candidate).notna().all():
                return candidate
        return None


class DateType(MomentType):
    """Days of the calendar."""

    name = "date"
    made_up = (date(2000, 1, 1), date(2019, 12, 31))
    words = "date"
    plural = InWords("dates", "Datumsangaben")
    periods = ("day", "month", "quarter", "year", "decade")
    moment = "date"
    finest = unit = DAY
    sql, croissant, datapackage = "Date", "sc:Date", "date"
    formats = DATE_FORMATS

    def has_parts_of(self, date_format: str) -> bool:
        return "%H" not in date_format and not is_of_the_day(date_format)

    def holds(self, values: pd.Series) -> pd.Series:
        return values == self.floor(values)

    def floor(self, values: pd.Series) -> pd.Series:
        return values.dt.floor("D")

    def cell(self, text: str, shape: ColumnFormat) -> Any:
        known = shape.date_format in _CELL_FORMATS
        return datetime.strptime(text, shape.date_format).date() if known else text

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        return ColumnFormat() if pa.types.is_date(arrow_type) else None

    def to_arrow(self, values: pd.Series) -> pa.Array:
        return pa.array(values, type=pa.timestamp("us"), from_pandas=True).cast(pa.date32())

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        known = values.dropna()
        return values if kind == "datetime" and bool(self.holds(known).all()) else None

    def step(self, shape: ColumnFormat) -> float:  # noqa: ARG002
        return float(DAY)


class DatetimeType(MomentType):
    """Days of the calendar with a time."""

    name = "datetime"
    made_up = (datetime(2000, 1, 1), datetime(2019, 12, 31, 23, 59))
    words = "date and time"
    plural = InWords("dates with a time", "Datumsangaben mit Uhrzeit")
    periods = ("minute", "15 minutes", "hour", "3 hours", "6 hours", "day", "month", "quarter", "year", "decade")
    moment = "datetime"
    unit = 10**6
    sql, croissant, datapackage = "DateTime", "sc:DateTime", "datetime"
    formats = DATETIME_FORMATS

    def has_parts_of(self, date_format: str) -> bool:
        return "%H" in date_format and not is_of_the_day(date_format)

    def cell(self, text: str, shape: ColumnFormat) -> Any:
        return datetime.strptime(text, shape.date_format) if shape.date_format in _CELL_FORMATS else text

    def searched_texts(self, values: pd.Index) -> Iterable[str]:
        return (text for text in values.astype(str) if not text.endswith(" 00:00:00"))

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        return ColumnFormat(date_format="%Y-%m-%d %H:%M:%S.%f") if pa.types.is_timestamp(arrow_type) else None

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        return values if kind == "date" else None


def is_of_the_day(date_format: str) -> bool:
    """True for a format of times without a date, such as %H:%M."""
    return re.search(r"%-?[HIT]", date_format) is not None and re.search(_DAY_PARTS, date_format) is None


def to_moments(texts: Sequence[str], date_format: str) -> pd.Series:
    """Moments of texts, shape (n_texts,), datetime64[us]; missing where a text has another format."""
    found = pd.to_datetime(pd.Series(texts, dtype=object), format=date_format, errors="coerce").astype("datetime64[us]")
    # pandas reads years 1678 to 2262 only; "9999-12-31" for "never" is common.
    rest = found.isna()
    found[rest] = np.array([_moment(texts[at], date_format) for at in np.flatnonzero(rest)], dtype="datetime64[us]")
    return found


def _moment(text: str, date_format: str) -> datetime | None:
    try:
        return datetime.strptime(text, date_format)
    except ValueError:
        return None


def best_format(texts: list[str], formats: tuple[str, ...]) -> str:
    """Format that reads most of these texts."""
    sample = texts[:1000]
    return max(formats, key=lambda candidate: int(to_moments(sample, candidate).notna().sum()))


def ambiguous_dates(texts: Sequence[str], date_format: str) -> bool:
    """True if day and month could be swapped in every text, so that the config should state the format."""
    swapped = date_format.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
    if swapped == date_format or date_format.startswith("%Y") or "." in date_format:
        return False
    return bool(to_moments(list(texts), swapped).notna().all())
