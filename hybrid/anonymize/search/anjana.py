"""Greedy engine of the package anjana, behind our engines' contract.

What anjana 1.2.3 does and this adapter does not pass on: a column of source row numbers in the output; records with
a missing quasi-identifier that escape grouping; a bare KeyError for a value without hierarchy; an empty frame and a
print when it finds nothing; changed hierarchies. It is given node names that differ between levels, a missing value
being a leaf like any other, fresh dictionaries, and column names of our own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.models.l_diversity import LDiversity
from hybrid.anonymize.search.global_recoding import nodes_at
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.node_check import NodeGroups, NodeOutcome
from hybrid.anonymize.search.problem import Recoding, SearchProblem
from hybrid.base.arrays import Array, Mask
from hybrid.base.errors import InfeasibleError, MissingExtraError
from hybrid.base.keys import group_sums

_ROW, _SECRET = "row", "secret"


def recode(task: SearchProblem) -> Recoding:
    """The generalization that anjana's greedy search ends at.

    Its loss is measured with ours; the gap is the distance to the least bound of any generalization.
    """
    if importlib.util.find_spec("anjana") is None:
        raise MissingExtraError("the engine anjana is not installed", hint="pip install 'hybrid-release[anjana]'")
    frame = _run(task)
    if not len(frame):
        raise InfeasibleError(
            f"anjana's greedy search found no generalization for k = {task.options.k} within the suppression limit",
            hint="use engine: exact, which finds one if there is one, or raise suppression_limit",
        )
    levels = {name: int(frame[_column(at)].iloc[0].split(":")[0]) for at, name in enumerate(task.records.names)}
    # anjana may end at a level that joins nothing, which our search leaves out: so its levels, and no others.
    lattice = Lattice.of(task.records, levels)
    node = lattice.node(levels)
    kept = np.zeros(task.records.n_distinct, dtype=bool)
    kept[task.records.row_of[frame[_ROW].to_numpy()]] = True
    loss = task.loss(lattice)
    score = loss.score(node, _found(task, lattice, node, kept))
    least = task.loss(task.lattice).initial().between(task.lattice.bottom, task.lattice.top)
    return Recoding(
        nodes=nodes_at(task.records, lattice, node),
        suppressed=~kept,
        levels=levels,
        score=score,
        gap=max(0.0, score.value - least),
    )


def _column(at: int) -> str:
    return f"q{at}"


def _run(task: SearchProblem) -> pd.DataFrame:
    options = task.options
    columns = [_column(at) for at in range(task.leaves.shape[1])]
    hierarchies: dict[str, dict[int, Array]] = {}
    data: dict[str, Any] = {}
    for at, (column, hierarchy) in enumerate(zip(columns, task.records.hierarchies, strict=True)):
        hierarchies[column] = {
            level: np.array([f"{level}:{node}" for node in hierarchy.node_of[:, level]], dtype=object)
            for level in range(hierarchy.n_levels)
        }
        data[column] = hierarchies[column][0][task.leaves[:, at]]
    data[_ROW] = np.arange(len(task.train))
    diverse = [model for model in options.models if isinstance(model, LDiversity)]
    limit = 100 * task.allowed / len(task.train)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from anjana import anonymity

        try:
            if not diverse:
                found = anonymity.k_anonymity(pd.DataFrame(data), [], columns, options.k, limit, hierarchies)
            else:
                data[_SECRET] = _numbers(task, diverse[0].attribute)
                frame, least = pd.DataFrame(data), int(diverse[0].l)
                found = anonymity.l_diversity(frame, [], columns, _SECRET, options.k, least, limit, hierarchies)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise InfeasibleError(
                f"anjana's greedy search broke off ({type(error).__name__})", hint="use engine: exact"
            ) from error
    return pd.DataFrame(found)


def _numbers(task: SearchProblem, attribute: str) -> list[str]:
    codes, _ = pd.factorize(task.train.frame[attribute], use_na_sentinel=False)
    return [str(code) for code in codes]


def _found(task: SearchProblem, lattice: Lattice, node: Node, kept: Mask) -> NodeOutcome:
    bases = task.checker(lattice).bases
    class_of, bound = bases.classes(bases.whole, node)
    sizes = group_sums(class_of, bases.whole.counts * kept, bound)
    return NodeOutcome(NodeGroups(bases, bases.whole, class_of, sizes), ~kept, ~kept)
