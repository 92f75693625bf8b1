"""Findings about the columns of a table, its constraints and the size of its sample, before a run."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping

import pandas as pd

from hybrid.base.errors import ConfigError, Finding
from hybrid.base.sentence import sentence
from hybrid.constraints import Constraint, Rules
from hybrid.constraints.checks import refuse_misfits
from hybrid.constraints.discover import discover
from hybrid.constraints.kinds.checked import Limit, Range, comparable
from hybrid.constraints.kinds.computed import Derived
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import least_persons
from hybrid.pipeline.starter.guessed_roles import evidence_of
from hybrid.publication.policy import Policy
from hybrid.publication.table_facts import few
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import formulas, functional_dependencies, unique_share
from hybrid.table.holders import value_holders
from hybrid.table.kinds.moments import ambiguous_dates
from hybrid.table.text import as_text

MANY_TEXTS = 1000
"""Categories beyond which generators need much memory and learn little."""


def column_findings(table: Table, above: Container[str] = ()) -> Iterator[Finding]:
    """Remarks on a table's columns that stop no run; no cell values.

    What is about columns of the person table beside it (``above``) alone is said there.
    """
    schema = table.schema
    names = schema.quasi_identifiers
    if any(name not in above for name in names):
        share = unique_share(table, names)
        yield Finding("note", sentence("check.alone", n=f"{100 * share:.1f}"))
    for name in schema.names:
        yield from () if name in above else _about_column(table, name)
    known = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)
    others = [column.name for column in schema if column.role not in known and column.name not in above]
    for teller, told in functional_dependencies(table, names, others):
        yield Finding(
            "note",
            sentence("check.gives_away", column=teller, told=told),
            sentence("check.gives_away.hint", column=teller),
        )


def _about_column(table: Table, name: str) -> Iterator[Finding]:
    column, values = table.schema[name], table.frame[name]
    distinct = int(values.nunique())
    if distinct == 0:
        no_values = sentence("check.no_values", column=name)
        yield Finding("note", no_values, "it stays empty; leave it out of the file if you can")
    elif distinct == 1 and not values.isna().any():
        yield Finding("note", sentence("check.constant", column=name), "it stays as it is")
    if column.role is Role.IDENTIFIER:
        return
    run_as_formulas = formulas(column, values)
    if run_as_formulas:
        yield Finding(
            "note",
            sentence("check.formulas", column=name, n=run_as_formulas),
            "a released CSV file has them as they are: replace them in the source, or set output.format: parquet",
        )
    evidence = evidence_of(column, values)
    if evidence is not None and (evidence.strong or not evidence.partial):
        known = int(values.notna().sum())
        yield Finding(
            "note",
            sentence("check.identifier", column=name, n=distinct, rows=known, reason=evidence.reason),
            sentence("check.identifier.hint", key=f"data.columns.{name}.role"),
        )
    elif column.kind is Kind.CATEGORICAL and column.role is not Role.QUASI_IDENTIFIER and distinct > MANY_TEXTS:
        yield Finding(
            "note",
            sentence("check.texts", column=name, n=distinct),
            "group its values in the file, or leave it out",
        )
    if column.kind.is_temporal and column.format.arrow_type is None and distinct:
        texts = as_text(values.dropna().drop_duplicates(), column)
        if ambiguous_dates(list(texts.str.strip()), column.format.date_format):
            yield Finding(
                "note",
                sentence("check.swapped", column=name, format=str(column.format.date_format)),
                sentence("check.swapped.hint", key=f"data.columns.{name}.format"),
            )


def constraint_findings(config: RunConfig, table: Table, above: Mapping[str, str]) -> list[Finding]:
    """Check every constraint against the columns and the rows of the source.

    Errors where columns do not fit, or where no row keeps all constraints; a note for each that some rows break (as
    :func:`~hybrid.constraints.discover.discover` judges it), or whose rule few people do not fit. Small counts are
    masked. ``above``: columns of the person table beside a table, and what constraints call them.
    """
    try:
        refuse_misfits(config.constraints, table.schema)
    except ConfigError as error:
        return [Finding.error(problem) for problem in error.problems]
    if not config.constraints:
        return _undeclared(config, table, above)
    least = least_persons(config)
    rules = Rules.fit(config.constraints, table, least)
    broken = {rule: int(mask.sum()) for rule, mask in rules.masks(table)}
    if len(table) and rules.broken(table).all():
        none_keeps = sentence("check.rules.none", rules=tuple(rule.constraint.sentence for rule in broken))
        return [Finding("error", none_keeps, "correct or remove the constraint that the source does not have")]
    held = sum(not rule.constraint.broken(table).any() for rule in broken)
    breaches = [(count, rule.constraint.breach(least)) for rule, count in broken.items() if count]
    notes = [Finding("note", f"constraints: {few(count)} {said.message}", said.hint) for count, said in breaches]
    notes += _extremes(config, table, least)
    unjudged = [rule.constraint.sentence for rule in rules.rules if rule not in broken]
    notes += [Finding("note", sentence("check.rules.unjudged", rule=rule)) for rule in unjudged]
    holding = [Finding("ok", sentence("check.rules.hold", n=held))] if held else []
    return [*holding, *notes, *_undeclared(config, table, above)]


def _extremes(config: RunConfig, table: Table, least: int) -> list[Finding]:
    ranges = [
        (name, limits) for one in config.constraints if isinstance(one, Range) for name, limits in one.range.items()
    ]
    return [
        Finding(
            "note",
            sentence("check.rules.limit", key=f"range.{name}", n=least),
            "write a round limit beyond it",
        )
        for name, limits in ranges
        if _is_of_few(limits, value_holders(table, name), least)
    ]


def _is_of_few(limits: tuple[Limit, Limit], held: pd.Series, least: int) -> bool:
    if held.empty:
        return False
    ends = held.index.min(), held.index.max()
    return any(
        limit is not None and comparable(limit) == end and held[end] < least
        for limit, end in zip(limits, ends, strict=True)
    )


def _undeclared(config: RunConfig, table: Table, above: Mapping[str, str]) -> list[Finding]:
    declared = {_named(one) for one in config.constraints}
    # What is about the person table alone is said there.
    own = [one for one in discover(table) if not above.keys() >= set(one.constraint.columns)]
    found = [one for one in own if _named(one.constraint) not in declared]
    rows = {
        "check.rules.undeclared": [one for one in found if not one.broken],
        "check.rules.undeclared.few": [one for one in found if one.broken],
    }
    return [
        Finding(
            "note",
            sentence(template, rules="; ".join(one.constraint.renamed(above).text for one in those)),
            "add those to constraints that every released row must keep",
        )
        for template, those in rows.items()
        if those
    ]


def _named(constraint: Constraint) -> tuple[str, frozenset[str]]:
    """Kind of a constraint and its columns; of a computed one that column."""
    about = [constraint.column] if isinstance(constraint, Derived) else constraint.columns
    return constraint.key, frozenset(about)


LEAST_LEAKED = 10
"""Rows that a leak must have to be told from chance, at least."""


def small_sample(policy: Policy, rows: int) -> Iterator[Finding]:
    """Note on a sample too small to show the demanded leaks.

    Of ``rows`` rows, fewer than :data:`LEAST_LEAKED` would be leaked: chance copies as many.
    """
    sizes = [size for kind, size in policy.must_detect.items() if LEAKS[kind].of_rows and size * rows < LEAST_LEAKED]
    if sizes and policy.power.skip is None:
        yield Finding(
            "note",
            sentence("check.small_sample", key="split.rows", n=rows, least=LEAST_LEAKED),
            sentence("check.small_sample.hint", key="split.rows", n=math.ceil(LEAST_LEAKED / min(sizes))),
        )
