"""Random permutation of any number of rows, through a folder on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from hybrid.base.arrays import Array

MOST_PARTS = 128
"""Open files at a time, at most."""


class Shuffle:
    """Batches in, the same rows in uniformly random order out.

    Every row goes to a random part, a file of its own; then the parts are read back one after the other, each in
    random order.

    Parameters
    ----------
    folder : Path
        Made with mode 0700; the caller removes it.
    schema : pyarrow.Schema
        Of the batches.
    n_parts : int
        1..:data:`MOST_PARTS`; one part of the rows is in memory at a time.
    """

    def __init__(self, folder: Path, schema: pa.Schema, n_parts: int) -> None:
        folder.mkdir(mode=0o700)
        self._paths = [folder / f"{part}.arrow" for part in range(n_parts)]
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writers = [pa.ipc.new_stream(str(path), schema, options=options) for path in self._paths]
        self._schema = schema

    def places(self, n_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw the parts that the rows of a batch go to.

        Returns
        -------
        order : numpy.ndarray, shape (n_rows,), int64
            The rows, those of one part together.
        ends : numpy.ndarray, shape (n_parts,), int64
            Where the rows of each part end.
        """
        part = rng.integers(len(self._paths), size=n_rows, dtype=np.uint8)
        return np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=len(self._paths)))

    def add(self, batch: pa.RecordBatch, ends: Array) -> None:
        """Add a batch whose rows are in the order of :meth:`places`."""
        start = 0
        for writer, end in zip(self._writers, ends, strict=True):
            if end > start:
                writer.write_batch(batch.slice(start, end - start))
            start = end

    def parts(self, rng: np.random.Generator) -> Iterator[pa.Table]:
        """All rows, part by part, each in random order.

        A part's file is removed when it is read.
        """
        for writer in self._writers:
            writer.close()
        for path in self._paths:
            with pa.memory_map(str(path)) as file:
                rows = pa.ipc.open_stream(file).read_all()
            path.unlink()
            yield rows.take(pa.array(rng.permutation(len(rows))))
