"""Published totals of a population, to which the weights of the released table are raked."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from hybrid.base.errors import Problem, VerificationError, refuse
from hybrid.base.options import Options
from hybrid.table import Column, Kind, Table
from hybrid.table.weights import Margin, Margins, weights_of

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig

AGREE = 0.01
"""Difference between the sums of the totals of two columns, at most, as a share of the larger."""


class MarginsOptions(Options):
    """Options of published totals."""

    totals: dict[str, str] = Field(min_length=1)
    """Columns, each with a CSV file from the config's folder: a header, then a category and its total on each line."""
    least: float = Field(default=10, ge=1)
    """Totals below are refused: a small cell of a published table discloses single people."""
    most: float = Field(default=0.01, gt=0, lt=1)
    """Largest deviation of a weighted total of the released table, as a share of the published one; beyond it the run
    ends with an error."""


@dataclass(frozen=True)
class PublishedTotals:
    """Published totals of some columns."""

    of: dict[str, dict[str, float]]
    """Total of each category, above 0, by column."""

    @property
    def total(self) -> float:
        """People of the population: the mean of the sums of all columns."""
        return float(np.mean([sum(one.values()) for one in self.of.values()]))

    def raked_with(self, margins: Margins, table: Table) -> Margins:
        """Margins of the records with the published ones in their place.

        ``margins`` are those of the training records, for the columns without published totals. Drawn rows of
        categories without a total keep their share of the weights.
        """
        weights = weights_of(table)
        assert weights is not None
        own = [self._margin(table.schema[name], table, weights) for name in self.of]
        others = [one for one in margins.columns if one.column not in self.of]
        # The published columns come last: what cannot be met together is met for them.
        return Margins(self.total, (*others, *own))

    def deviation(self, table: Table) -> tuple[str, float]:
        """Largest difference of a weighted total from the published one, as a share of it, and its column."""
        weights = weights_of(table)
        assert weights is not None
        worst = ("", 0.0)
        for name, totals in self.of.items():
            margin = self._margin(table.schema[name], table, weights)
            found = np.bincount(margin.groups(table.frame), weights, minlength=len(totals) + 1)[:-1]
            wanted = np.array([*totals.values()])
            gap = float((np.abs(found - wanted) / wanted).max())
            worst = max(worst, (name, gap), key=lambda one: one[1])
        return worst

    def verify(self, table: Table, most: float) -> None:
        """Refuse a table whose weighted totals are not the published ones."""
        name, gap = self.deviation(table)
        if gap > most:
            raise VerificationError(
                f"margins: a weighted total of {name} differs from the published one by {100 * gap:.2g} %, more than "
                f"{100 * most:g} %",
                hint="draw more rows, join categories that few rows have, or leave out totals that contradict others",
            )

    def _margin(self, column: Column, table: Table, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Margin:
        totals = self.of[column.name]
        plain = Margin(column.name, tuple(_value(text, column) for text in totals), np.zeros(len(totals) + 1))
        without = plain.groups(table.frame) == len(totals)
        rest = float(weights[without].sum() / weights.sum()) if len(table) else 0.0
        shares = np.array([*totals.values()]) / sum(totals.values()) * (1 - rest)
        return replace(plain, shares=np.append(shares, rest))


def _value(text: str, column: Column) -> object:
    if column.kind is not Kind.BOOLEAN:
        return text
    return {"true": True, "false": False}.get(text.lower(), text == column.format.true)


def published_totals(config: RunConfig) -> PublishedTotals | None:
    """Read the published totals of a configuration; None where it names none.

    All problems are named at once: a missing file, other lines than a category and a number, a category twice, a total
    that is too small, or a sum that differs from that of another column.
    """
    options = config.margins
    if options is None:
        return None
    problems: list[Problem] = []
    found = {name: _read(config.path(path), name, options.least, problems) for name, path in options.totals.items()}
    sums = {name: sum(totals.values()) for name, totals in found.items()}
    if not problems and max(sums.values()) - min(sums.values()) > AGREE * max(sums.values()):
        low, high = min(sums, key=lambda name: sums[name]), max(sums, key=lambda name: sums[name])
        problems.append(
            Problem(
                f"margins.totals: the totals of {low} sum to {sums[low]:,.0f}, those of {high} to {sums[high]:,.0f}",
                "give totals of the same population and day, with a category for people without a value",
            )
        )
    refuse(problems)
    return PublishedTotals(found)


def _read(path: Path, name: str, least: float, problems: list[Problem]) -> dict[str, float]:
    where = f"margins.totals.{name}: {path}"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file))[1:]
    except (OSError, UnicodeDecodeError):
        problems.append(Problem(f"{where}: the file cannot be read", "give a CSV file in UTF-8, by its path"))
        return {}
    totals: dict[str, float] = {}
    wrong, small = [], 0
    for number, line in enumerate(lines, 2):
        try:
            category, total = line[0].strip(), float(line[1])
        except (IndexError, ValueError):
            wrong.append(number)
            continue
        if len(line) != 2 or category in totals or not np.isfinite(total):
            wrong.append(number)
        elif total < least:
            small += 1
        totals[category] = total
    problems += _problems(where, wrong, small, least, is_empty=not totals)
    return totals


def _problems(where: str, wrong: list[int], small: int, least: float, *, is_empty: bool) -> Iterator[Problem]:
    if wrong or is_empty:
        lines = ", ".join(map(str, wrong[:5])) or "all"
        yield Problem(f"{where}: lines {lines} are no category with its total", "write CATEGORY,TOTAL on each line")
    if small:
        yield Problem(
            f"{where}: {small} totals are below {least:g}, and small cells disclose single people",
            "join these categories into larger ones, in the table as well",
        )
