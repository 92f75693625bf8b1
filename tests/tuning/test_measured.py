"""Rows of trials as numbers, and what a policy allows: worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.pipeline.config import RunConfig
from hybrid.publication.policy import Policy
from hybrid.tuning.measured import ATTACK, EXPOSED, RANDOM, Measured, allowed, attacked_config, used_config

REASON = {"direction": "lower", "reason": "people must hide"}


def policy(*rules: dict[str, Any]) -> Policy:
    k = {"name": "k", "quantity": "k", "review": 5, "reason": "groups"}
    named = [{"name": f"rule {at}", **REASON, **rule} for at, rule in enumerate(rules)]
    return Policy.model_validate({"name": "p", "version": "1", "owner": "o", "anonymity": [k], "rules": named})


def test_the_strictest_rule_says_what_is_allowed() -> None:
    about = {"metric": EXPOSED}
    assert allowed(EXPOSED, policy()) == pytest.approx(0.6)
    assert allowed(EXPOSED, policy({**about, "compare": "excess", "review": 0.03, "block": 0.2})) == pytest.approx(0.53)
    assert allowed(EXPOSED, policy({**about, "compare": "high", "block": 0.58})) == pytest.approx(0.58)
    both = {**about, "compare": "excess", "review": 0.09}, {**about, "compare": "high", "review": 0.58}
    assert allowed(EXPOSED, policy(*both)) == pytest.approx(0.58)
    assert allowed(EXPOSED, policy({**about, "stage": "baseline", "review": 0.01})) == pytest.approx(0.6)
    assert allowed(RANDOM, policy({**about, "review": 0.51})) == pytest.approx(0.6)


def attacked(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"status": "ok"}
    for metric, value in zip(ATTACK, (0.58, 0.52), strict=True):
        row |= {f"synthetic.{metric}": value, f"synthetic.{metric}_low": value - 0.04}
        row |= {f"synthetic.{metric}_high": value + 0.04}
    return row | changes


def used(tstr: float | None, link: float, column: float) -> dict[str, Any]:
    row = {"status": "ok", "synthetic.lost_link": link, "synthetic.lost_link_reference": 0.05}
    row |= {"synthetic.lost_column": column, "synthetic.lost_column_reference": -0.02}
    return row if tstr is None else row | {"synthetic.tstr.ill": tstr, "synthetic.tstr.ill_reference": 0.8}


def test_rows_become_numbers() -> None:
    rows = [used(0.77, 0.15, 0.02), used(0.79, 0.01, 0.04)]
    one = Measured.of("s", attacked(), rows, {"ill": 0.3}, policy())
    assert one is not None
    # Falls .03 and .01; links .10 and 0 (less than halves of the source show); columns .02 and .04.
    assert one.falls.prediction == pytest.approx(0.02)
    assert one.falls.link == pytest.approx(0.05) and one.falls.column == pytest.approx(0.03)
    assert one.usefulness == pytest.approx(1 - 0.1 / 3)
    assert one.error == pytest.approx(abs(0.05 - 0.05 / 3) / 2)  # of means .05 and .0167
    assert one.disclosure == 0.58 and one.beyond == pytest.approx(0.02) and not one.passes
    assert one.obstacle == "exposed"


def test_a_table_that_predicts_nothing_loses_the_whole_signal() -> None:
    for tstr in (None, -4.0):
        one = Measured.of("s", attacked(), [used(tstr, 0, 0)], {"ill": 0.3}, policy())
        assert one is not None and one.falls.prediction == pytest.approx(0.3)


def test_a_lost_column_is_beyond_the_rule_of_the_policy() -> None:
    strict = policy({"metric": "lost_column", "compare": "low", "review": 0.15}, {"metric": "lost_link", "review": 0.1})
    for column, useful in ((0.14, True), (0.9, False)):
        one = Measured.of("s", attacked(), [used(0.8, 0.1, column)], {"ill": 0.3}, strict)
        assert one is not None and (one.lost <= 0) is useful
        assert one.obstacle == ("exposed" if useful else "column")
    rule = {"metric": "tstr", "direction": "higher", "compare": "difference_to_reference", "review": -0.1}
    one = Measured.of("s", attacked(), [used(0.69, 0, 0)], {"ill": 0.3}, policy(rule))
    assert one is not None and one.lost == pytest.approx(0.01)  # .11 below real rows


def test_another_leak_is_pooled_over_the_draws_and_counts_by_its_low_end() -> None:
    rule = policy({"metric": "linkability", "compare": "excess", "review": 0.01, "block": 0.1})

    def linked(value: float, low: float) -> dict[str, Any]:
        return used(0.8, 0, 0) | {
            "synthetic.linkability_excess": value,
            "synthetic.linkability_excess_low": low,
            "synthetic.lone_copies_excess": 0.9,  # The policy has no rule about it.
            "synthetic.lone_copies_excess_low": 0.8,
        }

    draws = [linked(0.05, 0.02), linked(0.07, 0.02), linked(0.04, -0.01), linked(0.04, 0.01)]
    one = Measured.of("s", attacked(), draws, {"ill": 0.3}, rule)
    assert one is not None
    # Mean .05, a mean half width of .04 that four draws halve: the low end is .03, .02 more than allowed.
    assert one.leak == pytest.approx(0.02) and one.beyond == pytest.approx(0.02)
    one = Measured.of("s", attacked(), draws[2:3], {"ill": 0.3}, rule)
    assert one is not None and one.leak == pytest.approx(-0.02)  # .04 - .05, and .01 is allowed
    one = Measured.of("s", attacked(), draws, {"ill": 0.3}, policy())
    assert one is not None and one.leak == -1.0


def test_settings_without_a_leak_are_seldom_said_to_have_one() -> None:
    """Four draws of each, whose excess is 0 and whose intervals are as wide as its chance; .0005 is allowed."""
    rule = policy({"metric": "nndr_share", "compare": "excess", "review": 0.0005, "block": 0.1})
    rng, half = np.random.default_rng(1), 0.02
    leaking = 0
    for _ in range(200):
        values = rng.normal(0, half / 1.96, 4)
        draws = [
            used(0.8, 0, 0) | {"synthetic.nndr_share_excess": one, "synthetic.nndr_share_excess_low": one - half}
            for one in values
        ]
        one = Measured.of("s", attacked(), draws, {"ill": 0.3}, rule)
        assert one is not None
        leaking += one.leak > 0
    assert leaking < 12  # By half of the way to the low end: some 30.


def test_a_fall_of_other_models_is_that_of_each_column_over_the_draws() -> None:
    """The worst of every draw, .10 on average, is chance: no column falls by more than .06 in both."""

    def fallen(**columns: float) -> dict[str, Any]:
        row = used(0.8, 0, 0) | {"synthetic.lost_prediction": max(columns.values())}
        row |= {f"part.synthetic.lost_prediction.{name}": value for name, value in columns.items()}
        return row | {f"part_low.synthetic.lost_prediction.{name}": v - 0.04 for name, v in columns.items()}

    rule = policy({"metric": "lost_prediction", "compare": "low", "review": 0.05})
    draws = [fallen(age=0.10, a=0.02, a_low=0.01), fallen(age=0.02, a=0.10, a_low=0.01)]
    one = Measured.of("s", attacked(), draws, {"ill": 0.3}, rule)
    assert one is not None
    # .06 less halfway to the low end of two draws, .04 / 2 / sqrt(2).
    assert one.falls.others == pytest.approx(0.06 - 0.02 / np.sqrt(2)) and one.lost <= 0
    one = Measured.of("s", attacked(), [fallen(age=0.10), fallen(age=0.11)], {"ill": 0.3}, rule)
    assert one is not None and one.lost > 0 and one.worst_fall == "other models"


def test_a_group_is_missing_by_the_low_end_that_a_run_is_likely_to_have() -> None:
    """All .95 from value to low end, times the root of the .7 of the people who are in a trial: .205."""
    rule = policy({"metric": "group_exclusion", "compare": "low", "review": 0.5})

    def without(low: float) -> dict[str, Any]:
        return used(0.8, 0, 0) | {"synthetic.group_exclusion": 1.0, "synthetic.group_exclusion_low": low}

    for lows, likely in (((0.05, 0.05, 0.05), 0.2052), ((0.05,), 0.2052), ((0.05, 0.45), 0.3725 + 0.674 * 0.2366)):
        one = Measured.of("s", attacked(), [without(low) for low in lows], {"ill": 0.3}, rule)
        assert one is not None and one.falls.group == pytest.approx(likely, abs=1e-3)
        assert (one.lost <= 0) is (likely < 0.5)
    one = Measured.of("s", attacked(), [without(0.8), without(0.9)], {"ill": 0.3}, rule)
    assert one is not None and one.lost > 0 and one.obstacle == "group missing"


def test_what_failed_has_no_numbers() -> None:
    rows = [used(0.7, 0, 0)]
    assert Measured.of("s", attacked(status="failed"), rows, {}, policy()) is None
    assert Measured.of("s", attacked(), [{"status": "failed"}], {}, policy()) is None
    assert Measured.of("s", {"status": "ok"}, rows, {}, policy()) is None


def test_trials_measure_what_is_needed_and_nothing_else() -> None:
    config = RunConfig.model_validate({"data": {"path": "x.csv"}, "split": {"control": 0.2, "stable": True}})
    attack, use = attacked_config(config, 400, 33), used_config(config, ["ill"])
    assert attack.split.control == 0 and use.split.control == 0.3
    assert attack.split.stable and use.split.stable
    assert attack.evaluate.metrics == ATTACK and attack.evaluate.retrain is not None
    assert attack.evaluate.retrain.halves == 33 and attack.evaluate.retrain.share == pytest.approx(0.1)
    assert use.evaluate.retrain is None and use.evaluate.targets == ("ill",)
    assert not (attack.has_baseline or use.has_baseline or attack.evaluate.original or use.evaluate.original)
