"""Numbers of people of linked tables: visits that are written three times under their patient are no more people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.desk.columns import _facts
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.starter import guess_links, read_folder
from hybrid.protect import ProtectOptions, protect
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.rare_values import RareValues
from hybrid.report import compare_tables
from tests.jobs.patient_visits import SECRET, Case, people_in, visits

CONFIG = """version: 1
name: visits
seed: 3
person: patients
tables:
  patients:
    path: tables/patients.csv
    key: patient_id
    columns:
      birth_year: {role: quasi_identifier, kind: integer, hierarchy: birth_year.yaml}
      sex: {role: quasi_identifier, kind: categorical, hierarchy: sex.csv}
  visits:
    path: tables/visits.csv
    parent: {table: patients, column: patient_id}
    columns:
      ward: {role: quasi_identifier, kind: categorical, hierarchy: ward.csv}
      diagnosis: {role: sensitive, kind: categorical}
      cost: {role: insensitive, kind: decimal}
    constraints: [{range: {cost: [0, 98765.43]}}]
roles: {decided_by: the tests, date: 2026-11-20}
split: {control: 0.3, stable: true}
anonymize: {k: 5, suppression_limit: 0.4}
evaluate: {metrics: [identical_match], original: false, baseline: false, power: false}
"""


def init(case: Case) -> Any:
    guessed = guess_links(read_folder(case.folder / "tables"))
    reasons = [one.role.reason for table in guessed.tables for one in table.columns if "unique" in one.role.reason]
    return [note for note in guessed.notes if "alone" in note], reasons


def check(case: Case) -> Any:
    said = [finding.message for finding in diagnose(case.config)]
    shares = [one for one in said if "alone" in one or "limit of range" in one or ": kept as it is" in one]
    return shares, [found for one in said if (found := people_in(one))]


def labels(case: Case) -> Any:
    result = case.pipeline.anonymization
    assert result is not None
    below = result.below["visits"]
    shares = [one.suppressed / one.records for one in (result, below)]
    return result.levels, below.levels, below.smallest, below.people, below.lost_people, shares


def statement(case: Case) -> Any:
    said = guarantee_sentence(case.pipeline.anonymization, case.config.model_dump(mode="json"), Evaluation(()))
    return people_in(said), re.findall(r"rows of at least \d+ persons", said)


def protection(case: Case) -> Any:
    table = case.pipeline.tables["visits"]
    own = table.train.only(table.own)
    found = protect(own, ProtectOptions(), np.random.default_rng(1), 5).result
    return [(one.column, one.values, one.rare) for one in found.columns]


def charts(case: Case) -> Any:
    table = case.pipeline.tables["visits"].table
    found = compare_tables(table, table)
    return [(one.name, one.cells and one.cells.labels, str(one.real.round(6))) for one in found.columns]


def desk_column(case: Case) -> Any:
    draft = Draft.read(case.folder / "config.yaml")
    facts = _facts(case.pipeline.sources.tables["visits"], draft, draft.columns["visits.ward"])
    return facts["without"], facts["with"], [(one.smallest, one.median, one.alone) for one in facts["levels"]]


def last_look(case: Case) -> Any:
    return RareValues.of(case.pipeline.sources.tables, 5, SECRET).found.to_dict("records")


PLACES: tuple[Callable[[Case], Any], ...] = (
    init,
    check,
    labels,
    statement,
    protection,
    charts,
    desk_column,
    last_look,
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Case]:
    """The tables as they are, and with every visit three times."""
    found = []
    for times in (1, 3):
        folder, frame = tmp_path_factory.mktemp(f"times{times}"), visits()
        (folder / "tables").mkdir()
        static = ["patient_id", "birth_year", "sex"]
        frame[static].drop_duplicates("patient_id").to_csv(folder / "tables" / "patients.csv", index=False)
        own: pd.DataFrame = frame.drop(columns=static[1:])
        own.loc[own.index.repeat(times)].to_csv(folder / "tables" / "visits.csv", index=False)
        (folder / "config.yaml").write_text(CONFIG)
        (folder / "birth_year.yaml").write_text("type: intervals\nwidths: [10, 20, 40]\n")
        (folder / "sex.csv").write_text("m;*\nf;*\n")
        (folder / "ward.csv").write_text("A;*\nB;*\nC;*\nRare ward;*\n")
        found.append(Case(folder))
    return found[0], found[1]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_visits_written_three_times_are_no_more_people(cases: tuple[Case, Case], place: Callable[[Case], Any]) -> None:
    once, thrice = map(place, cases)
    assert once, "the place says nothing, so that nothing was compared"
    assert json.dumps(once, default=str) == json.dumps(thrice, default=str)
