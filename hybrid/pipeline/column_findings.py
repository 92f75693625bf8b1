"""Findings about the columns of a table before a run."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.base.errors import Finding
from hybrid.pipeline.starter.evidence import evidence_of
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import formulas, functional_dependencies, unique_share
from hybrid.table.text import ambiguous_dates, as_text

MANY_TEXTS = 1000
"""Categories beyond which generators need much memory and learn little."""


def column_findings(table: Table) -> Iterator[Finding]:
    """Remarks on a table's columns that stop no run; no cell values."""
    schema = table.schema
    names = schema.quasi_identifiers
    if names:
        share = unique_share(table, names)
        yield Finding("note", f"{100 * share:.1f} % of rows are of people who are alone on the quasi-identifiers")
    for column in schema:
        yield from _about_column(table, column.name)
    others = [column.name for column in schema if column.role not in (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)]
    for teller, told in functional_dependencies(table, names, others):
        yield Finding(
            "note",
            f"{teller!r} gives {told!r} away: each of its values goes with one value of that quasi-identifier",
            f"make {teller!r} a quasi-identifier too, or leave it out of the file",
        )


def _about_column(table: Table, name: str) -> Iterator[Finding]:
    column, values = table.schema[name], table.frame[name]
    distinct = int(values.nunique())
    if distinct == 0:
        yield Finding("note", f"{name!r} has no values at all", "it stays empty; leave it out of the file if you can")
    elif distinct == 1 and not values.isna().any():
        yield Finding("note", f"{name!r} has the same value in every row", "it stays as it is")
    if column.role is Role.IDENTIFIER:
        return
    run_as_formulas = formulas(column, values)
    if run_as_formulas:
        yield Finding(
            "note",
            f"{name!r} has {run_as_formulas:,} values that a spreadsheet runs as formulas (they begin with = + - or @)",
            "a released CSV file has them as they are: replace them in the source, or set output.format: parquet",
        )
    evidence = evidence_of(column, values)
    if evidence is not None:
        known = int(values.notna().sum())
        yield Finding(
            "note",
            f"{name!r} looks like an identifier: {distinct:,} different values in {known:,} rows; {evidence.reason}",
            f"set data.columns.{name}.role: identifier, unless it says nothing about who somebody is",
        )
    elif column.kind is Kind.CATEGORICAL and column.role is not Role.QUASI_IDENTIFIER and distinct > MANY_TEXTS:
        yield Finding(
            "note",
            f"{name!r} has {distinct:,} different texts: generators need much memory for it and learn little",
            "group its values in the file, or leave it out",
        )
    if column.kind.is_temporal and column.format.arrow_type is None and distinct:
        texts = as_text(values.dropna().drop_duplicates(), column)
        if ambiguous_dates(list(texts.str.strip()), column.format.date_format):
            yield Finding(
                "note",
                f"{name!r} is read as {column.format.date_format}, and every value could be read the other way round",
                f"say which with data.columns.{name}.format",
            )
