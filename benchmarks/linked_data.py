"""Two linked tables for benchmarks/linked.py: the simulated hospital, and Diabetes-130."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid.demo import write_linked_demo

ENCOUNTER = (
    *("age", "admission_type_id", "discharge_disposition_id", "admission_source_id", "time_in_hospital"),
    *("num_lab_procedures", "num_procedures", "num_medications", "number_inpatient", "diag_1", "number_diagnoses"),
    *("A1Cresult", "insulin", "change", "diabetesMed", "readmitted"),
)


@dataclass(frozen=True)
class Linked:
    """A parent table and a child table; dates and categories are texts.

    Parameters
    ----------
    parents, children : pandas.DataFrame
    key, link : str
        The key of the parents, and the column of the children that holds it.
    order : str or None
        Date by which the children of a parent are ordered.
    kinds : dict of str to str
        numerical | categorical | datetime, of every column but keys.
    near_unique : tuple of str
        Columns without which copies are looked for, too.
    at_most : tuple of (str, str)
        Columns of the children of which the first is never after the second.
    """

    parents: pd.DataFrame
    children: pd.DataFrame
    key: str
    link: str
    order: str | None
    kinds: dict[str, str]
    near_unique: tuple[str, ...] = ()
    at_most: tuple[tuple[str, str], ...] = ()

    def of(self, parents: pd.DataFrame) -> Linked:
        """These parents with their children."""
        children = self.children[self.children[self.link].isin(parents[self.key])].reset_index(drop=True)
        return self.with_tables(parents.reset_index(drop=True), children)

    def with_tables(self, parents: pd.DataFrame, children: pd.DataFrame) -> Linked:
        """Other tables of the same shape."""
        return Linked(parents, children, self.key, self.link, self.order, self.kinds, self.near_unique, self.at_most)

    def write(self, folder: Path) -> None:
        """Write what benchmarks/linked_peers.py reads."""
        folder.mkdir(parents=True, exist_ok=True)
        self.parents.to_csv(folder / "parents.csv", index=False)
        self.children.to_csv(folder / "children.csv", index=False)
        shape = {"key": self.key, "link": self.link, "order": self.order, "kinds": self.kinds}
        (folder / "shape.json").write_text(json.dumps(shape), encoding="utf-8")

    def read(self, folder: Path) -> Linked:
        """Tables that a tool wrote into ``folder``."""
        texts = {name: str for name, kind in self.kinds.items() if kind == "categorical"}
        keys = {self.key: str, self.link: str}
        parents, children = (
            pd.read_csv(folder / f"{name}.csv", dtype=texts | keys, keep_default_na=False, na_values=[""])
            for name in ("parents", "children")
        )
        return self.with_tables(parents[list(self.parents)], children[list(self.children)])


def split(whole: Linked, n_parents: int) -> tuple[Linked, Linked]:
    """So many parents to train, and half as many as control, with their children."""
    order = np.random.default_rng(1).permutation(len(whole.parents))
    train, control = order[:n_parents], order[n_parents : n_parents + n_parents // 2]
    return whole.of(whole.parents.iloc[np.sort(train)]), whole.of(whole.parents.iloc[np.sort(control)])


def demo(n_parents: int) -> Linked:
    """Patients and admissions of ``hybrid demo --linked``, at least so many patients."""
    with tempfile.TemporaryDirectory() as folder:
        write_linked_demo(Path(folder), 2 * n_parents)
        patients = pd.read_csv(Path(folder) / "patients.csv", dtype={"postcode": str})
        admissions = pd.read_csv(Path(folder) / "admissions.csv", dtype={"emergency": str}).drop(columns="admission_id")
    numbers = ("birth_year", "bmi", "cost")
    dates = ("admitted", "discharged")
    kinds = _kinds({*patients, *admissions} - {"patient_id"}, numbers, dates)
    near_unique = ("bmi", "cost", *dates)
    at_most = (("admitted", "discharged"),)
    return Linked(patients, admissions, "patient_id", "patient_id", "admitted", kinds, near_unique, at_most)


def diabetes(path: Path) -> Linked:
    """Patients and encounters of Diabetes-130; encounters in the order of their numbers, without dates."""
    table = pd.read_csv(path, dtype=str, na_values=["?"], keep_default_na=False).sort_values(
        "encounter_id", key=lambda values: values.astype(int)
    )
    patients = table.groupby("patient_nbr")[["race", "gender"]].first().reset_index()
    encounters = table[["patient_nbr", *ENCOUNTER]].reset_index(drop=True)
    numbers = [name for name in ENCOUNTER if name.startswith(("num", "time"))]
    encounters[numbers] = encounters[numbers].astype(int)
    kinds = _kinds({*patients, *encounters} - {"patient_nbr"}, numbers, ())
    return Linked(patients, encounters, "patient_nbr", "patient_nbr", None, kinds)


def _kinds(names: Iterable[str], numbers: Sequence[str], dates: Sequence[str]) -> dict[str, str]:
    kinds = dict.fromkeys(names, "categorical")
    kinds |= {name: "numerical" for name in kinds if name in numbers}
    return kinds | {name: "datetime" for name in kinds if name in dates}
