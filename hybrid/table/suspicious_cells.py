"""CSV cells that are likely several records or half a record.

These are swallowed lines, very long texts, and a cut last line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.errors import Problem
from hybrid.table.files import File
from hybrid.table.read_options import ReadOptions

_LONG = 200
"""Characters up to which no cell is suspicious."""
_TIMES = 50
"""Times the median length of a column's other cells from which a cell is suspicious."""
_FEWEST = 5
"""Rows before the last one with which its last cell is compared."""


def suspicious_cells(file: File, raw: pa.Table, header: Sequence[str], options: ReadOptions) -> Iterator[Problem]:
    """Find cells that the options do not accept.

    Parameters
    ----------
    file : File
        A CSV file.
    raw : pyarrow.Table, shape (n_rows, n_columns)
        Its cells as texts, without the header.
    header : sequence of str
        The names of the columns, in their order.
    options : ReadOptions
        Separator, encoding, and what is accepted.

    Yields
    ------
    Problem
        One per column and kind, with the line of the first such cell; no cell value.
    """
    for at, name in enumerate(header):
        cells = raw.column(at)
        if "multiline_cells" not in options.accept and len(header) > 1:
            yield from _multiline(file, raw, header, name, cells, options.separator)
        if "long_cells" not in options.accept:
            yield from _long(file, raw, header, name, cells)
    if "short_last_line" not in options.accept and _is_cut(file, raw, options.encoding):
        yield Problem(
            f"{file}: line {_line(raw, header, raw.num_rows - 1)}: the last line seems to be cut off: it has no line "
            f"break at its end, and its last cell ({header[-1]!r}) is shorter than all others",
            "write the file again in full, or end it with a line break; if it is whole: data.accept: [short_last_line]",
        )


def short_last_line(file: File, raw: pa.Table, header: Sequence[str], fields: int) -> Problem:
    """Problem of a last line with too few fields.

    The line comes after the records of ``raw``.
    """
    return Problem(
        f"{file}: line {_line(raw, header, raw.num_rows)}: the last line has {fields} of {len(header)} fields, so the "
        "file seems to be cut off",
        "write the file again in full; to leave this line out: data.accept: [short_last_line]",
    )


def is_last_line(file: File, line: str, encoding: str) -> bool:
    """True if the file ends in this line.

    A line break may or may not follow it.
    """
    wanted = line.rstrip("\r\n").encode(encoding, errors="replace")
    with file.filesystem.open_input_file(file.path) as data:
        data.seek(max(data.size() - len(wanted) - 8, 0))
        tail: bytes = data.read()
    return bool(wanted) and tail.rstrip(b"\r\n\0").endswith(wanted.rstrip(b"\0"))


def _multiline(
    file: File, raw: pa.Table, header: Sequence[str], name: str, cells: pa.ChunkedArray, separator: str
) -> Iterator[Problem]:
    """Cells with a line break and as many separators as a record."""
    broken = pc.match_substring(cells, "\n")
    if not pc.any(broken).as_py():
        return
    swallowed = pc.and_(broken, pc.greater_equal(pc.count_substring(cells, separator), len(header) - 1))
    count = pc.sum(swallowed).as_py()
    if count:
        yield Problem(
            f"{file}: line {_line(raw, header, pc.index(swallowed, True).as_py())}: {count} cells of column {name!r} "
            f"hold line breaks and as many separators as a whole record, as where two quotes are mispaired",
            "correct the quotes there; if cells do hold such texts: data.accept: [multiline_cells]",
        )


def _long(file: File, raw: pa.Table, header: Sequence[str], name: str, cells: pa.ChunkedArray) -> Iterator[Problem]:
    """Problem of a column with cells of extreme length.

    Extreme are more than 200 characters and at least 50 times the median length of the column's cells that are not
    empty.
    """
    lengths = pc.utf8_length(cells)
    longest = pc.max(lengths).as_py() or 0
    if longest <= _LONG:
        return
    median = pc.quantile(lengths.filter(pc.greater(lengths, 0)), 0.5)[0].as_py()
    limit = max(_LONG + 1, _TIMES * median)
    if longest >= limit:
        too_long = pc.greater_equal(lengths, limit)
        yield Problem(
            f"{file}: line {_line(raw, header, pc.index(too_long, True).as_py())}: {pc.sum(too_long).as_py()} cells of "
            f"column {name!r} are longer than {_LONG} characters and {_TIMES} times the usual {median:g}",
            "look whether a quote is missing there; if cells are that long: data.accept: [long_cells]",
        )


def _is_cut(file: File, raw: pa.Table, encoding: str) -> bool:
    """True if the file seems to end within its last cell.

    The last line break is missing, and the last cell is shorter than those of all other rows.
    """
    if raw.num_rows <= _FEWEST:
        return False
    with file.filesystem.open_input_file(file.path) as data:
        data.seek(max(data.size() - 4, 0))
        if "\n" in data.read().decode(encoding, errors="ignore")[-1:]:
            return False
    lengths = pc.utf8_length(raw.column(raw.num_columns - 1))
    return bool(lengths[-1].as_py() < pc.min(lengths.slice(0, raw.num_rows - 1)).as_py())


def _line(raw: pa.Table, header: Sequence[str], row: int) -> int:
    """Line of the file in which a row begins, from 1.

    Empty lines are not counted.
    """
    before = raw.slice(0, row)
    inside = sum(pc.sum(pc.count_substring(column, "\n")).as_py() or 0 for column in before.columns)
    return 2 + row + int(inside) + sum(name.count("\n") for name in header)
