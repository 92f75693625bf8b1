"""Write the simulated population: one table, its hierarchies and a config that uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from hybrid.base.arrays import Array
from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.errors import ConfigError
from hybrid.base.rng import rng_for
from hybrid.demo.population import DISCHARGES, FIRST_DAY, SEXES, Admissions, Population, Vocabulary, load
from hybrid.evaluation.options import COMPARED_ROWS
from hybrid.hierarchy.tree import ROOT

FileFormat = Literal["csv", "parquet"]
MAX_NUMBER = 1_000_000_000
"""Numbers that :func:`numbered` can tell apart."""


def write_batches(batches: Iterator[pa.RecordBatch], path: Path, format: FileFormat) -> None:
    (_write_csv if format == "csv" else _write_parquet)(batches, path)


def _write_csv(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    with path.open("wb") as file:
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        first = next(batches)
        file.write((",".join(first.schema.names) + "\n").encode())
        with pyarrow.csv.CSVWriter(file, first.schema, write_options=options) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def fixed_point(units: Array, digits: int, missing: Array) -> pa.Array:
    """Whole units (cents) as decimals, without a detour through floating point: 128-bit little-endian integers."""
    pairs = np.zeros((len(units), 2), dtype="<i8")
    pairs[:, 0] = units
    values = pa.Array.from_buffers(pa.decimal128(12, digits), len(units), [None, pa.py_buffer(pairs)])
    return pc.if_else(pa.array(missing), None, values)


def numbered(prefix: str, positions: Array, rng: np.random.Generator) -> pa.Array:
    """Unique numbers with a prefix, in no order: a unit times each position modulo 10^9 permutes 0..10^9-1."""
    offset = int(rng.integers(MAX_NUMBER))
    numbers = (positions.astype(np.int64) * 618_033_989 + offset) % MAX_NUMBER
    padded = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, padding="0")
    return pc.binary_join_element_wise(prefix, padded, "")


def texts(codes: Array, values: list[str], missing: Array | None = None) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(codes, mask=missing))


def dates(days: Array) -> pa.Array:
    """Dates that are so many days after :data:`~hybrid.demo.population.FIRST_DAY`."""
    return pa.array((days + int(FIRST_DAY.astype(np.int64))).astype(np.int32)).cast(pa.date32())


def refuse_range(rows: int, seed: int, most: int = MAX_NUMBER, counted: str = "") -> None:
    if not 1 <= rows <= most:
        raise ConfigError(f"rows is {rows}", hint=f"choose 1 to {most:,}{counted}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}", hint="choose 0 or more")


RULES = {
    "age": """\
# Years of age in groups of 5, 10, 20 and 40; the last level is everybody.
type: intervals
widths: [5, 10, 20, 40]
""",
    "postcode": """\
# 01234 > 0123* > 012** > 01*** > 0**** > *
type: mask
""",
    "admission_date": """\
# Day > month > quarter > year > *
type: dates
levels: [month, quarter, year]
""",
}
"""YAML of the hierarchies that follow a rule."""
LINKED_RULES = {
    "birth_year": """\
# Years of birth in groups of 5, 10, 20 and 40; the last level is everybody.
type: intervals
widths: [5, 10, 20, 40]
""",
    "postcode": RULES["postcode"],
    "admitted": RULES["admission_date"],
}
"""The same of the linked tables."""


def write_hierarchies(folder: Path, vocabulary: Vocabulary, rules: Mapping[str, str]) -> None:
    """Write one file per quasi-identifier, and the taxonomy of diagnoses, into ``folder``.

    Lists of values are CSV (a line is one value; column i is its label on level i), what follows a rule is YAML.
    """
    nationalities, occupations, diagnoses = vocabulary.nationalities, vocabulary.occupations, vocabulary.diagnoses
    tables: dict[str, Iterable[Sequence[str]]] = {
        "sex": ((sex,) for sex in SEXES),
        "nationality": nationalities[["nationality", "area", "world"]].itertuples(index=False),
        "occupation": occupations[["occupation", "group", "sector", "activity"]].itertuples(index=False),
        "diagnosis": diagnoses[["code", "block", "chapter"]].itertuples(index=False),
    }
    for name, lines in tables.items():
        write_text(folder / f"{name}.csv", "".join(";".join((*line, ROOT)) + "\n" for line in lines))
    for name, rule in rules.items():
        write_text(folder / f"{name}.yaml", rule)


CHUNK = 250_000
"""Rows drawn and written at a time: memory stays below half a gigabyte whatever the number of rows."""
_PERSON = ("  person:", "  order:", "  max_rows:")
"""Beginnings of the lines of the config that are about persons with several rows."""
_EVALUATE = "secrets: [diagnosis]}"
_UNCOMPARED = ", original: false, baseline: false}   # only comparisons need these: half of the time"


def write_demo(
    folder: Path,
    rows: int = 30_000,
    seed: int = 20240501,
    format: Literal["csv", "parquet"] = "csv",
    *,
    several: bool = False,
) -> Path:
    """Write 1 to 1e9 simulated hospital admissions, their hierarchies and a config into ``folder``.

    Files of these names are replaced. The same seed and rows give the same bytes (with the same versions of NumPy and
    PyArrow). ``several``: patients have several admissions, as ``hybrid demo`` writes them (then the config names the
    person), or one each.
    """
    refuse_range(rows, seed)
    vocabulary = load()
    data = folder / f"admissions.{format}"
    batches = _batches(vocabulary, rows, seed, several)
    with atomic_file(data) as temporary:
        write_batches(batches, temporary, format)
    write_hierarchies(folder / "hierarchies", vocabulary, RULES)
    config = (resources.files("hybrid.demo") / "config.yaml").read_text(encoding="utf-8")
    if rows > COMPARED_ROWS:
        config = config.replace(_EVALUATE, _EVALUATE[:-1] + _UNCOMPARED)
    lines = [line for line in config.splitlines(keepends=True) if several or not line.startswith(_PERSON)]
    write_text(folder / "config.yaml", "".join(lines).replace("admissions.csv", data.name))
    return folder / "config.yaml"


def _batches(vocabulary: Vocabulary, rows: int, seed: int, several: bool) -> Iterator[pa.RecordBatch]:
    population = Population(vocabulary)
    for number, first in enumerate(range(0, rows, CHUNK)):
        n = min(CHUNK, rows - first)
        drawn = population.draw(n, rng_for(seed, "demo", number), several)
        yield _to_arrow(drawn, vocabulary, numbered("P", first + drawn.patient, rng_for(seed, "patient_id")))


def _to_arrow(drawn: Admissions, vocabulary: Vocabulary, patient_ids: pa.Array) -> pa.RecordBatch:
    people = drawn.people

    def named(name: str, codes: Array, values: list[str]) -> pa.Array:
        return texts(codes, values, drawn.missing.get(name))

    def flags(name: str, values: Array) -> pa.Array:
        return named(name, values.astype(np.int8), ["no", "yes"])

    columns = {
        "patient_id": patient_ids,
        "age": pa.array(people.age.astype(np.int16)),
        "sex": named("sex", people.sex, list(SEXES)),
        "postcode": named("postcode", people.postcode, vocabulary.postcodes),
        "nationality": named("nationality", people.nationality, vocabulary.nationalities["nationality"].tolist()),
        "occupation": named("occupation", people.occupation, vocabulary.occupations["occupation"].tolist()),
        "admission_date": dates(drawn.day),
        "emergency": pa.array(drawn.emergency),
        "smoker": flags("smoker", people.smoker),
        "bmi": fixed_point(np.rint(people.bmi * 10).astype(np.int64), 1, drawn.missing["bmi"]),
        "diagnosis": named("diagnosis", drawn.diagnosis, vocabulary.diagnoses["code"].tolist()),
        "ward": named("ward", drawn.ward, vocabulary.wards),
        "length_of_stay": pa.array(drawn.stay.astype(np.int16)),
        "cost": fixed_point(drawn.cost, 2, drawn.missing["cost"]),
        "discharge": named("discharge", drawn.discharge, list(DISCHARGES)),
        "readmitted": flags("readmitted", drawn.readmitted),
    }
    return pa.record_batch(columns)
