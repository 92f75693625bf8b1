"""Context and encoding of a table that differs from a judged one in a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Before, Context, Making, Part, Search
from hybrid.evaluation.engine.encoding import Encoded, Encoding, coded_numbers, coded_ranks, encode
from hybrid.evaluation.engine.neighbours import Sorted, nearest
from hybrid.table import Table


def encode_changed(before: Encoding, tables: Sequence[Table], changed: Array) -> Encoding:
    """Encode tables as :func:`~.encoding.encode` does, from their encoding before rows of the last one changed.

    Numbers and dates of other rows are not ranked again: their ranks move by the values that came and went.
    """
    if any(_varies(tables, name, changed) for name, reason in before.excluded.items() if reason == "constant"):
        return encode(tables)
    total = sum(map(len, tables))
    places = total - len(tables[-1]) + changed
    ranks = np.empty((total, len(before.columns)), dtype=np.int32)
    last = before.tables[-1].numbers.copy()
    cardinality = []
    for at, column in enumerate(before.columns):
        series = [table.frame[column.name] for table in tables]
        if column.kind.is_continuous:
            old = np.concatenate([part.ranks[:, at] for part in before.tables])
            ranks[:, at], count = _moved(old, series, places)
            last[changed, at] = coded_numbers(series[-1].iloc[changed], column.kind)
        else:
            ranks[:, at], count = coded_ranks(series, column.kind)
        if count + int((ranks[:, at] < 0).any()) <= 1:
            return encode(tables)
        cardinality.append(count)
    parts = np.split(ranks, np.cumsum([len(table) for table in tables])[:-1])
    numbers = [*(part.numbers for part in before.tables[:-1]), last]
    coded = tuple(Encoded(r, x) for r, x in zip(parts, numbers, strict=True))
    return Encoding(before.columns, before.excluded, coded, np.array(cardinality, dtype=np.int64))


def _varies(tables: Sequence[Table], name: str, changed: Array) -> bool:
    """True if a constant column has another value in a changed row."""
    first, last = tables[0].frame[name].iloc[:1], tables[-1].frame[name].iloc[changed]
    codes, distinct = pd.factorize(pd.concat([first, last], ignore_index=True).astype(object))
    return len(distinct) + int((codes < 0).any()) > 1


def _moved(old: Array, series: Sequence[pd.Series], places: Array) -> tuple[Array, int]:
    """Ranks of a numeric column after the values at some places changed, and the number of distinct values."""
    same = np.ones(len(old), dtype=bool)
    same[places] = False
    example = np.full(int(old.max(initial=-1)) + 2, -1, dtype=np.int64)
    """A row with each rank; the last place is that of missing values."""
    example[old[same]] = np.flatnonzero(same)
    held = np.flatnonzero(example[:-1] >= 0)
    starts = np.cumsum([0, *map(len, series)])
    rows = np.concatenate([example[held], places])
    owner = np.searchsorted(starts, rows, side="right") - 1
    values = pd.concat([part.iloc[rows[owner == at] - starts[at]] for at, part in enumerate(series)], ignore_index=True)
    by_table = np.argsort(owner, kind="stable")
    codes = np.empty(len(rows), dtype=np.int32)
    found, distinct = pd.factorize(values, sort=True)
    codes[by_table] = found
    now = np.full(len(example), -1, dtype=np.int32)
    now[held] = codes[: len(held)]
    ranks = now[old]
    ranks[places] = codes[len(held) :]
    return ranks, len(distinct)


class ChangedContext(Context):
    """Context of a changed table, with the searches of the judged one.

    What the changed rows leave as it was is not computed again; results are those of a :class:`Context` of the table
    alone, but for the sample of its rows: rows are asked about where they are in the judged table. The table has as
    many rows as the judged one, whose context several threads may share; only rows ``changed`` may differ.
    """

    def __init__(self, judged: Context, table: Table, changed: Array) -> None:
        what = judged.train, judged.control, table, judged.options, judged.seed, judged.stage, judged.share
        super().__init__(*what, progress=judged.progress, making=Making(rules=judged.making.rules))
        self._judged, self._changed = judged, np.unique(changed)
        self.before = Before(judged, self._changed)

    @cached_property
    def encoding(self) -> Encoding:
        with self._judged.guard:
            before = self._judged.encoding
        return encode_changed(before, self.tables, self._changed)

    @cached_property
    def people_fingerprint(self) -> str:
        if self.encoding.columns == self._judged.encoding.columns:
            with self._judged.guard:
                return self._judged.people_fingerprint
        return super().people_fingerprint

    def asked(self, part: Part) -> Part:
        """Records of a part that searches query; of the table, those of the judged one."""
        if (part.role, part.key) != ("table", "all"):
            return super().asked(part)
        with self._judged.guard:
            rows = self._judged.asked(part)
        self.asked_about[part.role, part.key] = len(rows.rows), len(part.rows)
        return rows

    def nearest(self, asked: Part, references: Part, k: int, own: Array | None) -> Search:
        """At least k nearest references; where these are the table, only records whose neighbours changed search it."""
        if self.encoding.columns != self._judged.encoding.columns or own is not None:
            return super().nearest(asked, references, k, own)
        if references.role == "table" and references.key == "all":
            return self._near_the_table(asked, references, k)
        if asked.role == "table" and references.role != "table":
            return self._near_people(asked, references, k)
        return super().nearest(asked, references, k, own)

    def sorted(self, part: Part) -> Sorted:
        """Some rows in E1, sorted for searches; those of people are the judged table's."""
        if part.role == "table" or self.encoding.columns != self._judged.encoding.columns:
            return super().sorted(part)
        with self._judged.guard:
            return self._judged.sorted(part)

    def _before(self, asked: Part, references: Part, k: int) -> Search:
        with self._judged.guard:
            distances, index = self._judged.search(asked, references, k)
        return distances[:, :k].copy(), index[:, :k].copy()

    def _near_people(self, asked: Part, references: Part, k: int) -> Search:
        found = self._before(asked, references, k)
        at = np.flatnonzero(np.isin(asked.rows, self._changed))
        anew = super().nearest(Part(asked.role, ("changed", asked.key), asked.rows[at]), references, k, None)
        for side, new in zip(found, anew, strict=True):
            side[at] = new
        return found

    def _near_the_table(self, asked: Part, references: Part, k: int) -> Search:
        distances, index = self._before(asked, references, k)
        lost = np.flatnonzero(np.isin(index, self._changed).any(axis=1))
        people = self.place(asked)
        rows = self.encoded("table").take(self._changed)
        near, at = nearest(self.space, people, self.space.place(rows), k)
        at = np.where(at < 0, -1, self._changed[at])
        both, owners = np.concatenate([distances, near], axis=1), np.concatenate([index, at], axis=1)
        order = np.lexsort((owners, both), axis=1)[:, :k]
        found = np.take_along_axis(both, order, axis=1), np.take_along_axis(owners, order, axis=1)
        if len(lost):
            anew = nearest(self.space, people.take(lost), self.sorted(references), k)
            for side, new in zip(found, anew, strict=True):
                side[lost] = new
        return found
