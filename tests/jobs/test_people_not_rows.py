"""Numbers of people are those of people: a table whose rows are written three times has the same ones, everywhere.

A new place that prints a number of people, or decides by one, is one more line of PLACES.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize.result import group_columns, left_out_by_group
from hybrid.base.errors import InfeasibleError
from hybrid.desk.columns import _facts
from hybrid.hierarchy.doctor import summarize
from hybrid.hierarchy.load import load_hierarchy
from hybrid.jobs.report_inputs import run_report
from hybrid.jobs.run import write_run
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.level_findings import role_effect
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.starter import guess_config
from hybrid.protect import ProtectOptions, protect
from hybrid.publication.certificate import build_certificate
from hybrid.publication.finished_run import read_run
from hybrid.publication.gate import DrawNumber
from hybrid.publication.rare_values import RareValues
from hybrid.publication.verdict import Verdict
from hybrid.report import compare_tables
from hybrid.sample.draw import group_shares
from hybrid.table import Table
from tests.jobs.patient_visits import SECRET, Case, people_in, visits

MADE = datetime(2026, 11, 20, tzinfo=UTC)
CONFIG = """version: 1
name: visits
seed: 3
data:
  path: visits.csv
  person: patient_id
  columns:
    patient_id: {role: identifier}
    birth_year: {role: quasi_identifier, kind: integer, hierarchy: birth_year.yaml}
    sex: {role: quasi_identifier, kind: categorical, hierarchy: sex.csv}
    ward: {role: insensitive, kind: categorical}
    diagnosis: {role: sensitive, kind: categorical}
    cost: {role: insensitive, kind: decimal}
constraints: [{range: {cost: [0, 98765.43]}}]
roles: {decided_by: the tests, date: 2026-11-20}
split: {control: 0.3, stable: true}
protect: off
anonymize: {k: 5, suppression_limit: 0.2}
transition: {method: tree, order: pre}
sample: {groups: [ward]}
synthesize: {generator: none}
evaluate: {metrics: [identical_match], original: false, baseline: false, power: false}
"""


class OneTable(Case):
    """A folder with the only table."""

    @property
    def table(self) -> Table:
        return self.pipeline.table

    @cached_property
    def run(self) -> Path:
        write_run(self.pipeline, self.folder / "run")
        return self.folder / "run"


def init(case: OneTable) -> Any:
    guessed = guess_config(case.folder / "visits.csv")
    reasons = [one.role.reason for one in guessed.columns if "known outside" in one.role.reason]
    return [note for note in guessed.notes if "alone" in note], reasons


def check(case: OneTable) -> Any:
    said = [finding.message for finding in diagnose(case.config)]
    return [one for one in said if "alone" in one or "limit of range" in one], list(map(people_in, said))


def too_great_k(case: OneTable) -> Any:
    """What check says of a k between the numbers of training people and of rows, and with what a run ends."""
    config = case.config.with_values({"anonymize.k": 130})
    said = [finding.message for finding in diagnose(config) if finding.level == "error"]
    with pytest.raises(InfeasibleError) as refused:
        Pipeline(config).check()
    assert str(refused.value).split(";")[0].split("\n")[0].startswith(said[0])
    return said


def desk_effect(case: OneTable) -> Any:
    found = role_effect(case.config, case.table, 10_000)
    return found.unique, found.small


def desk_column(case: OneTable) -> Any:
    draft = Draft.read(case.folder / "config.yaml")
    facts = _facts(case.table, draft, draft.columns["birth_year"])
    return facts["without"], facts["with"], [(one.smallest, one.median, one.alone) for one in facts["levels"]]


def hierarchy_table(case: OneTable) -> Any:
    column = case.table.schema["birth_year"]
    tree = load_hierarchy(case.folder / "birth_year.yaml", column, case.table.frame["birth_year"])
    return [(one.smallest, one.median, one.alone) for one in summarize(tree, case.table, "birth_year")]


def charts(case: OneTable) -> Any:
    found = compare_tables(case.table, case.table)
    return [
        (one.name, one.cells and one.cells.labels, str(one.real.round(6)), one.missing_real) for one in found.columns
    ]


def charts_of_the_report(case: OneTable) -> Any:
    pages = re.findall(r"<title>([^<]*): real", (case.run / "report-details.html").read_text())
    assert "A" in pages and not [one for one in pages if "Rare" in one or "Orphan" in one]
    return sorted(one for one in pages if not any(map(str.isdigit, one)))


def report(case: OneTable) -> Any:
    return people_in((case.run / "report.html").read_text())


def details(case: OneTable) -> Any:
    return people_in((case.run / "report-details.html").read_text())


def facts(case: OneTable) -> Any:
    """Every number of people among the facts that all pages are made from."""
    found = (case.run / "facts.json").read_text()
    named = re.findall(r'"(\w*(?:persons|people)\w*)": (\d[\d.]*)', found)
    return sorted(named), sorted(people_in(found))


def class_sizes(case: OneTable) -> Any:
    found = run_report(case.pipeline, "", MADE)
    assert found.sharing_before is not None and found.sharing_after is not None
    return [
        (np.bincount(sizes) / len(sizes)).round(9).tolist() for sizes in (found.sharing_before, found.sharing_after)
    ]


def anonymization(case: OneTable) -> Any:
    result = read_run(case.run).anonymization
    assert result is not None
    return result.levels, result.min_class_persons, result.persons, result.suppressed_persons


def guarantee(case: OneTable) -> Any:
    return people_in(run_report(case.pipeline, "", MADE).guarantee)


def certificate(case: OneTable) -> Any:
    """Numbers of persons, and every sentence that names people."""
    found = build_certificate(
        read_run(case.run),
        release="release",
        created="2026-11-20T00:00:00+00:00",
        verdict=Verdict.of("test 1", ()),
        draw=DrawNumber(1, 1),
        acceptances=(),
        data_tag="tag",
        release_tag="tag",
        files={},
        signing={},
    )
    counts = {key: found["anonymization"][key] for key in found["anonymization"] if "persons" in key}
    return counts, people_in(json.dumps([found[key] for key in ("summary", "guarantee", "explanation")]))


def suppression_by_group(case: OneTable) -> Any:
    assert case.pipeline.anonymized is not None
    return left_out_by_group(case.pipeline.anonymized, group_columns(case.table.schema), 20)


def groups_of_the_sample(case: OneTable) -> Any:
    return [(one.group, one.people) for one in group_shares(case.table, None, ["ward"])]


def protection(case: OneTable) -> Any:
    train = case.pipeline.person.train
    found = protect(train, ProtectOptions(), np.random.default_rng(1), 5).result
    return [(one.column, one.values, one.rare) for one in found.columns]


def last_look(case: OneTable) -> Any:
    return RareValues.of({"": case.table}, 5, SECRET).found.to_dict("records")


PLACES: tuple[Callable[[OneTable], Any], ...] = (
    init,
    check,
    too_great_k,
    desk_effect,
    desk_column,
    hierarchy_table,
    charts,
    charts_of_the_report,
    report,
    details,
    facts,
    class_sizes,
    anonymization,
    guarantee,
    certificate,
    suppression_by_group,
    groups_of_the_sample,
    protection,
    last_look,
)


OF_TABLES = (init, desk_effect, desk_column, hierarchy_table, charts, groups_of_the_sample, last_look)
"""Those that look at the table alone, which no split parts."""


def _case(folder: Path, frame: pd.DataFrame, times: int, config: str) -> OneTable:
    frame.loc[frame.index.repeat(times)].to_csv(folder / "visits.csv", index=False)
    (folder / "config.yaml").write_text(config)
    (folder / "birth_year.yaml").write_text("type: intervals\nwidths: [10, 20, 40]\n")
    (folder / "sex.csv").write_text("m;*\nf;*\n")
    return OneTable(folder)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[OneTable, OneTable]:
    """The table as it is, and with every row three times."""
    once, thrice = (_case(tmp_path_factory.mktemp(f"times{n}"), visits(), n, CONFIG) for n in (1, 3))
    return once, thrice


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_rows_written_three_times_are_no_more_people(
    cases: tuple[OneTable, OneTable], place: Callable[[OneTable], Any]
) -> None:
    once, thrice = map(place, cases)
    assert once, "the place says nothing, so that nothing was compared"
    assert once == thrice


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> tuple[OneTable, OneTable]:
    """One row of each patient, where nobody says whose a row is, and every row three times under the patient's name."""
    first, nobody = visits().drop_duplicates("patient_id"), CONFIG.replace("person: patient_id", "person: none")
    return (
        _case(tmp_path_factory.mktemp("patients"), first, 1, nobody),
        _case(tmp_path_factory.mktemp("patients thrice"), first, 3, CONFIG),
    )


@pytest.mark.parametrize("place", OF_TABLES, ids=lambda place: place.__name__)
def test_rows_that_are_persons_are_as_many_under_their_names(
    patients: tuple[OneTable, OneTable], place: Callable[[OneTable], Any]
) -> None:
    alone, thrice = map(place, patients)
    assert alone, "the place says nothing, so that nothing was compared"
    assert alone == thrice
