"""Local recoding.

The level of a cell may differ from record to record.

Top-down, in the spirit of Mondrian (LeFevre et al. 2006, doi 10.1109/ICDE.2006.101) but along the hierarchies and with
pooling: all records start in one class at the roots. A class is split along one column: records move to the children of
the column's node; the records of children that violate a model stay at the parent as a pool, and a pool that violates a
model borrows records from the largest child, or else a whole child. Every class takes the column that saves most loss
per entropy of the split, so that later splits keep large classes to work with; splits that leave records at the parent
are penalised. All classes are split at the same time, by array operations over the distinct rows. No record is
suppressed.

Records that no class of global recoding takes in can be recoded by themselves (:func:`coarsen`), from the roots down,
into classes that meet k and all models. Every other record keeps its labels. Where the left over are too few for a
class, the smallest other classes join them. Each label of theirs then stands for at least k persons of the other
records: a node with fewer below it is replaced by the nearest ancestor with enough. So a label does not give away
values that only they have, and the transition, which learns from the other records alone, finds values below it. Whole
classes move, so classes can only merge. Where each record is another person, persons are records; records without a
person's key count for no person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybrid.anonymize.models.protocol import ClassRule
from hybrid.anonymize.search.losses import CellLoss, LossScore
from hybrid.anonymize.search.problem import Infeasible, Recoding, SearchProblem, infeasible_error
from hybrid.base.arrays import Codes, Mask, Nodes, Numbers, Rows
from hybrid.base.errors import InfeasibleError
from hybrid.base.keys import group_rows, group_sums, pack_small
from hybrid.base.progress import Progress

SPLIT_COSTS = (0.3, 0.8)
"""Fixed costs of a split in nats, added to its entropy; tried in turn. Small ones save entropy, large ones loss."""
_LEFT_BEHIND = 0.3
"""Penalty in nats of a split that leaves records at the parent."""


def recode(task: SearchProblem, progress: Progress) -> Recoding:
    """Generalize cell by cell; nothing is suppressed.

    Where a column is fixed (:attr:`~hybrid.anonymize.options.AnonymizeOptions.levels`; only labels of rows above are),
    rows whose class at the roots of all others violates a model are.
    """
    lattice = task.lattice
    loss = task.loss(lattice)
    if not isinstance(loss, CellLoss):
        raise TypeError("local recoding needs a loss of cells")
    found = task.checker(lattice).check(lattice.top)
    suppressed = np.zeros(task.records.n_distinct, dtype=bool)
    if task.options.levels:
        suppressed = found.distinct(found.suppressed)
        gone = 0 if task.records.rows_are_persons else task.records.persons.gone(suppressed)
        too_many = found.n_suppressed > task.allowed or gone > task.allowed_persons or bool(suppressed.all())
    else:
        too_many = found.n_suppressed > 0
    if too_many:
        raise infeasible_error(task, Infeasible(found.n_suppressed, lattice.top, True, 1))
    best: tuple[LossScore, Nodes] | None = None
    for at, split_cost in enumerate(SPLIT_COSTS):
        progress("recode", at, len(SPLIT_COSTS))
        nodes = TopDown(task, loss, split_cost).run(np.flatnonzero(~suppressed))
        score = loss.score_nodes(nodes)
        if best is None or score.value < best[0].value:
            best = score, nodes
    score, nodes = best  # type: ignore[misc]
    return Recoding(nodes.T, suppressed, None, score, score.value)


@dataclass(frozen=True)
class Split:
    """One column's split of every open class."""

    child: Nodes
    """Node below the present one that each open row would go to; shape (n_open,)."""
    group: Codes
    """Number of the (class, child) of each row; shape (n_open,)."""
    stays: Mask
    """Rows that stay at the present node; shape (n_open,), bool."""
    merit: Numbers
    """How good the split is for each class; 0 if it saves nothing; shape (n_classes,)."""


class TopDown:
    """One run from the roots down; a split costs ``split_cost`` nats beside its entropy."""

    def __init__(self, task: SearchProblem, loss: CellLoss, split_cost: float) -> None:
        self.records = task.records
        self.rules = task.rules
        self.k = task.options.k
        self.population_k = task.population_k
        self.split_cost = split_cost
        self.costs = loss.node_costs
        self.checker = task.checker(task.lattice)
        self.whole = self.checker.bases.whole
        hierarchies = task.records.hierarchies
        fixed = task.options.levels
        columns = zip(self.records.names, hierarchies, self.records.leaves, strict=True)
        self.nodes: Nodes = np.stack([tree.node_of[leaves, fixed.get(name, -1)] for name, tree, leaves in columns])
        self.level_of = [hierarchy.level_of() for hierarchy in hierarchies]
        self.weights = self.records.counts.astype(np.float64)

    def run(self, among: Rows | None = None) -> Nodes:
        """Split until no class can be split: the node of every cell, shape (n_qi, n_distinct), int32.

        With ``among``, only these distinct rows are split, and all others stay at the roots.
        """
        open_rows = np.arange(self.records.n_distinct) if among is None else among
        columns = ((self.nodes[at][open_rows], h.n_nodes) for at, h in enumerate(self.records.hierarchies))
        classes, _ = group_rows(*pack_small(columns, len(open_rows)))
        while len(open_rows):
            n_classes = int(classes.max()) + 1
            splits = [self._split(at, open_rows, classes, n_classes) for at in range(len(self.nodes))]
            merit = np.stack([split.merit for split in splits])
            chosen = np.where(merit.max(axis=0) > 0, merit.argmax(axis=0), -1)
            goes = np.full(len(open_rows), -1, dtype=np.int64)
            for at, split in enumerate(splits):
                moved = (chosen[classes] == at) & ~split.stays
                self.nodes[at][open_rows[moved]] = split.child[moved]
                goes[moved] = split.group[moved]
            going_on = chosen[classes] >= 0
            open_rows, goes = open_rows[going_on], goes[going_on]
            code = classes[going_on] * (goes.max(initial=0) + 2) + goes + 1
            classes = np.unique(code, return_inverse=True)[1].reshape(-1)
        return self.nodes

    def _split(self, at: int, rows: Rows, classes: Codes, n_classes: int) -> Split:
        hierarchy, weights = self.records.hierarchies[at], self.weights[rows]
        node = self.nodes[at][rows]
        below = np.maximum(self.level_of[at][node] - 1, 0)
        child = hierarchy.node_of[self.records.leaves[at][rows], below]
        code, group = np.unique(classes * hierarchy.n_nodes + child, return_inverse=True)
        group = group.reshape(-1)
        class_of_group = code // hierarchy.n_nodes
        saved = self.costs[at][node] - self.costs[at][child]
        groups = _Groups(self, rows, weights, classes, group, class_of_group, n_classes)
        stays = groups.left_behind(weights * saved)
        total = group_sums(classes, weights * saved * ~stays, n_classes)
        behind = group_sums(classes, stays, n_classes) > 0
        merit = total / (self.split_cost + groups.entropy() + _LEFT_BEHIND * behind)
        return Split(child, group, stays, np.where(total > 1e-15, merit, 0.0))

    def holds(self, rows: Rows, classes: Codes, n_classes: int) -> Mask:
        """Mask of the classes that meet all models, as those without records do; shape (n_classes,), bool."""
        size = group_sums(classes, self.weights[rows], n_classes)
        if self.records.rows_are_persons:
            enough: Mask = size >= self.k
        else:
            few = group_sums(classes, self.records.persons.shown[rows], n_classes) < self.k
            enough = ~self.records.persons.fewer(few, size, self.k, lambda: self._spread(rows, classes))
        if self.population_k and self.records.population is not None:
            people = group_sums(classes, self.records.population[rows], n_classes)
            enough = enough & (people >= self.population_k)
        if self.rules and enough.any():
            number = np.where(enough, np.cumsum(enough) - 1, -1)
            class_of_row = self._spread(rows, number[classes])
            good = np.ones(int(enough.sum()), dtype=bool)
            for rule in self.rules:
                good &= self._meets(rule, class_of_row, len(good))
            enough[enough] = good
        result: Mask = enough | (size == 0)
        return result

    def _spread(self, rows: Rows, classes: Codes) -> Codes:
        """Class of every distinct row; -1 for those that are not among ``rows``."""
        class_of_row = np.full(self.records.n_distinct, -1, dtype=np.int64)
        class_of_row[rows] = classes
        return class_of_row

    def _meets(self, rule: ClassRule, class_of_row: Codes, n_classes: int) -> Mask:
        """Mask of the classes that meet a rule; rows of class -1 are in none."""
        held = self.records.held.get(rule.attribute)
        if held is None or not rule.record_monotone:
            return rule.holds(self.checker.histogram(rule.attribute, self.whole, class_of_row, n_classes))
        return ~held.lacking(class_of_row, np.ones(n_classes, dtype=bool), rule.least_distinct)

    @cached_property
    def familiarity(self) -> Numbers:
        """Sum of the log counts of a row's values, high for rows with common ones; shape (n_distinct,)."""
        familiarity = np.zeros(self.records.n_distinct)
        for at, leaves in enumerate(self.records.leaves):
            familiarity += np.log(np.maximum(self.records.leaf_counts[at], 1))[leaves]
        return familiarity

    @cached_property
    def people(self) -> Numbers:
        """Persons of each distinct row; records, where each is another person. Shape (n_distinct,)."""
        return self.weights if self.records.rows_are_persons else self.records.persons.of_row

    @property
    def least_loan(self) -> int:
        """Persons that a diverse pool borrows at least."""
        return max((rule.least_distinct - 1 for rule in self.rules), default=1)


@dataclass(frozen=True)
class _Groups:
    run: TopDown
    rows: Rows
    weights: Numbers
    classes: Codes
    group: Codes
    class_of_group: Codes
    n_classes: int

    @cached_property
    def size(self) -> Numbers:
        return group_sums(self.group, self.weights, len(self.class_of_group))

    def entropy(self) -> Numbers:
        """Shannon entropy of the split of each class, in nats; shape (n_classes,)."""
        total = group_sums(self.class_of_group, self.size, self.n_classes)
        share = np.maximum(self.size, 1e-300) / np.maximum(total, 1e-300)[self.class_of_group]
        return group_sums(self.class_of_group, -share * np.log(share), self.n_classes)

    def left_behind(self, saved: Numbers) -> Mask:
        """Rows to keep at the present node so that those that move and those that stay meet all models.

        ``saved``: what each open row would save by leaving.
        """
        run, n_groups = self.run, len(self.class_of_group)
        fit = run.holds(self.rows, self.group, n_groups) & (group_sums(self.group, saved, n_groups) > 0)
        stays = ~fit[self.group]
        short = self._short(stays)
        if short.any():
            stays = self._borrow(stays, fit, short)
            short = self._short(stays)
        if short.any():
            stays |= self._smallest(fit, short, saved)[self.group]
            short = self._short(stays)
        refused: Mask = stays | short[self.classes]
        return refused

    def _short(self, stays: Mask) -> Mask:
        """Classes whose rows that stay violate a model; shape (n_classes,), bool."""
        return ~self.run.holds(self.rows[stays], self.classes[stays], self.n_classes)

    def _borrow(self, stays: Mask, fit: Mask, short: Mask) -> Mask:
        """Lend each short class rows of its largest fit group: those with the least common values."""
        run, n_groups = self.run, len(self.class_of_group)
        lenders = np.zeros(n_groups, dtype=bool)
        lenders[_first_per(self.class_of_group, np.flatnonzero(fit & short[self.class_of_group]), -self.size)] = True
        behind = group_sums(self.classes[stays], run.people[self.rows[stays]], self.n_classes)
        loan = np.maximum(run.k - behind, max(run.least_loan, 1))
        able = np.flatnonzero(lenders[self.group])
        able = able[np.lexsort((run.familiarity[self.rows[able]], self.group[able]))]
        group = self.group[able]
        lends = run.people[self.rows[able]]
        before = np.cumsum(lends) - lends
        starts = np.searchsorted(group, group)
        lent = able[before - before[starts] < loan[self.class_of_group[group]]]
        trial = stays.copy()
        trial[lent] = True
        keeps = run.holds(self.rows[~trial], self.group[~trial], n_groups)
        spoiled = np.zeros(self.n_classes, dtype=bool)
        spoiled[self.class_of_group[lenders & ~keeps]] = True
        spoiled |= self._short(trial)
        result: Mask = np.where(spoiled[self.classes], stays, trial)
        return result

    def _smallest(self, fit: Mask, short: Mask, saved: Numbers) -> Mask:
        """The fit group of each short class that saves least; shape (n_groups,), bool."""
        gain = group_sums(self.group, saved, len(fit))
        chosen = np.zeros(len(fit), dtype=bool)
        chosen[_first_per(self.class_of_group, np.flatnonzero(fit & short[self.class_of_group]), gain)] = True
        return chosen


def _first_per(key: Codes, candidates: Rows, value: Numbers) -> Rows:
    order = candidates[np.lexsort((value[candidates], key[candidates]))]
    first: Rows = order[np.unique(key[order], return_index=True)[1]]
    return first


def coarsen(task: SearchProblem, recoding: Recoding) -> Recoding:
    """Give suppressed rows labels of their own; nothing is left out.

    Levels are None where any row has labels of its own. The gap is the loss: how far it is from the least one of this
    kind is not known.
    """
    nobody = np.zeros(task.records.n_distinct, dtype=bool)
    if not recoding.suppressed.any():
        return replace(recoding, coarsened=nobody)
    loss = task.loss(task.lattice)
    if not isinstance(loss, CellLoss):
        raise TypeError("coarser labels need a loss of cells")
    among = _enough(task, TopDown(task, loss, SPLIT_COSTS[0]), recoding)
    coarsened = nobody.copy()
    coarsened[among] = True
    best: tuple[LossScore, Nodes] | None = None
    for split_cost in SPLIT_COSTS:
        found = TopDown(task, loss, split_cost).run(among).T
        nodes = np.where(coarsened[:, None], _shared(task, found, ~coarsened), recoding.nodes)
        score = loss.score_nodes(nodes.T)
        if best is None or score.value < best[0].value:
            best = score, nodes
    score, nodes = best  # type: ignore[misc]
    return Recoding(nodes, nobody, None, score, score.value, coarsened)


def _enough(task: SearchProblem, run: TopDown, recoding: Recoding) -> Rows:
    """Distinct rows to recode: the left over, with as many of the smallest classes as a class of them all needs."""
    left = recoding.suppressed
    columns = ((recoding.nodes[:, at], h.n_nodes) for at, h in enumerate(task.records.hierarchies))
    classes, _ = group_rows(*pack_small(columns, task.records.n_distinct))
    sizes = group_sums(classes[~left], run.people[~left], int(classes.max()) + 1)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 0]
    whole, joining = np.zeros(len(left), dtype=np.int64), 0
    while joining < len(order):
        chosen = left | np.isin(classes, order[:joining])
        rows, others = np.flatnonzero(chosen), _people(task, whole, ~chosen, 1)[0]
        if others >= task.options.k and run.holds(rows, np.zeros(len(rows), dtype=np.int64), 1).all():
            return rows
        joining = max(2 * joining, 1)
    raise InfeasibleError(
        f"{int(task.records.counts @ left)} records are left over, and no class of theirs meets k and the models",
        hint="use suppressed: leave_out, recoding: local, a smaller k, or weaker models",
    )


def _shared(task: SearchProblem, nodes: Nodes, others: Mask) -> Nodes:
    """Each node, or its nearest ancestor, that has at least k persons below it in the other records."""
    shared = nodes.copy()
    for at, hierarchy in enumerate(task.records.hierarchies):
        leaves = task.records.leaves[at]
        level = hierarchy.level_of()[nodes[:, at]]
        for below in range(hierarchy.n_levels - 1):
            here = hierarchy.node_of[leaves, below]
            people = _people(task, here, others, hierarchy.n_nodes)
            lacks = people[hierarchy.node_of[leaves, level]] < task.options.k
            level = np.where((level == below) & lacks, below + 1, level)
        shared[:, at] = hierarchy.node_of[leaves, level]
    return shared


def _people(task: SearchProblem, groups: Codes, among: Mask, n_groups: int) -> Numbers:
    """Persons in each group of some distinct rows; shape (n_groups,), float64."""
    if task.records.rows_are_persons:
        return group_sums(groups[among], task.records.counts[among], n_groups)
    return task.records.persons.in_classes(np.where(among, groups, -1), n_groups)
