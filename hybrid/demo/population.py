"""Simulation of hospital admissions, whole columns at a time.

The columns depend on each other the way a steward would expect: age and sex decide which diagnoses are likely,
smoking and weight add to it; the diagnosis decides ward, season, stay and cost; the place of residence is linked
with nationality, age and sex with occupation; stay, age and diagnosis with readmission.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array

SEXES = ("female", "male", "diverse")
DISCHARGES = ("home", "home with care", "rehabilitation", "nursing home", "other hospital", "against advice", "died")
WARDS_BY_CARE = ("Paediatrics", "Intensive care", "Observation")
_AREAS = "013568"
_OFFICES = ("09", "17", "27", "39", "55", "67", "89", "97")


@dataclass(frozen=True)
class Vocabulary:
    """The values of the long columns, one frame each, in file order."""

    diagnoses: pd.DataFrame
    """code, block, chapter, ward and what drives them: typical age and its spread, sex, smoking, obesity, ..."""
    occupations: pd.DataFrame
    """occupation, group, sector, activity, weight, female and smoking factors, range of ages."""
    nationalities: pd.DataFrame
    """nationality, area, world, weight, and the postcode prefixes it lives close to."""
    regions: pd.DataFrame
    """Two-digit postcode prefix, weight, and how much more foreigners live there."""
    hospitals: pd.DataFrame
    """hospital, name, postcode prefix, beds, level of care."""
    drugs: pd.DataFrame
    """ATC code, route, usual dose in mg, usual days, weight, and the chapters of diagnoses it is given for."""

    @property
    def wards(self) -> list[str]:
        return sorted({*self.diagnoses["ward"], *WARDS_BY_CARE})

    @property
    def postcodes(self) -> list[str]:
        """All postcodes: those of one region are adjacent, equally many per region."""
        return [
            f"{prefix}{area}{office}" for prefix in self.regions["prefix"] for area in _AREAS for office in _OFFICES
        ]


def load() -> Vocabulary:
    """Read the vocabulary that comes with the package."""
    return Vocabulary(*map(_read, ("diagnoses", "occupations", "nationalities", "regions", "hospitals", "drugs")))


def _read(name: str) -> pd.DataFrame:
    with (resources.files("hybrid.demo") / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"prefix": str, "border": str, "code": str}, keep_default_na=False)


FIRST_DAY = np.datetime64("2023-01-01", "D")
N_DAYS = 731
MAX_AGE = 104
_SAME_DIAGNOSIS = 0.4
_AGE_BANDS = 22
"""Band 0 is age 0, band b ages 5b-4..5b."""


class DiscreteDistributions:
    """Draws from one of several discrete distributions per record: relative frequencies (n_distributions, n_values)."""

    def __init__(self, weights: Array) -> None:
        cumulative = np.cumsum(weights, axis=1, dtype=np.float64)
        cumulative /= cumulative[:, -1:]
        self._n_values = weights.shape[1]
        self._stacked = (cumulative + np.arange(len(weights))[:, None]).ravel()

    def draw(self, rng: np.random.Generator, row: Array) -> Array:
        """One value per record from the distribution ``row`` (shape (n,)); shape (n,), int64.

        All distributions form one increasing sequence, so that one binary search serves all records.
        """
        point = row + rng.random(len(row)) * (1 - 1e-9)
        return np.asarray(np.searchsorted(self._stacked, point, side="right") - row * self._n_values)


@dataclass(frozen=True)
class People:
    """Drawn traits of people, all of shape (n,); codes are positions in the vocabulary."""

    age: Array
    sex: Array
    postcode: Array
    nationality: Array
    occupation: Array
    smoker: Array
    bmi: Array
    """kg/m²."""

    def take(self, rows: Array) -> People:
        """The people at these positions; shape (n_rows,)."""
        return People(**{name: values[rows] for name, values in vars(self).items()})


@dataclass(frozen=True)
class Admissions:
    """Drawn columns, all of shape (n,); codes are positions in the vocabulary, masks mark missing values."""

    patient: Array
    """Number of the patient, from 0."""
    people: People
    """The patient of each admission."""
    day: Array
    """Days after :data:`FIRST_DAY`."""
    emergency: Array
    diagnosis: Array
    ward: Array
    stay: Array
    """Nights."""
    cost: Array
    """In cents."""
    discharge: Array
    readmitted: Array
    missing: dict[str, Array]
    """Name of a column -> bool mask."""


class Population:
    """Distributions of the simulation; the same for every seed."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        diagnoses = vocabulary.diagnoses
        self._facts = diagnoses
        self._ward = pd.Index(vocabulary.wards).get_indexer(diagnoses["ward"])
        self._care = {name: vocabulary.wards.index(name) for name in ("Paediatrics", "Intensive care", "Observation")}
        self._of_chapter, self._chapters = pd.factorize(diagnoses["chapter"])
        self._per_region = len(vocabulary.postcodes) // len(vocabulary.regions)
        self._ages = DiscreteDistributions(_age_weights()[None, :])
        self._sexes = DiscreteDistributions(_sex_weights())
        self._postcodes = DiscreteDistributions(_postcode_weights(vocabulary)[None, :])
        self._nationalities = DiscreteDistributions(_nationality_weights(vocabulary))
        self._occupations = DiscreteDistributions(_occupation_weights(vocabulary))
        self._smoking = vocabulary.occupations["smoking"].to_numpy(float)
        self._diagnoses = DiscreteDistributions(_diagnosis_weights(diagnoses))
        self._days = DiscreteDistributions(_day_weights(diagnoses, self._of_chapter, len(self._chapters)))
        self._discharges = DiscreteDistributions(_discharge_weights())

    def draw(self, n: int, rng: np.random.Generator, several: bool = False) -> Admissions:
        """Draw ``n`` admissions; with ``several``, of a patient 1 plus a negative binomial number with mean 0.9.

        Rows are in random order. All of a patient have the same age, sex, residence, nationality, occupation, smoking
        and BMI, and the diagnosis of the first one with a probability of 0.4; nobody is admitted after death.
        """
        patient = _patients(n, rng) if several else np.arange(n)
        people = self.draw_people(int(patient.max()) + 1, rng)
        return self.admit(people.take(patient) if several else people, patient, rng, several)

    def draw_people(self, n: int, rng: np.random.Generator) -> People:
        """Draw ``n`` people, sick or not."""
        same_group = np.zeros(n, dtype=np.int64)
        age = self._ages.draw(rng, same_group)
        sex = self._sexes.draw(rng, age)
        postcode = self._postcodes.draw(rng, same_group)
        nationality = self._nationalities.draw(rng, postcode // self._per_region)
        occupation = self._occupations.draw(rng, age * len(SEXES) + sex)
        smoker = rng.random(n) < 0.24 * self._smoking[occupation] * np.where(age > 70, 0.6, 1.0)
        return People(age, sex, postcode, nationality, occupation, smoker, _bmi(age, sex, rng))

    def admit(
        self, people: People, patient: Array, rng: np.random.Generator, several: bool, in_order: bool = False
    ) -> Admissions:
        """Draw one admission of each of these people, among whom one with several is there as often.

        ``patient`` has the number of the person in each row. The last admission of a person is that of the last row if
        they are ``in_order``, else the one that ends last.
        """
        n, age, sex, smoker, bmi = len(patient), people.age, people.sex, people.smoker, people.bmi
        band = (age + 4) // 5
        group = ((band * len(SEXES) + sex) * 2 + smoker) * 2 + (bmi >= 30)
        diagnosis = self._diagnoses.draw(rng, group)
        if several:
            _, places, owner = np.unique(patient, return_index=True, return_inverse=True)
            first = places[owner]
            diagnosis = np.where(rng.random(n) < _SAME_DIAGNOSIS, diagnosis[first], diagnosis)
        severity = rng.normal(size=n) + 0.012 * (age - 55)
        emergency = rng.random(n) < self._fact("emergency", diagnosis) * 0.96 + 0.03 * (age > 75)
        day = self._days.draw(rng, self._of_chapter[diagnosis] * 2 + emergency)
        ward = self._wards(age, diagnosis, severity, rng)
        stay = self._stay(diagnosis, severity, emergency, rng)
        cost = self._cost(diagnosis, severity, stay, ward == self._care["Intensive care"], rng)
        discharge = self._discharge(age, diagnosis, severity, rng)
        if several:
            discharge = np.where(
                _is_last(patient, np.arange(n) if in_order else day + stay), discharge, _alive(discharge)
            )
        readmitted = self._readmitted(age, diagnosis, stay, smoker, discharge, rng)
        return Admissions(
            patient=patient,
            people=people,
            day=day,
            emergency=emergency,
            diagnosis=diagnosis,
            ward=ward,
            stay=stay,
            cost=cost,
            discharge=discharge,
            readmitted=readmitted,
            missing=_missing(age, emergency, rng),
        )

    def _fact(self, name: str, diagnosis: Array) -> Array:
        return np.asarray(self._facts[name].to_numpy(float)[diagnosis])

    def _wards(self, age: Array, diagnosis: Array, severity: Array, rng: np.random.Generator) -> Array:
        ward = self._ward[diagnosis]
        adult_wards = ~np.isin(self._chapters, ["P00-P96 Newborn", "O00-O99 Childbirth", "Z00-Z99 Health services"])
        ward = np.where((age < 16) & adult_wards[self._of_chapter[diagnosis]], self._care["Paediatrics"], ward)
        ward = np.where((age >= 18) & (ward == self._care["Paediatrics"]), self._care["Observation"], ward)
        acute = severity > 2.1 - 4 * self._fact("mortality", diagnosis)
        ward = np.where(acute, self._care["Intensive care"], ward)
        return np.where(rng.random(len(age)) < 0.02, self._care["Observation"], ward)

    def _stay(self, diagnosis: Array, severity: Array, emergency: Array, rng: np.random.Generator) -> Array:
        mean = np.log(self._fact("stay", diagnosis)) + 0.22 * severity + 0.12 * emergency - 0.12
        nights: Array = np.rint(np.exp(mean + rng.normal(0, 0.38, len(severity)))).clip(0, 365)
        return nights.astype(np.int64)

    def _cost(
        self, diagnosis: Array, severity: Array, stay: Array, intensive: Array, rng: np.random.Generator
    ) -> Array:
        tariff, usual = self._fact("tariff", diagnosis), self._fact("stay", diagnosis)
        euros = tariff * (0.55 + 0.45 * stay / usual) + intensive * (1500 + 900 * np.maximum(severity, 0) * stay)
        euros = euros * np.exp(rng.normal(0, 0.18, len(stay)))
        rare = rng.random(len(stay)) < 0.003
        euros = np.where(rare, euros * (2 + rng.pareto(1.8, len(stay))), euros)
        cents: Array = np.rint(euros * 100).clip(9_000, 250_000_000)
        return cents.astype(np.int64)

    def _discharge(self, age: Array, diagnosis: Array, severity: Array, rng: np.random.Generator) -> Array:
        died = rng.random(len(age)) < self._fact("mortality", diagnosis) * np.exp(0.75 * severity - 0.35)
        alive = self._discharges.draw(rng, np.digitize(age, [18, 65, 80]) * 3 + np.digitize(severity, [0.2, 1.2]))
        return np.where(died, DISCHARGES.index("died"), alive)

    def _readmitted(
        self, age: Array, diagnosis: Array, stay: Array, smoker: Array, discharge: Array, rng: np.random.Generator
    ) -> Array:
        leave = np.array([0.0, 0.7, -0.9, 0.9, 0.3, 1.6, 0.0])[discharge]
        odds = 1.15 * np.log(self._fact("readmission", diagnosis) + 0.004) + 0.028 * (age - 60) + leave
        odds += 0.85 * np.log1p(stay) + 0.8 * smoker - 1.35
        alive = discharge != DISCHARGES.index("died")
        return np.asarray(alive & (rng.random(len(age)) < 1 / (1 + np.exp(-odds))))


def _patients(n: int, rng: np.random.Generator) -> Array:
    admissions = 1 + rng.negative_binomial(0.6, 0.4, n)
    numbers = np.repeat(np.arange(n), admissions)[:n]
    return rng.permutation(numbers)


def _is_last(patient: Array, ends: Array) -> Array:
    order = np.lexsort((ends, patient))
    last = np.append(patient[order][1:] != patient[order][:-1], True)
    result = np.zeros(len(patient), dtype=bool)
    result[order] = last
    return result


def _alive(discharge: Array) -> Array:
    return np.where(discharge == DISCHARGES.index("died"), DISCHARGES.index("home"), discharge)


def _age_weights() -> Array:
    age = np.arange(MAX_AGE + 1)
    humps = ((1.0, 30, 9), (0.9, 52, 13), (2.6, 74, 11), (0.8, 84, 6))
    weight = 0.22 + sum(height * np.exp(-(((age - at) / width) ** 2) / 2) for height, at, width in humps)
    weight = weight * np.where(age > 92, np.exp(-(np.maximum(age - 92, 0) ** 1.2) / 3), 1.0)
    weight[0] += 5.0
    return np.asarray(weight)


def _sex_weights() -> Array:
    age = np.arange(MAX_AGE + 1)
    female = 0.46 + 0.12 * np.exp(-(((age - 31) / 7) ** 2) / 2) + 0.16 / (1 + np.exp(-(age - 83) / 4))
    diverse = np.where(age < 14, 0.0003, 0.0016)
    return np.column_stack([female, 1 - female - diverse, diverse])


def _postcode_weights(vocabulary: Vocabulary) -> Array:
    per_region = len(vocabulary.postcodes) // len(vocabulary.regions)
    within = 1 / (4 + np.arange(per_region))
    return np.outer(vocabulary.regions["weight"].to_numpy(float), within).ravel()


def _nationality_weights(vocabulary: Vocabulary) -> Array:
    frame, regions = vocabulary.nationalities, vocabulary.regions
    weights = np.outer(regions["foreign"].to_numpy(float), frame["weight"].to_numpy(float))
    weights[:, 0] = frame["weight"].iloc[0]
    for at, near in enumerate(frame["border"].str.split()):
        weights[regions["prefix"].isin(near).to_numpy(), at] *= 12
    return weights


def _occupation_weights(vocabulary: Vocabulary) -> Array:
    """Weights of occupations by age and sex; the share not employed rises at both ends."""
    frame = vocabulary.occupations
    age = np.arange(MAX_AGE + 1)[:, None]
    low, high = frame["from_age"].to_numpy(), frame["to_age"].to_numpy()
    possible = (age >= low) & (age <= high)
    ramp = np.clip((age - low + 1) / 6, 0.1, 1) * np.clip((high - age + 1) / 6, 0.1, 1)
    by_age = frame["weight"].to_numpy(float) * possible * np.where(frame["activity"] != "working", 1.0, ramp)
    factor = frame["female"].to_numpy(float)
    by_sex = np.stack([factor, 2 - np.minimum(factor, 1.98), np.ones(len(frame))])
    weights: Array = by_age[:, None, :] * by_sex[None, :, :]
    return weights.reshape(-1, len(frame))


def _diagnosis_weights(diagnoses: pd.DataFrame) -> Array:
    """Rows: age band x sex x smoker x obese."""
    middle = np.maximum(np.arange(_AGE_BANDS) * 5 - 2.0, 0.0)
    middle[0] = -1.0
    centre, spread = diagnoses["age"].to_numpy(float), diagnoses["spread"].to_numpy(float)
    by_age = np.exp(-(((middle[:, None] - centre) / spread) ** 2) / 2) + 1e-5 * (centre > 0)
    by_age = by_age * (diagnoses["weight"] / spread).to_numpy(float)
    male, female = diagnoses["male"].to_numpy(float), diagnoses["female"].to_numpy(float)
    by_sex = np.stack([female, male, np.minimum(female, male)])
    by_smoking = np.stack([np.ones(len(diagnoses)), diagnoses["smoker"].to_numpy(float)])
    by_weight = np.stack([np.ones(len(diagnoses)), diagnoses["obese"].to_numpy(float)])
    product: Array = np.einsum("ad,sd,md,wd->asmwd", by_age, by_sex, by_smoking, by_weight)
    return product.reshape(-1, len(diagnoses))


def _day_weights(diagnoses: pd.DataFrame, of_chapter: Array, n_chapters: int) -> Array:
    """Rows: chapter x emergency. Planned admissions avoid weekends; winters bring infections."""
    days = FIRST_DAY + np.arange(N_DAYS)
    weekday = (days.astype("datetime64[D]").astype(np.int64) + 3) % 7
    planned = np.array([1.35, 1.25, 1.1, 1.05, 0.6, 0.1, 0.35])[weekday]
    acute = np.array([1.1, 1.03, 1.0, 1.0, 1.03, 0.92, 0.92])[weekday]
    winter = np.cos(2 * np.pi * (np.arange(N_DAYS) - 20) / 365.25)
    total = np.bincount(of_chapter, diagnoses["weight"], n_chapters)
    amplitude = np.bincount(of_chapter, diagnoses["winter"] * diagnoses["weight"], n_chapters) / total
    season = 1 + amplitude[:, None] * winter
    weights: Array = np.stack([season * planned, season * acute], axis=1)
    return weights.reshape(-1, N_DAYS)


def _discharge_weights() -> Array:
    """Weights of discharges by age group and severity.

    Rows: age group (-17, 18-64, 65-79, 80+) x severity (low, middle, high); columns as DISCHARGES.
    """
    home = np.array([[97, 95, 88], [93, 86, 70], [84, 70, 48], [66, 46, 26]])
    care = np.array([[0.5, 1, 3], [1.5, 3, 7], [7, 12, 17], [17, 25, 26]])
    rehabilitation = np.array([[0.2, 0.8, 3], [2.5, 6, 14], [5, 11, 20], [6, 11, 17]])
    nursing = np.array([[0, 0, 0.05], [0.1, 0.3, 1], [1.2, 3.2, 7], [7.5, 14, 24]])
    hospital = np.array([[1, 2, 5], [0.9, 2.4, 6], [1.4, 3, 7], [1.6, 3, 6]])
    against = np.array([[0.4, 0.3, 0.2], [2, 1.6, 1.2], [0.8, 0.6, 0.5], [0.3, 0.2, 0.2]])
    died = np.zeros((4, 3))
    stacked: Array = np.stack([home, care, rehabilitation, nursing, hospital, against, died], axis=-1)
    return stacked.reshape(12, len(DISCHARGES))


def _bmi(age: Array, sex: Array, rng: np.random.Generator) -> Array:
    adult = 17.6 + rng.gamma(4.2, 2.0, len(age)) + 0.6 * (sex == 1) + 0.03 * (np.minimum(age, 65) - 45)
    child = 15.2 + 0.32 * age + rng.gamma(2.0, 0.9, len(age)) - 1.2 * (age == 0)
    return np.clip(np.where(age < 18, child, adult), 11.0, 68.0)


def _missing(age: Array, emergency: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Masks of missing values, more frequent in emergencies, and smoking for small children."""
    n = len(age)
    return {
        "postcode": rng.random(n) < 0.006,
        "nationality": rng.random(n) < 0.012,
        "occupation": rng.random(n) < 0.02 + 0.05 * emergency,
        "smoker": (age < 14) | (rng.random(n) < 0.06 + 0.06 * emergency),
        "bmi": rng.random(n) < 0.08 + 0.14 * emergency,
        "cost": rng.random(n) < 0.009,
    }
