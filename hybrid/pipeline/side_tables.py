"""Tables that a configuration names beside its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.published_totals import PublishedTotals, published_totals
from hybrid.table import Role, Schema, Table
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions


class Beside:
    """Tables that a configuration names beside its records, each read once, when it is first used.

    ``people`` gives the columns of the people who are looked up in a register; None: of this table, nobody is.
    """

    def __init__(self, config: RunConfig, people: Callable[[], Schema] | None) -> None:
        self._config, self._people = config, people

    @cached_property
    def population(self) -> Table | None:
        """The population table of k-map; None where the config names none."""
        return load_population(self._config)

    @cached_property
    def register(self) -> Table | None:
        """The register in which an attacker looks people up; None where the config names none."""
        return None if self._people is None else load_register(self._config, self._people())

    @cached_property
    def totals(self) -> PublishedTotals | None:
        """Published totals of the population; None where the config names none."""
        return published_totals(self._config)


def load_population(config: RunConfig) -> Table | None:
    """Population table of k-map, quasi-identifiers as the data writes them; None where there is none."""
    if config.anonymize is None or config.anonymize.population is None:
        return None
    columns = {name: config.data.columns[name] for name in config.data.having(Role.QUASI_IDENTIFIER)}
    return _read(config, config.anonymize.population, columns)


def load_register(config: RunConfig, people: Schema) -> Table | None:
    """Register in which an attacker looks people up, with the columns that are compared; None where there is none.

    ``people`` has the columns of the people that are looked up; those of the register get their kinds.
    """
    options = config.evaluate.attacker_register
    if options is None:
        return None
    found, key = _read(config, options.path, {}).schema, "evaluate.attacker_register"
    learned = people.without_identifiers()
    for what, schema in (("the table", learned), (options.path, found)):
        absent = [name for name in options.columns or () if name not in schema]
        if absent:
            raise ConfigError(
                f"{key}.columns: {what} has no such column: {', '.join(absent)}",
                hint=f"one of: {', '.join(schema.names)}",
            )
    names = [name for name in options.columns or learned.names if name in found]
    if not names:
        raise ConfigError(
            f"{key}: {options.path} has no column of the table", hint="name its columns as the table names them"
        )
    declared = config.data.columns
    known = {name: declared.get(name, ColumnOptions()).model_copy(update={"kind": people[name].kind}) for name in names}
    return _read(config, options.path, known).only(names)


def _read(config: RunConfig, path: str, columns: Mapping[str, ColumnOptions]) -> Table:
    """A table that writes its values as the data does."""
    options = config.data.model_copy(update={"columns": dict(columns), "unlisted": "insensitive"})
    return read_table(config.path(path), options)
