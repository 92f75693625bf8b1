"""Rare cells that people share with one row of the table, and numbers that it repeats digit by digit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import Fold, accused, folds, highest
from hybrid.evaluation.context import Context, Part, Role
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.table import Column, Kind
from hybrid.table.text import encode_texts

PARTS = 20
"""Parts of about as many reference records each, in which numbers and dates agree."""


class Cells(NamedTuple):
    """Values of records, and the weight of an agreement in each.

    ``codes``, shape (q, n), int32: equal where two records agree; numbers and dates have two rows, their part by size
    and the exact value. ``weights``, shape (q, n), float32, 0 or more: of the agreement with this value.
    """

    codes: Array
    weights: Array


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


def _cells(context: Context, part: Part, reference: Part) -> Cells:
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
    return Cells(codes, np.maximum(weights, 0))


def _rarity(codes: Array, reference: Array) -> Array:
    """-log of each value's share of the reference, the record itself included, shape (n,)."""
    counts = np.bincount(reference, minlength=int(codes.max(initial=0)) + 1)
    found: Array = np.log(len(reference) + 1) - np.log(counts[codes] + 1)
    return found


def _most_shared(people: Cells, references: Array) -> Array:
    """Largest weight shared with one of the references, shape (n_people,)."""
    from hybrid.evaluation.engine import kernels

    found = np.zeros(people.codes.shape[1], dtype=np.float32)

    def work(start: int, stop: int) -> None:
        kernels.most_shared(people.codes, people.weights, references, start, stop, found)

    in_chunks(work, len(found))
    return found


def _with_reference(context: Context, fold: Fold) -> tuple[Array, Array]:
    """Largest weights that members, and people never seen, share with a record of the reference."""

    def compute() -> tuple[Array, Array]:
        codes = _codes(context, fold.reference, fold.reference)
        members, others = (
            _most_shared(_cells(context, part, fold.reference), codes) for part in (fold.members, fold.others)
        )
        return members, others

    return context.once_for_all_stages(("shared cells", fold.members.key, fold.reference.key), compute)


def cell_scores(context: Context) -> tuple[Array, Array]:
    """Scores of training people and people never seen.

    Shapes (n_train,) and (n_control,). The largest weight shared with one row of the table, less that shared with one
    record of the reference; a person with several records scores as the highest of them.
    """
    whole = context.whole("table")
    found: tuple[list[Array], list[Array]] = ([], [])
    rows: tuple[list[Array], list[Array]] = ([], [])
    for fold in folds(context):
        table = _codes(context, whole, fold.reference)
        for side, part, known in zip((0, 1), (fold.members, fold.others), _with_reference(context, fold), strict=True):
            found[side].append(_most_shared(_cells(context, part, fold.reference), table) - known)
            rows[side].append(part.rows)
    train, control = (np.concatenate(side) for side in found)
    persons = context.clusters(*(np.concatenate(side) for side in rows))
    return (train, control) if persons is None else (highest(train, persons[0]), highest(control, persons[1]))


def shared_cells(context: Context) -> Outcome:
    """Risk that one row of the table shares a person's rare cells.

    An agreement in a value v is worth -log((c + 1) / (n + 1)), with c of n reference records that hold v: rare values
    that two records share make it likely that they are of one person (Newcombe et al. 1959, doi
    10.1126/science.130.3381.954). Numbers and dates agree by halves if they lie in the same twentieth of the reference,
    and fully if they are equal; missing is a value. A record scores with the largest sum of weights over the rows of
    the table, less the largest sum over the reference records: columns that tell one another count twice in both. So a
    row is found that is made of parts of several people, of whom each has only a few cells in it.

    The reference is half of control, for people of the other half and of half of train; then the other way round, as
    for :func:`hybrid.evaluation.attacks.membership.membership`. The risk is that of :func:`.accusation.accused`, 0
    without a leak.
    """
    return accused(context, *cell_scores(context))


LONGEST = 15
"""Digits of a number that count, its first ones: a decimal number in memory has no more."""
PAIRS, LEAST = 2 * 10**8, 1_000
"""Pairs of a person and a record that are compared at most, and people who are attacked all the same."""
ENOUGH = 10
"""Digits of a record's numbers together from which a copy stands out among some thousand records."""


class Digits(NamedTuple):
    """Numbers of records as they are written, without sign and point.

    ``digits``, shape (q, 15, n), uint8: the first digit of each number first. ``lengths``, shape (q, n), int16: number
    of digits, 0..15; 0 where the number is missing.
    """

    digits: Array
    lengths: Array

    def take(self, rows: Array) -> Digits:
        return Digits(np.ascontiguousarray(self.digits[..., rows]), np.ascontiguousarray(self.lengths[:, rows]))


def _columns(context: Context) -> list[Column]:
    return [column for column in context.encoding.columns if column.kind in (Kind.INTEGER, Kind.DECIMAL)]


def written(values: pd.Series, column: Column) -> tuple[Array, Array]:
    """Digits of the numbers of a column, as the source writes them.

    Parameters
    ----------
    values : pandas.Series, shape (n,)
        Numbers in the dtype of the column's kind.
    column : Column
        Its decimals and decimal mark count.

    Returns
    -------
    digits : numpy.ndarray, shape (15, n), uint8
    lengths : numpy.ndarray, shape (n,), int16
        As in :class:`Digits`.
    """
    codes, texts = encode_texts(values, column)
    texts[-1] = ""  # Missing: the marker may have digits.
    plain = pd.Series(texts, dtype=object).str.replace(r"\D", "", regex=True).str.slice(0, LONGEST)
    letters = np.array(plain.to_list(), dtype=f"S{LONGEST}").view(np.uint8).reshape(-1, LONGEST)
    lengths = (letters > 0).sum(axis=1).astype(np.int16)
    return np.where(letters > 0, letters - ord("0"), 0).astype(np.uint8).T[:, codes], lengths[codes]


def _digits(context: Context, role: Role) -> Digits:
    def compute() -> Digits:
        table = {"train": context.train, "control": context.control, "table": context.table}[role]
        assert table is not None
        found = [written(table.frame[column.name], column) for column in _columns(context)]
        return Digits(*(np.array(rows) for rows in zip(*found, strict=True)))

    return context.once(("digits", role), compute)


def _nearest(people: Digits, others: Digits) -> Array:
    """Edits to the nearest of the others, shape (n_people,), int64."""
    from hybrid.evaluation.engine import digit_kernels

    found = np.zeros(people.lengths.shape[1], dtype=np.int64)

    def work(start: int, stop: int) -> None:
        digit_kernels.nearest_digits(people, others, start, stop, found)

    in_chunks(work, len(found))
    return found


def _attacked(context: Context, part: Part) -> Part:
    """Random records of a part, a quarter of all that are attacked, where comparing all of them takes too long."""
    rows = len(context.train) + len(context.table)
    limit = max(PAIRS // rows, LEAST) // 4
    if len(part.rows) <= limit:
        return part
    order = context.encoded(part.role).order
    chosen = context.random(f"digits {part.role}").permutation(order[np.isin(order, part.rows)])[:limit]
    return Part(part.role, ("digits", part.key), np.sort(chosen))


def _sampled(context: Context) -> dict[Role, dict[str, int]]:
    """Number of attacked records, and of all, of each table that is not attacked as a whole."""
    counts: dict[Role, dict[str, int]] = {}
    for parts in zip(*(fold[:2] for fold in folds(context)), strict=True):
        role = parts[0].role
        attacked, of = sum(len(_attacked(context, part).rows) for part in parts), len(context.encoded(role))
        if attacked < of:
            counts[role] = {"records": attacked, "of": of}
    return counts


def _nearness(context: Context, part: Part, reference: Part) -> Array:
    """Share of the way from the reference to the table, 0..1, for each person of a part."""
    people = _digits(context, part.role).take(part.rows)

    def to_reference() -> Array:
        return _nearest(people, _digits(context, reference.role).take(reference.rows))

    key = ("copied digits", part.role, part.key, reference.key, len(part.rows))
    far = context.once_for_all_stages(key, to_reference)
    both = _nearest(people, _digits(context, "table")) + far
    return np.divide(far, both, out=np.full(len(both), 0.5), where=both > 0)


def digit_scores(context: Context) -> tuple[Array, Array]:
    """Scores of training people and people never seen, 0..1.

    Shapes (n_train,) and (n_control,). d_R / (d_S + d_R) of the edits to the nearest record of the reference and to the
    nearest row of the table; a person with several records scores as the highest of them.
    """
    found: tuple[list[Array], list[Array]] = ([], [])
    rows: tuple[list[Array], list[Array]] = ([], [])
    for fold in folds(context):
        for side, whole in enumerate((fold.members, fold.others)):
            part = _attacked(context, whole)
            found[side].append(_nearness(context, part, fold.reference))
            rows[side].append(part.rows)
    train, control = (np.concatenate(side) for side in found)
    persons = context.clusters(*(np.concatenate(side) for side in rows))
    return (train, control) if persons is None else (highest(train, persons[0]), highest(control, persons[1]))


def copied_digits(context: Context) -> Outcome:
    """Risk that the table repeats the digits of a person's numbers.

    Models that write a row as text repeat the digits of training records, be it with one of them changed, left out or
    added, which may move the number far away. The attack is LevAtt (Ward et al. 2025, arXiv 2512.08875): the distance
    of a record to a row is the number of digits to insert, to leave out or to replace (Levenshtein 1966), summed over
    the columns of numbers, and the nearest row counts. Numbers are taken as the source writes them, with their
    decimals, without sign and point, and with 15 digits at most; a missing one has none. Other columns, dates too, do
    not count.

    LevAtt has no reference; here the distance to the nearest row of the table is compared with that to the nearest
    record of half of control that the person is not in, as
    :func:`hybrid.evaluation.attacks.membership.membership` does: people with common numbers have near rows without a
    leak. The risk is that of :func:`.accusation.accused`, 0 without a leak. The numbers of half of the training records
    must have 10 digits or more together, so that a copy stands out.
    """
    names = [column.name for column in _columns(context)]
    length = float(np.median(_digits(context, "train").lengths.sum(axis=0))) if names else 0.0
    if length < ENOUGH:
        reason = f"the numbers of a record have {length:g} digits together, too few (below {ENOUGH}) for copies to show"
        return NotComputable(reason, lacks="numbers")
    found = accused(context, *digit_scores(context))
    sampled = _sampled(context)
    found.details.update({"columns": names, "digits": length} | ({"sampled": sampled} if sampled else {}))
    return found


METRICS = (
    attack(
        shared_cells,
        "singling out",
        "How many training people, beyond chance, share more rare values with one row of the table than with any "
        "other person.",
        mechanism="uniqueness",
        knows="a reference sample",
    ),
    attack(
        copied_digits,
        "singling out",
        "How many training people, beyond chance, have numbers whose digits one row of the table repeats.",
        knows="a reference sample",
    ),
)
