"""Suppression for attackers who know two rows of a person.

k^m-anonymity (Terrovitis, Mamoulis and Kalnis 2008, doi 10.14778/1453856.1453874) for m = 2: for any two rows of a
person, at least k persons have two rows in the same two classes; for two rows in one class, two rows in that class.

After the search, rows are left out until that holds: a person with pairs that too few persons share gives up the rows
of the class that is in most of them, or all but one where two rows of one class are such a pair. Who gives up rows
leaves other pairs and classes with one person less, so this is repeated until nothing changes; then classes that
violate a privacy model on the remaining rows go as a whole. The result is not proven to be the best one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.losses import CellLoss, LossScore
from hybrid.anonymize.search.node_check import Checker, NodeGroups, NodeOutcome
from hybrid.anonymize.search.problem import Recoding, SearchProblem, recollected
from hybrid.base.arrays import Codes, Mask, Rows
from hybrid.base.errors import DataError, InfeasibleError
from hybrid.base.keys import group_rows, group_sums, pack_small

MOST_PAIRS = 50_000_000
"""Pairs of classes, of all persons together, that memory has room for."""


def hide_pairs(task: SearchProblem, recoding: Recoding) -> tuple[SearchProblem, Recoding]:
    """Leave out rows until k persons share any two; distinct rows are parted into those left out and the others."""
    of_record = _classes(task, recoding)[task.records.row_of]
    kept, before = ~recoding.suppressed[task.records.row_of], -1
    while before != int(kept.sum()):
        before = int(kept.sum())
        kept = without_rare_pairs(of_record, task.train.persons, kept, task.options.k)
        kept &= ~_violating(task, of_record, kept)
    parted = recollected(task, kept)
    suppressed = np.ones(parted.records.n_distinct, dtype=bool)
    suppressed[parted.records.row_of[kept]] = False
    left_out = len(kept) - int(kept.sum())
    gone = parted.records.persons.gone(suppressed)
    if left_out > task.allowed or gone > task.allowed_persons or not kept.any():
        share = -(-left_out * 10_000 // len(kept)) / 10_000
        raise InfeasibleError(
            f"known_rows: 2 with k = {task.options.k} leaves out {left_out} of {len(kept)} records and {gone} persons; "
            f"{task.allowed} records and {task.allowed_persons} persons were allowed",
            hint=f"set suppression_limit to {share:g} or more, data.max_rows to fewer rows, or known_rows to 1",
        )
    was = np.empty(len(suppressed), dtype=np.int64)
    was[parted.records.row_of] = task.records.row_of
    return parted, _scored(parted, recoding, was, suppressed)


def without_rare_pairs(classes: Codes, persons: Codes, kept: Mask, k: int) -> Mask:
    """Mask of the kept records that stay so that no pair of a person's rows is shared by fewer than k persons.

    Records of persons without a key (negative) are no pairs.
    """
    kept = kept.copy()
    while True:
        rows = np.flatnonzero(kept & (persons >= 0))
        members = pd.DataFrame({"person": persons[rows], "class": classes[rows]})
        held = members.groupby(["person", "class"], sort=True).size().reset_index(name="rows")
        low, high = _pairs(held["person"].to_numpy(), held["rows"].to_numpy())
        at = held["class"].to_numpy()
        keys = at[low] * (int(at.max(initial=0)) + 1) + at[high]
        _, pair, shared = np.unique(keys, return_inverse=True, return_counts=True)
        rare = shared[pair.reshape(-1)] < k
        if not rare.any():
            return kept
        kept[rows[_given_up(members, held, low[rare], high[rare])]] = False


def _pairs(persons: Codes, rows: Codes) -> tuple[Rows, Rows]:
    """Pairs of entries of one person; an entry is paired with itself where it has two rows.

    Entries are ordered by person; the first of a pair comes before the second.
    """
    starts = np.searchsorted(persons, persons)
    before = np.arange(len(persons)) - starts
    if int(before.sum()) > MOST_PAIRS:
        raise DataError(
            f"known_rows: 2 looks at more than {MOST_PAIRS:,} pairs of classes: some persons have very many rows",
            hint="set data.max_rows",
        )
    high = np.repeat(np.arange(len(persons)), before)
    low = np.arange(len(high)) - np.repeat(np.cumsum(before) - before, before) + starts[high]
    twice = np.flatnonzero(rows > 1)
    return np.append(low, twice), np.append(high, twice)


def _given_up(members: pd.DataFrame, held: pd.DataFrame, low: Rows, high: Rows) -> Mask:
    """Rows that persons with rare pairs give up.

    Of each such person those of the entry in most rare pairs (of equal ones the one of fewest rows); all but the first
    where its only rare pair is that of two of its own rows.
    """
    itself = low == high
    others = np.bincount(np.append(low[~itself], high[~itself]), minlength=len(held))
    own = np.bincount(low[itself], minlength=len(held))
    table = held.assign(at=np.arange(len(held)), pairs=others + own, others=others)
    order = ["person", "pairs", "rows", "at"]
    worst = table[table["pairs"] > 0].sort_values(order, ascending=[True, False, True, True]).drop_duplicates("person")
    entry = members.merge(worst[["person", "class", "others"]], on=["person", "class"], how="left")
    first = ~members.duplicated(["person", "class"]).to_numpy()
    chosen = entry["others"].notna().to_numpy()
    result: Mask = chosen & ~(first & (entry["others"].fillna(1).to_numpy() == 0))
    return result


def _classes(task: SearchProblem, recoding: Recoding) -> Codes:
    columns = ((recoding.nodes[:, at], h.n_nodes) for at, h in enumerate(task.records.hierarchies))
    return group_rows(*pack_small(columns, task.records.n_distinct))[0]


def _violating(task: SearchProblem, of_record: Codes, kept: Mask) -> Mask:
    if not kept.any():
        return np.zeros(len(kept), dtype=bool)
    parted = recollected(task, kept)
    checker = parted.checker(parted.lattice)
    class_of = np.empty(parted.records.n_distinct, dtype=np.int64)
    class_of[parted.records.row_of] = np.where(kept, of_record, int(of_record.max()) + 1)
    found = checker.judge(_groups(checker, class_of))
    result: Mask = found.suppressed[parted.records.row_of] & kept
    return result


def _groups(checker: Checker, class_of: Codes) -> NodeGroups:
    whole = checker.bases.whole
    return NodeGroups(checker.bases, whole, class_of, group_sums(class_of, whole.counts, int(class_of.max()) + 1))


def _scored(task: SearchProblem, recoding: Recoding, was: Rows, suppressed: Mask) -> Recoding:
    """Decision on parted rows; no loss can be smaller than the least one found for one row, which two rows imply."""
    nodes, lattice = recoding.nodes[was], task.lattice
    loss, least = task.loss(lattice), recoding.score.value - recoding.gap
    if recoding.levels is None:
        assert isinstance(loss, CellLoss)
        roots = np.array([hierarchy.root for hierarchy in task.records.hierarchies])
        score: LossScore = loss.score_nodes(np.where(suppressed[:, None], roots, nodes).T)
    else:
        checker = Checker(task.options.k, 0, (), GroupCache(task.records, lattice))
        node = lattice.node(recoding.levels)
        columns = ((nodes[:, at], h.n_nodes) for at, h in enumerate(task.records.hierarchies))
        class_of, _ = group_rows(*pack_small([*columns, (suppressed.astype(np.int64), 2)], len(nodes)))
        score = loss.score(node, NodeOutcome(_groups(checker, class_of), suppressed, suppressed))
    gap = max(0.0, score.value - least)
    return replace(recoding, nodes=nodes, suppressed=suppressed, score=score, gap=gap)
