"""Microaggregation: records in groups of similar ones, which get the group's values.

Until privacy models hold, groups are merged by algorithm 1 of Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015
(doi 10.1109/TKDE.2015.2435777), which is about t-closeness: the group that violates most is merged with the nearest
one, again and again. It works for every convex model: if all groups hold, so does their union.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, PositiveInt

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.models.t_closeness import TCloseness
from hybrid.anonymize.search.person_rows import matching_sizes
from hybrid.anonymize.techniques.mdav import least_strata, mdav, stratified
from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.anonymize.techniques.space import RecordSpace, centroids, space_of
from hybrid.base.arrays import Array, Codes, Numbers, Rows
from hybrid.base.errors import InfeasibleError, Problem
from hybrid.base.sentence import sentence
from hybrid.table import Column, Kind
from hybrid.table.codings import numbers_of, step_of
from hybrid.table.holders import all_differ
from hybrid.table.persons import person_groups


class Microaggregation(ValueTechnique):
    """Groups of at least k persons by MDAV.

    Every group has one value per column: means of numbers and dates, lower medians of ordered categories, the most
    frequent of others. With privacy models, groups are merged until all hold.
    """

    name: Literal["microaggregation"] = "microaggregation"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns to mask together; none: all quasi-identifiers, which gives k-anonymity."""
    ordinal: dict[str, list[str]] = Field(default_factory=dict)
    """Categories of ordered columns, ascending; other categories are equal or different."""
    block: PositiveInt = 40_000
    """Records that are grouped together, at most: larger tables are cut at medians first, since the time grows with
    the square."""
    closeness: Literal["merge", "first"] = "merge"
    """Way to meet a t_closeness model. merge: groups are made without regard to it, and merged. first: every group
    takes a record from each stratum of the sensitive column, so that few need merging; one record of each person."""

    k_anonymous: ClassVar[bool] = True
    transitions: ClassVar[frozenset[str] | None] = frozenset({"single", "conditional", "marginal", "shrunk"})

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:
        kinds = {column.name: column.kind for column in columns}
        for name, order in self.ordinal.items():
            if kinds.get(name) is not Kind.CATEGORICAL:
                yield Problem(
                    f"microaggregation.ordinal: {name!r} is no column of categories that is masked",
                    "name categorical columns of the step; numbers and dates have an order",
                )
            if len(set(order)) < len(order):
                yield Problem(f"microaggregation.ordinal: {name!r} lists a category twice", "list each once")

    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:  # noqa: ARG002
        self._refuse(task)
        space, persons = space_of(task.table, task.columns, self.ordinal), _persons(task)
        model = next((one for one in task.models if isinstance(one, TCloseness)), None)
        if model is None or self.closeness == "merge":
            groups, parts = mdav(space, task.k, persons, self.block)
        else:
            strata = least_strata(len(persons), task.k, model.t)
            groups, parts = stratified(space, _places(task, model), strata, self.block)
        groups = merge_groups(groups, space, task)
        n = int(groups.max()) + 1
        values = {
            axis.column.name: centroids(axis, groups, n, persons).take(groups).reset_index(drop=True)
            for axis in space.axes
        }
        return Masked(values, {"parts": parts})

    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        found: list[str] = [sentence("broken.one_person", column=name) for name in self._single(task, masked)]
        for name in task.columns:
            column, before, after = task.table.schema[name], task.table.frame[name], masked.values[name]
            if column.kind.is_continuous and not before.isna().any():
                plain, moved = numbers_of(before), numbers_of(after)
                if abs(moved.mean() - plain.mean()) > step_of(column) / 2 + 1e-9 * np.abs(plain).max():
                    found.append(sentence("broken.mean", column=name))
            elif not column.kind.is_continuous and not set(after.dropna().unique()) <= set(before.dropna().unique()):
                found.append(sentence("broken.categories", column=name))
        return found

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        parts = int(facts.get("parts", 1))
        mdav = sentence("technique.mdav" if self.closeness == "merge" else "technique.mdav.strata")
        how = sentence("technique.mdav.parts", mdav=mdav, n=parts) if parts > 1 else mdav
        return sentence("technique.microaggregation", columns=columns, how=how)

    def _single(self, task: MaskingTask, masked: Masked) -> Iterator[str]:
        """Columns in which one person alone made a group's number."""
        schema = task.table.schema
        some = [name for name in task.columns if schema[name].kind.is_continuous or name in self.ordinal]
        whose = pd.Series(_persons(task))
        frame = pd.DataFrame({name: masked.values[name].astype(object) for name in task.columns})
        group = frame.groupby(list(task.columns), dropna=False, sort=False).ngroup()
        for name in some if task.k > 1 else ():
            known = (task.table.frame[name].notna() & (whose >= 0)).to_numpy()
            makers = whose[known].groupby(group[known]).nunique().reindex(group[masked.values[name].notna()].unique())
            if (makers.fillna(0) < 2).any():
                yield name

    def _refuse(self, task: MaskingTask) -> None:
        every = _persons(task)
        persons = np.unique(every[every >= 0])
        unit = "records" if task.table.rows_are_persons else "persons"
        if len(persons) < task.k:
            raise InfeasibleError(
                f"microaggregation: groups of {task.k} {unit} are asked for, and there are {len(persons)}",
                hint="use a smaller anonymize.k, or more records",
            )
        if self.closeness == "first" and len(persons) < len(every):
            raise InfeasibleError(
                "microaggregation.closeness: first is for records of different persons, and persons have several",
                hint="use closeness: merge, or one record of each person (data.max_rows: 1)",
            )
        problems = []
        for name, order in self.ordinal.items():
            unknown = task.table.frame[name].dropna()
            unknown = unknown[~unknown.isin(order)].astype(object)
            if len(unknown):
                problems.append(
                    Problem(
                        f"microaggregation.ordinal: {unknown.nunique()} categories of {name!r} are not listed",
                        "list all of them, ascending",
                        values=", ".join(sorted(map(str, unknown.unique()))[:20]),
                    )
                )
        if problems:
            raise InfeasibleError(problems)


def _persons(task: MaskingTask) -> Codes:
    persons = task.table.persons
    return np.where(persons < 0, -1, person_groups(persons))


def _places(task: MaskingTask, model: TCloseness) -> Codes:
    """Place of each sensitive value in the order of values, or of its hierarchy's leaves; missing ones are last."""
    values = task.table.frame[model.attribute]
    if model.distance == "hierarchical":
        return task.hierarchies[model.attribute].encode(values).astype(np.int64)
    codes, known = pd.factorize(values, sort=True)
    return np.where(codes < 0, len(known), codes).astype(np.int64)


def merge_groups(groups: Codes, space: RecordSpace, task: MaskingTask) -> Codes:
    """Unions of groups of similar records that meet all models of a task.

    Distances are between groups: of their mean numbers and of their shares of each code.
    """
    rules = [_Measured(model, task) for model in task.models if isinstance(model, SensitiveModel)]
    if not rules:
        return groups
    sizes, centres = np.bincount(groups), _centres(groups, space)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    squares = (centres**2).sum(axis=1)
    excess = _excess(rules, groups, np.arange(len(groups)), len(sizes))
    union_of, alive = np.arange(len(sizes)), np.ones(len(sizes), dtype=bool)
    while excess[worst := int(np.argmax(np.where(alive, excess, -1.0)))] > 0:
        if alive.sum() == 1:
            names = ", ".join(rule.rule.name for rule in rules)
            raise InfeasibleError(
                f"not even all records in one group meet {names}", hint="weaken the models, or leave one out"
            )
        nearest = _nearest(centres, squares, worst, alive)
        share = sizes[nearest] / (sizes[worst] + sizes[nearest])
        centres[worst] += share * (centres[nearest] - centres[worst])
        squares[worst] = centres[worst] @ centres[worst]
        sizes[worst] += sizes[nearest]
        members[worst] = np.concatenate([members[worst], members[nearest]])
        union_of[union_of == nearest] = worst
        alive[nearest] = False
        excess[worst] = _excess(rules, np.zeros(sizes[worst], dtype=np.int64), members[worst], 1)[0]
    unions: Codes = np.unique(union_of[groups], return_inverse=True)[1].reshape(-1)
    return unions


class _Measured:
    """Rule of a model, measured on the records of groups; a person counts once, as in the search."""

    def __init__(self, model: SensitiveModel, task: MaskingTask) -> None:
        codes, known = pd.factorize(model.values(task.table), sort=True)
        self.codes = np.where(codes < 0, len(known), codes)
        self.n_values = int(self.codes.max(initial=0)) + 1
        self.persons = task.table.persons
        self.rows_are_persons = all_differ(self.persons)
        hierarchy = task.hierarchies.get(model.attribute)
        leaves = None if hierarchy is None else hierarchy.encode(pd.Series(known).reindex(range(self.n_values)))
        self.rule: ClassRule = model.rule(hierarchy, leaves)
        rows = np.arange(len(self.codes))
        weights = self._weights(np.zeros(len(rows), dtype=np.int64), rows)
        self.overall = np.bincount(self.codes, weights, self.n_values) / max(float(weights.sum()), 1.0)

    def excess(self, groups: Codes, rows: Rows, n_groups: int) -> Numbers:
        """Violation of each group, 0 where it holds; shape (n_groups,).

        ``groups`` and ``rows``, shape (m,), are the group of each record, and which record it is.
        """
        values = self.codes[rows]
        histogram = Histogram.of(groups, values, self._weights(groups, rows), n_groups, self.overall)
        holds = self.rule.holds(histogram)
        if not self.rows_are_persons and self.rule.least_distinct > 1:
            named = self.persons[rows] >= 0
            different = matching_sizes(groups[named], self.persons[rows][named], values[named], n_groups)
            holds = holds & (different >= self.rule.least_distinct)
        beyond = np.abs(self.rule.reached(histogram) - self.rule.threshold)
        return np.where(holds, 0.0, np.maximum(beyond, np.finfo(np.float64).tiny))

    def _weights(self, groups: Codes, rows: Rows) -> Numbers:
        """1 / (records of the person in the group)."""
        if self.rows_are_persons:
            return np.ones(len(rows))
        pairs = pd.DataFrame({"group": groups, "person": self.persons[rows]})
        weights: Numbers = 1 / pairs.groupby(["group", "person"])["group"].transform("size").to_numpy()
        return weights


def _excess(rules: Sequence[_Measured], groups: Codes, rows: Rows, n_groups: int) -> Numbers:
    excess: Numbers = np.max([rule.excess(groups, rows, n_groups) for rule in rules], axis=0)
    return excess


def _centres(groups: Codes, space: RecordSpace) -> Numbers:
    """Mean position of each group; of codes the share of each, scaled so that it counts as in distances."""
    sizes = np.bincount(groups)
    columns: list[Array] = [np.bincount(groups, axis) / sizes for axis in space.numbers]
    for axis in space.codes:
        n = int(axis.max(initial=0)) + 1
        shares = np.bincount(groups * n + axis, minlength=len(sizes) * n).reshape(-1, n) / sizes[:, None]
        columns += list(shares.T * np.sqrt(0.5))
    return np.column_stack(columns)


def _nearest(centres: Numbers, squares: Numbers, group: int, alive: Array) -> int:
    """Other group that is nearest; ``squares`` are the squared norms of the centres."""
    distances = squares - 2 * (centres @ centres[group])
    distances[~alive] = np.inf
    distances[group] = np.inf
    return int(np.argmin(distances))
