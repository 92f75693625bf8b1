"""Programs whose files are read, and how they hold dates and times: as numbers with a format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.table.kinds.value_type import Moment

_SECOND, _DAY = 10**6, 86_400 * 10**6
"""Microseconds."""
_NAMED: tuple[tuple[Moment, str], ...] = (
    ("datetime", r"DATETIME|YMDHMS|[EB]8601D[TN]|IS8601DT|DATEAMPM|MDYAMPM|DTDATE"),
    ("date", r"[AEJS]?DATE|MOYR|QYR|WKYR|MONYY|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|WEEKDAT[EX]|(IS|[EB])8601DA"),
    ("time", r"TIME|HHMM|TOD|TIMEAMPM|(IS|[EB])8601TM"),
)
"""Formats of SPSS and SAS, without their widths."""
_WIDTH = re.compile(r"[0-9]*(\.[0-9]*)?\Z")
_STATA_DATE = re.compile(r"%-?[0-9]*t?d")
_STATA_MOMENT = re.compile(r"%-?[0-9]*t[cC](.*)", re.DOTALL)
_DAY_PARTS = re.compile(r"CC|YY|NN|DD|[nM]on|Mon|Month|d|D|J|c|y", re.DOTALL)
"""Parts of a format of Stata that tell the day."""
_FARTHEST = 9 * 10**18
"""Microseconds from 1970 that 64 bits hold."""


@dataclass(frozen=True)
class Program:
    """A program for statistics, and how its files count time."""

    name: str
    """Of the program."""
    origin: str
    """The moment from which it counts."""
    units: Mapping[Moment, int]
    """Microseconds of one unit of a date, of a moment and of a time of day."""
    formats: Mapping[Moment, str]
    """The format of a column that had none."""

    @property
    def _origin(self) -> int:
        return int(np.datetime64(self.origin, "us").astype(np.int64))

    def microseconds(self, numbers: Array, moment: Moment) -> Array:
        """Microseconds since 1970, or since midnight for a time of day; 0 where a number is missing.

        Parameters
        ----------
        numbers : numpy.ndarray, shape (n,), float64
            As the file holds them.
        """
        since = np.rint(np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf) * self.units[moment])
        counted: Array = np.clip(since, -_FARTHEST, _FARTHEST).astype(np.int64)
        return counted if moment == "time" else counted + self._origin

    def numbers(self, microseconds: Array, moment: Moment) -> Array:
        """Numbers that the file holds; the reverse of :meth:`microseconds`."""
        since = microseconds if moment == "time" else microseconds - self._origin
        counted: Array = since / self.units[moment]
        return counted


STATA = Program(
    "Stata",
    "1960-01-01",
    {"date": _DAY, "datetime": 1000, "time": 1000},
    {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"},
)
SPSS = Program(
    "SPSS",
    "1582-10-14",
    {"date": _SECOND, "datetime": _SECOND, "time": _SECOND},
    {"date": "DATE11", "datetime": "DATETIME20", "time": "TIME8"},
)
SAS = Program(
    "SAS",
    "1960-01-01",
    {"date": _DAY, "datetime": _SECOND, "time": _SECOND},
    {"date": "DATE9", "datetime": "DATETIME20", "time": "TIME8"},
)
PROGRAMS: dict[str, Program] = {
    ".dta": STATA,
    ".sav": SPSS,
    ".zsav": SPSS,
    ".por": SPSS,
    ".sas7bdat": SAS,
    ".xpt": SAS,
}
"""The program of each suffix."""


def moment_of(program: Program, written: str | None) -> Moment | None:
    """Meaning of numbers of a format; None for plain numbers.

    Durations (``DTIME``) are numbers, and so are the months and quarters of Stata.

    Parameters
    ----------
    written : str or None
        The format, such as ``%td``, ``DATE11`` or ``F8.2``.
    """
    if not written:
        return None
    if program is STATA:
        return _moment_of_stata(written)
    name = _WIDTH.sub("", written.upper())
    return next((moment for moment, pattern in _NAMED if re.fullmatch(pattern, name)), None)


def _moment_of_stata(written: str) -> Moment | None:
    if _STATA_DATE.match(written):
        return "date"
    found = _STATA_MOMENT.match(written)
    if found is None:
        return None
    return "time" if found[1] and not _DAY_PARTS.search(found[1]) else "datetime"
