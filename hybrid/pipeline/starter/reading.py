"""Guess the options that read a file: separator, encoding, decimal mark, missing markers; tables of a place."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from hybrid.base.errors import ConfigError, DataError, Problem, refuse
from hybrid.pipeline.starter.column_names import identity_of, is_phrase, vocabulary
from hybrid.pipeline.starter.references import Declared
from hybrid.table import Kind, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.file_formats import CSV_SUFFIXES, PARQUET_SUFFIXES, SPREADSHEET_SUFFIXES, TYPED_SUFFIXES, is_csv
from hybrid.table.file_problems import refuse_other_format
from hybrid.table.files import File
from hybrid.table.read_file import parquet_metadata, read_table
from hybrid.table.read_options import ALL_ACCEPTED, ColumnOptions, ReadOptions
from hybrid.table.sources.sql import SqlOptions, read_sql
from hybrid.table.spreadsheets import sheet_names
from hybrid.table.sql_connection import connect, sqlalchemy
from hybrid.table.text import parse
from hybrid.table.typed_table import DATA_FRAME, Frame, read_frame

if TYPE_CHECKING:
    import sqlalchemy as sa


T = TypeVar("T")
SEPARATORS, BLANK = (",", ";", "\t", "|"), " "
"""Characters between fields, and one that counts only where none of these fits."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a text in UTF-16 begins."""
ENCODINGS = ("utf-8", "cp1252", "iso-8859-1")
"""Encodings that are tried in this order; every text is one of the last."""
MARKERS = ("?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "#NULL!", "#NULO#", "#NE#")
"""Texts that mean "missing" wherever they stand."""
MARKERS_AMONG_NUMBERS = ("None", "none", "-", "--", ".", "*", "unknown", "Unknown")
"""Texts that mean "missing" in columns whose other values are numbers, dates or booleans, and the words below."""
_ABSENT = {
    *(
        "na",
        "nd",
        "nv",
        "unknown",
        "notknown",
        "notavailable",
        "notrecorded",
        "notreported",
        "nodata",
        "missing",
        "empty",
    ),
    *("ka", "keineangabe", "keineangaben", "ohneangabe", "unbekannt", "fehlt", "fehlend"),
    *("inconnu", "nonrenseigne", "sindato", "desconocido"),
}
"""Words that mean "missing" as well, without case, points and blanks: `k. A.`, `Not available`."""
_FEW_WORDS, _MANY_NUMBERS, _MANY_ROWS = 2, 20, 20
"""Texts without a digit among so many different numbers or dates mean "missing", whatever their language, where so many
rows have each: the configuration names them, and a name in a wrong field is one person's."""
_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+\Z")
_DECIMAL_POINT = re.compile(r"-?[0-9]+\.[0-9]+\Z")
MOST_COLUMNS = 2_000
"""Columns of a table that a configuration is guessed for: some ten seconds, and a role for each to be decided."""
_SAMPLE_BYTES = 1_000_000
_LONGEST_HEADER = 100_000_000
_SAMPLE_ROWS = 1000


def guess_reading(path: Path, sheet: str | None = None) -> DataOptions:
    """Options that read a file.

    ``options.columns`` holds only kinds that differ from what reading infers.

    ``path`` of the options is the file's name. Of a workbook with several sheets one is named: ``sheet``, or the first.
    """
    if path.is_file():
        refuse_other_format(File.local(path))
    _refuse_too_wide(path)
    options = DataOptions(path=path.name, accept=ALL_ACCEPTED, sheet=sheet)
    if path.is_file() and is_csv(path.name):
        options = _guess_csv(path)
    elif path.is_file() and path.suffix.lower() in SPREADSHEET_SUFFIXES and sheet is None:
        first, *others = sheet_names(File.local(path))
        options = options.model_copy(update={"sheet": first if others else None})
    return _with_values(options, partial(read_table, path)).model_copy(update={"accept": ()})


def guess_frame_reading(frame: Frame) -> DataOptions:
    """Options that read a table in memory; as :func:`guess_reading`."""
    return _with_values(DataOptions(path=DATA_FRAME), partial(read_frame, frame))


def _with_values(options: DataOptions, read: Callable[[DataOptions], Table]) -> DataOptions:
    """Options with what the values say: markers of missing ones, and kinds that differ from what reading infers."""
    table = read(options)
    _refuse_many(str(options.path), len(table.schema))
    found = _markers(table, options.decimal)
    options = options.model_copy(update={"missing": ("", *found)})
    return options.model_copy(update={"columns": _kinds(read(options) if found else table)})


def _refuse_too_wide(path: Path) -> None:
    """Refuse a table with too many columns, whose roles cannot be decided one by one, from its header alone."""
    _refuse_many(path.name, _n_columns(path))


def _refuse_many(name: str, count: int) -> None:
    if count > MOST_COLUMNS:
        raise DataError(
            f"{name}: {count:,} columns; a configuration is guessed for at most {MOST_COLUMNS:,}",
            hint="keep the columns that somebody will use: a person has to decide the role of each of them",
        )


def _n_columns(path: Path) -> int:
    if not path.is_file():
        return 0
    if path.suffix.lower() in PARQUET_SUFFIXES:
        return int(parquet_metadata(File.local(path)).num_columns)
    if not is_csv(path.name):
        return 0  # counted when it is read
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
    header = line.decode("utf-16" if line[:2] in UTF_16 else "cp1252", errors="replace")
    header = header.partition("\r")[0]
    return 1 + max(header.count(separator) for separator in SEPARATORS)


def _guess_csv(path: Path) -> DataOptions:
    with path.open("rb") as file:
        start = file.read(_SAMPLE_BYTES)
    encoding = _encoding(path)
    lines = start.decode(encoding, errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    if len(start) == _SAMPLE_BYTES:
        lines = lines[:-1]
    separator = max(SEPARATORS, key=lambda candidate: _fitness(lines, candidate))
    if not _fitness(lines, separator)[0]:
        # Blanks between the fields, or a title above the names of the columns, which is refused by that.
        blank = _fitness(lines, BLANK)[0] == 1
        separator = BLANK if blank else max(SEPARATORS, key=lambda one: _fitness(lines[1:], one))
    cells = [cell.strip() for row in _rows(lines, separator)[1:] for cell in row]
    comma = sum(bool(_DECIMAL_COMMA.match(cell)) for cell in cells)
    point = sum(bool(_DECIMAL_POINT.match(cell)) for cell in cells)
    decimal = "," if comma > point else "."
    return DataOptions.model_validate(
        {"path": path.name, "separator": separator, "encoding": encoding, "decimal": decimal, "accept": ALL_ACCEPTED}
    )


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        mark = file.read(2)
    if mark in UTF_16:
        return "utf-16"
    return next((name for name in ENCODINGS if _decodes(path, name)), ENCODINGS[0])


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_SAMPLE_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    try:
        rows = list(islice(csv.reader(lines, delimiter=separator), _SAMPLE_ROWS))
    except csv.Error:
        return [[]]
    return [row for row in rows if row] or [[]]


def _fitness(lines: list[str], separator: str) -> tuple[float, int]:
    """Share of rows as long as the header, and that length; a single column is no evidence, its share is 0."""
    rows = _rows(lines, separator)
    width = len(rows[0])
    if width < 2:
        return 0.0, width
    return sum(len(row) == width for row in rows) / len(rows), width


def _markers(table: Table, mark: str) -> list[str]:
    """Texts that mean "missing" in a column of texts."""
    names = [column.name for column in table.schema if column.kind is Kind.CATEGORICAL]
    counts = [table.frame[name].value_counts(sort=False) for name in names]
    columns = [{str(text): int(rows) for text, rows in found.items()} for found in counts]
    stands_in = Counter(chain.from_iterable(columns))
    found = [_markers_of(texts, mark, stands_in) for texts in columns]
    return list(dict.fromkeys(chain.from_iterable(found)))


def _markers_of(texts: Mapping[str, int], mark: str, stands_in: Mapping[str, int]) -> list[str]:
    always = [text for text in texts if text in MARKERS]
    said = [text for text in texts if text not in MARKERS and _is_absent(text)]
    rest = [text for text in texts if text not in always and text not in said]
    if (always or said) and rest and _are_typed(rest, mark):
        return always + said
    words = [text for text in rest if not any(sign.isdigit() for sign in text)]
    numbers = [text for text in rest if text not in words]
    few = 0 < len(words) <= _FEW_WORDS and all(stands_in[word] == 1 and texts[word] >= _MANY_ROWS for word in words)
    if few and len(numbers) >= _MANY_NUMBERS and _are_typed(numbers, mark):
        return always + said + words
    return always


def _is_absent(text: str) -> bool:
    return text in MARKERS_AMONG_NUMBERS or re.sub(r"[\W_]", "", text).casefold() in _ABSENT


def _are_typed(texts: Sequence[str], mark: str) -> bool:
    return parse(texts, mark=mark).kind is not Kind.CATEGORICAL


_PLACE_CODE = re.compile(r"(^|[^a-z])(zip|zip_?code|post_?code|postal(_?code)?|plz|fips)([^a-z]|$)")
_CODE = re.compile(
    r"codes?([^a-z]|$)|(^|[^a-z])(icd|snomed|loinc|ndc|atc|cpt|hcpcs|drg|ops|codigo|codice|cod|kode|schluessel|schlussel)([^a-z]|$)"
)


def is_place_code(name: str) -> bool:
    """True for names of codes of places, such as zip, whose digits go from large places to small ones."""
    return _PLACE_CODE.search(name.lower()) is not None


def is_code(name: str) -> bool:
    """True for names of codes: of places, diagnoses, products, occupations; and of what has an id, such as school_id.

    A code is no quantity: the number beside it means something else. Numbers of people are none of these.
    """
    if is_place_code(name) or _CODE.search(name.lower()) is not None:
        return True
    known = vocabulary()
    words = known.split(name)
    if is_phrase(known.without_fillers(words), known.places | known.nominal):
        return True
    return words[-1:] == ["id"] and identity_of(name) is None


def _kinds(table: Table) -> dict[str, ColumnOptions]:
    kinds: dict[str, ColumnOptions] = {}
    for column in table.schema:
        values = table.frame[column.name]
        if column.kind is Kind.INTEGER and is_code(column.name):
            kinds[column.name] = ColumnOptions(kind=Kind.CATEGORICAL)
        elif column.kind is Kind.DECIMAL and column.format.arrow_type in ("double", "float"):
            if _are_whole(values) and float(values.abs().max()) < 2**53:
                kinds[column.name] = ColumnOptions(kind=Kind.INTEGER)
        elif column.kind is Kind.DECIMAL and identity_of(column.name) == "number" and _are_whole(values):
            # 29872499824296.0, as programs write numbers of people among gaps: no measurement.
            kinds[column.name] = ColumnOptions(kind=Kind.CATEGORICAL)
    return kinds


def _are_whole(values: pd.Series) -> bool:
    return bool(values.notna().any()) and bool((values.dropna() % 1 == 0).all())


SUFFIXES = (*CSV_SUFFIXES, *TYPED_SUFFIXES)
"""Files of a folder that are read without being named. A workbook is none: it may explain the others."""
MOST_TABLES = 50
"""Tables of one place: every one of them is read into memory, and every two are compared."""


@dataclass(frozen=True)
class FoundTable:
    """A table, where it is, and how to read it. Private."""

    place: Path | SqlOptions
    options: ReadOptions
    """Kinds that differ from what reading infers are under ``columns``."""
    table: Table
    """At least one row."""


@dataclass(frozen=True)
class Place:
    """Tables of one place, by their names in a configuration."""

    name: str
    tables: Mapping[str, FoundTable]
    declared: Declared


def read_folder(folder: Path, only: Sequence[str] = ()) -> Place:
    """Read the data files of a folder.

    Those called as in ``only`` (file names without suffix), or all that end in :data:`SUFFIXES`, 2 to
    :data:`MOST_TABLES` of them; folders in it are not looked at. All files that cannot be read are named at once.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        raise ConfigError(
            f"{folder}: there is no data file in this folder",
            hint=f"put the tables there ({', '.join(SUFFIXES)}), or name one: hybrid init FILE",
        )
    named = _named(str(folder), [path.stem for path in paths], only)
    tables = _read_all({name: paths[at] for name, at in named.items()}, _from_file)
    return Place(folder.resolve().name, tables, Declared())


def read_database(url_env: str, schema: str | None = None, only: Sequence[str] = ()) -> Place:
    """Read the tables of a database, and its declared keys and references.

    Those called as in ``only``, or all of the schema, 2 to :data:`MOST_TABLES` of them. All tables that cannot be read
    are named at once.
    """
    place = f"the database of {url_env}"
    with connect(url_env, place, read_only=True) as connection:
        inspector = sqlalchemy().inspect(connection)
        names = sorted(inspector.get_table_names(schema=schema))
        named = _named(place, names, only)
        found = {name: names[at] for name, at in named.items()}
        declared = _declared(inspector, found, schema)

    def from_table(stored: str) -> FoundTable:
        source = SqlOptions(url_env=url_env, table=stored if schema is None else f"{schema}.{stored}")
        options = ReadOptions(columns=_kinds(read_sql(source, ReadOptions())))
        return FoundTable(source, options, read_sql(source, options))

    return Place(schema or "database", _read_all(found, from_table), declared)


def _read_all(places: Mapping[str, T], read: Callable[[T], FoundTable]) -> dict[str, FoundTable]:
    tables: dict[str, FoundTable] = {}
    problems: list[Problem] = []
    for name, place in places.items():
        try:
            tables[name] = read(place)
        except DataError as error:
            problems.extend(error.problems)
    refuse(problems, DataError)
    return tables


def _from_file(path: Path) -> FoundTable:
    options = guess_reading(path)
    return FoundTable(path, options, read_table(path, options.model_copy(update={"accept": ALL_ACCEPTED})))


def _named(place: str, names: Sequence[str], only: Sequence[str]) -> dict[str, int]:
    wanted = [at for at, name in enumerate(names) if not only or name in only]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ConfigError(
            f"{place}: there is no table {', '.join(map(repr, unknown))}", hint=f"choose of: {', '.join(names)}"
        )
    if not 2 <= len(wanted) <= MOST_TABLES:
        raise ConfigError(
            f"{place}: {len(wanted)} tables; linked tables are 2 to {MOST_TABLES}",
            hint="name the tables that belong together with --table; for a single table: hybrid init FILE",
        )
    named: dict[str, int] = {}
    problems = []
    for at in wanted:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", names[at]).strip("_-") or "table"
        if name in named:
            problems.append(Problem(f"{place}: two tables would be called {name!r}", "rename one, or use --table"))
        named[name] = at
    refuse(problems)
    return named


def _declared(inspector: sa.Inspector, found: Mapping[str, str], schema: str | None) -> Declared:
    own = {stored: name for name, stored in found.items()}
    keys: dict[str, str] = {}
    references = set()
    for name, stored in found.items():
        key = inspector.get_pk_constraint(stored, schema=schema)["constrained_columns"]
        if len(key) == 1:
            keys[name] = key[0]
        for link in inspector.get_foreign_keys(stored, schema=schema):
            parent = own.get(link["referred_table"])
            if parent is not None and len(link["constrained_columns"]) == 1 and link["referred_columns"]:
                references.add((name, link["constrained_columns"][0], parent, link["referred_columns"][0]))
    return Declared(keys, frozenset(references))
