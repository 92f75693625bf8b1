"""References between linked tables: whole, and with children like the real ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Parentage, Parents, Role
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.fidelity.histories import beside_control, ks_distance
from hybrid.evaluation.fidelity.pairs import associations, mean_known
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Schema, Table

NO_PARENTS = NotComputable("the table has no parent table", lacks="parents")
_PARENT = "parent "
"""Begins the names of the parent's columns beside those of its children."""


def orphans(context: Context) -> Outcome:
    """Share (0..1) of the rows whose references lead nowhere.

    A row counts if its parent column holds no key of the parent table, or another reference no key of the public table
    it leads to. It is computed from the keys of the tables as they are released.
    """
    if context.making.parentage is None:
        return NO_PARENTS
    return Measure(context.making.parentage["table"].broken / max(len(context.table), 1), n=len(context.table))


def children_per_parent(context: Context) -> Outcome:
    """Kolmogorov-Smirnov distance of rows per parent row, 0..1.

    The largest difference between the distribution functions of the table and of train; parents without rows count. The
    reference is the same for control.
    """

    def counts(role: Role) -> Array:
        parents = _parentage(context)[role]
        return np.bincount(parents.owners[parents.owners >= 0], minlength=len(parents.table))

    real, missing = counts("train"), NotComputable("a table has no parents", "too_few")
    n = len(_parentage(context)["table"].table)
    return beside_control(context, lambda role: ks_distance(real, counts(role)), missing, n)


def parent_child_association(context: Context) -> Outcome:
    """Mean difference in the association with parent rows, 0..2.

    Over all pairs of a column of the table and a column of its parent; association as
    :func:`hybrid.evaluation.fidelity.pairs.associations`, between the table and train. The reference is the same for
    control.
    """
    joined = _joined_context(context)
    names = joined.encoding.names
    a, b = np.triu_indices(len(names), 1)
    of_parent = np.array([name.startswith(_PARENT) for name in names], dtype=bool)
    across = of_parent[a] != of_parent[b]

    def difference(role: Role) -> float | None:
        return mean_known(np.abs(associations(joined, "train") - associations(joined, role))[a, b][across])

    missing = NotComputable("no pair of a column and a column of the parent varies in both tables")
    return beside_control(context, difference, missing, int(across.sum()))


def _parentage(context: Context) -> Parentage:
    assert context.making.parentage is not None  # the metrics need it
    return context.making.parentage


def _joined_context(context: Context) -> Context:
    parentage = _parentage(context)
    train, table = _joined(context.train, parentage["train"]), _joined(context.table, parentage["table"])
    control = None if context.control is None else _joined(context.control, parentage["control"])
    return Context(train, control, table, context.options, context.seed, context.stage)


def _joined(table: Table, parents: Parents) -> Table:
    found = parents.owners >= 0
    rows, owners = table.take(found).only(parents.own), parents.owners[found]
    names = parents.table.schema.names
    added = {f"{_PARENT}{name}": parents.table.frame[name].take(owners).reset_index(drop=True) for name in names}
    columns = (replace(parents.table.schema[name], name=f"{_PARENT}{name}", order=None) for name in names)
    frame = pd.concat([rows.frame, pd.DataFrame(added, index=rows.frame.index)], axis=1)
    return replace(rows, frame=frame, schema=Schema((*rows.schema, *columns)))


METRICS = (
    fidelity(orphans, "The share of rows that refer to a row of another table which does not exist."),
    fidelity(
        children_per_parent,
        "How far the numbers of rows per parent row are from the real ones, beside those of control.",
        needs=("parents",),
    ),
    fidelity(
        parent_child_association,
        "How far the dependence of rows on their parent row is from the real one, on average over pairs of columns.",
        high=2,
        needs=("parents",),
    ),
)
