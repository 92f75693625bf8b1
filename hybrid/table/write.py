"""Write tables in the conventions of their source, atomically.

CSV comes out in the layout of the source, byte for byte. Arrow joins the fields, but its own writer does not write the
file: it quotes every text or none, writes UTF-8 alone, and knows no decimal comma.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hybrid.base.arrays import Array
from hybrid.base.atomic import atomic_file
from hybrid.table.arrow import to_arrow
from hybrid.table.file_formats import PARQUET_SUFFIXES, SPREADSHEET_SUFFIXES, STATISTICS_SUFFIXES, is_csv
from hybrid.table.files import File
from hybrid.table.schema import Column, Table
from hybrid.table.spreadsheets import write_spreadsheet
from hybrid.table.statistics_files import Codebook, read_codebook, write_statistics_file
from hybrid.table.text import encode_texts

_CHUNK = 250_000
"""Rows that are put together at a time."""
_SAMPLE_BYTES = 1_000_000
_SAMPLE_ROWS = 1000


@dataclass(frozen=True)
class Layout:
    """Layout of a file: everything but its cells."""

    line_end: str = "\n"
    byte_order_mark: bool = False
    quoted_header: bool = False
    quoted: frozenset[str] = frozenset()
    """Columns whose values are quoted without need."""
    bare_missing: bool = False
    """Whether missing values are not quoted in those columns."""
    codebook: Codebook | None = None
    """Labels and formats of the columns of a file of Stata, SPSS or SAS."""
    sheet: str | None = None
    """Name of the sheet of a workbook."""


def layout_of(file: File, separator: str = ",", encoding: str = "utf-8", sheet: str | None = None) -> Layout:
    """Layout of a CSV file, from its first thousand rows; the codebook of files that have one; the sheet's name."""
    if file.suffix in STATISTICS_SUFFIXES:
        return Layout(codebook=read_codebook(file, encoding))
    if not is_csv(file.path):
        return Layout(sheet=sheet)
    with file.open() as stream:
        text = stream.read(_SAMPLE_BYTES).decode(encoding, errors="replace")
    bare = text.removeprefix("\ufeff")
    header, *rows = islice(_raw_rows(bare, separator), _SAMPLE_ROWS + 1)
    names = [_unquoted(field).strip() for field in header]
    quoted: set[str] = set()
    plain: set[str] = set()
    for row in rows:
        for name, field in zip(names, row, strict=False):
            alone_and_empty = field == '""' and len(names) == 1
            needless = field.startswith('"') and not alone_and_empty and not _needs_quotes(_unquoted(field), separator)
            (quoted if needless else plain).add(name)
    return Layout(
        line_end="\r\n" if bare.partition("\n")[0].endswith("\r") else "\n",
        byte_order_mark=text != bare,
        quoted_header=all(field.startswith('"') for field in header),
        quoted=frozenset(quoted),
        bare_missing=bool(quoted & plain),
    )


def _raw_rows(text: str, separator: str) -> Iterator[list[str]]:
    field = re.compile(rf'("(?:[^"]|"")*"|[^{re.escape(separator)}\r\n]*)({re.escape(separator)}|\r?\n|\r|\Z)')
    row: list[str] = []
    for match in field.finditer(text):
        row.append(match[1])
        if match[2] != separator:
            if row != [""]:
                yield row
            row = []


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _needs_quotes(text: str, separator: str) -> bool:
    return any(character in text for character in (separator, '"', "\r", "\n"))


def write_csv(table: Table, path: Path, separator: str, encoding: str, layout: Layout) -> None:
    """Write the table: texts are made and quoted per distinct value, lines are joined by Arrow."""
    header = [_field(name, separator, layout.quoted_header) for name in table.schema.names]
    columns = [_fields(table, column, separator, layout) for column in table.schema]
    end, between, nothing = (pa.scalar(text, type=pa.large_string()) for text in (layout.line_end, separator, ""))
    with path.open("wb") as file:
        mark = "\ufeff" if layout.byte_order_mark else ""
        encode = codecs.getincrementalencoder(encoding)().encode
        file.write(encode(mark + separator.join(header) + layout.line_end))
        for start in range(0, len(table), _CHUNK):
            parts = [fields.take(pa.array(codes[start : start + _CHUNK])) for codes, fields in columns]
            lines = pc.binary_join_element_wise(*parts, between)
            file.write(encode(_joined(pc.binary_join_element_wise(lines, nothing, end))))


def _fields(table: Table, column: Column, separator: str, layout: Layout) -> tuple[Array, pa.Array]:
    codes, texts = encode_texts(table.frame[column.name], column)
    quoted = column.name in layout.quoted
    fields = [_field(text, separator, quoted) for text in texts[:-1]]
    alone = len(table.schema) == 1 and not texts[-1]
    fields.append(_field(texts[-1], separator, alone or (quoted and not layout.bare_missing)))
    return codes.astype(np.int64), pa.array(fields, type=pa.large_string())


def _field(text: str, separator: str, quoted: bool) -> str:
    if quoted or _needs_quotes(text, separator):
        return '"' + text.replace('"', '""') + '"'
    return text


def _joined(texts: pa.Array) -> str:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(memoryview(data)[ends[0] : ends[-1]]).decode()


DIGITAL_SOURCE_TYPES = (
    "http://c2pa.org/digitalsourcetype/trainedAlgorithmicData",
    "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia",
)
"""Terms that mark synthetic rows for programs. The vocabulary of the IPTC has terms for media alone. C2PA added one
for data that a model drew, such as a CSV file, the first here. The IPTC's own term for models that learned from content
follows, since more programs know it."""
MARK = {b"synthetic": b"true", b"digital_source_type": " ".join(DIGITAL_SOURCE_TYPES).encode()}
"""Entries of the metadata of a Parquet file whose rows are synthetic."""


def marked(schema: pa.Schema, *, synthetic: bool, said: str = "") -> pa.Schema:
    """A schema with metadata: :data:`MARK` where the rows are synthetic, and a description in words."""
    words = {b"description": said.encode()} if said else {}
    return schema.with_metadata((schema.metadata or {}) | (MARK if synthetic else {}) | words)


def write_table(
    table: Table,
    path: Path,
    separator: str = ",",
    encoding: str = "utf-8",
    layout: Layout | None = None,
    synthetic: bool = False,
    said: str = "",
) -> None:
    """Write ``table`` in its source's conventions, as the format of the path's suffix.

    ``layout``: line ends, byte order mark and needless quotes of a CSV file, codebook, sheet (:func:`layout_of`); LF
    and none of these if not given. ``synthetic``: the file says that its rows are synthetic, in its metadata (Parquet,
    :data:`MARK`), its label or its properties; CSV has no place for it. ``said``: what the rows are and how they were
    made, for the metadata of a Parquet file.
    """
    layout, suffix = layout or Layout(), path.suffix.lower()
    with atomic_file(path) as temporary:
        if suffix in STATISTICS_SUFFIXES:
            write_statistics_file(table, temporary, suffix, layout.codebook, synthetic=synthetic)
        elif suffix in SPREADSHEET_SUFFIXES:
            write_spreadsheet(table, temporary, layout.sheet, synthetic=synthetic)
        elif suffix in PARQUET_SUFFIXES:
            content = to_arrow(table)
            pq.write_table(content.cast(marked(content.schema, synthetic=synthetic, said=said)), temporary)
        else:
            write_csv(table, temporary, separator, encoding, layout)
