"""Facts about linked tables, for manifest, report and certificate."""

from __future__ import annotations

from hybrid.linked.config import LinkedConfig
from hybrid.linked.run import LinkedRun
from hybrid.linked.sources import pairs_of
from hybrid.linked.view import View
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.roles import refuse_undecided_columns, undecided_columns
from hybrid.publication.description.description import stated_columns
from hybrid.publication.table_facts import StatedTable, TableFacts, rounded
from hybrid.table import Table
from hybrid.table.file_formats import output_suffix


def file_of(name: str, config: RunConfig) -> str:
    """File of a released table: its name, in the format of its source unless the configuration says another."""
    return f"{name}{output_suffix(config.data_file, config.output.format)}"


def page_of(name: str) -> str:
    """File of a table's page of the report."""
    return f"report-{name}.html"


def stated_tables(run: LinkedRun) -> list[StatedTable]:
    """All released tables: the person table, those below it, public ones."""
    return [
        *(_stated(run, name, table, page_of(name)) for name, table in run.released.items()),
        *(_stated(run, name, table, None) for name, table in run.sources.public.items()),
    ]


def _stated(run: LinkedRun, name: str, table: Table, page: str | None) -> StatedTable:
    options, config = run.config.links.tables[name], run.config.config_of(name)
    direct = options.parent is not None and options.parent.through is None
    parent = {options.parent.column: options.parent.table} if options.parent is not None and direct else {}
    through = pairs_of(run.config.links, name)
    if through is not None and options.parent is not None:
        owned = run.config.links.tables[options.parent.table].parent
        parent |= {} if owned is None else {through.owner: owned.table}
    return StatedTable(
        name=name,
        file=file_of(name, config),
        rows=len(table),
        columns=tuple(stated_columns(table.schema)),
        separator=config.data.separator,
        encoding=config.data.encoding,
        public=options.public,
        report=page,
        key=options.key,
        references=parent | options.references,
    )


def table_facts(run: LinkedRun, name: str) -> TableFacts:
    """Counts and roles of one table's own columns."""
    pipeline, source, released = run.tables[name], run.sources.tables[name], run.released[name]
    return TableFacts.of(source, pipeline.control, released, anonymized=_generalizes(run, name))


def joint_facts(run: LinkedRun) -> TableFacts:
    """Counts and roles of the columns of all tables about people, each with the name of its table.

    Records and control records are those of the person table: people.
    """
    facts = {name: table_facts(run, name) for name in run.tables}

    def named(role: str) -> tuple[str, ...]:
        return tuple(f"{name}.{column}" for name, found in facts.items() for column in getattr(found, role))

    control = run.person.control
    return TableFacts(
        records=rounded(len(run.person.table)),
        control=0 if control is None else rounded(len(control)),
        rows=sum(found.rows for found in facts.values()),
        columns=sum(found.columns for found in facts.values()),
        identifiers=named("identifiers"),
        generalized=named("generalized"),
        as_they_are=named("as_they_are"),
    )


def _generalizes(run: LinkedRun, name: str) -> bool:
    return run.person.anonymized is not None and not isinstance(run.tables[name], View)


def refuse_undecided_tables(config: LinkedConfig) -> None:
    """Refuse a release while a column of any table is undecided.

    Raises
    ------
    ConfigError
        As :func:`hybrid.pipeline.roles.refuse_undecided_columns`; columns have the names of their tables.
    """
    undecided = [f"{name}.{column}" for name, view in config.views.items() for column in undecided_columns(view)]
    refuse_undecided_columns(config.person.roles, undecided)
