"""Findings about the declared constraints and the source."""

from __future__ import annotations

import pandas as pd

from hybrid.base.errors import ConfigError, Finding
from hybrid.constraints import Constraint, Rules
from hybrid.constraints.checks import refuse_misfits
from hybrid.constraints.discover import discover
from hybrid.constraints.kinds.checked import Limit, Range, comparable
from hybrid.constraints.kinds.computed import Derived
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.holding import least_persons
from hybrid.publication.table_facts import few
from hybrid.table import Table
from hybrid.table.holders import value_holders


def constraint_findings(config: RunConfig, table: Table) -> list[Finding]:
    """Check every constraint against the columns and the rows of the source.

    Parameters
    ----------
    config : RunConfig
        Its constraints.
    table : Table
        The whole source, with undecided columns.

    Returns
    -------
    list of Finding
        Errors where columns do not fit, or where no row keeps all constraints; a note for each that some rows break
        (as :func:`~hybrid.constraints.discover.discover` judges it), or whose rule few people do not fit. Small counts
        are masked.
    """
    try:
        refuse_misfits(config.constraints, table.schema)
    except ConfigError as error:
        return [Finding.error(problem) for problem in error.problems]
    if not config.constraints:
        return _undeclared(config, table)
    least = least_persons(config)
    rules = Rules.fit(config.constraints, table, least)
    broken = {rule: int(mask.sum()) for rule, mask in rules.masks(table)}
    if len(table) and rules.broken(table).all():
        sentences = "; ".join(rule.constraint.sentence for rule in broken)
        hint = "correct or remove the constraint that the source does not have"
        return [Finding("error", f"constraints: no row of the source keeps all of them: {sentences}", hint)]
    held = sum(not rule.constraint.broken(table).any() for rule in broken)
    breaches = [(count, rule.constraint.breach(least)) for rule, count in broken.items() if count]
    notes = [Finding("note", f"constraints: {few(count)} {said.message}", said.hint) for count, said in breaches]
    notes += _extremes(config, table, least)
    unjudged = [rule.constraint.sentence for rule in rules.rules if rule not in broken]
    notes += [Finding("note", f"constraints: cannot be judged on the source: {sentence}") for sentence in unjudged]
    holding = [Finding("ok", f"{held} constraints hold in all rows of the source")] if held else []
    return [*holding, *notes, *_undeclared(config, table)]


def _extremes(config: RunConfig, table: Table, least: int) -> list[Finding]:
    """Limits of ranges that are an extreme value of few people."""
    ranges = [
        (name, limits) for one in config.constraints if isinstance(one, Range) for name, limits in one.range.items()
    ]
    return [
        Finding(
            "note",
            f"constraints: a limit of range.{name} is the smallest or largest value of the source, which fewer than "
            f"{least} people have; limits are published",
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


def _undeclared(config: RunConfig, table: Table) -> list[Finding]:
    """Constraints that hold in all rows and are not declared."""
    declared = {_named(one) for one in config.constraints}
    found = [one for one in discover(table) if _named(one.constraint) not in declared]
    rows = {
        "no row of the source breaks them": [one for one in found if not one.broken],
        "few rows of the source break them": [one for one in found if one.broken],
    }
    return [
        Finding(
            "note",
            f"not declared, and {how}: {'; '.join(one.constraint.text for one in those)}",
            "add those to constraints that every released row must keep",
        )
        for how, those in rows.items()
        if those
    ]


def _named(constraint: Constraint) -> tuple[str, frozenset[str]]:
    """Kind of a constraint and its columns; of a computed one that column."""
    about = [constraint.column] if isinstance(constraint, Derived) else constraint.columns
    return constraint.key, frozenset(about)
