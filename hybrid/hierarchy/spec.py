"""Options of hierarchy descriptions (YAML): one model per ``type``."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from hybrid.base.options import Options

Period = Literal["minute", "15 minutes", "hour", "3 hours", "6 hours", "day", "month", "quarter", "year", "decade"]
PERIODS: tuple[Period, ...] = get_args(Period)
"""From fine to coarse; each is nested in the next."""

ListName = Literal["countries", "us_states", "icd10"]
FORMS: dict[ListName, tuple[str, ...]] = {
    "countries": ("name", "alpha_2", "alpha_3"),
    "us_states": ("name", "code"),
    "icd10": ("code",),
}
"""Ways to write the values of each public list; the first is the default."""

Number = Annotated[Decimal, Field(allow_inf_nan=False, max_digits=400)]
"""A number that a double can hold; one of a million digits would take hours to count with."""


class IntervalsSpec(Options):
    """Half-open intervals [a, b) of integers or decimals.

    Level 0 is the value, the last level "*".

    Either ``widths`` (equal intervals) or ``edges`` (any intervals) is given.
    """

    type: Literal["intervals"] = "intervals"
    widths: tuple[Annotated[Number, Field(gt=0)], ...] = ()
    """Width of the intervals on levels 1, 2, ...; each a multiple of the one before."""
    origin: Number = Decimal(0)
    """A number at which intervals of every level begin (with ``widths``)."""
    bottom: Number | None = None
    """Smaller values are one group on every level, such as "<18" (with ``widths``)."""
    top: Number | None = None
    """This and greater values are one group on every level, such as ">=90" (with ``widths``)."""
    edges: tuple[Annotated[tuple[Number, ...], Field(min_length=1)], ...] = ()
    """Ascending edges on levels 1, 2, ...; each list a part of the one before. Values below the first edge and
    from the last one on are groups too, such as "<0" and ">=120"."""

    @model_validator(mode="after")
    def _check(self) -> IntervalsSpec:
        if bool(self.widths) == bool(self.edges):
            raise ValueError("give either widths or edges")
        if self.edges and (self.origin != 0 or self.bottom is not None or self.top is not None):
            raise ValueError("origin, bottom and top go with widths; edges say all of it themselves")
        for below, above in pairwise(self.widths):
            if above <= below or above % below != 0:
                raise ValueError("each width must be a multiple of the one before, and larger")
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise ValueError("bottom must be less than top")
        if any(b <= a for edges in self.edges for a, b in pairwise(edges)):
            raise ValueError("edges must ascend")
        if any(not set(above) < set(below) for below, above in pairwise(self.edges)):
            raise ValueError("the edges of each level must be some of those of the level before")
        return self

    @property
    def n_levels(self) -> int:
        return len(self.widths) or len(self.edges)


class DatesSpec(Options):
    """Periods of dates, times, or both.

    Level 0 is the value, the last level "*".
    """

    type: Literal["dates"] = "dates"
    levels: Annotated[tuple[Period, ...], Field(min_length=1)] = ("month", "quarter", "year", "decade")
    """Periods on levels 1, 2, ..., from fine to coarse."""

    @field_validator("levels")
    @classmethod
    def _ascending(cls, levels: tuple[Period, ...]) -> tuple[Period, ...]:
        ranks = [PERIODS.index(level) for level in levels]
        if any(above <= below for below, above in pairwise(ranks)):
            raise ValueError(f"levels must go from fine to coarse: {', '.join(PERIODS)}")
        return levels


class MaskSpec(Options):
    """Values with their last characters hidden.

    "12345" > "1234*" > "123**" > ... > "*".
    """

    type: Literal["mask"] = "mask"
    keep: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Leading characters shown on levels 1, 2, ..., descending; not given: one less on every level."""
    mark: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    """The character in place of a hidden one."""
    length: Literal["keep", "hide"] = "keep"
    """keep: one mark for each hidden character. hide: one mark after the shown characters whatever was hidden,
    so that codes of different lengths ("A01", "A01.1") meet."""

    @field_validator("keep")
    @classmethod
    def _descending(cls, keep: tuple[int, ...]) -> tuple[int, ...]:
        if any(above >= below for below, above in pairwise(keep)):
            raise ValueError("keep must descend, such as [4, 3, 2]")
        return keep


class TreeSpec(Options):
    """A taxonomy.

    A value in a shallow branch stays itself until its branch begins.
    """

    type: Literal["tree"] = "tree"
    tree: dict[str, Any]
    """Groups below the root "*": nested mappings of labels, lists of values at their ends."""


class GroupsSpec(Options):
    """Groups by lists, level by level; the last level is "*"."""

    type: Literal["groups"] = "groups"
    levels: Annotated[tuple[dict[str, tuple[str, ...]], ...], Field(min_length=1)]
    """For levels 1, 2, ...: the label of each group and what it holds: values on level 1, labels of the level
    before on the others. A label that no group holds stays as it is."""
    others: str | None = None
    """Level 1 label of all values that are in no group; not given: such values are an error."""


class ListSpec(Options):
    """A public list that comes with the package, with its groups (:mod:`hybrid.hierarchy.public_lists`).

    Which of its values a release may hold depends on no record.
    """

    type: Literal["list"] = "list"
    list: ListName
    """Name of the list."""
    form: Literal["name", "alpha_2", "alpha_3", "code"] | None = None
    """How values are written: name, alpha_2 or alpha_3 of countries, name or code of us_states, code of icd10. null:
    the first of these."""

    @model_validator(mode="after")
    def _check(self) -> ListSpec:
        forms = FORMS[self.list]
        if self.form is not None and self.form not in forms:
            raise ValueError(f"the list {self.list} is written as {' or '.join(forms)}")
        return self


HierarchySpec = Annotated[
    IntervalsSpec | DatesSpec | MaskSpec | TreeSpec | GroupsSpec | ListSpec,
    Field(discriminator="type"),
]

ValueRule = MaskSpec | GroupsSpec | IntervalsSpec | DatesSpec
"""Descriptions whose leaves come, at least in part, from the values of a table."""


def rule_of(spec: HierarchySpec) -> ValueRule | None:
    """The rule that makes leaves from a table's values; None where the description lists every leaf."""
    if isinstance(spec, TreeSpec | ListSpec) or (isinstance(spec, GroupsSpec) and spec.others is None):
        return None
    return spec
