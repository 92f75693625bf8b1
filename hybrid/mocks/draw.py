"""Mock tables: public domains of their columns, values drawn independently and evenly, and keys that are made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Rows
from hybrid.base.errors import ConfigError, GeneratorError, HierarchyError, Problem
from hybrid.base.rng import rng_for
from hybrid.constraints import Rules, draw_held
from hybrid.constraints.constraint import Constraint, Rule
from hybrid.constraints.kinds.checked import Range
from hybrid.hierarchy.files import YAML_SUFFIXES, read_spec
from hybrid.hierarchy.load import HierarchySource, listed_values
from hybrid.hierarchy.spec import ListSpec
from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.section_options import MockColumn, MockOptions
from hybrid.pipeline.sources import pairs_of
from hybrid.privacy.domain import CategoryDomain, Domain, ValueGrid, interval_domain, neutral_column
from hybrid.privacy.plan import LARGEST_GRID, bounds_of
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_options import ColumnOptions

Origin = Literal["configuration", "list", "made up"]
"""Where the values of a column come from: what a person wrote into the configuration, a list that is public, or nothing
but its kind."""
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
            states, origin = (LETTERS, "made up") if name not in listed else (tuple(map(str, listed[name])), "list")
        made = CategoryDomain(plain, states)
    else:
        bounds = bounds_of(column, known, listed)
        if known.bounds is None and bounds is not None:
            origin = "list"
        if bounds is None:
            bounds = _within(WEIGHTS if column.role is Role.WEIGHT else kind.type.made_up, limits)
            origin = "made up" if limits == (None, None) else "configuration"
        grid = _grid(column, bounds, known)
        made = interval_domain(plain, grid, [(0, grid.last)])
    return MockedColumn(made, origin, known.missing, known.form)


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


MOST_ROWS = 3
"""Rows of one person, or of one row of a parent table, at most; how many is made up."""
PREFIX = "MOCK"
"""Beginning of an identifier of which no form is stated."""


@dataclass(frozen=True)
class MockTable:
    """One mock table."""

    table: Table
    """Its rows."""
    columns: tuple[MockedColumn, ...]
    """Where the values of each column come from."""
    kept: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    """Sentences of the constraints that every row keeps, and of those that it may break."""


@dataclass(frozen=True)
class MockTables:
    """Mock tables of a configuration."""

    tables: Mapping[str, MockTable]
    """By name; of a single table under the empty name."""
    public: Mapping[str, Table] = field(default_factory=dict)
    """Public tables of linked ones, copied as they are."""


def mock_tables(config: RunConfig, rows: int, seed: int, shares: Mapping[str, Array] | None = None) -> MockTables:
    """Draw mock tables of so many rows, or persons of linked tables; no file of records is opened.

    Columns are drawn independently of each other. Rows that break a constraint are drawn again. A constraint of the
    kinds ``combinations`` and ``tied`` is left aside, since only the records say what it allows, and one that names
    columns of another table. ``shares``, of a single table: probabilities of the states of a column's intervals
    (:attr:`MockedColumn.in_intervals`), the missing one last; without them all values are equally likely.
    """
    if config.is_linked:
        return _linked(config, rows, seed)
    columns = tuple(mocked_columns(config))
    return MockTables({SINGLE: _Single(config, columns, seed, shares or {}).drawn(rows)})


@dataclass(frozen=True)
class _Values:
    config: RunConfig
    columns: tuple[MockedColumn, ...]
    seed: int
    shares: Mapping[str, Array]

    @property
    def learned(self) -> list[MockedColumn]:
        return [one for one in self.columns if one.column.role is not Role.IDENTIFIER]

    @property
    def rules(self) -> Rules:
        there = {one.column.name for one in self.columns}
        known = [one for one in self.config.constraints if there.issuperset(one.columns) and not _is_of_records(one)]
        # Without records there is nothing to learn: what is computed is computed, all else is drawn again.
        empty = Table(pd.DataFrame(), Schema(()))
        return Rules(tuple(one.fit(empty, 1) if one.learns == "nothing" else Rule(one) for one in known))

    def held(self, rows: int, name: str) -> Table:
        schema = Schema(tuple(one.column for one in self.learned))
        if not rows or not self.learned:
            return Table(pd.DataFrame(index=pd.RangeIndex(rows), columns=schema.names), schema)

        def draw(wanted: int, attempt: int) -> Table:
            rng = rng_for(self.seed, "mock", name, attempt)
            frame = {one.column.name: self._values(one, wanted, rng) for one in self.learned}
            return Table(pd.DataFrame(frame), schema)

        try:
            return draw_held(draw, self.rules, rows, seed=self.seed)[0]
        except GeneratorError as error:
            sentences = "; ".join(rule.constraint.sentence for rule in self.rules.rules)
            raise ConfigError(
                f"too few rows of independent values keep the constraints: {sentences}",
                hint="state a column that follows from others as derived, or nearer bounds under mock.columns",
            ) from error

    def ordered(self, table: Table, owners: Codes) -> Table:
        """The rows of each owner, already side by side, in the order that the configuration names."""
        order = self.config.data.order
        if order is None or order not in table.schema:
            return table
        return table.take(np.lexsort([table.frame[order].rank().fillna(0).to_numpy(), owners]))

    def _values(self, one: MockedColumn, rows: int, rng: np.random.Generator) -> pd.Series:
        given = self.shares.get(one.column.name)
        domain, shares = (one.domain, one.shares) if given is None else (one.in_intervals, given)
        return domain.decode(rng.choice(domain.size, size=rows, p=shares), rng)

    def finished(self, table: Table, keys: Mapping[str, pd.Series], persons: Codes | None) -> MockTable:
        """The table with its keys, in the order of the configuration, and what is counted within persons."""
        frame = {
            one.column.name: keys[one.column.name] if one.column.name in keys else table.frame[one.column.name]
            for one in self.columns
        }
        schema = Schema(tuple(one.column for one in self.columns))
        whole = self.rules.settle(Table(pd.DataFrame(frame), schema, persons))
        kept = [rule.constraint for rule in self.rules.rules]
        unkept = [one.sentence for one in self.config.constraints if one not in kept]
        return MockTable(whole, self.columns, tuple(one.sentence for one in kept), tuple(unkept))


def _is_of_records(constraint: Constraint) -> bool:
    """True if only the records say what a constraint allows."""
    return constraint.learns == "values" or constraint.key == "tied"


@dataclass(frozen=True)
class _Single(_Values):
    def drawn(self, rows: int) -> MockTable:
        data, rng = self.config.data, rng_for(self.seed, "mock", "persons")
        table, persons = self.held(rows, SINGLE), np.arange(rows)
        if data.person_columns and data.several_rows:
            sizes = rng.integers(1, min(MOST_ROWS, data.max_rows or MOST_ROWS), rows, endpoint=True)
            persons = np.repeat(np.arange(rows), sizes)[:rows]
        table = self.ordered(table, persons)
        of = dict.fromkeys(data.person_columns, persons) | dict.fromkeys(data.household_columns, persons // 2)
        keys = {
            one.column.name: numbered(one, of.get(one.column.name, np.arange(rows)))
            for one in self.columns
            if one.column.role is Role.IDENTIFIER
        }
        return self.finished(table, keys, persons if data.person_columns else None)


def _linked(config: RunConfig, rows: int, seed: int) -> MockTables:
    """Linked tables: the person table has so many rows, the others up to three for each row of their parent."""
    public = {name: config.load_source(name) for name in config.public}
    found: dict[str, MockTable] = {}
    places: dict[str, Rows] = {}
    problems = list(_unknown_tables(config))
    for name, view in config.views.items():
        try:
            columns = _linked_columns(config, name, view, public)
        except ConfigError as error:
            problems += [Problem(f"{name}: {one.message}", one.hint) for one in error.problems]
            continue
        options = config.links.tables[name]
        rng, values = rng_for(seed, "mock", "children", name), _Values(view, columns, seed, {})
        made: dict[str, pd.Series] = {}
        persons = np.arange(rows)
        if options.parent is not None and not problems:
            parent = found[options.parent.table].table
            least = 1 if pairs_of(config.links, name) is not None else 0
            sizes = rng.integers(least, MOST_ROWS, len(parent), endpoint=True)
            places[name] = np.repeat(np.arange(len(parent)), sizes)
            persons = parent.persons[places[name]]
            made = _parent_keys(config, name, places, found, rng)
        if problems:
            continue
        n_rows = len(persons)
        own = [one for one in columns if one.column.role is Role.IDENTIFIER and one.column.name not in made]
        made |= {one.column.name: numbered(one, np.arange(n_rows)) for one in own}
        table = values.ordered(values.held(n_rows, name), places.get(name, persons))
        found[name] = values.finished(table, made, persons)
    if problems:
        raise ConfigError(problems)
    return MockTables(found, public)


def _parent_keys(
    config: RunConfig,
    name: str,
    places: Mapping[str, Rows],
    found: Mapping[str, MockTable],
    rng: np.random.Generator,
) -> dict[str, pd.Series]:
    """Keys of the parents of a table's rows, by the columns that hold them."""
    parent = config.links.tables[name].parent
    assert parent is not None

    def keys_of(table: str, rows: Rows) -> pd.Series:
        key = config.links.tables[table].key
        assert key is not None
        return found[table].table.frame[key].take(rows).reset_index(drop=True)

    keys = {} if parent.through is not None else {parent.column: keys_of(parent.table, places[name])}
    pairs = pairs_of(config.links, name)
    if pairs is None:
        return keys
    # The first pair of each row of the parent has its owner; the others have any.
    owners = places[parent.table][places[name]]
    first = np.diff(places[name], prepend=-1) > 0
    of = config.links.tables[parent.table].parent
    assert of is not None
    others = rng.integers(0, len(found[of.table].table), len(owners))
    return keys | {pairs.owner: keys_of(of.table, np.where(first, owners, others))}


def _linked_columns(
    config: RunConfig, name: str, view: RunConfig, public: Mapping[str, Table]
) -> tuple[MockedColumn, ...]:
    options = config.links.tables[name]
    own = {*options.columns, *(one for one in (options.key, options.parent and options.parent.column) if one)}
    columns = {
        column: about.model_copy(update={"kind": Kind.INTEGER})
        if about.role is Role.IDENTIFIER and about.kind is None
        else about
        for column, about in sorted(view.data.columns.items(), key=lambda one: one[0] in options.columns)
    }
    data = view.data.model_copy(update={"columns": columns})
    known = mocked_columns(
        view.model_copy(update={"data": data, "mock": _of_table(name, view)}), dict.fromkeys({*columns} - own)
    )
    return tuple(_referring(one, options.references.get(one.column.name), config, public) for one in known)


def _of_table(name: str, view: RunConfig) -> MockOptions | None:
    options, before = view.mock, f"{name}."
    if options is None:
        return None
    columns = {key.removeprefix(before): one for key, one in options.columns.items() if key.startswith(before)}
    lists = tuple(one.removeprefix(before) for one in options.lists if one.startswith(before))
    return MockOptions(lists=lists, columns=columns)


def _unknown_tables(config: RunConfig) -> Iterator[Problem]:
    options = config.mock or MockOptions()
    for key in (*options.columns, *options.lists):
        if key.partition(".")[0] not in config.views:
            yield Problem(
                f"mock: {key!r} is no column of the mock tables", f"write TABLE.COLUMN, of {', '.join(config.views)}"
            )


def _referring(one: MockedColumn, to: str | None, config: RunConfig, public: Mapping[str, Table]) -> MockedColumn:
    """A column with the keys of a public table as its values, where it refers to one."""
    if to is None:
        return one
    key = config.links.tables[to].key
    values = tuple(str(value) for value in public[to].frame[key].dropna())
    return replace(one, domain=CategoryDomain(one.column, values), origin="list")


def numbered(one: MockedColumn, of: Codes) -> pd.Series:
    """Identifiers of rows: running numbers in the form of the column; empty unless it has whole numbers or texts.

    ``of``: what each row is named after, from 0: its own place, its person, a row of a parent table.
    """
    kind, numbers, form = one.column.kind, of + 1, one.form
    if kind not in (Kind.INTEGER, Kind.CATEGORICAL):
        return pd.Series([None] * len(of), dtype=DTYPES[kind])
    if form is None:
        if kind is Kind.INTEGER:
            return pd.Series(numbers, dtype=DTYPES[kind])
        form = PREFIX + "#" * max(6, len(str(int(numbers.max(initial=1)))))
    digits = form.count("#")
    if len(str(int(numbers.max(initial=1)))) > digits:
        raise ConfigError(
            f"mock.columns.{one.column.name}.form has {digits} digits, too few for {int(numbers.max()):,} identifiers",
            hint="write more #, or draw fewer rows",
        )
    texts = [_in_form(form, f"{number:0{digits}d}") for number in range(1, int(numbers.max(initial=0)) + 1)]
    known = pd.Series(texts, dtype=object).take(of).reset_index(drop=True)
    return known.astype(np.int64).astype(DTYPES[kind]) if kind is Kind.INTEGER else known.astype("category")


def _in_form(form: str, digits: str) -> str:
    left = iter(digits)
    return "".join(next(left) if sign == "#" else sign for sign in form)
