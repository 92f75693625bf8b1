"""Labels of a Parquet file's records, written in batches and random order."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hybrid.anonymize.streaming.count_rows import MemoryBudget
from hybrid.anonymize.streaming.labels import Labelling, Labels
from hybrid.base.arrays import Codes, Mask
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.table.read_batches import ParquetRows, Shuffle, ValueNumbers

_SPILL = ".parts"


@dataclass(frozen=True)
class Relabel:
    """Records of a file, with labels in the place of their quasi-identifiers.

    Parameters
    ----------
    rows : ParquetRows
        The originals.
    names : list of str
        Columns of the result, in order. Those that are no quasi-identifiers are copied.
    numbers : mapping of str to ValueNumbers
        The quasi-identifiers, as they were numbered when they were counted.
    labels, labelling : Labels, Labelling
        What each cell becomes, and who is left out.
    room : MemoryBudget
        Batch size and parts.
    training : numpy.ndarray, shape (n_rows,), bool, or None
        Records that are released or suppressed, all if None; others are left out.
    """

    rows: ParquetRows
    names: list[str]
    numbers: Mapping[str, ValueNumbers]
    labels: Labels
    labelling: Labelling
    room: MemoryBudget
    training: Mask | None

    def write(self, target: Path, seed: int, progress: Progress) -> int:
        """Write the file.

        The order of its records follows from the seed and says nothing about the originals'.

        The parts of the shuffle are in a private folder (mode 0700) beside ``target`` meanwhile.

        Returns
        -------
        int
            Records written.
        """
        folder = target.parent / _SPILL
        try:
            shuffle = Shuffle(folder, self._in_parts, self.room.parts)
            self._scatter(shuffle, seed, progress)
            return self._gather(shuffle, target, seed, progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @cached_property
    def _in_parts(self) -> pa.Schema:
        """Columns on the way: the labels' codes, and dictionaries decoded."""
        fields = [self.rows.schema.field(name) for name in self.names]
        return pa.schema(
            [field.with_type(pa.int32() if field.name in self.numbers else _decoded(field.type)) for field in fields]
        )

    @cached_property
    def _written(self) -> pa.Schema:
        fields = [self.rows.schema.field(name) for name in self.names]
        return pa.schema([field.with_type(pa.string()) if field.name in self.numbers else field for field in fields])

    def _scatter(self, shuffle: Shuffle, seed: int, progress: Progress) -> None:
        done = 0
        quasi = list(self.numbers)
        others = [name for name in self.names if name not in self.numbers]
        for number, batch in enumerate(self.rows.batches([*quasi, *others], self.room.batch, numbered=quasi)):
            progress("label", done, self.rows.n_rows)
            rng = rng_for(seed, "order", "labels", number)
            shuffle.add(*self._labelled(batch, done, shuffle, rng))
            done += len(batch)

    def _labelled(
        self, batch: pa.RecordBatch, first: int, shuffle: Shuffle, rng: np.random.Generator
    ) -> tuple[pa.RecordBatch, Codes]:
        """Released records of a batch by part, and each part's end.

        In the order in which they are written to the parts.
        """
        numbered = [column.number(batch[name], grow=False) for name, column in self.numbers.items()]
        kept, labels = self.labelling.label([codes for codes, _ in numbered], [here for _, here in numbered])
        if self.training is not None:
            kept &= self.training[first : first + len(batch)]
        rows = np.flatnonzero(kept)
        order, ends = shuffle.places(len(rows), rng)
        rows = rows[order]
        codes = dict(zip(self.numbers, labels, strict=True))
        columns = [
            pa.array(codes[field.name][rows])
            if field.name in codes
            else batch[field.name].cast(field.type).take(pa.array(rows))
            for field in self._in_parts
        ]
        return pa.record_batch(columns, schema=self._in_parts), ends

    def _gather(self, shuffle: Shuffle, target: Path, seed: int, progress: Progress) -> int:
        written = 0
        texts = dict(zip(self.numbers, self.labels.texts, strict=True))
        with pq.ParquetWriter(target, self._written) as writer:
            for part in shuffle.parts(rng_for(seed, "order", "labels")):
                progress("write", written, self.rows.n_rows)
                columns = [
                    texts[field.name].take(part[field.name])
                    if field.name in texts
                    else part[field.name].cast(field.type)
                    for field in self._written
                ]
                writer.write_table(pa.table(columns, schema=self._written), row_group_size=max(len(part), 1))
                written += len(part)
        return written


def _decoded(arrow_type: pa.DataType) -> pa.DataType:
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
