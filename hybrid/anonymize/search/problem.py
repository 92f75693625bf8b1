"""Search problem.

The encoded table, its hierarchies, and the rules of its models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybrid.anonymize.models.protocol import ClassRule, PopulationModel, SensitiveModel
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.associations import Associations, measure_associations
from hybrid.anonymize.search.distinct_rows import DistinctRows, collect
from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.lattice import Lattice
from hybrid.anonymize.search.losses import Loss, build_loss
from hybrid.anonymize.search.node_check import Checker
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.techniques.loss import rounded
from hybrid.base.arrays import Leaves, Mask
from hybrid.base.errors import ConfigError, DataError, Problem
from hybrid.hierarchy import Hierarchy
from hybrid.table import Schema, Table


@dataclass(frozen=True)
class SearchProblem:
    """Search problem: one table, its hierarchies and what is asked for.

    Parameters
    ----------
    train : Table, n records
        The table, without identifiers. Where the records stay in a file, a table of as many rows and no columns.
    hierarchies : mapping of str to Hierarchy
        One per quasi-identifier; those of sensitive columns may be among them.
    options : AnonymizeOptions
        What to do.
    leaves : numpy.ndarray, shape (n, n_qi), int32
        Leaf of each quasi-identifying value.
    records : DistinctRows
        The distinct rows.
    rules : tuple of ClassRule
        The models on sensitive columns, as the search applies them.
    population : Table or None
        The population of k-map.
    associations : Associations or None
        What each level keeps of them; None where the loss does not ask.
    """

    train: Table
    hierarchies: Mapping[str, Hierarchy]
    options: AnonymizeOptions
    leaves: Leaves
    records: DistinctRows
    rules: tuple[ClassRule, ...]
    population: Table | None
    associations: Associations | None = None

    @cached_property
    def lattice(self) -> Lattice:
        """The generalizations to choose from."""
        return Lattice.of(self.records, self.options.levels)

    @property
    def population_k(self) -> int:
        """People of the population per class.

        0 if k-map is not asked for.
        """
        return self.options.population_k

    @property
    def allowed(self) -> int:
        """Records that may be suppressed."""
        return self.options.allowed(len(self.train))

    @property
    def allowed_persons(self) -> int | None:
        """Number of persons that may lose all their records.

        None where each record is another person.
        """
        persons = self.records.persons
        return None if persons is None else self.options.allowed(persons.n_persons)

    def checker(self, lattice: Lattice) -> Checker:
        """Checker of the classes at the nodes of a lattice."""
        return Checker(self.options.k, self.population_k, self.rules, GroupCache(self.records, lattice))

    def loss(self, lattice: Lattice) -> Loss:
        """Loss to minimize over a lattice."""
        return build_loss(self.options.loss, self.records, lattice, self.options.k, self.associations)

    def published(self, loss: float) -> float:
        """A loss as it may be shown: with few digits where it is measured on more than the labels."""
        return loss if self.associations is None else rounded(loss)


def prepare(
    train: Table, hierarchies: Mapping[str, Hierarchy], options: AnonymizeOptions, population: Table | None
) -> SearchProblem:
    """Check that everything fits together and encode the table.

    Raises
    ------
    ConfigError
        Options that do not fit the table; all problems at once.
    DataError
        The table is empty.
    HierarchyError
        Values that a hierarchy does not cover.
    """
    refuse_contradictions(train.schema, hierarchies, options, population)
    if not len(train):
        raise DataError("there are no records to anonymize", hint="check the input file and the split")
    if train.persons is not None and options.engine == "anjana":
        raise ConfigError("engine anjana counts records, not persons", hint="use engine: exact")
    names = train.schema.quasi_identifiers
    used = [hierarchies[name] for name in names]
    leaves = encode(train, used)
    people = None if population is None else encode(population, used)
    sensitive = {name: train.frame[name] for name in options.attributes}
    records = collect(leaves, used, sensitive, people, members=_members(train))
    rules = build_rules(options, hierarchies, records)
    associations = None
    if options.loss.name == "association":
        associations = measure_associations(train, leaves, used, options.loss.use)
    return SearchProblem(train, hierarchies, options, leaves, records, rules, population, associations)


def _members(train: Table) -> Members | None:
    return None if train.persons is None else Members(np.arange(len(train)), train.persons)


def recollected(task: SearchProblem, kept: Mask) -> SearchProblem:
    """The same problem with distinct rows parted into kept and other records.

    Parameters
    ----------
    task : SearchProblem
        With the records.
    kept : numpy.ndarray, shape (n,), bool
        Which record goes to which part.
    """
    train, used = task.train, task.records.hierarchies
    people = None if task.population is None else encode(task.population, used)
    sensitive = {name: train.frame[name] for name in task.options.attributes}
    parts = kept.astype(np.int64)
    records = collect(task.leaves, used, sensitive, people, members=_members(train), parts=parts)
    return replace(task, records=records)


def build_rules(
    options: AnonymizeOptions, hierarchies: Mapping[str, Hierarchy], records: DistinctRows
) -> tuple[ClassRule, ...]:
    """Search rules of the configured models on sensitive columns.

    Raises
    ------
    ConfigError
        A model needs a hierarchy of its column, and there is none.
    """
    rules = []
    for model in options.models:
        if isinstance(model, SensitiveModel):
            hierarchy = hierarchies.get(model.attribute)
            leaves = None if hierarchy is None else hierarchy.encode(records.sensitive[model.attribute].known)
            rules.append(model.rule(hierarchy, leaves))
    return tuple(rules)


def encode(table: Table, hierarchies: Sequence[Hierarchy]) -> Leaves:
    """Leaf of each value of some columns; shape (n, n_hierarchies), int32."""
    return np.stack([hierarchy.encode(table.frame[hierarchy.column]) for hierarchy in hierarchies], axis=1)


def refuse_contradictions(
    schema: Schema, hierarchies: Mapping[str, Hierarchy], options: AnonymizeOptions, population: Table | None
) -> None:
    """Raise if options, columns and hierarchies do not fit together.

    Raises
    ------
    ConfigError
        All problems at once.
    """
    problems = list(_contradictions(schema, hierarchies, options, population))
    if problems:
        raise ConfigError(problems)


def _contradictions(
    schema: Schema, hierarchies: Mapping[str, Hierarchy], options: AnonymizeOptions, population: Table | None
) -> Iterator[Problem]:
    names = schema.quasi_identifiers
    if not names:
        yield Problem("no column has the role quasi_identifier", "give one to the columns an attacker may know")
    for name in names:
        if name not in hierarchies:
            yield Problem(f"the quasi-identifier {name!r} has no hierarchy", f"set data.columns.{name}.hierarchy")
    for at, model in enumerate(options.models):
        if isinstance(model, PopulationModel) and population is None:
            yield Problem(f"models[{at}]: {model.model} needs a population table", "set anonymize.population")
        if isinstance(model, SensitiveModel) and (model.attribute not in schema or model.attribute in names):
            yield Problem(
                f"models[{at}]: the attribute {model.attribute!r} is not among the columns that stay as they are",
                f"one of: {', '.join(repr(name) for name in schema.names if name not in names)}",
            )
    for name, level in options.levels.items():
        if name not in names:
            yield Problem(f"levels: {name!r} is no quasi-identifier", f"one of: {', '.join(map(repr, names))}")
        elif name in hierarchies and level >= hierarchies[name].n_levels:
            top = hierarchies[name].n_levels - 1
            yield Problem(f"levels: {name!r} has levels 0..{top}, not {level}", f"use {top} for its root")
    missing = [name for name in names if population is not None and name not in population.schema]
    if missing:
        yield Problem(f"the population table lacks the columns {', '.join(map(repr, missing))}")
