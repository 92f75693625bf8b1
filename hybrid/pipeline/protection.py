"""Protection of a pipeline's training records: its results replace them for everything that learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from hybrid.base.rng import rng_for
from hybrid.constraints import Rules
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.config import RunConfig
from hybrid.protect import Protected, protect
from hybrid.table import DTYPES, Kind, Table
from hybrid.table.persons import constant_within, harmonized

LEAST_ROUNDED = 100
"""Smallest table whose number of rows is rounded."""


def protected(
    config: RunConfig,
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    seed: int,
    rules: Rules,
    static: Sequence[str] | None,
    *,
    decided: bool = False,
) -> Protected | None:
    """Protect the training records; None where protection is off.

    ``hierarchies`` are those of the quasi-identifiers, as they are read with the whole table; none without
    anonymization. In the columns of ``static`` persons keep one value. With ``decided`` the records are a sample of a
    table whose columns were decided, as in attacks with training.
    """
    if config.protection is None:
        return None
    rng = rng_for(seed, "protect")
    ties = {rule.other: rule.anchor for rule in rules.tied(train, static)}
    found = protect(train, config.protection, rng, config.k, hierarchies, ties=ties, decided=decided)

    def kept(table: Table, draws: str) -> Table:
        table = harmonized(table, static)
        return harmonized(rules.repair(table, train, rng_for(seed, "protect", draws)), static) if rules else table

    generalized = [name for name in train.schema.quasi_identifiers if name in hierarchies]
    table = kept(found.table, "constraints")
    if not generalized:
        return replace(found, table=table, labelled=table)
    # Rules move other columns to quasi-identifiers, never these.
    labelled = kept(found.labelled, "labelled")
    true = found.labelled.frame[generalized]
    labelled = replace(labelled, frame=labelled.frame.assign(**{name: true[name] for name in generalized}))
    return replace(found, table=table, labelled=harmonized(labelled, static))


def static_columns(config: RunConfig, train: Table) -> tuple[str, ...] | None:
    """Columns with one value in all rows of every training person; None where single rows are drawn."""
    if train.rows_are_persons or not config.draws_persons:
        return None
    return tuple(constant_within(train, train.schema.without_identifiers().names))


def training_hierarchies(
    config: RunConfig, train: Table, population: Table | None, read: Mapping[str, Hierarchy]
) -> dict[str, Hierarchy]:
    """Hierarchies over the training records that are generalized, and listed values.

    Their leaves are listed in a file, or are values of the training records (or of the population). ``read``: those of
    the whole table.
    """
    known = train if population is None else _together(train, population)
    return load_hierarchies(known, config.hierarchy_sources, config.unlabelled, read)


def rows_for(config: RunConfig, n: int) -> int:
    """Number of rows of so many people, or records, under ``rows: same`` and ``sampled``.

    Protection rounds it to tens, so that it does not count them.
    """
    if config.synthesize.rows == "sampled":
        n = max(round(n * config.sample.effective.beta), 1)
    return n if config.protection is None or n < LEAST_ROUNDED else 10 * round(n / 10)


def _together(train: Table, population: Table) -> Table:
    names = [name for name in train.schema.quasi_identifiers if name in population.schema]
    columns = {}
    for column in train.schema:
        parts = [train.frame[column.name]] + [population.frame[column.name]] * (column.name in names)
        objects = column.kind is Kind.CATEGORICAL
        both = pd.concat([part.astype(object) if objects else part for part in parts], ignore_index=True)
        columns[column.name] = both.astype(DTYPES[column.kind])
    return Table(pd.DataFrame(columns), train.schema)
