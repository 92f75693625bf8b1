"""Rare cells that people share with one row of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import Fold, People, Scorer, Scores, accused, by_fold, highest
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Outcome

PARTS = 20
"""Parts of about as many reference records each, in which numbers and dates agree."""


class RecordValues(NamedTuple):
    """Values of records, and the weight of an agreement in each.

    ``codes``, shape (q, n), int32: equal where two records agree; numbers and dates have two rows, their part by size
    and the exact value. ``weights``, shape (q, n), float32, 0 or more: of the agreement with this value.
    """

    codes: Array
    weights: Array

    def at(self, records: Array) -> RecordValues:
        codes, weights = (np.ascontiguousarray(side[:, records]) for side in self)
        return RecordValues(codes, weights)


def _codes(context: Context, part: Part, reference: Part) -> Array:
    """Codes of records, shape (q, n), int32; 0 is missing."""
    ranks, known = (context.encoded(one.role).ranks[one.rows] + 1 for one in (part, reference))
    rows = []
    for at, continuous in enumerate(context.encoding.continuous):
        if continuous:
            rows.append(np.where(ranks[:, at] > 0, 1 + _part_by_size(ranks[:, at], known[:, at]), 0))
        rows.append(ranks[:, at])
    return np.array(rows, dtype=np.int32).reshape(len(rows), len(ranks))


def _part_by_size(ranks: Array, reference: Array) -> Array:
    """Part by size that each value lies in, with values of the reference as edges."""
    ordered = np.sort(reference[reference > 0])
    edges = np.unique(ordered[np.arange(1, PARTS) * len(ordered) // PARTS]) if len(ordered) else ordered
    return np.searchsorted(edges, ranks, side="right")


def _cells(context: Context, part: Part, reference: Part) -> RecordValues:
    """Records with the weights that the reference gives their values."""
    codes, known = _codes(context, part, reference), _codes(context, reference, reference)
    weights = np.zeros(codes.shape, dtype=np.float32)
    at = 0
    for continuous in context.encoding.continuous:
        rarity = _rarity(codes[at], known[at])
        weights[at] = rarity
        if continuous:  # An exact value adds what it says beyond its part by size.
            weights[at + 1] = _rarity(codes[at + 1], known[at + 1]) - rarity
        at += 1 + int(continuous)
    return RecordValues(codes, np.maximum(weights, 0))


def _rarity(codes: Array, reference: Array) -> Array:
    """-log of each value's share of the reference, the record itself included, shape (n,)."""
    counts = np.bincount(reference, minlength=int(codes.max(initial=0)) + 1)
    return np.asarray(np.log(len(reference) + 1) - np.log(counts[codes] + 1))


def _most_shared(people: RecordValues, references: Array, least: Array | None = None) -> Array:
    """Largest weight shared with one of the references, or ``least`` if none is larger; shape (n_people,)."""
    from hybrid.evaluation.engine import kernels

    found = np.zeros(people.codes.shape[1], dtype=np.float32) if least is None else least.copy()
    in_chunks(len(found), kernels.most_shared, *people, references, out=[found])
    return found


def _with_reference(context: Context, part: Part, reference: Part) -> Array:
    """Largest weight that each record shares with one of the reference, shape (n,)."""

    def compute() -> Array:
        return _most_shared(_cells(context, part, reference), _codes(context, reference, reference))

    return context.once_for_all_stages(("shared cells", part.role, part.key, reference.key), compute)


def _with_table(context: Context, part: Part, reference: Part) -> Array:
    """Largest weight that each record shares with one row of the table, shape (n,)."""

    def compute() -> Array:
        cells, table = _cells(context, part, reference), _codes(context, context.whole("table"), reference)
        before = context.before
        if before is None or before.judged.encoding.columns != context.encoding.columns:
            return _most_shared(cells, table)
        with before.judged.guard:
            found = _with_table(before.judged, part, reference).copy()
            gone = _codes(before.judged, Part("table", "gone", before.changed), reference)
            below = np.nextafter(found, np.float32(-1))
            lost = np.flatnonzero(_most_shared(_cells(before.judged, part, reference), gone, below) >= found)
        found[lost] = _most_shared(cells.at(lost), table)
        return _most_shared(cells, np.ascontiguousarray(table[:, before.changed]), found)

    return context.once(("shared with the table", part.role, part.key, reference.key), compute)


def scores_of_records(context: Context, people: People | None = None) -> Scores:
    """Largest weight shared with one row of the table, less that with one record of the reference."""

    def shared(context: Context, fold: Fold) -> Scorer:
        return lambda part: _with_table(context, part, fold.reference) - _with_reference(context, part, fold.reference)

    return by_fold(context, shared, people)


def scores(context: Context) -> Scores:
    """Scores of training people and people never seen; of several records of a person the highest."""
    return highest(context, scores_of_records(context), context.asked_people)


def shared_cells(context: Context) -> Outcome:
    """Risk that one row of the table shares a person's rare cells.

    An agreement in a value v is worth -log((c + 1) / (n + 1)), with c of n reference records that hold v: rare values
    that two records share make it likely that they are of one person (Newcombe et al. 1959, doi
    10.1126/science.130.3381.954). Numbers and dates agree by halves if they lie in the same twentieth of the reference,
    and fully if they are equal; missing is a value. A record scores with the largest sum of weights over the rows of
    the table, less the largest sum over the reference records: columns that tell one another count twice in both. So a
    row is found that is made of parts of several people, of whom each has only a few cells in it.

    The reference is half of control, for people of the other half and of half of train; then the other way round, as
    for :func:`hybrid.evaluation.attacks.membership.membership`. The risk is that of :func:`~.membership.accused`, 0
    without a leak.
    """
    return accused(context, *scores(context))


METRICS = (
    attack(
        shared_cells,
        "singling out",
        "How many training people, beyond chance, share more rare values with one row of the table than with any "
        "other person.",
        mechanism="uniqueness",
        knows="a reference sample",
    ),
)
