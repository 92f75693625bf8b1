"""Audits of privacy.mode dp: the true walk passes, and each fault is refuted by the game that is made for it.

The random bits of the noise are seeded here, so that every run of the tests counts the same events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.progress import silent
from hybrid.cli import main
from hybrid.lab.audit_dp import parts
from hybrid.lab.audit_dp import walk as walks
from hybrid.lab.audit_dp.attack import BudgetAttack
from hybrid.lab.audit_dp.walk import Walk, walk_of
from hybrid.pipeline import inputs
from hybrid.pipeline.config import RunConfig, parse_config
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy import plan
from hybrid.privacy.domain import ValueGrid, neutral_column, single_value_domain
from hybrid.privacy.plan import FoundKeys
from hybrid.synthesize.generators import noisy_marginals as marginals
from hybrid.table import Table
from tests.helpers.seeded_bits import seed_bits

COLUMNS = {
    "id": {"role": "identifier"},
    "ward": {"role": "quasi_identifier", "kind": "categorical"},
    "age": {"role": "quasi_identifier", "kind": "integer"},
}
PRIVACY = {"mode": "dp", "epsilon": 1.0, "delta": 1e-6, "columns": {"age": {"bounds": [0, 99]}}}
CONTENT = {
    "name": "dp",
    "data": {"path": "people.csv", "person": "id", "max_rows": 2, "columns": COLUMNS},
    "privacy": PRIVACY,
    "synthesize": {"options": {"iterations": 20}},
}
LISTED = PRIVACY | {"columns": {name: {"values": [f"{name}{at}" for at in range(12)]} for name in ("ward", "job")}}
PEOPLE = pd.DataFrame({"id": ["a", "b"], "ward": ["x", "y"], "age": [3, 4]})


@pytest.fixture(autouse=True)
def bits(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_bits(monkeypatch, 1)


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return parse_config(CONTENT).with_frame(PEOPLE)


@pytest.fixture(scope="module")
def walk(config: RunConfig) -> Walk:
    return walk_of(TableRun(config, judge_power=False))


@pytest.fixture(scope="module")
def loud(config: RunConfig) -> RunConfig:
    """With little noise, so that few plays show a fault."""
    assert config.privacy is not None
    return config.model_copy(update={"privacy": config.privacy.model_copy(update={"epsilon": 50.0})})


def game(walk: Walk, name: str, runs: int = 16) -> list[BudgetAttack]:
    """Bounds of epsilon and of rho by the game on one pair of tables."""
    pair = next(one for one in walks._pairs(walk) if one.name == name)
    return list(walks._game(walk, pair, runs, 0.95, np.random.default_rng(1)))


def part(config: RunConfig, name: str, draws: int, monkeypatch: pytest.MonkeyPatch) -> list[BudgetAttack]:
    """Bounds of rho by the games on one part."""
    monkeypatch.setattr(parts, "PARTS", {name: parts.PARTS[name]})
    walk = walk_of(TableRun(config, judge_power=False))
    return list(parts.attack_parts(walk, draws, 0.998, np.random.default_rng(1), silent))


def refuted(attacks: list[BudgetAttack]) -> bool:
    return any(attack.refutes for attack in attacks)


MUTED = {
    "marginals of one column": (marginals, 15_000, 2),
    "marginals of two columns": (marginals, 15_000, 4),
    "number of rows": (plan, 12_500, 4),
}


@pytest.mark.parametrize("name", MUTED)
def test_noise_of_a_half_or_quarter_of_the_deviation_is_refuted(
    name: str, loud: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, draws, divisor = MUTED[name]
    true = module.discrete_gaussian
    monkeypatch.setattr(module, "discrete_gaussian", lambda size, variance, bits: true(size, variance, bits) // divisor)
    assert refuted(part(loud, name, draws, monkeypatch))


def test_choice_of_twice_the_epsilon_is_refuted(loud: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    true = marginals.choose
    monkeypatch.setattr(
        marginals,
        "choose",
        lambda scores, epsilon, sensitivity, bits: true(scores, 2 * epsilon, sensitivity, bits),
    )
    assert refuted(part(loud, "choice of pairs", 60_000, monkeypatch))


def test_a_marginal_that_is_not_paid_is_refuted(loud: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals.NoisyCounts, "_pay", lambda self, name, rho: None)
    found = part(loud, "marginals of one column", 20_000, monkeypatch)
    assert all(attack.stated == 0 for attack in found) and refuted(found)


def test_number_of_rows_that_is_not_paid_is_refuted(
    loud: RunConfig, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan._Finder, "_count_rows", lambda self: len(self.table))
    assert refuted(part(loud, "number of rows", 1000, monkeypatch))
    assert refuted(game(walk, "among equals"))


def test_bounds_from_the_records_are_refuted(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    true = plan._Finder.domain

    def narrow(self: Any, column: Any) -> Any:
        if not column.kind.is_continuous:
            return true(self, column)
        values = self.table.frame[column.name]
        return single_value_domain(
            neutral_column(column), ValueGrid.of(column.kind, (int(values.min()), int(values.max())))
        )

    monkeypatch.setattr(plan._Finder, "domain", narrow)
    assert refuted(game(walk, "alone at the other end", 30))


def test_levels_from_the_records_are_refuted(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(self: Any, column: Any, known: Any) -> tuple[str, ...]:
        return tuple(sorted(self.table.frame[column.name].dropna().astype(str).unique()))

    monkeypatch.setattr(plan._Finder, "_states", seen)
    assert refuted(game(walk, "alone at the other end"))


def test_a_category_of_one_person_that_is_always_kept_is_refuted(
    loud: RunConfig, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = plan.find_keys

    def leaky(values: pd.Series, *others: Any) -> FoundKeys:
        found, counts = true(values, *others), values.astype(str).value_counts()
        lone = tuple(sorted(counts.index[counts <= 2]))
        return FoundKeys((*found.states, *lone), found.rho, found.delta)

    monkeypatch.setattr(plan, "find_keys", leaky)
    assert refuted(part(loud, "categories of one person", 1000, monkeypatch))
    assert refuted(game(walk, "alone at the other end"))


def test_rows_beyond_the_limit_are_refuted(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "with_row_limit", lambda part, most, rng: part)
    assert refuted(game(walk, "with too many rows", 30))


def test_missing_values_that_are_left_as_they_are_are_refuted(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    true = TableRun.drawn.func  # type: ignore[attr-defined]

    def drawn(self: Any) -> Any:
        found = true(self)
        if not self.learned.frame["age"].isna().any():
            return found
        frame = found.table.frame.assign(age=pd.Series([None] * len(found.table), dtype="Int64"))
        return replace(found, table=Table(frame, found.table.schema))

    monkeypatch.setattr(TableRun, "drawn", property(drawn))
    assert refuted(game(walk, "alone with missing values"))


@pytest.fixture(scope="module")
def wide() -> Iterator[RunConfig]:
    columns = {"ward": COLUMNS["ward"], "job": COLUMNS["ward"]}
    data = {"path": "people.csv", "person": "none", "columns": columns}
    content = CONTENT | {"data": data, "synthesize": {"options": {"iterations": 100}}}
    frame = pd.DataFrame({"ward": ["ward1", "ward2"], "job": ["job1", "job2"]})
    yield parse_config(content | {"privacy": LISTED | {"epsilon": 30.0}}).with_frame(frame)


def one_run(config: RunConfig, **changes: Any) -> BudgetAttack:
    known = walk_of(TableRun(config.model_copy(update=changes), judge_power=False))
    return walks._one_run(known, 140, 0.95, np.random.default_rng(2))


def test_one_run_of_140_canaries_notices_epsilon_30_and_missing_noise(
    wide: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wide.privacy is not None
    assert 0.3 < one_run(wide).lower < 30
    two = {"privacy": wide.privacy.model_copy(update={"epsilon": 2.0})}
    assert not one_run(wide, **two).refutes
    gaussian = marginals.discrete_gaussian
    monkeypatch.setattr(marginals, "discrete_gaussian", lambda size, variance, bits: 0 * gaussian(size, variance, bits))
    assert one_run(wide, **two).refutes


def test_the_true_build_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    ages = {name: COLUMNS[name] for name in ("id", "age")} | {"ward": {"role": "identifier"}}
    content = CONTENT | {"data": CONTENT["data"] | {"columns": ages}}  # type: ignore[operator]
    Path("dp.yaml").write_text(json.dumps(content), encoding="utf-8")
    few = ["--canaries", "10", "--runs", "20", "--draws", "1000", "--seed", "3", "--confidence", "0.999"]
    with pytest.raises(SystemExit) as ended:
        main(["audit-dp", "dp.yaml", *few, "--out", "audit"])
    assert ended.value.code == 0
    found = json.loads(Path("audit/audit-dp.json").read_text(encoding="utf-8"))
    assert found["refuted"] is False
    names = {attack["name"] for attack in found["attacks"]}
    assert {f"{name}, epsilon {epsilon}" for name in parts.PARTS for epsilon in (1, 50)} <= names
    assert {"one run", "among equals", "alone at the other end", "with too many rows"} <= names
    assert {one["quantity"] for one in found["attacks"] if one["name"] == "among equals"} == {"epsilon", "rho"}
    said = " ".join(capsys.readouterr().out.split())
    assert "number of rows, epsilon 50: rho is at least 0" in said
