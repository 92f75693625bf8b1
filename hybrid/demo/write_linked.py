"""Write the simulated linked tables: patients, admissions, prescriptions, hospitals."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa

from hybrid.base.arrays import Array, Mask
from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.errors import ConfigError
from hybrid.base.rng import rng_for
from hybrid.demo.arrow_files import FileFormat, fixed_point, numbered, write_batches
from hybrid.demo.hierarchies import LINKED_RULES, write_hierarchies
from hybrid.demo.linked_population import LinkedAdmissions, LinkedPopulation, Prescriptions
from hybrid.demo.population import FIRST_DAY, People
from hybrid.demo.vocabulary import DISCHARGES, SEXES, Vocabulary, load

MOST_ADMISSIONS = 5_000_000
"""Admissions of linked tables, which are drawn at once."""
_YEAR = 2023
"""The year of which the ages are."""


def write_linked_demo(
    folder: Path, admissions: int = 20_000, seed: int = 20240501, format: FileFormat = "csv"
) -> dict[str, int]:
    """Write simulated linked tables into ``folder``.

    Patients, admissions, prescriptions and hospitals, with hierarchies and a config.

    Parameters
    ----------
    folder : Path
        Created if it does not exist. Gets a file per table, ``hierarchies/*`` and ``config.yaml``; files of these names
        are replaced.
    admissions : int
        Number of admissions, 1..5,000,000.
    seed : int
        The same seed and number give the same bytes (with the same versions of NumPy and PyArrow).
    format : "csv" or "parquet"
        How the tables are written.

    Returns
    -------
    dict of str to int
        Rows of each table.

    Raises
    ------
    ConfigError
        ``admissions`` or ``seed`` is out of range.
    OutputError
        The folder is not writable or the disk is full.
    """
    if not 1 <= admissions <= MOST_ADMISSIONS:
        raise ConfigError(f"rows is {admissions}", hint=f"choose 1 to {MOST_ADMISSIONS:,} admissions of linked tables")
    if seed < 0:
        raise ConfigError(f"seed is {seed}", hint="choose 0 or more")
    vocabulary = load()
    tables = linked_tables(vocabulary, admissions, seed)
    with ExitStack() as stack:
        for name, batch in tables.items():
            temporary = stack.enter_context(atomic_file(folder / f"{name}.{format}"))
            write_batches(iter([batch]), temporary, format)
    write_hierarchies(folder / "hierarchies", vocabulary, LINKED_RULES)
    config = (resources.files("hybrid.demo") / "config_linked.yaml").read_text(encoding="utf-8")
    write_text(folder / "config.yaml", _with_files(config, tables, format))
    return {name: batch.num_rows for name, batch in tables.items()}


def _with_files(config: str, tables: Iterable[str], format: FileFormat) -> str:
    for name in tables:
        config = config.replace(f"path: {name}.csv", f"path: {name}.{format}")
    return config


def linked_tables(vocabulary: Vocabulary, admissions: int, seed: int) -> dict[str, pa.RecordBatch]:
    """Simulated tables by their names, parents first."""
    people, admitted, given = LinkedPopulation(vocabulary).draw(admissions, rng_for(seed, "linked demo"))
    shuffled = rng_for(seed, "order of patients").permutation(len(people.age))
    patient_ids = numbered("P", np.arange(len(people.age)), rng_for(seed, "patient_id"))
    admission_ids = numbered("A", np.arange(admissions), rng_for(seed, "admission_id"))
    by_day = np.argsort(admitted.drawn.day, kind="stable")
    return {
        "patients": _patients(people, vocabulary, patient_ids, rng_for(seed, "missing")).take(pa.array(shuffled)),
        "admissions": _admissions(admitted, vocabulary, patient_ids, admission_ids).take(pa.array(by_day)),
        "prescriptions": _prescriptions(given, vocabulary, admission_ids, rng_for(seed, "prescription_id")),
        "hospitals": _hospitals(vocabulary),
    }


def _patients(people: People, vocabulary: Vocabulary, ids: pa.Array, rng: np.random.Generator) -> pa.RecordBatch:
    n = len(people.age)
    born = _YEAR - people.age - (rng.random(n) < 0.5)
    return pa.record_batch(
        {
            "patient_id": ids,
            "birth_year": pa.array(born.astype(np.int16)),
            "sex": _texts(people.sex, list(SEXES)),
            "postcode": _texts(people.postcode, vocabulary.postcodes, rng.random(n) < 0.006),
            "nationality": _texts(
                people.nationality, vocabulary.nationalities["nationality"].tolist(), rng.random(n) < 0.012
            ),
            "occupation": _texts(
                people.occupation, vocabulary.occupations["occupation"].tolist(), rng.random(n) < 0.03
            ),
            "smoker": _texts(people.smoker.astype(np.int8), ["no", "yes"], (people.age < 14) | (rng.random(n) < 0.08)),
            "bmi": fixed_point(np.rint(people.bmi * 10).astype(np.int64), 1, rng.random(n) < 0.12),
        }
    )


def _admissions(
    admitted: LinkedAdmissions, vocabulary: Vocabulary, patient_ids: pa.Array, ids: pa.Array
) -> pa.RecordBatch:
    drawn = admitted.drawn
    return pa.record_batch(
        {
            "admission_id": ids,
            "patient_id": patient_ids.take(pa.array(drawn.patient)),
            "hospital": _texts(admitted.hospital, vocabulary.hospitals["hospital"].tolist()),
            "admitted": _dates(drawn.day),
            "discharged": _dates(drawn.day + drawn.stay),
            "emergency": pa.array(drawn.emergency),
            "diagnosis": _texts(drawn.diagnosis, vocabulary.diagnoses["code"].tolist()),
            "ward": _texts(drawn.ward, vocabulary.wards),
            "cost": fixed_point(drawn.cost, 2, drawn.missing["cost"]),
            "discharge": _texts(drawn.discharge, list(DISCHARGES)),
            "readmitted": _texts(drawn.readmitted.astype(np.int8), ["no", "yes"]),
        }
    )


def _prescriptions(
    given: Prescriptions, vocabulary: Vocabulary, admission_ids: pa.Array, rng: np.random.Generator
) -> pa.RecordBatch:
    drugs = vocabulary.drugs
    none = np.zeros(len(given.drug), dtype=bool)
    return pa.record_batch(
        {
            "prescription_id": numbered("R", np.arange(len(given.drug)), rng),
            "admission_id": admission_ids.take(pa.array(given.admission)),
            "drug": _texts(given.drug, drugs["drug"].tolist()),
            "route": pa.array(drugs["route"].tolist(), pa.string()).take(pa.array(given.drug)),
            "dose": fixed_point(given.dose, 2, none),
            "started": _dates(given.started),
            "ended": _dates(given.started + given.days - 1),
        }
    )


def _hospitals(vocabulary: Vocabulary) -> pa.RecordBatch:
    hospitals = vocabulary.hospitals
    columns = {name: pa.array(hospitals[name].tolist(), pa.string()) for name in ("hospital", "name", "level")}
    return pa.record_batch({**columns, "beds": pa.array(hospitals["beds"].tolist(), pa.int16())})


def _texts(codes: Array, values: list[str], missing: Mask | None = None) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(codes, mask=missing))


def _dates(days: Array) -> pa.Array:
    start = int(FIRST_DAY.astype(np.int64))
    return pa.array((days + start).astype(np.int32)).cast(pa.date32())
