"""Facts about the tables of a run, for manifest, report and certificate."""

from __future__ import annotations

from typing import Any

from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.sources import pairs_of
from hybrid.publication.description.description import stated_columns
from hybrid.publication.table_facts import StatedTable, TableFacts, rounded
from hybrid.table import Table
from hybrid.table.file_formats import output_suffix


def file_of(name: str, config: RunConfig) -> str:
    """File of a released table: its name, in the format of its source unless the configuration says another."""
    return f"{name or 'synthetic'}{output_suffix(config.data_file, config.output.format)}"


def page_of(name: str) -> str:
    """File of a table's page of the report."""
    return f"report-{name}.html"


def stated_tables(run: Pipeline) -> list[StatedTable]:
    """All released tables: those about people, parents first, then public ones."""
    return [_stated(run, name, table) for name, table in {**run.released, **run.sources.public}.items()]


def _stated(run: Pipeline, name: str, table: Table) -> StatedTable:
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
        rows=run.tables[name].released_rows if name in run.tables else len(table),
        columns=tuple(stated_columns(table.schema)),
        separator=config.data.separator,
        encoding=config.data.encoding,
        public=options.public,
        report=None if options.public or name == SINGLE else page_of(name),
        key=options.key,
        references=parent | options.references,
    )


def table_facts(run: Pipeline, name: str) -> TableFacts:
    """Counts and roles of one table's own columns."""
    pipeline, released = run.tables[name], run.released[name]
    generalizes = pipeline.anonymized is not None
    rows = pipeline.released_rows
    learned = pipeline.learned_records if name == SINGLE else None
    source = run.sources.tables[name]
    return TableFacts.of(source, pipeline.control, released, anonymized=generalizes, rows=rows, learned=learned)


def joint_facts(run: Pipeline) -> TableFacts:
    """Counts and roles of the columns of all tables about people; of several, each column has its table's name.

    Records and control records are those of the person table: people.
    """
    facts = {name: table_facts(run, name) for name in run.tables}
    if SINGLE in facts:
        return facts[SINGLE]

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


def joint_protection(run: Pipeline) -> dict[str, Any] | None:
    """Method that replaced rare values in each column, as :func:`joint_facts` names it (JSON types), without counts.

    None where the protection of values is off.
    """
    found = {name: table.protected.result for name, table in run.tables.items() if table.protected is not None}
    if not found:
        return None
    columns = [
        {"column": f"{name}.{one.column}" if name != SINGLE else one.column, "method": one.method}
        for name, result in found.items()
        for one in result.columns
    ]
    return {"min_count": min(result.min_count for result in found.values()), "columns": columns}
