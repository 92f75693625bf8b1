"""Write the simulated population.

One table, its hierarchies and a config that uses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from hybrid.base.arrays import Array
from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.errors import ConfigError
from hybrid.base.rng import rng_for
from hybrid.demo.arrow_files import MAX_NUMBER, fixed_point, numbered, write_batches
from hybrid.demo.hierarchies import RULES, write_hierarchies
from hybrid.demo.population import FIRST_DAY, Admissions, Population
from hybrid.demo.vocabulary import DISCHARGES, SEXES, Vocabulary, load
from hybrid.evaluation.options import COMPARED_ROWS

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
    """Write simulated hospital admissions, their hierarchies and a config into ``folder``.

    Parameters
    ----------
    folder : Path
        Created if it does not exist. Gets ``admissions.csv`` (or ``.parquet``), ``hierarchies/*`` and
        ``config.yaml``; files of these names are replaced.
    rows : int
        Number of admissions, 1..1e9.
    seed : int
        The same seed and rows give the same bytes (with the same versions of NumPy and PyArrow).
    format : "csv" or "parquet"
        How the table is written.
    several : bool
        Whether patients have several admissions, as ``hybrid demo`` writes them (then the config names the person), or
        one each.

    Returns
    -------
    Path
        The config.

    Raises
    ------
    ConfigError
        ``rows`` or ``seed`` is out of range.
    OutputError
        The folder is not writable or the disk is full.
    """
    if not 1 <= rows <= MAX_NUMBER:
        raise ConfigError(f"rows is {rows}", hint=f"choose 1 to {MAX_NUMBER:,}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}", hint="choose 0 or more")
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
    def texts(name: str, codes: Array, values: list[str]) -> pa.Array:
        return pa.array(values, pa.string()).take(pa.array(codes, mask=drawn.missing.get(name)))

    def flags(name: str, values: Array, true: str, false: str) -> pa.Array:
        return texts(name, values.astype(np.int8), [false, true])

    start = int(FIRST_DAY.astype(np.int64))
    columns = {
        "patient_id": patient_ids,
        "age": pa.array(drawn.age.astype(np.int16)),
        "sex": texts("sex", drawn.sex, list(SEXES)),
        "postcode": texts("postcode", drawn.postcode, vocabulary.postcodes),
        "nationality": texts("nationality", drawn.nationality, vocabulary.nationalities["nationality"].tolist()),
        "occupation": texts("occupation", drawn.occupation, vocabulary.occupations["occupation"].tolist()),
        "admission_date": pa.array((drawn.day + start).astype(np.int32)).cast(pa.date32()),
        "emergency": pa.array(drawn.emergency),
        "smoker": flags("smoker", drawn.smoker, "yes", "no"),
        "bmi": fixed_point(drawn.bmi, 1, drawn.missing["bmi"]),
        "diagnosis": texts("diagnosis", drawn.diagnosis, vocabulary.diagnoses["code"].tolist()),
        "ward": texts("ward", drawn.ward, vocabulary.wards),
        "length_of_stay": pa.array(drawn.stay.astype(np.int16)),
        "cost": fixed_point(drawn.cost, 2, drawn.missing["cost"]),
        "discharge": texts("discharge", drawn.discharge, list(DISCHARGES)),
        "readmitted": flags("readmitted", drawn.readmitted, "yes", "no"),
    }
    return pa.record_batch(columns)
