"""Mock table in one call, for code that is written outside of the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError
from hybrid.base.notebook import NotebookResult
from hybrid.python.frames import AnyTables, like
from hybrid.python.status import stated

if TYPE_CHECKING:
    from hybrid.mocks import MockStatement
    from hybrid.pipeline.config import RunConfig
    from hybrid.table import Table


class Mock(NotebookResult):
    """A mock table with the statement on what it discloses; ``notes`` say what was guessed."""

    def __init__(
        self, statement: MockStatement, give: Mapping[str, Callable[[Table], Any]], notes: tuple[str, ...] = ()
    ) -> None:
        self.statement = statement
        self.notes = notes
        self._give = give

    @property
    def table(self) -> Any:
        """The mock table; of linked tables a dict of them.

        A table of pandas says in ``table.attrs["hybrid"]``, and one of Arrow in its metadata, that it is a mock.
        """
        said = {"mock": True, "mark": self.statement.mark, "discloses": list(self.statement.discloses)}
        made = {name: one.table for name, one in self.statement.made.tables.items()}
        tables = {**made, **self.statement.made.public}
        given = {name: stated(self._give[name](table), said if name in made else {}) for name, table in tables.items()}
        return given.get("", given)

    @property
    def discloses(self) -> tuple[str, ...]:
        """Everything that the table discloses, in sentences."""
        return self.statement.discloses

    def save(self, folder: Path | str) -> Path:
        """Write the table with its statement, as ``hybrid mock --out`` does; raises as the command does."""
        from hybrid.jobs.mock import write_mock

        write_mock(self.statement, Path(folder))
        return Path(folder)

    def __repr__(self) -> str:
        rows = [f"{name or 'mock table'}: {len(one.table):,} rows" for name, one in self.statement.made.tables.items()]
        said = [self.statement.mark, *(f"  - {one}" for one in self.discloses), self.statement.decision]
        return "\n".join([", ".join(rows), *said, "  .table  .discloses  .statement  .save(folder)  .notes"])


def mock(
    data: AnyTables = None,
    *,
    rows: int = 100,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    roles: Mapping[str, str] | None = None,
    config: Any = None,
    epsilon: float | None = None,
    delta: float = 1e-6,
    seed: int | None = None,
    work: Path | str = "work",
) -> Mock:
    """Make a mock table: names and kinds of the columns are right, and values are made up without the records.

    It is for writing and testing code where the records must not go. Nothing in it can be analysed.

    Parameters
    ----------
    data : table, path, or mapping of str to tables, optional
        As for :func:`hybrid.synthesize`. Names, kinds and roles of the columns are guessed from it, and nothing else is
        used; a kind is that of all values, so that one value can decide it. Not needed with ``config``.
    rows : int
        Rows, 1 or more; of linked tables, persons.
    columns : mapping of str to mapping, optional
        What is public of single columns: ``{"age": {"bounds": [0, 110]}, "sex": {"values": ["f", "m"]}}``, with
        ``decimals``, ``missing`` (share of empty cells) and ``form`` of an identifier. Of linked tables, columns are
        called TABLE.COLUMN.
    roles : mapping of str to str, optional
        Role of single columns, as for :func:`hybrid.synthesize`. Excluded and undecided columns are left out.
    config : RunConfig, Draft, mapping, Path or str, optional
        A configuration in the place of guesses. Then no file of records is opened unless ``epsilon`` is given.
    epsilon : float, optional
        Budget above 0 of noisy counts of each column of ``columns``, which an account in ``work`` pays.
    delta : float
        Probability that the bound epsilon may fail, between 0 and 0.01.
    seed : int, optional
        Repeats every draw, but no noise; by default a fresh one.
    work : Path or str
        The private zone with the account of ``epsilon``.

    Returns
    -------
    Mock
        ``.table`` is of the kind that came in, or of pandas.

    Raises
    ------
    ConfigError, HierarchyError
        An argument is wrong, or the constraints are too rarely met by independent values; all problems at once.
    GateRefused
        The yearly budget of the policy does not allow ``epsilon``.
    DataError
        The table cannot be read.

    Examples
    --------
    >>> hybrid.mock(frame, columns={"age": {"bounds": [0, 110]}}).table  # doctest: +SKIP
    """
    from hybrid.jobs.mock import mock as make

    found, notes = _configured(data, roles, config)
    if columns is not None:
        found = _with_columns(found, columns)
    statement = make(found, rows=rows, seed=seed, epsilon=epsilon, delta=delta, work=work)
    statement = replace(statement, guessed=config is None)
    names = [*found.views, *found.public]
    given = data if isinstance(data, Mapping) else dict.fromkeys(names, Path() if data is None else data)
    return Mock(statement, {name: _given(given.get(name, Path())) for name in names}, notes)


def _configured(data: AnyTables, roles: Mapping[str, str] | None, config: Any) -> tuple[RunConfig, tuple[str, ...]]:
    from hybrid.jobs.start import configuration
    from hybrid.python.drafts import Wishes, guessed
    from hybrid.python.frames import several_in_memory

    if config is not None:
        return configuration(config, None if data is None else several_in_memory(data)), ()
    if data is None:
        raise ConfigError("neither a table nor a configuration was given", hint="hybrid.mock(frame)")
    found = guessed(data, Wishes.of(roles=roles))
    return found.config, found.notes


def _with_columns(config: RunConfig, columns: Mapping[str, Mapping[str, Any]]) -> RunConfig:
    """The configuration with other public knowledge about some columns."""
    from hybrid.base.config_files import ConfigSource, validated
    from hybrid.pipeline.section_options import MockOptions

    before = config.mock or MockOptions()
    known = before.model_dump(exclude_unset=True)
    changed = validated(
        MockOptions, {**known, "columns": {**known.get("columns", {}), **columns}}, ConfigSource("mock")
    )
    return config.with_sections({"mock": changed})


def _given(data: Any) -> Callable[[Table], Any]:
    """As :func:`like`, without the dtypes of the source: those of pandas say which categories its rows have."""
    kind = type(data).__module__.partition(".")[0]
    return like(Path()) if kind == "pandas" else like(data)
