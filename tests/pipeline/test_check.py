"""What `hybrid check` finds without running anything: all of it, and no cell value in a message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.base.errors import Finding
from hybrid.pipeline import evaluation_price
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.publication.policy import load_policy

ROWS = 60
COLUMNS: dict[str, dict[str, Any]] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "hierarchy": "age.yaml"},
    "town": {"role": "quasi_identifier", "hierarchy": "town.csv"},
    "illness": {"role": "sensitive"},
}


def _job(folder: Path, columns: dict[str, dict[str, Any]] | None = None, **sections: Any) -> Path:
    """Sixty people; ``region`` gives ``town`` away, ``ticket`` is unique, ``empty`` and ``constant`` say nothing."""
    lines = ["person,age,town,region,illness,ticket,constant,empty,seen"]
    towns = ("Rome", "Oslo", "Bern")
    for i in range(ROWS):
        town = towns[i % 3]
        lines.append(
            f"P{i:03},{20 + i % 7},{town},R{i % 3},{'flu' if i % 2 else 'gout'},{i * 7},1,,0{i % 8 + 1}/02/2024"
        )
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "age.yaml").write_text("type: intervals\nwidths: [5]\n")
    (folder / "town.csv").write_text("Rome;S;*\nBern;S;*\nOslo;N;*\n")
    content: dict[str, Any] = {
        "data": {"path": "data.csv", "columns": COLUMNS if columns is None else columns},
        "roles": {"decided_by": "the tests", "date": "2026-11-21"},
        "anonymize": {"k": 2},
        **sections,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    return folder / "config.yaml"


def _found(path: Path, level: str | None = None) -> list[Finding]:
    findings = diagnose(load_config(path))
    assert not any(town in f.message + f.hint for f in findings for town in ("Rome", "Oslo", "gout"))
    return [finding for finding in findings if level in (None, finding.level)]


def _says(findings: list[Finding], *words: str) -> None:
    for word in words:
        assert any(word in finding.message for finding in findings), (word, findings)


def test_quasi_identifiers_that_nothing_anonymizes_are_named(tmp_path: Path) -> None:
    without = _found(_job(tmp_path, anonymize=None), "note")
    _says(without, "nothing is anonymized, although quasi-identifiers are named: age and town")
    assert not any("nothing is anonymized" in finding.message for finding in _found(_job(tmp_path)))


def test_nothing_wrong(tmp_path: Path) -> None:
    path = _job(tmp_path)
    assert not _found(path, "error")
    _says(
        _found(path, "ok"),
        "60 rows, 9 columns, 1 identifiers, 2 quasi-identifiers, 1 sensitive",
        "2 hierarchies cover every value",
        "9 combinations of levels",
    )


def test_notes(tmp_path: Path) -> None:
    notes = _found(_job(tmp_path), "note")
    _says(
        notes,
        "0.0 % of rows are of people who are alone on the quasi-identifiers",
        "k=2: keeping every record costs ",
        "age: 7 values",
        "town: 3 values; kept as it is",
        "'constant' has the same value in every row",
        "'empty' has no values at all",
        "'ticket' looks like an identifier: 60 different values in 60 rows",
        "'region' gives 'town' away",
        "'seen' is read as %d/%m/%Y, and every value could be read the other way round",
    )
    _says(notes, "training with cart takes about 1 s and ")
    _says(notes, "measuring takes about ")
    assert len(notes) == 12


def test_a_slow_evaluation_names_what_makes_it_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column of a wide survey is attacked as a secret, for hours, where nobody names one."""
    monkeypatch.setattr(evaluation_price, "SLOW_SECONDS", 0.0)
    names = [f"q{at}" for at in range(60)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *(",".join("12" * 30) for _ in range(80))]))
    for secrets, expected in ({}, True), ({"secrets": ["q1"]}, False):
        content = {"version": 1, "name": "wide", "data": {"path": "wide.csv"}, "evaluate": secrets}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(content))
        config = load_config(tmp_path / "config.yaml")
        table = config.load_table()
        (note,) = evaluation_price.foreseen_evaluation(config, load_policy(config.policy_path), table, table)
        assert ("all 60 columns are attacked as secrets" in note.hint) is expected


def test_all_problems_at_once(tmp_path: Path) -> None:
    path = _job(
        tmp_path,
        anonymize={"k": 1000, "models": [{"model": "l_diversity", "l": 3, "attribute": "illness"}]},
        evaluate={"targets": ["outcome"]},
        sample={"method": "stratified", "by": ["gender"]},
        split={"control": 0.3, "key": "household"},
        publish={"columns": {"weight": {"unit": "kg"}}},
        policy="absent.yaml",
    )
    (tmp_path / "town.csv").write_text("Rome;S;*\nBern;T;+\n")
    (tmp_path / "age.yaml").write_text("type: intervals\nwidth: [5]\n")
    errors = _found(path, "error")
    _says(
        errors,
        "absent.yaml",
        "evaluate.targets: no such column: outcome",
        "sample.by: no such column: gender",
        "publish.columns: no such column: weight",
        "split.key names the column 'household'",
        "age.yaml, line 2: width: unknown key",
        "town.csv: hierarchy of 'town' has 2 roots",
        "k is 1000 but there are only 60 records",
        "3 different values of 'illness' are wanted in every class, and the column has 2",
    )
    assert len(errors) == 9


def test_uncovered_values_are_private(tmp_path: Path) -> None:
    path = _job(tmp_path)
    (tmp_path / "town.csv").write_text("Bern;S;*\nOslo;N;*\n")
    (error,) = _found(path, "error")
    assert "column 'town': 1 distinct values (20 rows)" in error.message
    assert error.values == "Rome (20 rows)"


def test_data_that_cannot_be_read(tmp_path: Path) -> None:
    path = _job(tmp_path, {**COLUMNS, "absent": {}, "also": {}}, synthesize={"generator": "cart"})
    _says(_found(path, "error"), "'absent'", "'also'")
    (tmp_path / "data.csv").unlink()
    _says(_found(path, "error"), "does not exist")


def test_without_anonymization(tmp_path: Path) -> None:
    path = _job(tmp_path, {"person": {"role": "identifier"}}, anonymize=None)
    assert not _found(path, "error")


@pytest.mark.parametrize(
    "models", [[{"model": "l_diversity", "l": 2, "attribute": "age"}], [{"model": "k_map", "k": 3}]]
)
def test_models_that_do_not_fit(tmp_path: Path, models: list[dict[str, Any]]) -> None:
    assert len(_found(_job(tmp_path, anonymize={"k": 2, "models": models}), "error")) == 1


def test_adult(census: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    content = yaml.safe_load((root / "configs" / "adult.yaml").read_text())
    rows = census.read_text().splitlines(keepends=True)[:6001]
    (tmp_path / "adult.csv").write_text("".join(rows))
    content["data"]["path"] = "adult.csv"
    for column in content["data"]["columns"].values():
        if "hierarchy" in column:
            column["hierarchy"] = str(root / "configs" / column["hierarchy"])
    (tmp_path / "adult.yaml").write_text(yaml.safe_dump(content))
    assert not _found(tmp_path / "adult.yaml", "error")
    del content["data"]["columns"]["education-num"]["hierarchy"]
    content["data"]["columns"]["education-num"]["role"] = "insensitive"
    (tmp_path / "adult.yaml").write_text(yaml.safe_dump(content))
    _says(_found(tmp_path / "adult.yaml", "note"), "'education-num' gives 'education' away")


def test_a_policy_that_judges_k_alone_is_a_note(tmp_path: Path) -> None:
    policy = {"name": "own", "version": "1", "owner": "the tests"}
    anonymity = [{"name": "k", "quantity": "k", "block": 2, "reason": "Crowds."}]
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(policy | {"anonymity": anonymity}))
    found = [note.message for note in _found(_job(tmp_path, policy="own.yaml"), "note")]
    assert any("judges anonymity and has no rule with compare: excess" in message for message in found)
    default = [note.message for note in _found(_job(tmp_path, policy="default"), "note")]
    assert not any("compare: excess" in message for message in default)
