"""Labels of sampled records, verified on all rows of a warehouse."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.verify_table import covered
from hybrid.anonymize.warehouse.draw_rows import WholeTable
from hybrid.base.arrays import Leaves, Mask, Nodes
from hybrid.base.errors import VerificationError
from hybrid.base.keys import group_rows, pack_small
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.table import Table


def label_sample(records: Table, hierarchies: Mapping[str, Hierarchy], whole: WholeTable) -> AnonymizedTable:
    """Give sampled records the labels that were verified on all rows.

    Parameters
    ----------
    records : Table, n records
        Of the sample, without identifiers; protection may have changed their values.
    hierarchies : mapping of str to Hierarchy
        Of the quasi-identifiers, by the rules of those of the whole table.
    whole : WholeTable
        Levels and verified classes.

    Returns
    -------
    AnonymizedTable
        Each combination of labels is one of a verified class, so at least k persons of the whole table have it; in
        the sample it can have fewer. Records without such a combination, since protection moved them, are left out.
        The result is that of the whole table.

    Raises
    ------
    VerificationError
        No record has such a combination, or a label does not cover its value.
    """
    names = records.schema.quasi_identifiers
    used = {name: hierarchies[name] for name in names}
    leaves = np.stack([tree.encode(records.frame[name]) for name, tree in used.items()], axis=1)
    levels = [_level(tree, whole.hierarchies[name], whole.levels[name]) for name, tree in used.items()]
    columns = zip(used.values(), leaves.T, levels, strict=True)
    nodes = np.stack([tree.node_of[codes, level] for tree, codes, level in columns], axis=1)
    kept = _verified(nodes, used, whole)
    _refuse_wrong(leaves, nodes, used, kept)
    nodes, originals = nodes[kept], records.take(kept)
    rest = originals.only([name for name in records.schema.names if name not in used])
    packed = ((nodes[:, at], tree.n_nodes) for at, tree in enumerate(used.values()))
    class_ids, _ = group_rows(*pack_small(packed, len(nodes)))
    return AnonymizedTable(
        labels=LabelTable(nodes, rest, records.schema, used),
        originals=originals,
        leaves=leaves[kept],
        class_ids=class_ids,
        suppressed=records.take(~kept),
        result=whole.result,
    )


def _level(tree: Hierarchy, there: Hierarchy, level: int) -> int:
    """Level of a column's labels.

    Where protection left no value, the hierarchy has missing values and the root alone.
    """
    if tree.n_levels == there.n_levels:
        return level
    return tree.n_levels - 1 if level == there.n_levels - 1 else 0


def _verified(nodes: Nodes, used: Mapping[str, Hierarchy], whole: WholeTable) -> Mask:
    """Mask of the records whose labels are those of a verified class."""
    texts = {name: np.array(tree.labels, dtype=object)[nodes[:, at]] for at, (name, tree) in enumerate(used.items())}
    classes = pd.MultiIndex.from_frame(whole.classes[list(used)])
    found: Mask = pd.MultiIndex.from_frame(pd.DataFrame(texts)).isin(classes)
    return found


def _refuse_wrong(leaves: Leaves, nodes: Nodes, used: Mapping[str, Hierarchy], kept: Mask) -> None:
    failures = [
        f"labels of {name!r} do not cover their values"
        for at, (name, tree) in enumerate(used.items())
        if not covered(tree, leaves[:, at], nodes[:, at])
    ]
    if not kept.any():
        failures.append("no record has a combination of labels that was verified")
    if failures:
        raise VerificationError(
            f"the sample does not have the labels of the whole table: {'; '.join(failures)}",
            hint="the table may have changed meanwhile: run again",
        )
