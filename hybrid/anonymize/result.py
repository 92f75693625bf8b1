"""Results of anonymization: labels, classes, how they were reached, and whom suppression left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from hybrid.base.arrays import Codes, Leaves, Mask, Rows
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.table import Role, Schema, Table
from hybrid.table.cells import ALONE, EVERYBODY, people_groups
from hybrid.table.holders import holders
from hybrid.table.persons import n_persons
from hybrid.table.schema import concat_rows

K_ANONYMITY = "k-anonymity"
"""Promise of a step whose groups are equal in all quasi-identifiers."""
NO_PROMISE = "none"


@dataclass(frozen=True)
class AnonymizationResult:
    """Aggregates of an anonymization: the content of ``anonymization.json``."""

    engine: str
    k: int
    """Persons of every class; 1 where no k-anonymity is promised."""
    models: tuple[dict[str, Any], ...]
    levels: dict[str, int] | None
    """Level of each quasi-identifier; None where it differs by record."""
    loss: dict[str, Any]
    """name, value (0 nothing lost, 1 everything) and per_attribute."""
    suppressed: int
    records: int
    """Records that came in, suppressed ones included."""
    classes: int
    min_class_size: int
    optimal: bool
    """Whether no other solution of this recoding has a smaller loss."""
    gap: float
    """Proven bound on (loss - least possible loss); 0 when optimal."""
    seconds: float
    verified: dict[str, Any] = field(default_factory=dict)
    """What our own check, and pycanon where it can judge, found."""
    rows_are_persons: bool = True
    """Whether each record is another person: then numbers of persons are those of records."""
    persons: int = 0
    """Persons (with a key) that came in."""
    suppressed_persons: int = 0
    """Persons who lost all their records."""
    min_class_persons: int = 0
    """Persons of the class that has fewest."""
    known_rows: int = 1
    """Rows of one person that an attacker may know."""
    steps: tuple[dict[str, Any], ...] | None = None
    """Techniques in their order: ``options``, ``columns``, ``promise`` (:data:`K_ANONYMITY` or :data:`NO_PROMISE`) and
    ``facts``; None where all quasi-identifiers were generalized."""
    information_loss: dict[str, float] | None = None
    """Measures of sdcMicro and ARX (:func:`hybrid.anonymize.techniques.loss.masking_measures`); None without steps."""
    population_risk: dict[str, float] | None = None
    """risk_mean, risk_max, and the expected number of re-identifications (sum of the risks), estimated from sampling
    weights (:func:`hybrid.anonymize.risk.individual_risk`); None without a column of the role weight, and
    where values were masked: those of a group are nobody's, and nobody of the population can be counted by them."""
    coarsened: int | None = None
    """Records with coarser labels in classes of their own; None where such records are left out."""
    household: dict[str, float] | None = None
    """households, risk_mean and risk_max (:func:`hybrid.anonymize.risk.household_risk`), and the minimum and the
    median over the households of the persons in their members' smallest class; None without ``data.household``."""

    with_above: bool = False
    """Whether a class has equal labels in the rows above, too: of a table below the person table."""
    below: Mapping[str, AnonymizationResult] = field(default_factory=dict)
    """Results of tables below the person table that have quasi-identifiers, by their names."""
    drawn: int | None = None
    """Records that were drawn at random from those with labels, where the others stayed in a warehouse: all other
    numbers are of the whole table there; None where all records are here."""
    drawn_persons: int = 0
    """Persons who were drawn, with all their records that have labels."""

    def to_json(self) -> dict[str, Any]:
        """JSON types: of persons only where records share them, of households only where they are known."""
        content = asdict(self) | {"below": {name: one.to_json() for name, one in self.below.items()} or None}
        of_persons = ("persons", "suppressed_persons", "min_class_persons", "known_rows", "drawn_persons")
        left_out = {"rows_are_persons", *(of_persons if self.rows_are_persons else ())}
        left_out |= set() if self.drawn is not None else {"drawn_persons"}
        optional = ("population_risk", "household", "steps", "information_loss", "coarsened", "drawn", "below")
        left_out |= {key for key in optional if content[key] is None} | (set() if self.with_above else {"with_above"})
        return {key: value for key, value in content.items() if key not in left_out}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> AnonymizationResult:
        """The inverse of :meth:`to_json`; keys of other versions are left out."""
        known = {one.name for one in fields(cls)}
        alone = "persons" not in content
        counted = {"persons": "records", "suppressed_persons": "suppressed", "min_class_persons": "min_class_size"}
        of_rows = {name: content[rows] for name, rows in counted.items()} if alone else {}
        read = {name: content[name] for name in content if name in known}
        below = {name: cls.from_json(one) for name, one in (content.get("below") or {}).items()}
        return cls(**of_rows | read | {"rows_are_persons": alone, "below": below})

    @property
    def drawn_share(self) -> float:
        """Share of the labelled records (persons, where records share them) that were drawn; 1 for all."""
        if self.drawn is None:
            return 1.0
        drawn = self.drawn if self.rows_are_persons else self.drawn_persons
        return drawn / self.kept_people

    @property
    def k_anonymous(self) -> bool:
        """True if the table is promised to be k-anonymous.

        One step says so, or all quasi-identifiers were generalized. What a step does not say is not promised.
        """
        return self.steps is None or any(step.get("promise") == K_ANONYMITY for step in self.steps)

    @property
    def tables(self) -> tuple[AnonymizationResult, ...]:
        """The result, then those of the tables below."""
        return self, *self.below.values()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that were generalized or masked."""
        return tuple(self.loss["per_attribute"])

    @property
    def smallest(self) -> int:
        """Persons of the smallest class; records, where each is another person."""
        return self.min_class_size if self.rows_are_persons else self.min_class_persons

    @property
    def unit(self) -> str:
        """Unit of k, persons or records."""
        return "records" if self.rows_are_persons else "persons"

    @property
    def people(self) -> int:
        """Persons (with a key) that came in; records, where each is another person."""
        return self.records if self.rows_are_persons else self.persons

    @property
    def lost_people(self) -> int:
        """Persons who lost all their records; records, where each is another person."""
        return self.suppressed if self.rows_are_persons else self.suppressed_persons

    @property
    def kept_people(self) -> int:
        """Persons with any record; records, where each is another person."""
        return self.people - self.lost_people


@dataclass(frozen=True)
class AnonymizedTable:
    """A k-anonymous table with its original values, which later stages need. Private."""

    labels: LabelTable
    """Generalized quasi-identifiers and the untouched other columns; no suppressed records."""
    originals: Table
    """The same records as they were, in the same order, without identifiers."""
    leaves: Leaves
    """Hierarchy leaf of each original quasi-identifying value; shape (n, n_qi), int32."""
    class_ids: Codes
    """Equivalence class of each record, 0..n_classes-1: records with equal nodes; shape (n,), int64."""
    suppressed: Table
    """The records left out, without identifiers."""
    result: AnonymizationResult
    """How it was reached."""
    coarsened: Mask | None = None
    """Records with coarser labels in classes of their own; None where there are none; shape (n,), bool."""
    rows: Rows | None = None
    """Position of each record among those that came in; None where they were not in memory; shape (n,), int64."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers, in the order of the columns of ``labels.nodes`` and ``leaves``."""
        return self.labels.quasi_identifiers

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """The hierarchy of each quasi-identifier."""
        return self.labels.hierarchies

    def take(self, positions: Rows | Mask) -> AnonymizedTable:
        """A sample of the kept records; class ids keep their numbers."""
        return replace(
            self,
            labels=self.labels.take(positions),
            originals=self.originals.take(positions),
            leaves=self.leaves[positions],
            class_ids=self.class_ids[positions],
            coarsened=None if self.coarsened is None else self.coarsened[positions],
            rows=None if self.rows is None else self.rows[positions],
        )

    @property
    def donors(self) -> AnonymizedTable:
        """Records that a transition learns from: all but those with coarser labels of their own."""
        return self if self.coarsened is None else self.take(~self.coarsened)


LEAST = 20
"""Fewest people of a group that is named; rarer values are one group."""


@dataclass(frozen=True)
class LeftOutGroup:
    """Number of people in a group, and how many of them have no record of the group in the anonymized table."""

    column: str
    """Empty for everybody, and for people whose quasi-identifiers nobody shares."""
    group: str
    people: int
    left_out: int


def json_with_left_out(anonymized: AnonymizedTable) -> dict[str, Any]:
    """Content of a run's ``anonymization.json``, with exact counts by group.

    ``left_out`` lists :class:`LeftOutGroup` where any record was suppressed. It is for the house alone: beside those of
    one more release, exact counts tell of single people. A release is written from
    :class:`~hybrid.anonymize.AnonymizationResult`, which has no such counts, and its report has rounded ones.
    """
    content = anonymized.result.to_json()
    if not len(anonymized.suppressed):
        return content
    found = left_out_by_group(anonymized, group_columns(anonymized.originals.schema), LEAST)
    return content | {"left_out": [asdict(one) for one in found]}


def group_columns(schema: Schema) -> list[str]:
    """Columns that groups are made by: quasi-identifiers, sensitive columns, targets."""
    return [column.name for column in schema if column.target or column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)]


def left_out_by_group(anonymized: AnonymizedTable, names: Sequence[str], least: int) -> list[LeftOutGroup]:
    """Count the people whom suppression left out.

    Everybody first, then people whose quasi-identifiers no other person has, then groups by columns.
    """
    kept = anonymized.originals
    whole = _whole(kept, anonymized.suppressed)
    found = [LeftOutGroup("", EVERYBODY, n_persons(whole), n_persons(whole) - n_persons(kept))]
    alone = _alone(whole, anonymized.quasi_identifiers)
    people = n_persons(whole.take(alone))
    if people >= least:
        there = n_persons(whole.take(alone & (np.arange(len(whole)) < len(kept))))
        found.append(LeftOutGroup("", ALONE, people, people - there))
    for groups in people_groups(whole, names, least):
        counts = zip(groups.labels, groups.people(whole).tolist(), groups.people(kept).tolist(), strict=True)
        found += [LeftOutGroup(groups.column.name, label, people, people - there) for label, people, there in counts]
    return found


def _whole(kept: Table, suppressed: Table) -> Table:
    persons = None if kept.rows_are_persons else np.concatenate([kept.persons, suppressed.persons])
    return Table(concat_rows(kept.frame, suppressed.frame), kept.schema, persons)


def _alone(table: Table, names: list[str]) -> Mask:
    classes = table.frame.groupby(names, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    alone: Mask = holders(classes, int(classes.max(initial=-1)) + 1, table.persons)[classes] == 1
    return alone
