"""Contestants of a league: metrics, and numbers as papers print them."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from hybrid.report.run.inputs import title_of

_NAME = re.compile(r"(?P<metric>[^. ]+)(?:\.(?P<column>.+?))?(?: \(printed (?P<form>[^()]+)\))?")


class Contestant(NamedTuple):
    """Metric in a league, perhaps about one column, perhaps as printed."""

    metric: str
    column: str = ""
    form: str = ""
    """Name of the paper's number in ``details["paper"]``; empty: the metric itself."""

    def __str__(self) -> str:
        """As in ``league.json``: NAME, NAME.COLUMN, NAME (printed FORM)."""
        about = f"{self.metric}.{self.column}" if self.column else self.metric
        return f"{about} (printed {self.form})" if self.form else about

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name of a league."""
        found = _NAME.fullmatch(name)
        return cls(name) if found is None else cls(**found.groupdict(default=""))


def is_printed(name: str) -> bool:
    """True for a number as a paper prints it."""
    return bool(Contestant.parse(name).form)


def title(contestant: str) -> str:
    """Heading of a metric, its column, or its number as printed."""
    metric, column, form = Contestant.parse(contestant)
    about = title_of(metric) + (f", {column}" if column else "")
    return f"{about} (printed: {form})" if form else about
