"""Search problem: the encoded table, its hierarchies, the rules of its models; and the outcomes of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybrid.anonymize.models.households import Households
from hybrid.anonymize.models.protocol import ClassRule, PopulationModel, SensitiveModel
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.associations import LevelAssociations, measure_associations
from hybrid.anonymize.search.distinct_rows import DistinctRows, collect_distinct_rows
from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.losses import Loss, LossScore, build_loss
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.techniques.loss import published_loss
from hybrid.base.arrays import Leaves, Mask, Nodes
from hybrid.base.errors import ConfigError, DataError, InfeasibleError, Problem
from hybrid.hierarchy import Hierarchy
from hybrid.table import Schema, Table


@dataclass(frozen=True)
class SearchProblem:
    """Search problem: one table, its hierarchies and what is asked for."""

    train: Table
    """The table, without identifiers. Where the records stay in a file, a table of as many rows and no columns; n
    records."""
    hierarchies: Mapping[str, Hierarchy]
    """One per quasi-identifier; those of sensitive columns may be among them."""
    options: AnonymizeOptions
    leaves: Leaves
    """Leaf of each quasi-identifying value; shape (n, n_qi), int32."""
    records: DistinctRows
    """The distinct rows."""
    rules: tuple[ClassRule, ...]
    """The models on sensitive columns, as the search applies them."""
    population: Table | None
    """The population of k-map."""
    associations: LevelAssociations | None = None
    """What each level keeps of them; None where the loss does not ask."""

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice.of(self.records, self.options.levels)

    @property
    def population_k(self) -> int:
        """People of the population per class; 0 if k-map is not asked for."""
        return self.options.population_k

    @property
    def allowed(self) -> int:
        """Records that may be suppressed."""
        return self.options.allowed(len(self.train))

    @property
    def allowed_persons(self) -> int:
        """Persons that may lose all their records."""
        return self.options.allowed(self.records.n_persons)

    def checker(self, lattice: Lattice) -> Checker:
        return Checker(self.options.k, self.population_k, self.rules, GroupCache(self.records, lattice))

    def loss(self, lattice: Lattice) -> Loss:
        return build_loss(self.options.loss, self.records, lattice, self.options.k, self.associations)

    def published(self, loss: float) -> float:
        """A loss as it may be shown: with few digits where it is measured on more than the labels."""
        return loss if self.associations is None else published_loss(loss)


def prepare(
    train: Table, hierarchies: Mapping[str, Hierarchy], options: AnonymizeOptions, population: Table | None
) -> SearchProblem:
    """Check that everything fits together and encode the table; errors as :func:`hybrid.anonymize.anonymize`."""
    refuse_contradictions(train.schema, hierarchies, options, population)
    if not len(train):
        raise DataError("there are no records to anonymize", hint="check the input file and the split")
    if not train.rows_are_persons and options.engine == "anjana":
        raise ConfigError("engine anjana counts records, not persons", hint="use engine: exact")
    names = train.schema.quasi_identifiers
    used = [hierarchies[name] for name in names]
    leaves = encode(train, used)
    people = None if population is None else encode(population, used)
    sensitive = options.sensitive_values(train)
    records = collect_distinct_rows(leaves, used, sensitive, people, members=_members(train))
    rules = build_rules(options, hierarchies, records)
    associations = None
    if options.loss.name == "association":
        associations = measure_associations(train, leaves, used, options.loss.use)
    return SearchProblem(train, hierarchies, options, leaves, records, rules, population, associations)


def _members(train: Table) -> Members | None:
    return None if train.rows_are_persons else Members(np.arange(len(train)), train.persons)


def recollected(task: SearchProblem, kept: Mask) -> SearchProblem:
    """The same problem with distinct rows parted into kept and other records."""
    train, used = task.train, task.records.hierarchies
    people = None if task.population is None else encode(task.population, used)
    sensitive = task.options.sensitive_values(train)
    parts = kept.astype(np.int64)
    records = collect_distinct_rows(task.leaves, used, sensitive, people, members=_members(train), parts=parts)
    return replace(task, records=records)


def build_rules(
    options: AnonymizeOptions, hierarchies: Mapping[str, Hierarchy], records: DistinctRows
) -> tuple[ClassRule, ...]:
    """Search rules of the configured models on sensitive columns."""
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
    """Raise if options, columns and hierarchies do not fit together."""
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
        if isinstance(model, Households):
            continue
        if isinstance(model, SensitiveModel) and (model.attribute not in schema or model.attribute in names):
            yield Problem(
                f"models[{at}]: the attribute {model.attribute!r} is not among the columns that stay as they are",
                "leave this model out, or give that column another role; columns that stay: "
                f"{', '.join(repr(name) for name in schema.names if name not in names)}",
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


@dataclass(frozen=True)
class Solution:
    """The best node found."""

    node: Node
    score: LossScore
    found: NodeOutcome
    """What it does to the records."""
    lower_bound: float
    """No feasible node has a smaller loss; equal to the score's value if the search was complete."""
    checked: int
    """How many nodes were grouped."""

    @property
    def gap(self) -> float:
        """Proven bound on loss - least possible loss; 0 when optimal."""
        return max(0.0, self.score.value - self.lower_bound)


@dataclass(frozen=True)
class Infeasible:
    """No feasible node exists (or, if not complete, was found)."""

    fewest: int
    """Least number of suppressed records at any node checked."""
    fewest_at: Node
    """Where."""
    complete: bool
    """Whether it is proven that no node is feasible."""
    checked: int
    """How many nodes were grouped."""


@dataclass(frozen=True)
class Recoding:
    """Decision of an engine."""

    nodes: Nodes
    """Hierarchy node of every cell of every distinct row; shape (n_distinct, n_qi), int32."""
    suppressed: Mask
    """Distinct rows that are left out; shape (n_distinct,), bool."""
    levels: dict[str, int] | None
    """Level of each quasi-identifier; None if it differs from row to row."""
    score: LossScore
    gap: float
    """Proven bound on how much smaller a loss could be; 0 when optimal."""
    coarsened: Mask | None = None
    """Distinct rows with coarser labels instead of being left out; None where such rows are left out; shape
    (n_distinct,), bool."""


def refuse_impossible(task: SearchProblem) -> None:
    """Raise if no generalization at all can meet a model."""
    problems = list(_impossible(task))
    if problems:
        raise InfeasibleError(problems)


def k_problem(k: int, people: int, *, rows_are_persons: bool) -> Problem | None:
    """Problem of a k that is greater than the number of people; None without one."""
    if k <= people:
        return None
    unit, known = ("records", "") if rows_are_persons else ("persons", " with a key")
    return Problem(
        f"k is {k} but there are only {people} {unit}{known}", f"use a k of at most {people}, or more {unit}"
    )


def _impossible(task: SearchProblem) -> Iterator[Problem]:
    too_great = k_problem(task.options.k, task.records.n_persons, rows_are_persons=task.records.rows_are_persons)
    if too_great is not None:
        yield too_great
    for rule in task.rules:
        distinct = task.records.sensitive[rule.attribute].n_values
        if distinct < rule.least_distinct:
            yield Problem(
                f"{rule.name} needs {rule.least_distinct} different values in every class, "
                f"and the whole column has {distinct}",
                "weaken the model, or drop it for this column",
            )
    population = task.records.population
    if population is not None and population.sum() < task.population_k:
        yield Problem(
            f"{task.population_k}-map asks for more people than the population table has ({int(population.sum())})",
            "use a smaller k for k_map, or a larger population table",
        )


def infeasible_error(task: SearchProblem, nothing: Infeasible) -> InfeasibleError:
    """The error for a search that found no solution: the best it reached, and what to change."""
    n, allowed = len(task.train), task.allowed
    lattice = task.lattice
    levels = lattice.levels(nothing.fewest_at)
    reached = ", ".join(f"{name} {level}" for name, level in levels.items())
    wanted = " and ".join([f"k = {task.options.k}", *(rule.name for rule in task.rules)])
    if task.population_k:
        wanted += f" and {task.population_k}-map"
    if nothing.fewest == n:
        return InfeasibleError(
            f"no generalization meets {wanted}: every record is in a class that violates it, at all levels",
            hint="weaken the models" + (", or free the fixed levels" if task.options.levels else ""),
        )
    if nothing.fewest <= allowed:
        return InfeasibleError(
            f"no generalization meets {wanted} with at most {allowed} of {n} records left out and at most "
            f"{task.allowed_persons} persons without any record",
            hint="set a larger suppression_limit, or weaken the models",
        )
    share = -(-nothing.fewest * 10_000 // n) / 10_000
    proof = "" if nothing.complete else " (of those tried within the time limit)"
    return InfeasibleError(
        f"no generalization meets {wanted} with at most {allowed} of {n} records left out: "
        f"at least {nothing.fewest} would have to go{proof}, at the levels {reached}",
        hint=f"set suppression_limit to {share:g} or more, or weaken the models"
        + (", or free the fixed levels" if task.options.levels else ""),
    )
