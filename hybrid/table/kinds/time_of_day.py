"""Times of day, such as 14:30, 9:05 or 14:30:15: held as moments of the first day of 1970.

A time has no day, and its distance from another is taken within one day: 23:50 and 0:10 are far apart. Durations, of
which some reach 24 hours, are no times.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array, Mask, Numbers
from hybrid.table.kinds.moments import DAY, MomentType, best_format, is_of_the_day, to_moments
from hybrid.table.kinds.value_type import ColumnFormat, InWords, ParsedTexts, ends, matches, positions_of_bad

_WRITTEN = r"\A([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?\z"
_SHORT_HOUR = r"\A[0-9]:"
_EPOCH = np.datetime64(0, "us")
_MINUTE = 60 * 10**6
"""Microseconds."""
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of Arrow's times in a second."""


class TimeType(MomentType):
    """Times of day."""

    name = "time"
    made_up = (time(0), time(23, 59))
    words = "time of day"
    plural = InWords("times of day", "Uhrzeiten")
    measure, sort = "clock", "clock"
    periods = ("minute", "15 minutes", "hour", "3 hours", "6 hours")
    moment = "time"
    unit = _MINUTE
    axis = (("m", 1, 0), ("m", 5, 0), ("m", 15, 0), ("h", 1, 0), ("h", 3, 0), ("h", 6, 0))
    sql, croissant, datapackage = "Time", "sc:Time", "time"
    formats = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")

    def has_parts_of(self, date_format: str) -> bool:
        return is_of_the_day(date_format)

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:
        certain = date_format is not None or bool(matches(texts, _WRITTEN).all())
        return certain and super().recognizes(texts, date_format, mark)

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        chosen = date_format or self.format_of_all(texts) or best_format(texts, self.formats)
        read = chosen.replace("%-", "%")
        moments = to_moments(texts, read)
        good = moments.notna().to_numpy() & (matches(texts, _WRITTEN) | (read not in self.formats))
        values = (_EPOCH + (moments - moments.dt.floor("D"))).astype(self.dtype)
        known = [text for text, ok in zip(texts, good, strict=True) if ok]
        return ParsedTexts(values.where(good), _format(read, known), positions_of_bad(good))

    def text(self, value: Any, shape: ColumnFormat) -> str:
        # Platforms differ in how they write an hour without its zero.
        moment, written = pd.Timestamp(value), shape.date_format
        written = written.replace("%-H", str(moment.hour)).replace("%-I", str(moment.hour % 12 or 12))
        written = written.replace("%f", f"{moment.microsecond:06d}"[: shape.decimals])
        return str(moment.strftime(written))

    def read_format(self, shape: ColumnFormat) -> str:
        return shape.date_format.replace("%-", "%")

    def iso(self, value: Any) -> str:
        return str(np.datetime64(value, "us"))[11:].removesuffix(".000000").removesuffix(":00")

    def cell(self, text: str, shape: ColumnFormat) -> Any:
        return time.fromisoformat(text) if shape.date_format == "%H:%M:%S" else text

    def tick_texts(self, ticks: Array) -> list[str]:
        return [str(tick)[11:] for tick in ticks.astype("datetime64[m]")]

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        return ColumnFormat(date_format=self.formats[-1]) if pa.types.is_time(arrow_type) else None

    def format_of_values(self, values: pd.Series, shape: ColumnFormat) -> ColumnFormat:
        counted = self.whole(values.dropna(), 1)
        fits = (form for form in self.formats if not (counted % int(self.step(ColumnFormat(date_format=form)))).any())
        return replace(shape, date_format=next(fits))

    def unstorable(self, raw: pa.ChunkedArray) -> str:
        low, high = ends(raw.cast(pa.int32() if raw.type.bit_width == 32 else pa.int64()))
        inside = 0 <= low <= high < 24 * 3600 * _UNITS[raw.type.unit]
        return "" if inside else "times outside of the day"

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        counted = pc.cast(pc.cast(raw, pa.time64("us"), safe=False), pa.int64())
        return super().from_arrow(counted)

    def to_arrow(self, values: pd.Series) -> pa.Array:
        return pa.array(values, type=pa.timestamp("us"), from_pandas=True).cast(pa.int64()).cast(pa.time64("us"))

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:  # noqa: ARG002
        return None

    def step(self, shape: ColumnFormat) -> float:
        fraction = "%f" in shape.date_format and shape.decimals is not None
        return 10.0 ** (6 - (shape.decimals or 0)) if fraction else super().step(shape)

    def written(self, positions: Numbers, missing: Mask, shape: ColumnFormat) -> pd.Series:
        return super().written(np.clip(positions, 0, DAY - self.step(shape)), missing, shape)

    def within(self, values: pd.Series) -> pd.Series:
        return values.clip(_EPOCH, _EPOCH + np.timedelta64(DAY - 10**6, "us")).astype(self.dtype)

    def bound(self, value: object, scale: int) -> int | None:  # noqa: ARG002
        if not isinstance(value, time):
            return None
        return (((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond) // self.unit

    def as_bound(self, value: Any) -> time:
        moment: time = pd.Timestamp(value).time()
        return moment

    def usual_periods(self, values: pd.Series) -> tuple[str, ...]:
        whole = not (self.whole(values.dropna(), 1) % _MINUTE).any()
        return self.periods[1:] if whole else self.periods


def _format(read: str, texts: list[str]) -> ColumnFormat:
    short = bool(texts) and read.startswith(("%H:", "%I:")) and matches(texts, _SHORT_HOUR).any()
    if short and not any(text.startswith("0") and text[1:2] != ":" for text in texts):
        read = f"%-{read[1:]}"
    digits = max((len(text.partition(".")[2]) for text in texts), default=0) if read.endswith(".%f") else None
    return ColumnFormat(date_format=read, decimals=digits)
