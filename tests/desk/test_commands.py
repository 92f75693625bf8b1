"""The commands edit and desk, from the command line."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from hybrid.cli import main
from hybrid.pipeline.config import load_config


@pytest.fixture
def config(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(folder, tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "own" / "config.yaml"


def _hybrid(*words: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    return int(caught.value.code or 0)


def test_keys_are_set_and_the_difference_is_printed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _hybrid("edit", config, "anonymize.k=7", "data.columns.age.role=insensitive") == 0
    loaded = load_config(config)
    assert loaded.k == 7 and loaded.data.columns["age"].role == "insensitive"
    printed = capsys.readouterr().out
    assert "+  k: 7" in printed and "# every combination of labels" in config.read_text()


@pytest.mark.parametrize("change", ["anonymize.k=none", "anonymize.kk=7", "data.columns.age.role=king", "seed=1"])
def test_a_wrong_or_empty_change_writes_nothing(change: str, config: Path) -> None:
    before = config.read_text()
    assert _hybrid("edit", config, change) == 2
    assert config.read_text() == before


def test_a_new_quasi_identifier_gets_a_hierarchy_to_start_from(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = "data.columns.diagnosis.role=quasi_identifier"
    assert _hybrid("edit", config, change, "anonymize.k=none") == 2
    assert sorted((config.parent / "hierarchies").glob("diagnosis*")) == []
    assert _hybrid("edit", config, change) == 0
    found = load_config(config).data.columns["diagnosis"]
    assert found.role == "quasi_identifier" and found.hierarchy is not None
    assert f"{found.hierarchy}: a hierarchy to start from" in capsys.readouterr().out
    assert _hybrid("hierarchy", "check", config, "diagnosis") == 0
    given = f"data.columns.sex.hierarchy={load_config(config).data.columns['sex'].hierarchy}"
    assert _hybrid("edit", config, "data.columns.sex.role=insensitive") == 0
    assert _hybrid("edit", config, given, "data.columns.sex.role=quasi_identifier") == 0
    assert not (config.parent / "hierarchies" / "sex_2.csv").exists()


def test_a_desk_that_cannot_open_says_why(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _hybrid("desk", config.parent / "nothing.yaml") == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert _hybrid("desk", config.parent, "--port", taken.getsockname()[1]) == 2
    printed = capsys.readouterr()
    assert "in use" in printed.err and "token=" not in printed.out
    assert _hybrid("desk", config, "--releases", "work/releases") == 2, "zones lie apart"
