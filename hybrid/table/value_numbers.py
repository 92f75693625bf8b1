"""Numbers of the distinct values of a column, whose rows are elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.table.arrow import plain_type, to_arrow
from hybrid.table.kinds.value_type import plain_values
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.schema import Column, Table
from hybrid.table.typed_table import typed_table


class ValueNumbers:
    """Incremental numbering of a column's values: 0 is null, then 1, 2, ... by appearance.

    Of a column of dictionaries their values are numbered.
    """

    def __init__(self, name: str, arrow_type: pa.DataType) -> None:
        self.name = name
        self._known = pa.array([None], plain_type(arrow_type))
        self.counts = np.zeros(1, dtype=np.int64)
        """How often each value was seen; shape (n_values,)."""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def values(self) -> pa.Array:
        """The values by their numbers; the first is null."""
        return self._known

    def tally(self, column: pa.Array, counts: Array) -> None:
        """Number distinct values, each there once, and count their records."""
        codes, numbers = self.number(column)
        self.counts[:] = np.bincount(numbers[codes], counts, len(self)).astype(np.int64)

    def number(self, column: pa.Array, grow: bool = True) -> tuple[Array, Array]:
        """Number a batch of the column; texts may come as a dictionary.

        Gives the position of each row's value among those of the batch, and the numbers of these; the first is 0, for a
        null, and a number may be there twice. Unless they may ``grow``, values that were not seen before are an error.
        """
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        here = pa.concat_arrays([pa.nulls(1, self._known.type), encoded.dictionary.cast(self._known.type)])
        numbers = self._find(here)
        if (numbers < 0).any():
            if not grow:
                raise DataError(f"the column {self.name!r} changed while it was read", hint="run again")
            fresh = here.filter(pa.array(numbers < 0)).unique()
            self._known = pa.concat_arrays([self._known, fresh])
            self.counts = np.append(self.counts, np.zeros(len(fresh), dtype=np.int64))
            numbers = self._find(here)
        codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 1
        if grow:
            np.add.at(self.counts, numbers, np.bincount(codes, minlength=len(numbers)))
        return codes, numbers

    def _find(self, values: pa.Array) -> Array:
        at: Array = pc.index_in(values, value_set=self._known).fill_null(-1).to_numpy(zero_copy_only=False)
        return at.astype(np.int64)

    def typed(self, source: str, options: ReadOptions) -> tuple[Column, pd.Series]:
        """The column's role and kind, and the values that records have, typed and indexed by their number."""
        seen, table = self._typed(source, options, stored=None)
        return table.schema[self.name], table.frame[self.name].set_axis(seen)

    def written(self, source: str, options: ReadOptions, stored: pa.DataType | None) -> pa.Array:
        """The values by their numbers as a table in memory writes them, dictionaries decoded.

        ``stored`` is the type of the column in its source, where that has types.
        """
        seen, table = self._typed(source, options, stored)
        found = plain_values(to_arrow(table)[self.name]).combine_chunks()
        place = np.full(len(self), -1, dtype=np.int64)
        place[seen] = np.arange(len(seen))
        return found.take(pa.array(place, mask=place < 0))

    def _typed(self, source: str, options: ReadOptions, stored: pa.DataType | None) -> tuple[Array, Table]:
        """Numbers of the values that records have, and these values as a table of one column."""
        seen = np.flatnonzero(self.counts)
        own = options.model_copy(update={"columns": {self.name: options.columns.get(self.name, ColumnOptions())}})
        raw = pa.table({self.name: self._known.take(pa.array(seen))})
        schema = None if stored is None else pa.schema([(self.name, stored)])
        return seen, typed_table(
            source, raw, own, keep_types=stored is not None, counts=self.counts[seen], stored=schema
        )
