from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from hybrid.analysis.differences import against_baseline, paradox, stage_means
from tests.analysis.simulated import PRIVACY, UTILITY, levels, noise, simulated

PLAN = levels(k=(5, 20), transition=("uniform", "conditional", "single"), generator=("cart", "none"))
CONDITIONAL = (PLAN["transition"] == "conditional").to_numpy()


def _facets(plan: pd.DataFrame) -> dict[str, dict[str, str]]:
    return {str(name): {**row.to_dict(), "rest": "same"} for name, row in plan.iterrows()}


def _run(columns: dict[str, np.ndarray], plan: pd.DataFrame = PLAN) -> Any:
    return simulated(plan, columns, facets=_facets(plan))


def test_pairs_differ_in_the_transition_alone() -> None:
    """A shift of all of k = 20 or of one generator must not count; conditional is 0.3 above uniform everywhere."""
    shift = 5.0 * (PLAN["k"] == "20").to_numpy() + 2.0 * (PLAN["generator"] == "none").to_numpy()
    seeds = np.array([0.0, 0.01, 0.05])
    values = (shift + 0.3 * CONDITIONAL)[:, None] + CONDITIONAL[:, None] * seeds + 7 * seeds
    (privacy,) = [each for each in paradox(_run({PRIVACY: values})).differences if each.column.name == PRIVACY]
    assert privacy.estimate.value == pytest.approx(0.32)
    assert privacy.pairs == 4
    assert privacy.one - privacy.other == pytest.approx(0.32)
    half = 4.302653 * np.std(seeds, ddof=1) / np.sqrt(3)
    assert privacy.estimate.high == pytest.approx(0.32 + half)


def test_a_failed_run_takes_its_partner_along() -> None:
    values = 0.3 * CONDITIONAL[:, None] + np.array([0.0, 0.02]) * CONDITIONAL[:, None]
    values[(PLAN == ["5", "uniform", "cart"]).all(axis=1).to_numpy()] = np.nan
    first = paradox(_run({PRIVACY: values})).differences[0]
    assert first.pairs == 3
    assert first.estimate.value == pytest.approx(0.31)


def test_direction_decides_what_is_better() -> None:
    rng = np.random.default_rng(1)
    rise = CONDITIONAL[:, None] * (1.0 + 0.001 * rng.normal(size=4)) + np.zeros((len(PLAN), 4))
    found = {each.column.name: each.judgement for each in paradox(_run({PRIVACY: rise, UTILITY: rise})).differences}
    assert found[PRIVACY] == "worse"
    assert found[UTILITY] == "better"


def test_levels_of_other_facets_apart() -> None:
    values = np.outer(CONDITIONAL * (PLAN["generator"] == "none").to_numpy(), [1.0, 1.1])
    by = paradox(_run({UTILITY: values})).by
    assert by["generator", "none"][0].estimate.value == pytest.approx(1.05)
    assert by["generator", "cart"][0].estimate.value == 0.0
    assert set(by) == {("k", "5"), ("k", "20"), ("generator", "cart"), ("generator", "none")}


def test_without_the_pair_there_is_no_answer() -> None:
    plan = levels(k=(5, 20), transition=("single",))
    assert paradox(_run({PRIVACY: np.ones((2, 2))}, plan)).differences == []
    assert paradox(simulated(PLAN, {PRIVACY: np.ones((12, 2))})).differences == []


def test_the_generator_alone() -> None:
    rng = np.random.default_rng(2)
    alone = rng.normal(size=(1, 3)) + np.zeros((len(PLAN), 1))
    columns = {PRIVACY: alone - 0.5, PRIVACY.replace("synthetic", "baseline"): alone}
    (found,) = [each for each in against_baseline(_run(columns)) if each.column.name == PRIVACY]
    assert found.estimate.value == pytest.approx(-0.5)
    assert found.pairs == len(PLAN)
    assert [each.pairs for each in paradox(_run(columns)).alone] == [4, 4]


def test_stages_and_steps() -> None:
    seeds = np.array([0.0, 0.1])
    base = np.zeros((len(PLAN), 1)) + seeds
    columns = {
        f"{stage}.tstr.income": value + base
        for stage, value in {"original": 0.9, "anonymized": 0.7, "synthetic": 0.6, "baseline": 0.8}.items()
    }
    (found,) = stage_means(_run(columns))
    assert {stage: mean.value for stage, mean in found.means.items()} == {
        "original": pytest.approx(0.95),
        "anonymized": pytest.approx(0.75),
        "synthetic": pytest.approx(0.65),
        "baseline": pytest.approx(0.85),
    }
    assert found.steps["anonymized - original"].value == pytest.approx(-0.2)
    assert found.steps["synthetic - baseline"].value == pytest.approx(-0.2)


def test_no_paradox_is_found_where_there_is_none() -> None:
    rng = np.random.default_rng(3)
    plan = PLAN[["k", "transition", "generator"]]
    repeats = 150
    wrong = covered = intervals = 0
    for _ in range(repeats):
        columns = {name: 0.5 + noise(plan, 4, rng) / 50 for name in (PRIVACY, UTILITY, "synthetic.discriminator")}
        found = paradox(_run(columns, plan)).differences
        wrong += any(each.estimate.found for each in found)
        for each in found:
            assert each.estimate.low is not None and each.estimate.high is not None
            covered += each.estimate.low <= 0 <= each.estimate.high
            intervals += 1
    assert binomtest(wrong, repeats, 0.05, alternative="greater").pvalue > 0.001
    assert 0.91 < covered / intervals < 0.985
