"""Audits of generators with a budget of their own, whose domains hierarchy files list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.base.progress import silent
from hybrid.lab.audit_dp import audit_privacy, parts
from hybrid.lab.audit_dp import walk as walks
from hybrid.lab.audit_dp.walk import walk_of
from hybrid.pipeline.config import RunConfig, parse_config
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.table_run import TableRun
from hybrid.privacy.accounting import at_most, epsilon_of
from hybrid.synthesize.generators import noisy_marginals as marginals
from tests.helpers.seeded_bits import seed_bits

PEOPLE = pd.DataFrame({"ward": ["w1", "w2"], "job": ["w1", "w3"]})


@pytest.fixture(autouse=True)
def bits(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_bits(monkeypatch, 1)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A hierarchy file of twelve values."""
    path = tmp_path_factory.mktemp("listed") / "values.csv"
    path.write_text("".join(f"w{at};*\n" for at in range(12)))
    return str(path)


def config(listed: str, generator: str = "mst", **options: Any) -> RunConfig:
    column = {"role": "quasi_identifier", "kind": "categorical", "hierarchy": listed}
    content = {
        "name": "own-budget",
        "data": {"path": "people.csv", "person": "none", "columns": {"ward": column, "job": column}},
        "protect": "off",
        "synthesize": {"generator": generator, "options": {"epsilon": 1.0, **options}},
    }
    return parse_config(content).with_frame(PEOPLE)


def test_true_build_passes_and_missing_values_are_no_pair(listed: str) -> None:
    found = audit_privacy(config(listed, iterations=5), canaries=10, runs=20, draws=1000, confidence=0.999, seed=3)
    assert not found.refuted
    names = [attack.name for attack in found.attacks if attack.quantity == "rho" and "epsilon" not in attack.name]
    assert names == ["among equals", "alone at the other end"]
    assert {f"{name}, epsilon 50" for name in parts.OF_GENERATORS} <= {attack.name for attack in found.attacks}


def test_a_domain_of_the_records_is_refuted(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = walk_of(TableRun(config(listed, iterations=5), judge_power=False))
    monkeypatch.setattr(Inputs, "domains", {})
    pair = next(one for one in walks._pairs(walk) if one.name == "alone at the other end")
    assert any(attack.refutes for attack in walks._game(walk, pair, 16, 0.95, np.random.default_rng(1)))


def test_halved_noise_of_its_counts_is_refuted(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, true = "marginals of one column", marginals.discrete_gaussian
    walk = walk_of(TableRun(config(listed), judge_power=False))
    monkeypatch.setattr(parts, "PARTS", {name: parts.PARTS[name]})
    monkeypatch.setattr(marginals, "discrete_gaussian", lambda size, variance, bits: true(size, variance, bits) // 2)
    found = parts.attack_parts(walk, 15_000, 0.998, np.random.default_rng(1), silent)
    assert any(attack.refutes for attack in found)


def test_noise_that_a_seed_repeats_leaves_nothing_to_audit(listed: str) -> None:
    with pytest.raises(ConfigError, match="not met: its noise comes from a secure source"):
        audit_privacy(config(listed, "privbayes"))


def test_budget_given_as_rho_is_stated_as_its_epsilon(listed: str) -> None:
    pipeline = TableRun(config(listed, rho=2.0), judge_power=False)
    stated = walk_of(pipeline).stated
    assert stated.epsilon == epsilon_of(2.0, 1e-6)
    words = f"epsilon = {at_most(stated.epsilon, 6)} and delta = 1e-06"
    assert f"trained once with {words}" in pipeline.promises.explanation.text and words in pipeline.promises.names
