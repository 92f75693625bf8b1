"""Groups merged with their nearest neighbours until privacy models hold.

Algorithm 1 of Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015 (doi 10.1109/TKDE.2015.2435777), which is about
t-closeness: the group that violates most is merged with the nearest one, again and again. It works for every convex
model: if all groups hold, so does their union.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.search.person_rows import matching_sizes
from hybrid.anonymize.techniques.protocol import Task
from hybrid.anonymize.techniques.space import Space
from hybrid.base.arrays import Array, Codes, Numbers, Rows
from hybrid.base.errors import InfeasibleError


def merged(groups: Codes, space: Space, task: Task) -> Codes:
    """Groups that meet all models of a task.

    Parameters
    ----------
    groups : numpy.ndarray, shape (n,), int64
        Groups of similar records, 0..n_groups-1.
    space : Space, n records
        Distances between groups: of their mean numbers and of their shares of each code.
    task : Task
        The records and the models.

    Returns
    -------
    numpy.ndarray, shape (n,), int64
        Unions of groups, 0..n_unions-1.

    Raises
    ------
    InfeasibleError
        The whole table in one group does not meet a model.
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
    """Rule of a model, measured on the records of groups.

    A person counts once, as in the search.
    """

    def __init__(self, model: SensitiveModel, task: Task) -> None:
        codes, known = pd.factorize(task.table.frame[model.attribute], sort=True)
        self.codes = np.where(codes < 0, len(known), codes)
        self.n_values = int(self.codes.max(initial=0)) + 1
        self.persons = task.table.persons
        hierarchy = task.hierarchies.get(model.attribute)
        leaves = None if hierarchy is None else hierarchy.encode(pd.Series(known).reindex(range(self.n_values)))
        self.rule: ClassRule = model.rule(hierarchy, leaves)
        rows = np.arange(len(self.codes))
        weights = self._weights(np.zeros(len(rows), dtype=np.int64), rows)
        self.overall = np.bincount(self.codes, weights, self.n_values) / max(float(weights.sum()), 1.0)

    def excess(self, groups: Codes, rows: Rows, n_groups: int) -> Numbers:
        """Violation of each group, 0 where it holds; shape (n_groups,).

        Parameters
        ----------
        groups, rows : numpy.ndarray, shape (m,), int64
            Group of each record, and which record it is.
        n_groups : int
            Groups are numbered 0..n_groups-1.
        """
        values = self.codes[rows]
        histogram = Histogram.of(groups, values, self._weights(groups, rows), n_groups, self.overall)
        holds = self.rule.holds(histogram)
        if self.persons is not None and self.rule.least_distinct > 1:
            named = self.persons[rows] >= 0
            different = matching_sizes(groups[named], self.persons[rows][named], values[named], n_groups)
            holds = holds & (different >= self.rule.least_distinct)
        beyond = np.abs(self.rule.reached(histogram) - self.rule.threshold)
        return np.where(holds, 0.0, np.maximum(beyond, np.finfo(np.float64).tiny))

    def _weights(self, groups: Codes, rows: Rows) -> Numbers:
        """1 / (records of the person in the group)."""
        if self.persons is None:
            return np.ones(len(rows))
        pairs = pd.DataFrame({"group": groups, "person": self.persons[rows]})
        weights: Numbers = 1 / pairs.groupby(["group", "person"])["group"].transform("size").to_numpy()
        return weights


def _excess(rules: Sequence[_Measured], groups: Codes, rows: Rows, n_groups: int) -> Numbers:
    excess: Numbers = np.max([rule.excess(groups, rows, n_groups) for rule in rules], axis=0)
    return excess


def _centres(groups: Codes, space: Space) -> Numbers:
    """Mean position of each group.

    Of codes the share of each, scaled so that it counts as in distances.
    """
    sizes = np.bincount(groups)
    columns: list[Array] = [np.bincount(groups, axis) / sizes for axis in space.numbers]
    for axis in space.codes:
        n = int(axis.max(initial=0)) + 1
        shares = np.bincount(groups * n + axis, minlength=len(sizes) * n).reshape(-1, n) / sizes[:, None]
        columns += list(shares.T * np.sqrt(0.5))
    return np.column_stack(columns)


def _nearest(centres: Numbers, squares: Numbers, group: int, alive: Array) -> int:
    """Other group that is nearest.

    ``squares`` are the squared norms of the centres.
    """
    distances = squares - 2 * (centres @ centres[group])
    distances[~alive] = np.inf
    distances[group] = np.inf
    return int(np.argmin(distances))
