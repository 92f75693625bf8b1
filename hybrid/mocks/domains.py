"""Domains of a mock table's columns, from the configuration alone: no file of records is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError, HierarchyError, Problem
from hybrid.constraints.kinds.checked import Range
from hybrid.hierarchy.files import YAML_SUFFIXES, read_spec
from hybrid.hierarchy.load import HierarchySource, listed_values
from hybrid.hierarchy.spec import ListSpec
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.section_options import MockColumn, MockOptions
from hybrid.privacy.domain import CategoryDomain, Domain, NumberDomain, ValueGrid, interval_domain, neutral_column
from hybrid.privacy.plan import LARGEST_GRID, bounds_of
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema
from hybrid.table.data_options import DataOptions
from hybrid.table.read_options import ColumnOptions

Origin = Literal["configuration", "list", "made up"]
"""Where the values of a column come from: what a person wrote into the configuration, a list that is public, or nothing
but its kind."""
MADE_UP: Mapping[Kind, tuple[Any, Any]] = {
    Kind.INTEGER: (0, 99),
    Kind.DECIMAL: (0, 100),
    Kind.DATE: (date(2000, 1, 1), date(2019, 12, 31)),
    Kind.DATETIME: (datetime(2000, 1, 1), datetime(2019, 12, 31, 23, 59)),
    Kind.TIME: (time(0), time(23, 59)),
}
"""Bounds of a column of which nothing is public but its kind."""
LETTERS = ("A", "B", "C")
"""Values of a category of which nothing is public but its kind."""
WEIGHTS = (1, 100)
"""Bounds of sampling weights of which nothing is public."""
DECIMALS = 2
INTERVALS = 20
"""Intervals of a number, date or time that noise is added to, at most."""


@dataclass(frozen=True)
class MockedColumn:
    """One column of a mock table."""

    domain: Domain
    """Its values. Of an identifier, none are drawn."""
    origin: Origin
    """Where they come from."""
    missing: float = 0.0
    """Share of empty cells, 0 or more and below 1."""
    form: str | None = None
    """Of an identifier."""

    @property
    def column(self) -> Column:
        return self.domain.column

    @property
    def shares(self) -> Array:
        """Probability of each state, the missing one last: all values are equally likely."""
        known = self.domain.size - 1
        return np.append(np.full(known, (1 - self.missing) / known), self.missing)

    @property
    def in_intervals(self) -> Domain:
        """The domain that is counted with noise: equal intervals of a number, date or time, else its values."""
        if isinstance(self.domain, CategoryDomain):
            return self.domain
        edges = np.unique(np.linspace(0, self.domain.grid.last + 1, INTERVALS + 1).astype(np.int64))
        cut = list(zip(edges[:-1].tolist(), (edges[1:] - 1).tolist(), strict=True))
        return interval_domain(self.column, self.domain.grid, cut)


def mocked_columns(config: RunConfig, left_out: Mapping[str, object] | None = None) -> list[MockedColumn]:
    """Columns of a mock table, in the order of the configuration, but for excluded, undecided and ``left_out`` ones.

    ConfigError has all problems at once: a kind is not stated, or what the section ``mock`` says does not fit.
    """
    names = {name: one for name, one in config.data.columns.items() if name not in (left_out or {})}
    options = config.mock or MockOptions()
    problems = list(_unknown(options, names))
    found: list[MockedColumn] = []
    ranges = _ranges(config)
    listed = _public_lists(config, options, names)
    for name, about in names.items():
        if not about.role.enters_runs:
            continue
        if about.kind is None:
            problems.append(
                Problem(
                    f"data.columns.{name}.kind is not stated, and a mock table is made without the records",
                    f"write one of {', '.join(Kind)}; hybrid init writes the kinds of all columns",
                )
            )
            continue
        column = Column(name, about.role, about.kind, about.target)
        known = options.columns.get(name) or _declared(config, name)
        wrong = list(_misfits(column, known))
        problems += wrong
        if not wrong:
            found.append(_mocked(column, about, known, config.data, listed, ranges.get(name, (None, None))))
    if problems:
        raise ConfigError(problems)
    return found


def _unknown(options: MockOptions, names: Mapping[str, ColumnOptions]) -> Iterator[Problem]:
    there = [name for name, about in names.items() if about.role.enters_runs]
    for key, named in (("columns", options.columns), ("lists", options.lists)):
        for name in named:
            if name not in there:
                yield Problem(f"mock.{key}: {name!r} is no column of the mock table", f"use {', '.join(there)}")
    for name in options.lists:
        if name in there and names[name].hierarchy is None:
            yield Problem(f"mock.lists: the column {name!r} has no hierarchy", f"set mock.columns.{name}.values")


def _declared(config: RunConfig, name: str) -> MockColumn:
    known = None if config.privacy is None else config.privacy.columns.get(name)
    return MockColumn() if known is None else MockColumn.model_validate(known.model_dump(exclude_unset=True))


def _misfits(column: Column, known: MockColumn) -> Iterator[Problem]:
    key, kind = f"mock.columns.{column.name}", column.kind
    if column.role is Role.IDENTIFIER:
        if known.bounds is not None or known.values is not None or known.decimals is not None:
            yield Problem(f"{key}: an identifier has a form, and no values", 'set form: "P-######"')
        if known.form is not None and "#" not in known.form:
            yield Problem(f"{key}.form has no digit #", 'write one # for each digit: "P-######"')
        if known.form is not None and kind is Kind.INTEGER and set(known.form) - set("0123456789#"):
            yield Problem(f"{key}.form: the identifier is a whole number", 'write digits and # alone: "9#####"')
        return
    if known.form is not None:
        yield Problem(f"{key}.form: the column is no identifier", "set values, or bounds")
    if not kind.is_continuous and (known.bounds is not None or known.decimals is not None):
        yield Problem(f"{key}: a {kind} column has no bounds and no decimals", "set values")
    if kind.is_continuous and known.values is not None:
        yield Problem(f"{key}: a column of kind {kind} has bounds, not values", "set bounds: [LEAST, GREATEST]")
    if kind is Kind.BOOLEAN and known.values is not None and len(known.values) != 2:
        yield Problem(f"{key}.values: a truth value has two texts", "write that for false, then that for true")
    if kind.is_continuous and known.bounds is not None:
        if any(kind.type.bound(one, 1) is None for one in known.bounds):
            yield Problem(f"{key}: the bounds are not of the kind {kind}", "write them as values of the column")
        elif _grid(column, known.bounds, known).last >= LARGEST_GRID:
            yield Problem(f"{key}: more than 2 ** 53 values lie between the bounds", "set fewer decimals")


def _mocked(
    column: Column,
    about: ColumnOptions,
    known: MockColumn,
    data: DataOptions,
    listed: Mapping[str, Array],
    limits: tuple[Any, Any],
) -> MockedColumn:
    kind, name = column.kind, column.name
    decimals = (DECIMALS if known.decimals is None else known.decimals) if kind.type.has_decimals else None
    plain = neutral_column(column, decimals)
    shape = _format(plain.format, kind, about, data, known)
    plain = replace(plain, format=shape)
    made: Domain
    origin: Origin = "configuration"
    if not kind.is_continuous:
        states: tuple[Any, ...] = (False, True)
        if kind is Kind.CATEGORICAL and known.values is not None:
            states = known.values
        elif kind is Kind.CATEGORICAL:
            states, origin = (LETTERS, "made up") if name not in listed else (_texts(listed[name]), "list")
        made = CategoryDomain(plain, states)
    else:
        bounds = bounds_of(column, known, listed)
        if known.bounds is None and bounds is not None:
            origin = "list"
        if bounds is None:
            bounds = _within(WEIGHTS if column.role is Role.WEIGHT else MADE_UP[kind], limits)
            origin = "made up" if limits == (None, None) else "configuration"
        made = _one_interval(plain, _grid(column, bounds, known))
    return MockedColumn(made, origin, known.missing, known.form)


def _one_interval(column: Column, grid: ValueGrid) -> NumberDomain:
    return interval_domain(column, grid, [(0, grid.last)])


def _grid(column: Column, bounds: tuple[Any, Any], known: MockColumn) -> ValueGrid:
    return ValueGrid.of(column.kind, bounds, DECIMALS if known.decimals is None else known.decimals)


def _format(
    neutral: ColumnFormat, kind: Kind, about: ColumnOptions, data: DataOptions, known: MockColumn
) -> ColumnFormat:
    """Format as the configuration states it; what it does not state is neutral."""
    marker = data.missing[0] if data.missing else ""
    shape = replace(neutral, missing=marker, decimal_mark=data.decimal)
    if about.format is not None and kind.type.has_date_format:
        shape = replace(shape, date_format=about.format)
    if kind is Kind.BOOLEAN and known.values is not None:
        shape = replace(shape, false=known.values[0], true=known.values[1])
    return shape


def _texts(values: Array) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _ranges(config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Limits of columns that constraints of the kind ``range`` state."""
    return {name: one for each in config.constraints if isinstance(each, Range) for name, one in each.range.items()}


def _within(bounds: tuple[Any, Any], limits: tuple[Any, Any]) -> tuple[Any, Any]:
    """Bounds with limits in their place; a missing limit is as far away as the bounds are from each other."""
    low, high = limits
    if low is not None and high is not None:
        return low, high
    if isinstance(bounds[0], time):
        return (bounds[0] if low is None else low), (bounds[1] if high is None else high)
    span = bounds[1] - bounds[0]
    if low is not None:
        return low, low + span
    return bounds if high is None else (high - span, high)


def _public_lists(config: RunConfig, options: MockOptions, names: Mapping[str, ColumnOptions]) -> dict[str, Array]:
    """Values of the lists that are public, by column.

    Those are lists that come with the program, and those that the configuration calls public.
    """
    sources = {name: one for name, one in config.hierarchy_sources.items() if name in names}
    named = {*options.lists, *(sources if config.privacy is not None else ())}
    public = {name: one for name, one in sources.items() if name in named or _is_packaged(one)}
    known = [Column(name, names[name].role, kind) for name in public if (kind := names[name].kind) is not None]
    found = listed_values(Schema(tuple(known)), public)
    lacking = [name for name in options.lists if name in public and name not in found]
    if lacking:
        raise HierarchyError(
            Problem(f"mock.lists: the hierarchy of {name!r} lists no values", f"set mock.columns.{name}")
            for name in lacking
        )
    return found


def _is_packaged(source: HierarchySource) -> bool:
    if isinstance(source, Path):
        return source.suffix.lower() in YAML_SUFFIXES and isinstance(read_spec(source), ListSpec)
    return isinstance(source, ListSpec)
