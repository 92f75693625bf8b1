"""Vocabulary of the simulation: diagnoses, occupations, nationalities, postcodes, hospitals, drugs.

The six CSV files beside this module hold one line per value; weights are relative frequencies. They are
plausible, not epidemiology: nothing here was learned from records of people.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import pandas as pd

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
        """All wards, sorted."""
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
