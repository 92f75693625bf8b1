"""Audits of stated differential privacy: the true walk passes, walks with a fault are refuted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid import sample
from hybrid.anonymize import anonymize, steps
from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.lab.audit_dp import audit_privacy, labels
from hybrid.pipeline.config import load_config
from hybrid.transition.strategies.labels import Uniform
from tests.pipeline.sampled_first import CONFIG, write_people

LARGE = {"anonymize.k": 10, "sample.beta": 0.7, "split.control": 0}
SMALL = {"anonymize.k": 2, "sample.beta": 0.3, "split.control": 0}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("people"), CONFIG, 60)


def refuted(path: Path, options: dict[str, float], pair: str, runs: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the game on one pair of tables refutes the statement."""
    all_pairs = labels._pairs

    def only(walk: Any, rng: Any) -> Iterator[Any]:
        return (one for one in all_pairs(walk, rng) if one[0] == pair)

    monkeypatch.setattr(labels, "_pairs", only)
    found = audit_privacy(load_config(path, options), canaries=10, runs=runs, seed=3)
    return any(attack.name == pair for attack in found.refuted)


def test_records_that_are_not_sampled_are_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = sample.sample_before
    monkeypatch.setattr(
        sample,
        "sample_before",
        lambda table, options, rng: true(table, options.model_copy(update={"beta": 1 - 1e-9}), rng),
    )
    assert refuted(path, SMALL, "class of 2", 40, monkeypatch)


def test_levels_from_the_records_are_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(table: Any, hierarchies: Any, options: Any, *others: Any) -> AnonymizedTable:
        free = options.model_copy(update={"levels": {}, "suppression_limit": 0.0})
        return anonymize(table, hierarchies, free, *others)

    monkeypatch.setattr(steps, "anonymize", searched)
    assert refuted(path, LARGE, "alone beside a class", 60, monkeypatch)


def test_values_of_the_records_are_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true = Uniform.fit
    monkeypatch.setattr(
        Uniform,
        "fit",
        lambda self, table, options, rng: true(self, table, options.model_copy(update={"leaves": "observed"}), rng),
    )
    assert refuted(path, LARGE, "in a large class", 60, monkeypatch)


def test_without_a_statement_there_is_nothing_to_audit(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"states no differential privacy that could be audited.*sample.order: pre"):
        audit_privacy(load_config(path, {"sample.order": "post"}))
    with pytest.raises(ConfigError, match="are too few"):
        audit_privacy(load_config(path), runs=1)


def test_the_true_walk_on_the_command_line(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = [f"--set={key}={value}" for key, value in SMALL.items()]
    few = ["--canaries", "10", "--runs", "20", "--seed", "3"]
    with pytest.raises(SystemExit) as ended:
        main(["audit-dp", str(path), *changes, *few, "--out", str(tmp_path / "audit")])
    assert ended.value.code == 0
    found = json.loads((tmp_path / "audit" / "audit-dp.json").read_text())
    assert found["refuted"] is False
    names = list(dict.fromkeys(attack["name"] for attack in found["attacks"]))
    assert names == ["one run", "class of 1", "class of 2", "in a large class", "alone beside a class"]
    assert "in a large class: epsilon is at least" in " ".join(capsys.readouterr().out.split())
