"""Verdicts on simulated metrics of known behaviour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid.evaluation.trust import WORDS
from hybrid.lab.league import Entry, League, league
from hybrid.lab.measurements import NULL
from hybrid.lab.risk import REGISTRY
from hybrid.lab.verdicts import RULES, MetricVerdict, worst
from tests.lab.simulated import HALF, METRICS, NULLS, Metric, simulated


@pytest.fixture(scope="module")
def found() -> League:
    return league(*simulated())


def entry(found: League, name: str) -> Entry:
    return next(each for each in found.entries if each.contestant == name)


@pytest.mark.parametrize(
    ("name", "word", "why"),
    [
        ("sharp", "trusted", ""),
        ("dull", "coarse", "from 50 %"),
        ("constant", "blind", "0 % of the trials"),
        ("alarmist", "misleading", "false alarms in 40 of 40"),
        ("inverted", "misleading", "falls as the leak grows"),
        ("bent", "usable", "does not always rise"),
        ("swelling", "usable", "size of the table"),
        ("late", "usable", "from 10 %"),
    ],
)
def test_verdicts_on_known_metrics(found: League, name: str, word: str, why: str) -> None:
    verdict = entry(found, name).verdicts["leaky"]
    assert verdict.word == word
    assert why in "; ".join(verdict.reasons)


def test_sensitivity_calibration_and_alarms_by_hand(found: League) -> None:
    sharp, dull = (entry(found, name) for name in ("sharp", "dull"))
    track = sharp.on("leaky")[0].track
    # An excess of the leak itself with a half width of .02: .05 is always noticed, .02 half of the time.
    assert track.at(track.sensitivity.position) == 0.05
    assert track.calibration is not None and track.calibration < 0.02
    assert (sharp.false_alarms.hits, sharp.false_alarms.trials) == (0, 40)
    assert sharp.false_alarms.high == pytest.approx(0.0876, abs=1e-3)
    slow = dull.on("leaky")[0].track
    assert slow.at(slow.sensitivity.position) == 0.5
    assert sharp.drift is not None and sharp.drift.certain <= sharp.drift.value < 0.02
    assert sharp.cpu_seconds == 0.1


def test_the_best_come_first_and_the_worst_series_counts(found: League) -> None:
    words = [each.overall.word for each in found.entries]
    assert words == sorted(words, key=WORDS.index)
    assert found.entries[0].contestant == "sharp"
    late = entry(found, "late")
    assert late.verdicts["overfit"].word in ("trusted", "usable", "coarse")
    assert late.overall.word == worst(late.verdicts.values()).word
    assert found.silent == ()


def test_a_series_that_no_metric_notices_convicts_none() -> None:
    unseen: dict[str, Metric] = {"sharp": METRICS["sharp"]}
    trials, rows = simulated(unseen)
    quiet = rows["risk"] == "overfit"
    rows.loc[quiet, ["excess", "excess_low", "excess_high"]] = [0.0, -HALF, HALF]
    found = league(trials, rows)
    assert found.silent == (("people", "overfit", "cart"),)
    assert set(found.entries[0].verdicts) == {"leaky"} and found.entries[0].overall.word == "trusted"


def test_a_dial_that_leaks_at_its_last_levels_says_only_who_misses_the_leak() -> None:
    # No metric notices anything below the last level: five repetitions of two levels cannot show a rise.
    trials, rows = simulated({name: METRICS[name] for name in ("sharp", "constant")})
    dial = rows["risk"] == "overfit"
    early = dial & (rows["position"] < rows.loc[dial, "position"].max())
    rows.loc[early, ["excess", "excess_low", "excess_high"]] = [0.0, -HALF, HALF]
    late = dial & ~early & (rows["contestant"] == "sharp")
    rows.loc[late, ["excess", "excess_low", "excess_high"]] = [0.5, 0.5 - HALF, 0.5 + HALF]
    found = league(trials, rows)
    assert found.silent == ()
    assert set(entry(found, "sharp").verdicts) == {"leaky"} and entry(found, "sharp").overall.word == "trusted"
    assert entry(found, "constant").verdicts["overfit"].word == "blind"


def test_few_trials_leave_it_unknown() -> None:
    trials, rows = simulated({"sharp": METRICS["sharp"]})
    few = rows[(rows["risk"] != NULL) | (rows["seed"] < 110)]
    assert league(trials, few).entries[0].verdicts["leaky"] == MetricVerdict(
        "unknown", ("10 trials without a leak, fewer than 20",)
    )
    one = replace(trials, seeds=(1,))
    assert "repetition" in league(one, rows[rows["seed"].isin([1, *NULLS])]).entries[0].overall.reasons[0]
    gap = rows.copy()
    gap.loc[(gap["risk"] == "leaky") & (gap["seed"] == 2) & (gap["position"] == 3), "excess"] = np.nan
    assert "not every trial" in league(trials, gap).entries[0].verdicts["leaky"].reasons[0]


def test_order_that_turns_over_has_a_negative_transfer() -> None:
    trials, rows = simulated({f"m{i}": METRICS["sharp"] for i in range(5)})
    for i in range(5):
        for risk, rank in (("leaky", i), ("overfit", 4 - i)):
            at = (rows["contestant"] == f"m{i}") & (rows["risk"] == risk)
            told = rows["position"] > rank
            rows.loc[at & told, "excess_low"], rows.loc[at & ~told, "excess_low"] = 0.01, -0.01
    transfer = league(trials, rows).transfers[0]
    assert transfer.correlation is not None and transfer.correlation < -0.9 and transfer.metrics == 5
    assert {transfer.moved[0].contestant, transfer.moved[1].contestant} == {"m0", "m4"}


def test_metrics_without_a_comparison_are_listed() -> None:
    trials, rows = simulated({"sharp": METRICS["sharp"], "dull": METRICS["dull"]})
    rows.loc[rows["contestant"] == "dull", "excess"] = np.nan
    found = league(trials, rows)
    assert found.uncompared == (("people", "dull"),) and len(found.entries) == 1


def test_every_word_has_its_rule() -> None:
    assert set(RULES) == set(WORDS) and set(REGISTRY) >= {"leaky", "overfit", "size"}
