"""The configuration of a public table with several admissions per patient, on an extract of 500 patients."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.starter import guess_config
from hybrid.pipeline.table_run import TableRun
from tests.helpers.reference_data import unpack

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diabetes130")
    shutil.copytree(ROOT / "hierarchies" / "diabetes130", folder / "hierarchies" / "diabetes130")
    (folder / "configs").mkdir()
    for name in ("diabetes130.yaml", "diabetes130_dp.yaml"):
        shutil.copy(ROOT / "configs" / name, folder / "configs")
    unpack("diabetes130.csv", folder / "configs")
    return folder / "configs" / "diabetes130.yaml"


def test_nothing_is_wrong_with_it(config: Path) -> None:
    findings = diagnose(load_config(config))
    assert not [finding for finding in findings if finding.level == "error"]
    said = " ".join(finding.message for finding in findings)
    assert "500 persons with up to 7 rows each; k counts persons" in said


def test_every_class_is_of_five_patients(config: Path) -> None:
    found = TableRun(load_config(config, {"split.control": 0})).anonymized
    assert found is not None
    persons = found.originals.persons
    assert persons is not None
    members: dict[int, set[int]] = {}
    for class_id, person in zip(found.class_ids.tolist(), persons.tolist(), strict=True):
        members.setdefault(class_id, set()).add(person)
    assert min(map(len, members.values())) == found.result.min_class_persons >= 5
    assert found.result.persons == 500
    assert found.result.verified["models"][0]["reached"] >= 2


def test_the_private_configuration_has_a_domain_for_every_column(config: Path) -> None:
    pipeline = TableRun(load_config(config.with_name("diabetes130_dp.yaml")))
    pipeline.check()
    assert pipeline.is_private
    train = pipeline.train
    assert not train.rows_are_persons
    assert len(set(train.persons.tolist())) == len(train)


def test_the_patient_is_proposed_as_the_person(config: Path) -> None:
    assert guess_config(config.parent / "diabetes130.csv").person == "patient_nbr"
