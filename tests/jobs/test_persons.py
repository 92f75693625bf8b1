"""Several rows per person from the configuration to the certificate."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Evaluation
from hybrid.jobs.audit import judge_tables, read_audit
from hybrid.jobs.audited import read_audited
from hybrid.jobs.release import release
from hybrid.pipeline.config import load_config
from hybrid.pipeline.stages import stage_records
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.table_facts import few
from hybrid.synthesize.kept import fit_or_reuse
from hybrid.table import Table
from tests.helpers.pages import report_text
from tests.jobs.small_job import POLICY

QUICK = {"targets": ["readmitted"], "metrics": ["identical_match", "k_reached"], "baseline": False}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of 600 visits of 150 patients, of which one has 40, and a few no number."""
    folder = tmp_path_factory.mktemp("persons")
    rng = np.random.default_rng(5)
    patients = pd.DataFrame({"age": rng.integers(20, 90, 150), "sex": rng.choice(["f", "m"], 150)})
    whose = np.append(rng.integers(150, size=560), np.full(40, 7))
    visits = patients.iloc[whose].reset_index(drop=True)
    visits.insert(0, "patient", [f"P{number}" for number in whose])
    visits.loc[::97, "patient"] = None
    visits["diagnosis"] = rng.choice(["I10", "E11", "J45"], 600)
    visits["readmitted"] = rng.choice(["yes", "no"], 600)
    visits.to_csv(folder / "visits.csv", index=False)
    (folder / "age.yaml").write_text("type: intervals\nwidths: [10, 30]\n")
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    config: dict[str, Any] = {
        "name": "visits",
        "seed": 3,
        "data": {
            "path": "visits.csv",
            "person": "patient",
            "max_rows": 12,
            "columns": {
                "patient": {"role": "identifier"},
                "age": {"role": "quasi_identifier", "hierarchy": "age.yaml"},
                "sex": {"role": "quasi_identifier", "hierarchy": "sex.csv"},
                "diagnosis": {"role": "sensitive"},
                "readmitted": {"target": True},
            },
        },
        "roles": {"decided_by": "Dr Example", "date": "2026-11-21"},
        "anonymize": {"k": 5, "suppression_limit": 0.1},
        "sample": {"method": "beta", "beta": 0.8},
        "synthesize": {"generator": "cart"},
        "evaluate": QUICK,
        "policy": "policy.yaml",
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder / "config.yaml"


def test_every_stage_keeps_the_rows_of_a_person_together(job: Path) -> None:
    pipeline = TableRun(load_config(job))
    train, control, found, sampled = pipeline.train, pipeline.control, pipeline.anonymized, pipeline.sampled
    assert not train.rows_are_persons and control is not None and not control.rows_are_persons
    assert not set(train.persons.tolist()) & set(control.persons.tolist())
    assert pd.Series(train.persons[train.persons >= 0]).value_counts().max() <= 12
    assert found is not None and sampled is not None
    assert pipeline.protected is not None and not pipeline.protected.table.rows_are_persons
    kept, drawn = found.originals.persons, sampled.anonymized.originals.persons
    assert kept is not None and drawn is not None
    rows = pd.Series(kept).value_counts()
    assert all(rows[person] == count for person, count in pd.Series(drawn).value_counts().items())
    assert (sampled.unit, sampled.expected) == ("persons", pytest.approx(0.8 * len(rows)))
    members = defaultdict(set)
    for class_id, person in zip(found.class_ids.tolist(), kept.tolist(), strict=True):
        members[class_id] |= {person} if person >= 0 else set()
    assert min(map(len, members.values())) == found.result.min_class_persons >= 5


def test_a_release_speaks_of_persons(job: Path, tmp_path: Path) -> None:
    published = release(job, work=tmp_path / "work", runs=tmp_path / "runs", releases=tmp_path / "releases")
    certificate = json.loads((published.folder / "certificate.json").read_text())
    said = certificate["guarantee"]
    assert "k counts persons, for attackers who know one row of each" in said
    assert "categories that fewer than 5 persons hold" in said
    assert "the published table holds synthetic persons: rows with the same person number" in said
    assert "Each of the persons of the intermediate table was used with probability 0.8" in said
    page = " ".join(report_text(published.folder).split())
    assert "people look alike" in page
    assert "Each person that remained was used with a chance of 80 %" in page
    assert "k counts persons, for attackers who know one row of each" in page
    assert "every person has one record" in json.dumps(certificate)
    synthetic = pd.read_csv(published.folder / "synthetic.csv")
    rows = synthetic["patient"].value_counts()
    assert 1 < rows.max() <= 12 and len(rows) == pytest.approx(105, abs=8)
    assert synthetic.groupby("patient")[["age", "sex"]].nunique().max().max() == 1
    assert "Released rows with the same person number are those of one made-up person" in page
    assert not set(synthetic["patient"]) & set(pd.read_csv(job.parent / "visits.csv")["patient"].dropna())


def test_rows_that_no_generator_drew_are_not_linked(job: Path, tmp_path: Path) -> None:
    pipeline = TableRun(load_config(job, {"synthesize.generator": "none"}))
    assert pipeline.generated.table.rows_are_persons
    assert pipeline.synthetic.frame["patient"].is_unique
    config = pipeline.config.model_dump(mode="json")
    assert sentence("guarantee.rows.numbered") in guarantee_sentence(None, config, Evaluation(()))


@pytest.mark.parametrize(
    ("changes", "template"),
    [
        ({"synthesize": {"generator": "cart"}}, "guarantee.people.numbered"),
        ({"output": {"identifiers": "drop"}}, "guarantee.people"),
        ({"synthesize": {"generator": "tvae"}}, "guarantee.rows.numbered"),
        ({"synthesize": {"generator": "tvae"}, "output": {"identifiers": "drop"}}, "guarantee.rows"),
        ({"data": {"person": "patient", "max_rows": 1}}, "guarantee.rows.numbered"),
    ],
)
def test_the_guarantee_says_whether_rows_are_linked(changes: dict[str, Any], template: str) -> None:
    config = {"data": {"person": "patient"}, "synthesize": {"generator": "cart"}} | changes
    assert sentence(template) in guarantee_sentence(None, config, Evaluation(()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.person": "readmitted"}, "'readmitted' does not have the role identifier"),
        ({"split.key": "sex"}, "split.key: 'sex' is not the person"),
        ({"data.person": "none"}, "data.max_rows limits the rows of a person"),
        (
            {"data.person": None, "data.max_rows": None, "anonymize.known_rows": 2},
            "known_rows is about rows of one person",
        ),
        ({"anonymize.engine": "anjana"}, "engine anjana counts records"),
        ({"data.order": "age", "data.person": "none", "data.max_rows": None}, "data.order orders the rows of a person"),
        ({"data.order": "age", "synthesize.generator": "tvae"}, "tvae draws single rows"),
    ],
)
def test_contradictions(job: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        load_config(job, changes)


def test_what_is_said_without_anonymization(job: Path) -> None:
    config = load_config(job, {"anonymize": None, "transition": None, "sample": {"method": "simple", "beta": 0.5}})
    pipeline = TableRun(config)
    assert len(pipeline.generated.table)
    assert not pipeline.is_private


@pytest.mark.parametrize("order", ["pre", "post"])
def test_the_generator_learns_whose_the_rows_are(job: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []

    def kept(table: Table, *others: Any, **options: Any) -> Any:
        learned.append(table)
        return fit_or_reuse(table, *others, **options)

    monkeypatch.setattr("hybrid.pipeline.generation.fit_or_reuse", kept)
    pipeline = TableRun(load_config(job, {"transition.order": order, "synthesize.generator": "baynet"}))
    assert pipeline.generated.table.rows_are_persons, "synthetic rows are nobody's"
    (table,) = learned
    original = pipeline.anonymized.originals
    assert not table.rows_are_persons and not original.rows_are_persons
    rows, before = (Counter(persons.tolist()) for persons in (table.persons, original.persons))
    assert len(rows) > 20 and rows == Counter({person: before[person] for person in rows}), "with all their rows"


def test_a_report_counts_the_source_in_tens(job: Path) -> None:
    pipeline = TableRun(load_config(job))
    _ = pipeline.generated
    steps = list(stage_records(pipeline))
    assert [step.name for step in steps][:2] == ["input", "train"] and steps[-1].name == "synthesize"
    for step in steps[:-1]:
        assert step.rows % 10 == 0, step
        note = "" if step.name == "protect" else step.note.partition("k = ")[0]
        counted = re.findall(r"[0-9][0-9,]*(?= (?:records|persons))", note)
        assert all(int(number.replace(",", "")) % 10 == 0 for number in counted), step
    notes = {step.name: step.note for step in steps}
    result = pipeline.anonymized.result
    assert result.suppressed_persons is not None
    assert f"k = {result.k} persons, {few(result.suppressed_persons)} persons left out" in notes["anonymize"]
    assert f"{few(result.suppressed)} records suppressed" in notes["anonymize"]


def test_an_audit_counts_persons_where_both_files_name_them(job: Path, tmp_path: Path) -> None:
    visits = pd.read_csv(job.parent / "visits.csv")
    first = visits["patient"].isin(visits["patient"].dropna().unique()[:100])
    paths = [tmp_path / f"{name}.csv" for name in ("train", "control", "synthetic")]
    for table, path in zip((visits[first], visits[~first], visits.drop(columns="patient")), paths, strict=True):
        table.to_csv(path, index=False)
    config = load_config(job)
    found = read_audited(paths[0], paths[1], paths[2], config.data)
    assert not found.train.rows_are_persons and len(set(found.train.persons.tolist())) == 100
    assert found.control is not None and not found.control.rows_are_persons
    assert found.synthetic.rows_are_persons
    visits.to_csv(paths[2], index=False)
    linked = read_audited(paths[0], paths[1], paths[2], config.data).synthetic
    assert not linked.rows_are_persons and (np.unique(linked.persons, return_counts=True)[1] > 1).any()
    visits.drop(columns="patient").to_csv(paths[2], index=False)
    visits[~first].drop(columns="patient").to_csv(paths[1], index=False)
    found = read_audited(paths[0], paths[1], paths[2], config.data)
    assert found.train.rows_are_persons
    assert "rows are counted, not persons: data.person is not in the file of control" in found.notes
    only = load_config(job, {"evaluate": {"metrics": ["identical_match"], "power": False}})
    check = judge_tables(read_audit(paths[0], paths[1], paths[2], only), only, 1).verdict.checks[0]
    assert (check.rule, check.status, check.applies) == ("persons", "not judged", True)
