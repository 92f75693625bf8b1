"""Risk models of leaks that are planted into a table from elsewhere.

They are no sections of a plan: the table is given, and no configuration makes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybrid.base.options import Options
from hybrid.evaluation.planted_leaks import FORMS, LEAKS, LeakName
from hybrid.lab.risk.model import Level, RiskModel, Series

OF_PEOPLE: dict[LeakName, str] = {
    "exposed": "percent of the most exposed people",
    "group": "percent of the group",
    "histories": "percent of the people with several rows",
}
"""Dials of the leaks whose size is no share of the table's rows."""
PARTS_OF_PEOPLE = (0.25, 0.5, 1.0)
"""Sizes of those leaks."""


class PlantedLeak(RiskModel):
    """One kind of planted leak, as :data:`hybrid.evaluation.planted_leaks.LEAKS` plants it."""

    Options = Options

    def __init__(self, name: LeakName) -> None:
        self.name = name
        self.title = FORMS[name][0].upper() + FORMS[name][1:]
        self.sentence = f"Planted into the table in rising sizes, such as {LEAKS[name].words.format(size='20 %')}."

    def sizes(self, of_rows: Sequence[float]) -> tuple[float, ...]:
        """Sizes that are planted, where leaks of rows have those given."""
        return PARTS_OF_PEOPLE if self.name in OF_PEOPLE else tuple(of_rows)

    def planted(self, way: str, of_rows: Sequence[float]) -> Series:
        """The dial of one way to choose its people, from no leak on."""
        sizes = self.sizes(of_rows)
        if self.name in OF_PEOPLE:
            return Series(way, OF_PEOPLE[self.name], "order", tuple(Level(100 * f, {}) for f in (0.0, *sizes)))
        return Series(way, "share of rows leaked", "share", tuple(Level(f, {}) for f in (0.0, *sizes)))


PLANTED: dict[str, PlantedLeak] = {name: PlantedLeak(name) for name in LEAKS}
