"""Context of a table that differs from a judged one."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Part, Search
from hybrid.evaluation.engine.encoding import Encoding
from hybrid.evaluation.engine.neighbours import Sorted, nearest
from hybrid.evaluation.engine.recoding import encode_changed
from hybrid.table import Table


class ChangedContext(Context):
    """Context of a changed table, with the searches of the judged one.

    What the changed rows leave as it was is not computed again; results are those of a :class:`Context` of the table
    alone, but for the sample of its rows: rows are asked about where they are in the judged table.

    Parameters
    ----------
    judged : Context
        Of the table before; contexts of several threads may share it.
    table : Table
        As many rows.
    changed : numpy.ndarray, shape (n,), int64
        Rows that may differ from those of the judged table.
    """

    def __init__(self, judged: Context, table: Table, changed: Array) -> None:
        what = judged.train, judged.control, table, judged.options, judged.seed, judged.stage, judged.share
        super().__init__(*what, progress=judged.progress, rules=judged.rules)
        self._judged, self._changed = judged, np.unique(changed)

    @cached_property
    def encoding(self) -> Encoding:
        """The coding of train, control and the changed table."""
        control = self.train.take(np.empty(0, np.int64)) if self.control is None else self.control
        with self._judged.guard:
            before = self._judged.encoding
        return encode_changed(before, [self.train, control, self.table], self._changed)

    @cached_property
    def people_fingerprint(self) -> str:
        """Fingerprint of train and control as they are coded."""
        mine, its = self.encoding, self._judged.encoding
        categories = ~mine.continuous
        if mine.columns == its.columns and np.array_equal(mine.cardinality[categories], its.cardinality[categories]):
            with self._judged.guard:
                return self._judged.people_fingerprint
        return super().people_fingerprint

    def asked(self, part: Part) -> Part:
        """Records of a part that searches query.

        Of the table, those of the judged one.
        """
        if (part.role, part.key) != ("table", "all"):
            return super().asked(part)
        with self._judged.guard:
            rows = self._judged.asked(part)
        self.asked_about[part.role, part.key] = len(rows.rows), len(part.rows)
        return rows

    def nearest(self, asked: Part, references: Part, k: int, own: Array | None) -> Search:
        """At least k nearest references of queried records.

        Where the references are the table, only records whose neighbours were changed search all of it.
        """
        if self.encoding.columns != self._judged.encoding.columns or own is not None:
            return super().nearest(asked, references, k, own)
        if references.role == "table" and references.key == "all":
            return self._near_the_table(asked, references, k)
        if asked.role == "table" and references.role != "table":
            return self._near_people(asked, references, k)
        return super().nearest(asked, references, k, own)

    def sorted(self, part: Part) -> Sorted:
        """Some rows in E1, sorted for searches.

        Those of people are the judged table's.
        """
        if part.role == "table" or self.encoding.columns != self._judged.encoding.columns:
            return super().sorted(part)
        with self._judged.guard:
            return self._judged.sorted(part)

    def _before(self, asked: Part, references: Part, k: int) -> Search:
        """The search in the judged table."""
        with self._judged.guard:
            distances, index = self._judged.search(asked, references, k)
        return distances[:, :k].copy(), index[:, :k].copy()

    def _near_people(self, asked: Part, references: Part, k: int) -> Search:
        """Nearest people of the table's rows: of changed rows anew."""
        found = self._before(asked, references, k)
        at = np.flatnonzero(np.isin(asked.rows, self._changed))
        anew = super().nearest(Part(asked.role, ("changed", asked.key), asked.rows[at]), references, k, None)
        for side, new in zip(found, anew, strict=True):
            side[at] = new
        return found

    def _near_the_table(self, asked: Part, references: Part, k: int) -> Search:
        """Nearest rows of the table, among old and changed ones."""
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
