"""Repetition of the way from linked tables to their release, for attackers who train again.

What is repeated is everything of every table: protection, anonymization, sampling, transition and drawing, on some of
the people with all of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybrid.base.arrays import Rows
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.people_in_tables import LinkedPeople
from hybrid.pipeline.child_draw import renamed
from hybrid.pipeline.child_run import ChildRun
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import LinkOptions
from hybrid.pipeline.sources import rows_of
from hybrid.pipeline.table_run import TableRun
from hybrid.table import Table

Part = Callable[[TableRun], Table]


def real_people(tables: Mapping[str, TableRun]) -> LinkedPeople:
    """Training people with all of their rows; ``persons`` has their rows in the source."""
    return _people(tables, lambda table: table.train)


def control_people(tables: Mapping[str, TableRun]) -> LinkedPeople | None:
    """People who are kept apart, with all of their rows, as :func:`real_people`; None without any."""

    def apart(table: TableRun) -> Table:
        assert table.control is not None
        return table.control

    return None if any(table.control is None for table in tables.values()) else _people(tables, apart)


def trained_on_people(options: EvaluateOptions, metric: Metric) -> bool:
    """True if a metric attacks by shadow models of all linked tables: one that is named, and asks about no column."""
    return "retraining" in metric.needs and metric.per is None and metric.name in options.named


def drawn_people(tables: Mapping[str, TableRun]) -> LinkedPeople:
    """Drawn people with all of their rows, whom the keys of a release link."""
    return _people(tables, lambda table: table.generated.table)


def learned_rows(tables: Mapping[str, TableRun]) -> LinkedPeople:
    """Summaries alone of the rows of training people, protected; ``persons`` has the people's rows in the source.

    Without columns whose values labels hide.
    """
    person, *_ = tables.values()
    views = {name: view for name, view in tables.items() if isinstance(view, ChildRun)}
    own = {name: [column for column in view.own if column not in view.hidden] for name, view in views.items()}
    return LinkedPeople.of(person.train.only([]), {name: (view.learned, own[name]) for name, view in views.items()})


def _people(tables: Mapping[str, TableRun], part: Part) -> LinkedPeople:
    name, person = next(iter(tables.items()))
    people = part(person)
    people = renamed(people, {column: f"{name}.{column}" for column in people.schema.without_identifiers().names})
    return LinkedPeople.of(people, _below(tables, part))


def _below(tables: Mapping[str, TableRun], part: Part) -> dict[str, tuple[Table, Sequence[str]]]:
    return {name: (part(view), view.own) for name, view in tables.items() if isinstance(view, ChildRun)}


def some_people(links: LinkOptions, sources: Sources, people: Rows) -> Sources:
    """Some of the people, in this order, with all of their rows.

    Of the person table's rows (``people``), one that comes again is another person with the same rows. People are
    numbered anew from 0; rows of a parent are together, in the order that they had.
    """
    kept, owners = {links.person: people}, {}
    tables = {links.person: replace(sources.tables[links.person].take(people), named_persons=np.arange(len(people)))}
    for name, table in sources.tables.items():
        parent = links.tables[name].parent
        if parent is None:
            continue
        kept[name], owners[name] = rows_of(kept[parent.table], sources.owners[name])
        rows = kept[name]
        persons = tables[parent.table].persons
        tables[name] = replace(table.take(rows), named_persons=persons[owners[name]])
    return Sources(tables, owners, sources.public, sources.orphans)
