"""Numbers of people that the table repeats digit by digit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.membership import Fold, Scores, accused, folds, highest, nearness, of_both_sides
from hybrid.evaluation.context import Context, Part, Role
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.table import Column
from hybrid.table.text import encode_texts

LONGEST = 15
"""Digits of a number that count, its first ones: a decimal number in memory has no more."""
PAIRS, LEAST = 2 * 10**8, 1_000
"""Pairs of a person and a record that are compared at most, and people who are attacked all the same."""
ENOUGH = 10
"""Digits of a record's numbers together from which a copy stands out among some thousand records."""


# It stays in this module: compiled loops on disk name its module, and those of earlier versions would fail to load.
class Digits(NamedTuple):
    """Numbers of records as they are written, without sign and point.

    ``digits`` (q, 15, n), uint8, the first digit first; ``lengths`` (q, n), int16, 0 where the number is missing.
    """

    digits: Array
    lengths: Array

    def take(self, rows: Array) -> Digits:
        return Digits(np.ascontiguousarray(self.digits[..., rows]), np.ascontiguousarray(self.lengths[:, rows]))


NARROW = 8
"""Records of each distinct number of a column, at least, for edits to be counted number by number."""


class Numbers(NamedTuple):
    """Distinct numbers of the columns of records, the columns with the fewest first.

    ``digits``, shape (15, t), and ``lengths``, shape (t,), as in :class:`Digits`; those of a column lie from its
    ``starts``, shape (q + 1,), on. ``codes``, shape (q, n), int64: place of each record's number. ``columns``, shape
    (q,): their places in :class:`Digits`; the first ``narrow`` have few distinct numbers.
    """

    digits: Array
    lengths: Array
    starts: Array
    codes: Array
    columns: Array
    narrow: int

    @classmethod
    def of(cls, records: Digits) -> Numbers:
        n = records.lengths.shape[1]
        places = 10 ** np.arange(LONGEST + 1, dtype=np.int64)
        found = []
        for digits, lengths in zip(records.digits, records.lengths, strict=True):
            contents = np.einsum("kn,k->n", digits, places[:-1]) + places[-1] * lengths
            found.append(np.unique(contents, return_index=True, return_inverse=True)[1:])
        counts = np.array([len(first) for first, _ in found])
        columns = np.argsort(counts, kind="stable")
        starts = np.concatenate([[0], np.cumsum(counts[columns])])
        digits = np.concatenate([records.digits[at][:, found[at][0]] for at in columns], axis=1)
        lengths = np.concatenate([records.lengths[at][found[at][0]] for at in columns])
        codes = np.array([found[at][1].reshape(n) + start for at, start in zip(columns, starts[:-1], strict=True)])
        return cls(np.ascontiguousarray(digits), lengths, starts, codes, columns, int((NARROW * counts <= n).sum()))


def _columns(context: Context) -> list[Column]:
    return [column for column in context.encoding.columns if column.kind.is_number]


def written(values: pd.Series, column: Column) -> tuple[Array, Array]:
    """Digits and lengths, as in :class:`Digits`, of a column's numbers as the source writes them."""
    codes, texts = encode_texts(values, column)
    texts[-1] = ""  # Missing: the marker may have digits.
    plain = pd.Series(texts, dtype=object).str.replace(r"\D", "", regex=True).str.slice(0, LONGEST)
    letters = np.array(plain.to_list(), dtype=f"S{LONGEST}").view(np.uint8).reshape(-1, LONGEST)
    lengths = (letters > 0).sum(axis=1).astype(np.int16)
    return np.where(letters > 0, letters - ord("0"), 0).astype(np.uint8).T[:, codes], lengths[codes]


def _digits(context: Context, role: Role) -> Digits:
    def compute() -> Digits:
        table = context.records(role)
        found = [written(table.frame[column.name], column) for column in _columns(context)]
        return Digits(*(np.array(rows) for rows in zip(*found, strict=True)))

    return context.once(("digits", role), compute)


def _nearest(people: Digits, others: Digits) -> Array:
    """Edits to the nearest of the others, shape (n_people,), int64."""
    from hybrid.evaluation.engine import digit_kernels

    found, numbers = np.zeros(people.lengths.shape[1], dtype=np.int64), Numbers.of(others)
    in_chunks(len(found), digit_kernels.nearest_digits, people, numbers, out=[found])
    return found


def _attacked(context: Context, part: Part) -> Part:
    """Random records of a part, a quarter of all that are attacked, where comparing all of them takes too long."""
    rows = len(context.train) + len(context.table)
    limit = max(PAIRS // rows, LEAST) // 4
    if len(part.rows) <= limit:
        return part
    chosen = context.random(f"digits {part.role}").permutation(context.by_content(part))[:limit]
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
    return nearness(_nearest(people, _digits(context, "table")), far)


def scores(context: Context) -> Scores:
    """Nearness to the table of training people and people never seen; of several records of a person the highest."""

    def scored(fold: Fold, whole: Part) -> tuple[Array, Array]:
        part = _attacked(context, whole)
        return _nearness(context, part, fold.reference), part.rows

    return highest(context, *of_both_sides(context, scored))


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
    leak. The risk is that of :func:`~.membership.accused`, 0 without a leak. The numbers of half of the training
    records must have 10 digits or more together, so that a copy stands out.
    """
    names = [column.name for column in _columns(context)]
    length = float(np.median(_digits(context, "train").lengths.sum(axis=0))) if names else 0.0
    if length < ENOUGH:
        return NotComputable(sentence("metric.few.digits", n=length, least=ENOUGH), lacks="numbers")
    found = accused(context, *scores(context))
    sampled = _sampled(context)
    found.details.update({"columns": names, "digits": length} | ({"sampled": sampled} if sampled else {}))
    return found


METRICS = (
    attack(
        copied_digits,
        "singling out",
        "How many training people, beyond chance, have numbers whose digits one row of the table repeats.",
        knows="a reference sample",
    ),
)
