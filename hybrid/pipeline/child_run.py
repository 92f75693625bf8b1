"""Runs of tables below the person table.

Such a table has the columns of its persons beside it. Its run is an ordinary one, but for three things: its training
and control persons are those of the person table; the columns of the persons are protected, anonymized and sampled
once, there; and its rows are drawn given the drawn rows of its parent. Quasi-identifiers of its own are generalized
under the labels of the rows above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Codes, Rows
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.evaluation.context import Parentage, Parents
from hybrid.evaluation.context import Role as Side
from hybrid.evaluation.measure import Subject
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.child_draw import (
    Anchor,
    ChildDraw,
    DrawnParents,
    find_anchors,
    find_floors,
    renamed,
    with_columns_of,
)
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.event_labels import EventAnonymization, beside_persons
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.risk import KnownLeak, leak_of
from hybrid.pipeline.side_tables import Beside
from hybrid.pipeline.sources import rows_of
from hybrid.pipeline.stages import ANONYMIZE, PROTECT, SYNTHESIZE, TRANSITION
from hybrid.pipeline.table_run import TableRun
from hybrid.protect import Protected, Start, protect
from hybrid.store import Store
from hybrid.synthesize.fitted import FittedGenerator
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import harmonized
from hybrid.table.split import Parts

T = TypeVar("T")


class ChildInputs(Inputs):
    """Inputs of a table below the person table, which has the training and the control persons.

    ``table`` was read with the others, and has the person of each row; ``generalized`` are its quasi-identifiers.
    """

    def __init__(
        self, config: RunConfig, table: Table, progress: Progress, people: TableRun, generalized: Sequence[str]
    ) -> None:
        super().__init__(config, Recorder(), progress, table)
        self._people, self._generalized = people, generalized

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return load_hierarchies(self.table.only(self._generalized), self.config.hierarchy_sources)

    @cached_property
    def beside(self) -> Beside:
        """People are looked up by the person table."""
        return Beside(self.config, None)

    def split(self, seed: int) -> Parts:  # noqa: ARG002
        control, release = self._people.control, self._people.parts.release
        others = (None if part is None else _of(self.table, part) for part in (control, release))
        return Parts(_of(self.table, self._people.train), *others)


@dataclass(frozen=True)
class Link:
    """Place of a table below the person table."""

    name: str
    parent_name: str
    """The table and its parent."""
    people: TableRun
    parent: TableRun
    """The person table; the parent table."""
    siblings: Mapping[str, ChildRun]
    """Tables with the same parent that are drawn before."""
    owners: Rows
    """Row of the parent's source that each row of the source belongs to; shape (n_rows,), int64."""
    static: Mapping[str, str]
    """Columns of the person table, and what they are called beside the rows."""
    released: Callable[[], tuple[Rows, int]]
    """Gives the drawn parent row of each released row, by the released keys, and the number of rows with a reference
    that leads nowhere."""

    def dependable(self, parents: Table, children: Mapping[str, Rows] | None = None) -> Table:
        """Columns that rows may depend on: the parent's, under its name, and numbers of rows of the siblings.

        ``children`` has the position in ``parents`` of the parent of each row of each sibling.
        """
        used = [column.name for column in parents.schema.without_identifiers() if column.role is not Role.WEIGHT]
        table = renamed(parents, {name: f"{self.parent_name}.{name}" for name in used})
        for name, owners in (children or {}).items():
            counts = pd.Series(np.bincount(owners, minlength=len(parents)), dtype="Int64")
            column = Column(f"number of {name}", Role.INSENSITIVE, Kind.INTEGER)
            frame = table.frame.assign(**{column.name: counts})
            table = replace(table, frame=frame, schema=Schema((*table.schema, column)))
        return table


@dataclass(frozen=True)
class DrawnRows:
    """Drawn rows of a table, with their drawn parents; a person is its own."""

    generated: Generated
    owners: Rows

    @property
    def table(self) -> Table:
        return self.generated.table

    @classmethod
    def of(cls, run: TableRun) -> Self:
        """Those that a table's run releases."""
        return cls(run.generated, run.drawn_owners)


class ChildRun(TableRun):
    """Run of a table below the person table.

    ``table`` is the source, with the person of each row; other arguments as for
    :class:`hybrid.pipeline.table_run.TableRun`.
    """

    is_one_of_several = True

    def __init__(
        self,
        config: RunConfig,
        link: Link,
        table: Table,
        store: Store,
        progress: Progress,
        *,
        judge_power: bool,
    ) -> None:
        joined = with_columns_of(table, link.people.table, table.persons, link.static)
        generalized = link.people.config.generalized_below(link.name)
        inputs = ChildInputs(config, joined, progress, link.people, generalized)
        super().__init__(config, None, store, progress, inputs, judge_power=judge_power)
        self.link, self.name, self.generalized = link, link.name, generalized
        self.behind = fingerprint(link.people.behind, link.people.keys, link.name)
        self.own = tuple(name for name in joined.without_identifiers().schema.names if name not in link.static.values())

    @cached_property
    def seed(self) -> int:
        """Source of randomness of this table alone, which follows from that of the person table."""
        return int(rng_for(self.link.people.seed, "linked", self.link.name).integers(2**63))

    @cached_property
    def rows(self) -> Rows:
        return np.flatnonzero(np.isin(self.table.persons, self.train.persons))

    @cached_property
    def static(self) -> tuple[str, ...]:
        return tuple(self.link.static.values())

    @cached_property
    def protected(self) -> Protected | None:
        """Training records without rare values; columns of persons are as the person table has them."""
        return None if self.config.protection is None else self._stage(PROTECT.name, self._protect)

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier of its own."""
        return load_hierarchies(self.labelled.only(self.generalized), self.config.hierarchy_sources)

    @cached_property
    def keys(self) -> dict[str, str]:
        found = super().keys
        if not self.generalized:
            return found
        stages = (ANONYMIZE, TRANSITION)
        return found | {one.name: fingerprint(one.name, self.behind, found[SYNTHESIZE.name]) for one in stages}

    @cached_property
    def anonymization(self) -> Anonymization | None:
        """The stages from its own quasi-identifiers to specific values again; None where it has none."""
        options, people = self.link.people.config.anonymize, self.link.people
        if not self.generalized or options is None:
            return None
        rows, above = self._below_labels
        return EventAnonymization(
            config=self.config,
            options=options,
            transition=people.config.required_transition,
            hierarchies=self.hierarchies,
            population=None,
            train=self.labelled.only(self.own).take(rows),
            seed=self.seed,
            compute=self._stage,
            progress=self.progress,
            protection=None if self.protected is None else self.protected.result,
            rules=self.rules,
            public=self._public_lists,
            ties=self.rules.tied(self.train.only(self.own)),
            name=self.name,
            above=above,
            followed=self._followed,
        )

    @property
    def hidden(self) -> frozenset[str]:
        """Columns whose values labels hide: quasi-identifiers of its own, and what is counted from them."""
        tied = () if self.anonymization is None else self.anonymization.tied
        return frozenset(self.generalized).union(*(rule.replaces for rule in tied))

    @cached_property
    def labelled_rows(self) -> tuple[Rows, Codes]:
        """Rows of the source that have labels, and the class of each: that of its parent, with its own labels."""
        rows, above = self._below_labels
        if self.anonymized is None:
            return self.rows[rows], above
        assert self.anonymized.rows is not None
        return self.rows[rows][self.anonymized.rows], self.anonymized.class_ids

    @cached_property
    def _below_labels(self) -> tuple[Rows, Codes]:
        """Training rows whose parent has labels, and the class of the parent."""
        known, classes = self.link.parent.labelled_rows
        places = positions(self.link.owners[self.rows], known)
        rows = np.flatnonzero(places >= 0)
        return rows, classes[places[rows]]

    def _followed(self, anonymized: AnonymizedTable) -> AnonymizedTable:
        assert anonymized.rows is not None
        rows, people = self.rows[self._below_labels[0]][anonymized.rows], self.link.people.kept
        there = positions(self.link.owners[rows], self.link.parent.kept[1]) >= 0
        found = anonymized.take(there)
        at = positions(found.originals.persons, people[1])
        return beside_persons(found, people[0], at, self.link.static)

    @property
    def is_conditional(self) -> bool:
        return self.link.people.is_conditional

    @property
    def compared(self) -> tuple[Table, Table | None]:
        """Records of the persons that utility and fidelity compare with."""
        if not self.is_conditional:
            return super().compared
        train, control = self.link.people.compared
        return _of(self.train, train), None if self.control is None or control is None else _of(self.control, control)

    @property
    def charted(self) -> tuple[Table, Table | None]:
        real, control = super().charted
        if self.protected is None or not self.is_conditional:
            return real, control
        return self.protected.table.take(np.isin(self.train.persons, self.compared[0].persons)), control

    @property
    def compared_rows(self) -> tuple[Rows, Rows]:
        train, control = self.compared
        persons = [np.empty(0, dtype=np.int64) if part is None else part.persons for part in (train, control)]
        mine, others = (np.flatnonzero(np.isin(self.table.persons, each)) for each in persons)
        return mine, others

    @property
    def parentage(self) -> Mapping[Subject, Parentage]:
        """Parents of source rows, and of released rows by keys."""
        parent, owners = self.link.parent, self.link.owners
        (rows, control_rows), (above, above_control) = self.compared_rows, parent.compared_rows
        train, control = parent.compared
        found: dict[Side, Parents] = {"train": Parents(train, positions(owners[rows], above), self.own)}
        if control is not None:
            found["control"] = Parents(control, positions(owners[control_rows], above_control), self.own)
        places, broken = self.link.released()
        released = Parents(parent.generated.table, places, self.own, broken)
        return {"original": {**found, "table": found["train"]}, "synthetic": {**found, "table": released}}

    @cached_property
    def kept(self) -> tuple[Table, Rows]:
        """Records that a generator learns, with their source rows.

        Those whose parent is learned, with the learned values of their persons. Values that were restored below labels
        give the rows of a parent their order.
        """
        if self.anonymization is not None:
            return self._restored_rows(self.anonymization)
        places = positions(self.link.owners[self.rows], self.link.parent.kept[1])
        table, people = self.learned.take(places >= 0), self.link.people.kept
        joined = with_columns_of(table, people[0], positions(table.persons, people[1]), self.link.static)
        return joined, self.rows[places >= 0]

    def _restored_rows(self, anonymization: Anonymization) -> tuple[Table, Rows]:
        found, schema = anonymization.sampled.anonymized, self.train.schema
        assert found.rows is not None
        rows = self.rows[self._below_labels[0]][found.rows]
        table = Table(anonymization.restored.table.frame[schema.names], schema, self.table.persons[rows])
        order = schema.order
        if order is None:
            return table, rows
        owners = self.link.owners[rows]
        ranks = table.frame[order].rank(method="dense", na_option="bottom").to_numpy()
        places = np.lexsort((ranks, owners))
        return table.take(places), rows[places]

    @cached_property
    def copied(self) -> tuple[Rows, Rows]:
        """Rows of the source that a table with a known leak has, and the row of the parent table that each is below."""
        above = self.link.parent
        return rows_of(above.copied[0] if isinstance(above, ChildRun) else above.known_leak.people, self.link.owners)

    @cached_property
    def known_leak(self) -> KnownLeak:
        """Rows of the people in a person table with a known leak, as they are."""
        (rows, owners), people = self.copied, self.link.people.known_leak
        persons = self.link.parent.generated.table.persons[owners]
        table = self.table.without_identifiers().take(rows)
        table = with_columns_of(table, people.table, persons, self.link.static).only(table.schema.names)
        return KnownLeak(replace(table, named_persons=persons), positions(rows, self.rows), people.people[persons])

    @cached_property
    def _of_parents(self) -> tuple[Table, Table, Rows]:
        """Training rows without the columns of persons, training rows of the parent, and the parent of each row."""
        parent = self.link.parent
        rows = positions(self.link.owners[self.rows], parent.rows)
        return self.train.only(self.own), self.link.dependable(parent.train), rows

    @cached_property
    def _anchors(self) -> list[Anchor]:
        """Dates that are protected and learned as distances from a date of the parent."""
        return find_anchors(*self._of_parents)

    @cached_property
    def drawn_owners(self) -> Rows:
        return self._drawn.owners

    @cached_property
    def drawn(self) -> Generated:
        return self._drawn.generated

    @cached_property
    def _drawn(self) -> DrawnRows:
        return self._stage(SYNTHESIZE.name, self._draw)

    @cached_property
    def _models(self) -> dict[str, FittedGenerator] | None:
        return {} if self.keeps_model else None

    def _protect(self) -> Protected:
        options, people = self.config.protection, self.link.people
        assert options is not None
        own, k = self.train.only(self.own), people.config.k
        chosen = options.only(own.schema.names)
        rng, ties = rng_for(self.seed, "protect"), {rule.other: rule.anchor for rule in self.rules.tied(own)}
        hierarchies = self.inputs.hierarchies
        (_, true, above), learned = self._of_parents, self.link.dependable(self.link.parent.learned)
        starts = {
            one.column: Start(
                *(parents.frame[one.parent].take(above).reset_index(drop=True) for parents in (true, learned))
            )
            for one in self._anchors
        }
        found = protect(own, chosen, rng, k, hierarchies, ties=ties, starts=starts, decided=self.decided)
        at = positions(self.train.persons, people.learned.persons)

        def kept(table: Table, draws: str, true: pd.DataFrame) -> Table:
            table = with_columns_of(table, people.learned, at, self.link.static)
            table = self.rules.repair(table, self.train, rng_for(self.seed, "protect", draws))
            table = replace(table, frame=table.frame.assign(**{name: true[name] for name in true}))
            ordered = harmonized(replace(table, named_persons=self.link.owners[self.rows]), ())
            return replace(ordered, named_persons=self.train.named_persons)

        true = found.labelled.frame[list(self.generalized)]
        table = kept(found.table, "constraints", true[[]])
        # Rules move other columns to quasi-identifiers, never these.
        labelled = kept(found.labelled, "labelled", true) if self.generalized else table
        return replace(found, table=table, labelled=labelled)

    def _draw(self) -> DrawnRows:
        if leak_of(self.config.risk) is not None:
            return DrawnRows(Generated(self.known_leak.table), self.copied[1])
        link = self.link
        above = {link.people.name: link.people, link.parent_name: link.parent, **link.siblings}
        return self.drawn_below({name: DrawnRows.of(run) for name, run in above.items()})

    def drawn_below(self, drawn: Mapping[str, DrawnRows], attempt: int = 0) -> DrawnRows:
        """Rows of drawn parents.

        ``drawn`` are rows of the person table, the parent table and the tables with the same parent that were drawn
        before. Draws after the first (``attempt``) come from the same model, with random numbers of their own.
        """
        link, (learned, ids) = self.link, self.kept
        parents, of_source = link.parent.kept
        dated = link.parent.learned.take(positions(of_source, link.parent.rows))
        made = drawn[link.parent_name].table
        anchors = self._anchors
        floors = find_floors(*self._of_parents, anchors)
        about = self.config.synthesize, self.rules, anchors, floors, link.static, self.seed, self.progress, self.store
        where, only_kept = link.people.config.synthesize.choice_text, link.people.origin is not None
        draw = ChildDraw(*about, where=where, only_kept=only_kept, attempt=attempt, models=self._models)
        known = {name: positions(one.link.owners[one.kept[1]], of_source) for name, one in link.siblings.items()}
        beside = {name: drawn[name].owners for name in link.siblings}
        # What ties a row to a date of its person was true before that date was drawn anew below its label.
        tied = learned if self.anonymization is not None else self.learned.take(positions(ids, self.rows))
        table, redrawn = draw(
            replace(tied, named_persons=positions(link.owners[ids], of_source)),
            link.dependable(parents, known),
            link.dependable(dated),
            DrawnParents(link.dependable(made, beside), drawn[link.people.name].table, made.persons),
        )
        found = Generated(replace(table, named_persons=made.persons[table.persons]), {}, redrawn)
        return DrawnRows(found, table.persons)


def _of(table: Table, people: Table) -> Table:
    return table.take(np.isin(table.persons, people.persons))


def positions(values: Rows, among: Rows) -> Rows:
    """Position of each value among different others, -1 where it is not there; shape (n,), int64."""
    found: Rows = pd.Index(among).get_indexer(pd.Index(values)).astype(np.int64)
    return found
