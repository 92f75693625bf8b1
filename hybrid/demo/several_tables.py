"""Simulation of patients, their admissions, and what was prescribed there.

Age and smoking decide how often somebody is admitted; an admission begins after the one before has ended, soon if the
patient is readmitted; region and severity decide the hospital; the diagnosis decides which drugs are likely, age the
dose, and drugs begin and end after the admission has begun. Some patients have no admission, some admissions no drug.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.base.arrays import Array, Mask
from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.rng import rng_for
from hybrid.demo.population import (
    DISCHARGES,
    SEXES,
    Admissions,
    DiscreteDistributions,
    People,
    Population,
    Vocabulary,
    load,
)
from hybrid.demo.write import (
    LINKED_RULES,
    FileFormat,
    dates,
    fixed_point,
    numbered,
    refuse_range,
    texts,
    write_batches,
    write_hierarchies,
)

SOON = 30
"""Days after a discharge within which the next admission is a readmission."""
LAST_DAY = 1095
"""Days after FIRST_DAY by which every admission has ended."""
_DISPERSION = 2.2
"""Of the negative binomial numbers of admissions."""
_LATER = 110
"""Mean days between admissions beyond :data:`SOON`."""
_MOST_DRUGS = 12
_NEAR, _FAR = 60.0, 1.0
"""Weights of the hospitals of a region, and of others."""
_SPECIALIZED = {"university": 6.0, "maximum": 3.0, "general": 0.4}
"""How much more likely a hospital is in intensive care, by its level."""
_DOSES = np.array([0.5, 1.0, 2.0])


@dataclass(frozen=True)
class LinkedAdmissions:
    """Admissions in the order of patients and time; columns of shape (n,)."""

    drawn: Admissions
    """``day`` is the first day, in days after FIRST_DAY; ``patient`` is ascending."""
    hospital: Array
    """Position in the vocabulary."""


@dataclass(frozen=True)
class Prescriptions:
    """Drugs given, by admission and time; columns of shape (n,)."""

    admission: Array
    """Position of the admission."""
    drug: Array
    """Position in the vocabulary."""
    started: Array
    """Days after FIRST_DAY, not before the admission and not after the discharge."""
    days: Array
    """1 or more."""
    dose: Array
    """mg per day, in hundredths."""


class LinkedPopulation:
    """Distributions of the simulation of linked tables; the same for every seed."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._population = Population(vocabulary)
        self._per_region = len(vocabulary.postcodes) // len(vocabulary.regions)
        self._intensive = vocabulary.wards.index("Intensive care")
        self._hospitals = DiscreteDistributions(_hospital_weights(vocabulary))
        self._drugs = DiscreteDistributions(_drug_weights(vocabulary))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[People, LinkedAdmissions, Prescriptions]:
        """Draw patients, as many as come with exactly ``n`` admissions (about n/1.6), and prescriptions."""
        people = self._population.draw_people(n + 100, rng)
        patient = np.repeat(np.arange(n + 100), _counts(people, rng))
        admitted = self._population.admit(people.take(patient), patient, rng, several=True, in_order=True)
        drawn = _first(_scheduled(admitted, rng), n)
        patient = drawn.patient
        people = people.take(np.arange(patient[-1] + 1))
        region = people.postcode[patient] // self._per_region
        hospital = self._hospitals.draw(rng, region * 2 + (drawn.ward == self._intensive))
        return people, LinkedAdmissions(drawn, hospital), self._prescribe(drawn, rng)

    def _prescribe(self, admissions: Admissions, rng: np.random.Generator) -> Prescriptions:
        intensive = admissions.ward == self._intensive
        mean = 0.35 + 0.45 * np.sqrt(admissions.stay) + 0.4 * (admissions.people.age > 65) + 1.2 * intensive
        number = np.minimum(rng.poisson(mean), _MOST_DRUGS)
        admission = np.repeat(np.arange(len(number)), number)
        drug = self._drugs.draw(rng, admissions.diagnosis[admission])
        # Most drugs begin on the first day.
        later = (rng.random(len(admission)) ** 2.5 * (admissions.stay[admission] + 1)).astype(np.int64)
        started = admissions.day[admission] + later
        order = np.lexsort((started, admission))
        facts = self._vocabulary.drugs
        usual = facts["days"].to_numpy(float)[drug]
        days = np.maximum(np.rint(usual * rng.gamma(6, 1 / 6, len(drug))), 1).astype(np.int64)
        old = admissions.people.age[admission] > 75
        step = np.where(
            rng.random(len(drug)) < np.where(old, 0.45, 0.12), 0, np.where(rng.random(len(drug)) < 0.8, 1, 2)
        )
        dose = np.rint(facts["dose"].to_numpy(float)[drug] * _DOSES[step] * 100).astype(np.int64)
        return Prescriptions(admission, drug[order], started[order], days[order], dose[order])


def _counts(people: People, rng: np.random.Generator) -> Array:
    mean = 0.9 + 1.1 * people.age / 80 + 0.6 * people.smoker
    return rng.negative_binomial(_DISPERSION, _DISPERSION / (_DISPERSION + mean))


def _scheduled(drawn: Admissions, rng: np.random.Generator) -> Admissions:
    """Admissions of a patient one after the other, the first as drawn.

    Each next one is within :data:`SOON` days after a discharge if the patient is readmitted, else later.
    """
    day = drawn.day.copy()
    soon = rng.integers(1, SOON + 1, len(day))
    later = SOON + 1 + rng.exponential(_LATER, len(day)).astype(np.int64)
    gap = drawn.stay + np.where(drawn.readmitted, soon, later)
    place = pd.Series(drawn.patient).groupby(drawn.patient).cumcount().to_numpy()
    for at in range(1, int(place.max(initial=0)) + 1):
        rows = np.flatnonzero(place == at)
        day[rows] = day[rows - 1] + gap[rows - 1]
    return replace(drawn, day=day)


def _first(drawn: Admissions, n: int) -> Admissions:
    """The first ``n`` admissions that end in time, of which the last one of a patient is followed by no readmission."""
    kept = np.flatnonzero(drawn.day + drawn.stay < LAST_DAY)[:n]
    patient = drawn.patient[kept]
    last = np.append(patient[1:] != patient[:-1], True)
    chosen = {name: values[kept] for name, values in vars(drawn).items() if name not in ("missing", "people")}
    missing = {name: mask[kept] for name, mask in drawn.missing.items()}
    return replace(
        drawn,
        people=drawn.people.take(kept),
        **chosen | {"missing": missing, "readmitted": chosen["readmitted"] & ~last},
    )


def _hospital_weights(vocabulary: Vocabulary) -> Array:
    """Rows: region of the patient x intensive care; columns: hospitals."""
    hospitals = vocabulary.hospitals
    near: Mask = vocabulary.regions["prefix"].to_numpy()[:, None] == hospitals["prefix"].to_numpy()[None, :]
    usual = np.where(near, _NEAR, _FAR) * np.sqrt(hospitals["beds"].to_numpy(float))
    intensive = usual * hospitals["level"].map(_SPECIALIZED).to_numpy(float)
    weights: Array = np.stack([usual, intensive], axis=1)
    return weights.reshape(-1, len(hospitals))


def _drug_weights(vocabulary: Vocabulary) -> Array:
    """Weights of drugs (columns) by diagnosis (rows); drugs are rare beyond the chapters they are given for."""
    letters = vocabulary.diagnoses["chapter"].str[0].to_numpy()
    given = np.array([[letter in chapters.split() for chapters in vocabulary.drugs["chapters"]] for letter in letters])
    spread = rng_for(0, "drugs of a diagnosis").gamma(1.5, 1, given.shape)
    return np.asarray(np.where(given, spread, 0.02) * vocabulary.drugs["weight"].to_numpy(float))


MOST_ADMISSIONS = 5_000_000
"""Admissions of linked tables, which are drawn at once."""
_YEAR = 2023
"""The year of which the ages are."""


def write_linked_demo(
    folder: Path, admissions: int = 20_000, seed: int = 20240501, format: FileFormat = "csv"
) -> dict[str, int]:
    """Write simulated patients, 1 to 5,000,000 admissions, prescriptions and hospitals, with hierarchies and a config.

    Files of these names in ``folder`` are replaced. The same seed and number give the same bytes (with the same
    versions of NumPy and PyArrow).
    """
    refuse_range(admissions, seed, MOST_ADMISSIONS, " admissions of linked tables")
    vocabulary = load()
    tables = linked_tables(vocabulary, admissions, seed)
    with ExitStack() as stack:
        for name, batch in tables.items():
            temporary = stack.enter_context(atomic_file(folder / f"{name}.{format}"))
            write_batches(iter([batch]), temporary, format)
    write_hierarchies(folder / "hierarchies", vocabulary, LINKED_RULES)
    config = (resources.files("hybrid.demo") / "config_tables.yaml").read_text(encoding="utf-8")
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
            "sex": texts(people.sex, list(SEXES)),
            "postcode": texts(people.postcode, vocabulary.postcodes, rng.random(n) < 0.006),
            "nationality": texts(
                people.nationality, vocabulary.nationalities["nationality"].tolist(), rng.random(n) < 0.012
            ),
            "occupation": texts(people.occupation, vocabulary.occupations["occupation"].tolist(), rng.random(n) < 0.03),
            "smoker": texts(people.smoker.astype(np.int8), ["no", "yes"], (people.age < 14) | (rng.random(n) < 0.08)),
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
            "hospital": texts(admitted.hospital, vocabulary.hospitals["hospital"].tolist()),
            "admitted": dates(drawn.day),
            "discharged": dates(drawn.day + drawn.stay),
            "emergency": pa.array(drawn.emergency),
            "diagnosis": texts(drawn.diagnosis, vocabulary.diagnoses["code"].tolist()),
            "ward": texts(drawn.ward, vocabulary.wards),
            "cost": fixed_point(drawn.cost, 2, drawn.missing["cost"]),
            "discharge": texts(drawn.discharge, list(DISCHARGES)),
            "readmitted": texts(drawn.readmitted.astype(np.int8), ["no", "yes"]),
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
            "drug": texts(given.drug, drugs["drug"].tolist()),
            "route": pa.array(drugs["route"].tolist(), pa.string()).take(pa.array(given.drug)),
            "dose": fixed_point(given.dose, 2, none),
            "started": dates(given.started),
            "ended": dates(given.started + given.days - 1),
        }
    )


def _hospitals(vocabulary: Vocabulary) -> pa.RecordBatch:
    hospitals = vocabulary.hospitals
    columns = {name: pa.array(hospitals[name].tolist(), pa.string()) for name in ("hospital", "name", "level")}
    return pa.record_batch({**columns, "beds": pa.array(hospitals["beds"].tolist(), pa.int16())})
