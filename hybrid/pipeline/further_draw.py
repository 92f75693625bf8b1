"""Further draws from the models of a run, which no evaluation is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hybrid.base.errors import ConfigError
from hybrid.pipeline.child_run import ChildRun, DrawnRows
from hybrid.pipeline.conditions import refuse_misfit, selection
from hybrid.pipeline.config import SINGLE
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.released_keys import with_keys
from hybrid.pipeline.released_rows import with_identifiers
from hybrid.table import Table


def further_tables(
    run: Pipeline, rows: int, number: int, before: Mapping[str, int], where: str | None = None
) -> dict[str, Table]:
    """Tables of a further draw from the same models.

    ``rows`` (1 or more; of persons with several rows, about so many) are people of linked tables, with their rows in
    all tables. Each ``number``, 1 or more, has random numbers of its own. ``before`` are the rows of each table that
    were drawn before, whose surrogates are not used again. ``where``: what every row, or person, meets beside the
    condition of the configuration.
    """
    people = _people(run, rows, number, where)
    if not run.config.is_linked:
        return {SINGLE: with_identifiers(run.person, people.table, before[SINGLE], before[SINGLE])}
    drawn = {run.config.links.person: DrawnRows(people, np.arange(len(people.table)))}
    for name, table in run.tables.items():
        if isinstance(table, ChildRun):
            drawn[name] = table.drawn_below(drawn, number)
    return with_keys(run.config.links, run.sources, drawn, before)


def _people(run: Pipeline, rows: int, number: int, where: str | None) -> Generated:
    person, options, generation = run.person, run.config.synthesize, run.person.generation
    if options.is_off or options.filter is not None or run.config.privacy is not None:
        why = "no generator runs" if options.is_off else "rows are filtered, or each draw spends a privacy budget"
        raise ConfigError(f"no further rows can be drawn: {why}", hint="set synthesize.rows and run again")
    if where is not None:
        both = where if options.where is None else f"({options.where}) and ({where})"
        chosen = run.config.with_values({"synthesize.where": both}).synthesize
        config = person.config.model_copy(update={"synthesize": chosen})
        refuse_misfit(config, person.table.schema)
        met = selection(config, person.train, by_person=person.static is not None, decided=person.decided)
        generation = replace(generation, config=config, selection=met)
    return generation.again(rows, number).drawn()
