"""Coarser labels for the records that global recoding would leave out.

The records that no class of the chosen levels takes in are recoded by themselves, from the roots down as in
:mod:`~hybrid.anonymize.search.local_recoding`, into classes that meet k and all models. Every other record keeps its
labels. Where the left over are too few for a class, the smallest other classes join them.

Each label of theirs then stands for at least k persons of the other records: a node with fewer below it is replaced by
the nearest ancestor with enough. So a label does not give away values that only they have, and the transition, which
learns from the other records alone, finds values below it. Whole classes move, so classes can only merge. Where each
record is another person, persons are records; records without a person's key count for nobody.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid.anonymize.search.local_recoding import SPLIT_COSTS, TopDown
from hybrid.anonymize.search.losses import CellLoss, Score
from hybrid.anonymize.search.outcome import Recoding
from hybrid.anonymize.search.problem import SearchProblem
from hybrid.base.arrays import Codes, Mask, Nodes, Numbers, Rows
from hybrid.base.errors import InfeasibleError
from hybrid.base.keys import group_rows, group_sums, pack_small


def coarsen(task: SearchProblem, recoding: Recoding) -> Recoding:
    """Give suppressed rows labels of their own; nothing is left out.

    Parameters
    ----------
    task : SearchProblem
        With a loss of cells.
    recoding : Recoding
        The decision of global recoding.

    Returns
    -------
    Recoding
        Without suppressed rows. Levels are None where any row has labels of its own. The gap is the loss: how far it is
        from the least one of this kind is not known.

    Raises
    ------
    InfeasibleError
        No class that takes the left over in meets the models, or the other records are of fewer than k persons.
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
    best: tuple[Score, Nodes] | None = None
    for split_cost in SPLIT_COSTS:
        found = TopDown(task, loss, split_cost).run(among).T
        nodes = np.where(coarsened[:, None], _shared(task, found, ~coarsened), recoding.nodes)
        score = loss.score_nodes(nodes.T)
        if best is None or score.value < best[0].value:
            best = score, nodes
    score, nodes = best  # type: ignore[misc]
    return Recoding(nodes, nobody, None, score, score.value, coarsened)


def _enough(task: SearchProblem, run: TopDown, recoding: Recoding) -> Rows:
    """Distinct rows to recode.

    The left over, with as many of the smallest classes as one class of them all needs.
    """
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
    """Nodes with at least k persons below them in the other records.

    Each node is itself, or its nearest ancestor that has them.
    """
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
    if task.records.persons is None:
        return group_sums(groups[among], task.records.counts[among], n_groups)
    return task.records.persons.in_classes(np.where(among, groups, -1), n_groups)
