from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybrid.analysis.contrasts import half_interval
from hybrid.analysis.lags import lags, needed, seeds_within
from hybrid.analysis.ranking import contest
from hybrid.analysis.recommend import Recommendation, recommend
from hybrid.analysis.results import Concern, Results, results
from tests.analysis.simulated import CLOSENESS, PRIVACY, UTILITY, levels, run_table, simulated

PLAN = levels(k=(5, 10, 20, 50))
TINY = 1e-6
RISK = np.array([[0.30, 0.32, 0.31], [0.10, 0.11, 0.12], [0.05, 0.04, 0.06], [0.01, 0.02, 0.0]])
USEFUL = np.array([[0.880, 0.890, 0.885], [0.879, 0.891, 0.884], [0.860, 0.870, 0.865], [0.700, 0.720, 0.710]])


def advise(results: Results, margin: float = TINY, prefer: Any = None) -> Recommendation | None:
    chosen = replace(results, margin=margin, prefer=prefer or {})
    return recommend(contest(chosen), chosen.configurations)


def _recommend(verdicts: list[str], risk: np.ndarray = RISK, useful: np.ndarray = USEFUL, **options: Any) -> Any:
    return advise(simulated(PLAN, {PRIVACY: risk, UTILITY: useful}, verdicts), **options)


def test_safest_of_those_as_useful_as_the_best() -> None:
    """c2 is 0.0003 behind c1, with a standard error of 0.0007: as useful for all that the seeds say, and safer."""
    found = _recommend(["pass"] * 4)
    best = {concern: one.configuration for concern, one in found.best.items()}
    assert (found.chosen.configuration, best) == ("c2", {"usefulness": "c1", "privacy": "c4"})
    assert (found.kept["shown"], found.kept["privacy"], found.admitted, found.ended) == (1, 1, 4, 4)
    assert found.beaten == ["c1", "c3", "c4"]
    assert found.verdict == "pass"
    assert found.on_front


def test_the_user_s_order_and_margins_decide() -> None:
    """Privacy first: c4 is the safest; with .08 of privacy to give, c3 is as safe and more useful; with .2, c2."""
    orders: list[tuple[dict[Concern, float], str]] = [
        ({"privacy": 0.001}, "c4"),
        ({"privacy": 0.08}, "c3"),
        ({"privacy": 0.2, "usefulness": 0.001}, "c2"),
        ({"usefulness": 0.1, "privacy": 0.001}, "c3"),
        ({"usefulness": 0.3, "privacy": 0.001}, "c4"),
    ]
    for prefer, expected in orders:
        found = _recommend(["pass"] * 4, prefer=prefer)
        assert found.chosen.configuration == expected and next(iter(found.columns)) == next(iter(prefer))
        assert found.margins == {"usefulness": TINY, "privacy": TINY} | prefer


def test_what_differs_by_the_margin_does_not_differ() -> None:
    """c3 is 0.02 less useful than c1 with every seed: no difference that counts, and it is safer than c2 by 0.06."""
    assert _recommend(["pass"] * 4, margin=0.03).chosen.configuration == "c3"


def test_a_margin_that_is_not_shown_is_no_margin() -> None:
    """c2 is .015 behind c1 on average, by .00 to .03: its bound is .015 + 2.92 x .0087 = .040, beyond .02."""
    useful = np.array([[0.90, 0.90, 0.90], [0.90, 0.885, 0.87], [0.6, 0.6, 0.6], [0.5, 0.5, 0.5]])
    alike = np.zeros((4, 3))
    assert _recommend(["pass"] * 4, alike, useful, margin=0.02).kept["usefulness"] == 1
    assert _recommend(["pass"] * 4, alike, useful, margin=0.041).kept["usefulness"] == 2


def test_closeness_decides_among_the_equally_useful_and_safe() -> None:
    """One that is 12 times farther from the data is not taken for .016 of TSTR that no seed count would find."""
    noise = np.array([[-1, 0, 1], [1, -1, 0], [0, 1, -1], [1, 0, -1]])
    useful = np.array([[0.847], [0.831], [0.828], [0.84]]) + 0.02 * noise
    risk = np.array([[0.147], [0.072], [0.103], [0.1]]) + 0.2 * noise
    far = np.array([[0.993], [0.659], [0.719], [0.99]]) + 0.002 * noise
    found = advise(simulated(PLAN, {PRIVACY: risk, UTILITY: useful, CLOSENESS: far}, ["pass"] * 4), 0.02)
    assert found is not None and found.chosen is not None
    assert (found.chosen.configuration, found.kept["verdict"], found.kept["shown"]) == ("c2", 4, 1)
    assert found.worse == {"usefulness": [], "privacy": [], "closeness": ["c3", "c4", "c1"]}
    assert found.better == {"usefulness": [], "privacy": [], "closeness": []}
    assert found.columns["closeness"].name == CLOSENESS
    assert found.chosen.values["closeness"].value == pytest.approx(0.659, abs=0.01)
    assert not found.is_settled


def test_bound_of_the_lag_by_hand() -> None:
    """Two configurations, two concerns: one-sided level sqrt(.95), t of 3 degrees of freedom in closed form."""
    useful = np.array([[0.80, 0.80, 0.80, 0.80], [0.81, 0.83, 0.82, 0.82]])
    risk = np.array([[0.1, 0.1, 0.1, 0.1], [0.3, 0.3, 0.3, 0.3]])
    found = contest(simulated(levels(k=(5, 10)), {PRIVACY: risk, UTILITY: useful}))
    assert found is not None
    everyone = np.ones(2, dtype=bool)
    one, other = lags(found, 0, everyone)
    half = half_interval(4, 2 * 0.95**0.5 - 1, 0.0)
    scaled = 2 * half / 3**0.5
    assert 0.5 + (scaled / (1 + scaled**2) + np.arctan(scaled)) / np.pi == pytest.approx(0.95**0.5)
    assert one.most == pytest.approx(0.02 + np.std([0.01, 0.03, 0.02, 0.02], ddof=1) * half)
    assert (one.others, other.most) == (1, 0.0) and not one.is_settled and other.is_settled
    assert lags(found.without(0).without(0).without(0), 0, everyone) == []


def test_what_it_takes_is_what_it_takes() -> None:
    """With the number of seeds that is said, at the same spread, the choice is settled; with one less it is not."""
    for spread, overlap in ((0.02, 0.0), (0.03, 0.05), (0.05, 0.05)):
        useful = 0.9 + spread * np.array([[1, -1, 0.5, -0.5], [0, 0, 0, 0]])
        table = run_table(levels(k=(5, 10)), {PRIVACY: np.zeros((2, 4)), UTILITY: useful})
        table["records"], table["control_records"] = 1000.0, 1000.0 * overlap
        found = contest(results(table, ["k"]))
        assert found is not None and found.overlap == pytest.approx(overlap)
        asked = needed(found, 0, np.ones(2, dtype=bool))
        assert asked is not None and asked.concern == "usefulness"
        level, wanted = 2 * 0.95**0.5 - 1, 0.02 / (useful[0] - useful[1]).std(ddof=1)
        enough = seeds_within(wanted, level, overlap)
        if enough is None:
            assert asked.seeds is None
        else:
            assert asked.seeds == enough - 4 > 0
            assert [half_interval(n, level, overlap) <= wanted for n in (enough - 1, enough)] == [False, True]
        # As many times as many rows make the spread as small as the margin needs.
        assert half_interval(4, level, overlap) / np.sqrt(asked.rows) == pytest.approx(wanted)


def test_no_number_of_seeds_replaces_rows() -> None:
    """At an overlap of .3 the interval never falls below 1.96 x sqrt(.3 / .7) = 1.28 standard deviations."""
    assert seeds_within(1.2, 0.95, 0.3) is None
    assert seeds_within(1.4, 0.95, 0.3) is not None


def test_chosen_by_the_other_seeds() -> None:
    """Without seed 1, or 3, c2 is as useful as c1 and safer; without seed 2 it is .001 behind with each seed: c1."""
    found = _recommend(["pass"] * 4)
    assert found.again["privacy"] == pytest.approx((0.10 + 0.32 + 0.12) / 3)
    assert found.again["usefulness"] == pytest.approx((0.879 + 0.890 + 0.884) / 3)
    assert _recommend(["pass"] * 4, RISK[:, :2], USEFUL[:, :2]).again == {}


def test_the_choice_is_not_the_better_for_its_luck() -> None:
    """All alike: the chosen one looks safer than it is, what the other seeds choose does not."""
    rng = np.random.default_rng(8)
    plan = levels(k=tuple(range(30)))
    bias = []
    for _ in range(60):
        risk, useful = 0.5 + 0.1 * rng.normal(size=(2, 30, 3))
        found = advise(simulated(plan, {PRIVACY: risk, UTILITY: useful}))
        assert found is not None and found.chosen is not None
        bias.append((found.chosen.values["privacy"].value, found.again["privacy"]))
    chosen, again = (np.mean(bias, axis=0) - 0.5) / 0.1
    assert chosen < -0.4 and abs(again) < 0.4


def test_the_gate_comes_first() -> None:
    found = _recommend(["block", "review", "pass", "pass"])
    assert (found.chosen.configuration, found.admitted) == ("c3", 2)
    assert found.refused.configuration == "c1"


def test_review_where_nothing_passes_and_nothing_where_all_is_blocked() -> None:
    assert _recommend(["block", "block", "review", "review"]).verdict == "review"
    found = _recommend(["block"] * 4)
    assert found.chosen is None and found.best["privacy"].configuration == "c4"


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
    assert (found.chosen.configuration, found.kept["usefulness"]) == ("c2", 2)
    assert found.chosen.values["usefulness"].low is None and found.lags == [] and not found.is_settled


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
    assert found.chosen.configuration == "c3" and found.chosen.values["usefulness"].value == pytest.approx(0.8)


def test_strongest_attack_is_the_largest_leakage() -> None:
    """Copies: (0.3 - 0.2) / (1 - 0.2) = 0.125 above the control; distances: (0.55 - 0.5) / 0.5 = 0.1. Less is none."""
    columns = {
        "synthetic.identical_match": np.full((4, 1), 0.3),
        "synthetic.identical_match_reference": np.full((4, 1), 0.2),
        "synthetic.dcr_share": np.full((4, 1), 0.55),
        PRIVACY: np.full((4, 1), 0.02),
    }
    found = simulated(PLAN, columns).matrix("synthetic.strongest_attack")
    np.testing.assert_allclose(found, 0.125)
    columns["synthetic.identical_match"] = columns["synthetic.dcr_share"] = np.full((4, 1), 0.1)
    columns[PRIVACY] = np.full((4, 1), -0.02)
    np.testing.assert_array_equal(simulated(PLAN, columns).matrix("synthetic.strongest_attack"), 0.0)
