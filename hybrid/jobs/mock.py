"""Mock tables, made without the records, or with noisy counts of each column that a privacy budget pays."""

from __future__ import annotations

import secrets
from pathlib import Path

from hybrid.base.atomic import atomic_folder, write_json, write_text
from hybrid.base.errors import ConfigError, Problem
from hybrid.base.manifest import MANIFEST
from hybrid.base.ownership import check_replaceable, seal
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.mocks import MockStatement, mock_tables
from hybrid.mocks.draw import MockedColumn, mocked_columns
from hybrid.mocks.statement import file_stem
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.private_generation import account_of
from hybrid.privacy.accounting import Budget, rho_for
from hybrid.privacy.domain import KnownColumn, PrivacyOptions
from hybrid.privacy.histograms import NoisyHistograms, noisy_histograms
from hybrid.publication.policy import Policy, load_policy
from hybrid.table import Role, Table
from hybrid.table.file_formats import PARQUET_SUFFIXES
from hybrid.table.persons import with_row_limit
from hybrid.table.write import write_table

ROWS = 100
"""Rows of a mock table where nobody asks for another number."""
DELTA = 1e-6
"""Delta of the noisy counts where nobody asks for another one."""
STATEMENT, README = "mock.json", "README.md"


def mock(
    config: RunConfig,
    *,
    rows: int = ROWS,
    seed: int | None = None,
    epsilon: float | None = None,
    delta: float = DELTA,
    work: Path | str = "work",
) -> MockStatement:
    """Make mock tables for writing and testing code; no file of records is opened unless ``epsilon`` is given.

    The configuration has the kind of every column, and what is public of them under ``mock``. ``rows`` are persons of
    linked tables. ``seed`` repeats the draws, but no noise. ``epsilon`` is the budget above 0 of histograms of the
    columns whose values are public (:mod:`hybrid.privacy.histograms`), of a single table without ``mock.from_records``;
    of each person one row is counted, and an account in ``work`` pays. ``delta``, the probability that the bound
    epsilon may fail, is between 0 and 0.01. Where the yearly budget of the policy does not allow the histograms,
    nothing is read.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ConfigError("rows is no whole number of 1 or more", hint="rows=100")
    policy, chosen = load_policy(config.policy_path), fresh_seed() if seed is None else seed
    if epsilon is None:
        return MockStatement(config, mock_tables(config, rows, chosen), policy)
    if config.is_linked:
        raise ConfigError("epsilon: histograms are counted of a single table", hint="leave epsilon out")
    counted = _counted(config)
    private = _private(config, counted, epsilon, delta)
    found = _histograms(private, counted, policy, Path(work))
    budget = Budget(epsilon, delta, 1, found.parts)
    return MockStatement(config, mock_tables(config, rows, chosen, found.shares), policy, budget, tuple(found.shares))


def _counted(config: RunConfig) -> list[MockedColumn]:
    """Columns whose values are public, and that therefore can be counted with noise."""
    if config.mock is not None and config.mock.from_records:
        raise ConfigError(
            "epsilon: values and bounds were proposed from the records (mock.from_records), which no noise covers",
            hint="state them from the meaning of the columns, then set mock.from_records: false",
        )
    found = [one for one in mocked_columns(config) if one.column.role is not Role.IDENTIFIER]
    counted = [one for one in found if one.origin != "made up"]
    if not counted:
        raise ConfigError(
            "epsilon: no column has public values, and only those can be counted with noise",
            hint="state values or bounds under mock.columns, from the meaning of the columns, never from these records",
        )
    return counted


def _private(config: RunConfig, counted: list[MockedColumn], epsilon: float, delta: float) -> RunConfig:
    """The configuration with the budget of the histograms as its section ``privacy``, for the account."""
    if not 0 < epsilon <= 100 or not 0 < delta < 0.01:
        raise ConfigError("epsilon must be above 0 and at most 100, delta above 0 and below 0.01", hint="epsilon 0.1")
    people = None if config.privacy is None else config.privacy.people
    names = {one.column.name: KnownColumn(values=("listed",)) for one in counted}
    # All domains are public, so that no part of delta goes into a search for categories.
    for name, about in config.data.columns.items():
        if about.role.is_learned:
            names.setdefault(name, KnownColumn(values=("listed",)))
    options = PrivacyOptions(mode="dp", epsilon=epsilon, delta=delta, people=people, columns=names)
    return config.model_copy(update={"privacy": options})


def _histograms(config: RunConfig, counted: list[MockedColumn], policy: Policy, work: Path) -> NoisyHistograms:
    """Pay, read, and count one row of each person."""
    assert config.privacy is not None
    account_of(config, policy, work).pay(f"mock {secrets.token_hex(16)}")
    table = config.load_table()
    _refuse_other_kinds(table, counted)
    known = table.take(table.persons >= 0)
    one_row = with_row_limit(known, 1, rng_for(fresh_seed(), "mock", "one row"))
    rho = rho_for(config.privacy.epsilon, config.privacy.delta)
    return noisy_histograms(one_row, [one.in_intervals for one in counted], rho)


def _refuse_other_kinds(table: Table, counted: list[MockedColumn]) -> None:
    lacking = [one.column.name for one in counted if one.column.name not in table.schema]
    if lacking:
        raise ConfigError(
            Problem(f"data.columns: the table has no column {name!r}", "correct its name") for name in lacking
        )


def write_mock(found: MockStatement, folder: Path) -> dict[str, Path]:
    """Write mock tables with their statement: CSV, or Parquet where the source is Parquet.

    The folder is new, or one of earlier mock tables, which is replaced. Gives the file of each table by its name; of a
    single table by the empty name.
    """
    check_replaceable(folder)
    files: dict[str, str] = {}
    paths: dict[str, Path] = {}
    with atomic_folder(folder) as new:
        tables = {name: one.table for name, one in found.made.tables.items()}
        for name, table in {**tables, **found.made.public}.items():
            source = found.config.sources[name]
            stem = file_stem(name) if name in tables else name
            paths[name] = new / f"{stem}{_suffix(found.config, name)}"
            write_table(table, paths[name], source.separator, source.encoding, said=found.mark)
            files[paths[name].name] = "mock table" if name in tables else "public table, as it is"
        files[STATEMENT] = "the same statement, for programs"
        files[MANIFEST] = "SHA-256 of every other file"
        write_json(new / STATEMENT, found.to_json())
        write_text(new / README, found.readme({README: "this text", **files}))
        seal(new, found.config.name, "mock")
    return {name: folder / path.name for name, path in paths.items()}


def _suffix(config: RunConfig, name: str) -> str:
    """Suffix of a mock table's file, by the name of the source's file alone."""
    single = config.views.get(name)
    file = None if single is None else single.data_file
    return ".parquet" if file is not None and file.suffix in PARQUET_SUFFIXES else ".csv"
