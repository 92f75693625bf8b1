"""The exact engine: one level per column, the least loss, proven."""

from __future__ import annotations

import numpy as np

from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.problem import Infeasible, Recoding, SearchProblem, infeasible_error
from hybrid.base.arrays import Nodes
from hybrid.base.progress import Progress


def recode(task: SearchProblem, progress: Progress) -> Recoding:
    """The best generalization of whole columns; of more than a million, the best found within the time limit."""
    lattice = task.lattice
    checker, loss = task.checker(lattice), task.loss(lattice)
    if lattice.size <= exhaustive.LARGEST:
        solution = exhaustive.search(checker, loss, task.allowed, progress, task.allowed_persons)
    else:
        seconds, persons = task.options.time_limit, task.allowed_persons
        solution = branch_and_bound.search(checker, loss, task.allowed, seconds, progress, persons)
    if isinstance(solution, Infeasible):
        raise infeasible_error(task, solution)
    return Recoding(
        nodes=nodes_at(task.records, lattice, solution.node),
        suppressed=solution.found.distinct(solution.found.suppressed),
        levels=lattice.levels(solution.node),
        score=solution.score,
        gap=solution.gap,
    )


def nodes_at(records: DistinctRows, lattice: Lattice, node: Node) -> Nodes:
    """Hierarchy node of every cell at a node of the lattice; shape (n_distinct, n_qi), int32."""
    columns = zip(records.hierarchies, lattice.levels(node).values(), records.leaves, strict=True)
    return np.stack([hierarchy.node_of[leaves, level] for hierarchy, level, leaves in columns], axis=1)
