"""The way into linked tables: `demo --linked`, and `init` on a folder or a database."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.cli_jobs import Run


@pytest.fixture
def folder(tmp_path: Path, hybrid: Run, capsys: pytest.CaptureFixture[str]) -> Path:
    assert hybrid("demo", "--linked", tmp_path / "clinic", "--rows", 80) == 0
    assert "80 admissions" in capsys.readouterr().out
    return tmp_path / "clinic"


def test_init_on_a_folder(folder: Path, hybrid: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert hybrid("init", folder) == 2
    assert "config.yaml: the file exists" in capsys.readouterr().err
    assert hybrid("init", folder, "--out", folder / "guessed.yaml") == 0
    shown = capsys.readouterr().out
    assert "person table: patients" in shown and "hospitals: 16 rows, proposed as public" in shown
    content = yaml.safe_load((folder / "guessed.yaml").read_text(encoding="utf-8"))
    assert content["person"] == "patients" and "data" not in content
    assert hybrid("init", folder, "--table", "patients", "--table", "admissions", "--force") == 0
    assert list(yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["tables"]) == [
        "patients",
        "admissions",
    ]


@pytest.mark.parametrize("arguments", [(), ("clinic", "--url-env", "CLINIC")])
def test_init_needs_one_place(arguments: tuple[str, ...], hybrid: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert hybrid("init", *arguments) == 2
    assert "one of them" in capsys.readouterr().err


def test_init_on_a_database_without_its_address(hybrid: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert hybrid("init", "--url-env", "NOT_SET") == 2
    assert "NOT_SET is not set" in capsys.readouterr().err


def test_one_admission_each_excludes_linked_tables(tmp_path: Path, hybrid: Run) -> None:
    assert hybrid("demo", "--linked", "--single", tmp_path / "clinic") == 2
    assert not (tmp_path / "clinic").exists()
