from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybrid.analysis.contrasts import half_interval
from hybrid.analysis.ranking import contest
from hybrid.analysis.recommend import Recommendation, next_found, recommend, seeds_to_find
from hybrid.analysis.results import Results, results
from tests.analysis.simulated import CLOSENESS, PRIVACY, UTILITY, levels, run_table, simulated

PLAN = levels(k=(5, 10, 20, 50))
RISK = np.array([[0.30, 0.32, 0.31], [0.10, 0.11, 0.12], [0.05, 0.04, 0.06], [0.01, 0.02, 0.0]])
USEFUL = np.array([[0.880, 0.890, 0.885], [0.879, 0.891, 0.884], [0.860, 0.870, 0.865], [0.700, 0.720, 0.710]])


def advise(results: Results, margin: float = 0.0) -> Recommendation | None:
    return recommend(contest(replace(results, margin=margin)))


def _recommend(verdicts: list[str], risk: np.ndarray = RISK, useful: np.ndarray = USEFUL, margin: float = 0.0) -> Any:
    return advise(simulated(PLAN, {PRIVACY: risk, UTILITY: useful}, verdicts), margin)


def test_safest_of_those_as_useful_as_the_best() -> None:
    """c2 is 0.0003 behind c1, with a standard error of 0.0007: as useful for all that the seeds say, and safer."""
    found = _recommend(["pass"] * 4)
    assert (found.chosen.configuration, found.most_useful.configuration, found.safest.configuration) == (
        "c2",
        "c1",
        "c4",
    )
    assert (found.as_useful, found.as_safe, found.admitted, found.ended, found.verdict) == (2, 1, 4, 4, "pass")
    assert found.on_front


def test_what_differs_by_the_margin_does_not_differ() -> None:
    """c3 is 0.02 less useful than c1 with every seed: no difference that counts, and it is safer than c2 by 0.06."""
    assert _recommend(["pass"] * 4, margin=0.02).chosen.configuration == "c3"


def test_closeness_decides_among_the_equally_useful_and_safe() -> None:
    """One that is 12 times farther from the data is not taken for .016 of TSTR that no seed count would find."""
    noise = np.array([[-1, 0, 1], [1, -1, 0], [0, 1, -1], [1, 0, -1]])
    useful = np.array([[0.847], [0.831], [0.828], [0.84]]) + 0.02 * noise
    risk = np.array([[0.147], [0.072], [0.103], [0.1]]) + 0.2 * noise
    far = np.array([[0.993], [0.659], [0.719], [0.99]]) + 0.002 * noise
    found = advise(simulated(PLAN, {PRIVACY: risk, UTILITY: useful, CLOSENESS: far}, ["pass"] * 4), 0.02)
    assert found is not None and found.chosen is not None and found.closeness is not None
    assert found.chosen.closeness is not None
    assert (found.chosen.configuration, found.as_useful, found.as_safe) == ("c2", 4, 4)
    assert found.apart == {"use": [], "attack": [], "closeness": ["c1", "c3", "c4"]}
    assert found.closeness.name == CLOSENESS and found.chosen.closeness.value == pytest.approx(0.659, abs=0.01)


def test_what_it_takes_is_what_it_takes() -> None:
    """With the number of seeds that is said, at the same spread, the difference is found; with one less it is not."""
    for spread, overlap in ((0.01, 0.0), (0.02, 0.05)):
        useful = np.array([[0.9], [0.85]]) + spread * np.array([[1, -1, 0.5, -0.5], [0, 0, 0, 0]])
        table = run_table(levels(k=(5, 10)), {PRIVACY: np.zeros((2, 4)), UTILITY: useful})
        table["records"], table["control_records"] = 1000.0, 1000.0 * overlap
        found = contest(results(table, ["k"]))
        assert found is not None and found.overlap == pytest.approx(overlap)
        needed = next_found(found, 0)
        difference = float((useful[0] - useful[1]).mean() / (useful[0] - useful[1]).std(ddof=1))
        enough = seeds_to_find(difference, 1, overlap)
        assert enough is not None
        if needed is None:
            assert enough <= 4
            continue
        assert (needed.question, needed.configuration) == ("use", "c2")
        assert needed.seeds == enough - 4 > 0 and needed.difference == pytest.approx(0.05)
        found_with = [half_interval(n, 0.95, overlap) < difference for n in (enough - 1, enough)]
        assert found_with == [False, True]
        # As many times as many rows make the spread as small as the difference needs.
        assert half_interval(4, 0.95, overlap) / np.sqrt(needed.rows) == pytest.approx(difference)


def test_no_number_of_seeds_replaces_rows() -> None:
    """At an overlap of .3 the interval never falls below 1.96 x sqrt(.3 / .7) = 1.28 standard deviations."""
    assert seeds_to_find(1.2, 1, 0.3) is None
    assert seeds_to_find(1.4, 1, 0.3) is not None


def test_chosen_by_the_other_seeds() -> None:
    """Without seed 1, or 3, c2 is as useful as c1 and safer; without seed 2 it is .001 behind with each seed: c1."""
    found = _recommend(["pass"] * 4)
    assert found.again_privacy == pytest.approx((0.10 + 0.32 + 0.12) / 3)
    assert found.again_utility == pytest.approx((0.879 + 0.890 + 0.884) / 3)
    assert _recommend(["pass"] * 4, RISK[:, :2], USEFUL[:, :2]).again_privacy is None


def test_the_choice_is_not_the_better_for_its_luck() -> None:
    """All alike: the chosen one looks safer than it is, what the other seeds choose does not."""
    rng = np.random.default_rng(8)
    plan = levels(k=tuple(range(30)))
    bias = []
    for _ in range(60):
        found = advise(simulated(plan, {PRIVACY: rng.normal(size=(30, 3)), UTILITY: rng.normal(size=(30, 3))}))
        assert found is not None and found.chosen is not None and found.again_privacy is not None
        bias.append((found.chosen.privacy.value, found.again_privacy))
    chosen, again = np.mean(bias, axis=0)
    assert chosen < -0.4 and abs(again) < 0.4


def test_the_gate_comes_first() -> None:
    found = _recommend(["block", "review", "pass", "pass"])
    assert (found.chosen.configuration, found.admitted) == ("c3", 2)
    assert found.refused.configuration == "c1"


def test_review_where_nothing_passes_and_nothing_where_all_is_blocked() -> None:
    assert _recommend(["block", "block", "review", "review"]).verdict == "review"
    found = _recommend(["block"] * 4)
    assert found.chosen is None and found.safest.configuration == "c4"


def test_the_worst_verdict_of_the_seeds_counts() -> None:
    table = run_table(PLAN, {PRIVACY: RISK, UTILITY: USEFUL}, ["pass"] * 4)
    table.loc[(table["configuration"] == "c2") & (table["seed"] == 3), "verdict"] = "block"
    found = advise(results(table, ["k"]))
    assert found is not None and found.chosen is not None and found.chosen.configuration == "c1"


def test_a_configuration_that_failed_with_a_seed_is_not_recommended() -> None:
    useful = USEFUL.copy()
    useful[1, 2] = np.nan
    assert _recommend(["pass"] * 4, useful=useful).chosen.configuration == "c1"


def test_one_seed_uses_the_metric_s_own_interval() -> None:
    low, high = USEFUL[:, :1] - 0.02, USEFUL[:, :1] + 0.02
    columns = {PRIVACY: RISK[:, :1], UTILITY: USEFUL[:, :1], f"{UTILITY}_low": low, f"{UTILITY}_high": high}
    found = advise(simulated(PLAN, columns, ["pass"] * 4))
    # 0.02 / 1.96 * sqrt(2) = 0.0144 of standard error: c2 is within it, c3 (0.02 behind) is not.
    assert found is not None and found.chosen is not None
    assert (found.chosen.configuration, found.as_useful, found.chosen.utility.low) == ("c2", 2, None)


def test_without_a_gate_all_that_ended_well_are_admitted() -> None:
    found = _recommend([])
    assert (found.verdict, found.admitted) == ("", 4)


def test_without_utility_there_is_none() -> None:
    assert advise(simulated(PLAN, {PRIVACY: RISK})) is None


def test_several_targets_count_together() -> None:
    columns = {PRIVACY: np.zeros((4, 2)), "synthetic.tstr.a": np.array([[1.0], [0.2], [0.8], [0.1]]) + np.zeros(2)}
    columns["synthetic.tstr.b"] = np.array([[0.0], [0.9], [0.8], [0.1]]) + np.zeros(2)
    found = advise(simulated(PLAN, columns, ["pass"] * 4))
    assert found is not None and found.chosen is not None
    assert found.chosen.configuration == "c3" and found.chosen.utility.value == pytest.approx(0.8)


def test_strongest_attack_is_the_largest_leakage() -> None:
    """Copies: (0.3 - 0.2) / (1 - 0.2) = 0.125 above the control; distances: (0.55 - 0.5) / 0.5 = 0.1."""
    columns = {
        "synthetic.identical_match": np.full((4, 1), 0.3),
        "synthetic.identical_match_reference": np.full((4, 1), 0.2),
        "synthetic.dcr_share": np.full((4, 1), 0.55),
        PRIVACY: np.full((4, 1), 0.02),
    }
    found = simulated(PLAN, columns).matrix("synthetic.strongest_attack")
    np.testing.assert_allclose(found, 0.125)
