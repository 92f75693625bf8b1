from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import binom

from hybrid.evaluation.attacks.outcome import Attack, attacked
from hybrid.evaluation.engine.intervals import (
    Rate,
    auc,
    auc_interval,
    auc_intervals,
    clustered_error,
    failure_ratio,
    risk,
    simultaneous,
    vote_error,
    wilson,
)


@pytest.mark.parametrize(("n", "expected"), [(500, 0.99619), (2000, 0.99904)])
def test_wilson_centre_when_every_attack_succeeds(n: int, expected: float) -> None:
    assert wilson(n, n).value == pytest.approx(expected, abs=5e-6)


def test_wilson_by_hand() -> None:
    rate = wilson(0, 100)
    z2 = 1.959963985**2
    assert rate.value == pytest.approx(z2 / 2 / (100 + z2))
    assert rate.error == pytest.approx(rate.value)


def test_risk_of_adult_age_at_half_leak() -> None:
    excess = risk(wilson(6211, 10853), wilson(1533, 10853))
    assert excess is not None
    assert excess == pytest.approx((0.50183, 0.49034, 0.51331), abs=5e-6)


def test_risk_is_signed_and_needs_headroom() -> None:
    below = risk(Rate(0.2, 0.01), Rate(0.4, 0.01))
    assert below is not None
    assert below.value == pytest.approx(-1 / 3)
    assert risk(Rate(1.0, 0.0), Rate(1.0, 0.0)) is None


def test_simultaneous_level() -> None:
    assert simultaneous(0.95, 1) == pytest.approx(0.95)
    assert simultaneous(0.95, 10) ** 10 == pytest.approx(0.95)


def test_auc_counts_pairs_and_half_of_ties(rng: np.random.Generator) -> None:
    a, b = rng.integers(0, 5, 30).astype(float), rng.integers(0, 5, 20).astype(float)
    pairs = (a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean()
    assert auc(a, b) == pytest.approx(pairs)
    value, low, high = auc_interval(a, b, 0.95)
    assert value == pytest.approx(pairs)
    assert low < value < high


@pytest.mark.parametrize(("n", "m"), [(60, 80), (20, 20), (8, 300)])
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_auc_interval_covers_also_for_few_scores(n: int, m: int, shift: float, rng: np.random.Generator) -> None:
    truth = NormalDist().cdf(shift / 2**0.5)
    scores = [(rng.normal(shift, size=n), rng.normal(size=m)) for _ in range(600)]
    covered = sum(low <= truth <= high for _, low, high in auc_intervals(scores, [0.95] * 600, [None] * 600))
    # 570 of 600 are expected; 550 is 3.7 standard errors fewer.
    assert covered >= 550


def test_intervals_together_are_those_of_each_alone(rng: np.random.Generator) -> None:
    scores = [(rng.normal(shift, size=30), rng.normal(size=12)) for shift in (0.0, 1.0, 9.0)]
    levels, persons = [0.5, 0.95, 0.999], (np.repeat(np.arange(10), 3), np.repeat(np.arange(4), 3))
    together = auc_intervals(scores, levels, [None, persons, None])
    assert together == [
        auc_interval(*scores[0], levels[0]),
        auc_interval(*scores[1], levels[1], persons),
        auc_interval(*scores[2], levels[2]),
    ]


def test_auc_interval_has_a_width_where_all_scores_are_on_their_side() -> None:
    value, low, high = auc_interval(np.arange(20.0) + 100, np.arange(20.0), 0.95)
    assert (value, high) == (1.0, 1.0)
    assert 0.8 < low < 0.95


def test_error_of_votes_is_that_of_many_splits(rng: np.random.Generator) -> None:
    places, rows = rng.normal(size=(200, 3)), rng.normal(size=(300, 3))
    distance = np.linalg.norm(rows[:, None] - places, axis=2)
    shares, errors = [], []
    for _ in range(300):
        sides = np.array_split(rng.permutation(200), 2)
        nearest = [np.argsort(distance[:, side], axis=1)[:, :5] for side in sides]
        fifth = [np.take_along_axis(distance[:, s], near, axis=1)[:, 4] for s, near in zip(sides, nearest, strict=True)]
        closer = (fifth[0] < fifth[1]).astype(float)
        shares.append(closer.mean())
        errors.append(vote_error(closer, *nearest, sizes=(100, 100)))
    assert np.std(shares) * 0.8 < np.mean(errors) < np.std(shares) * 1.4


def test_clustered_error_of_independent_rows_is_the_usual_one(rng: np.random.Generator) -> None:
    values = rng.normal(size=200)
    each = np.arange(200)
    assert clustered_error(values, each) == pytest.approx(values.std() / 200**0.5)
    assert clustered_error(values, each, each) == pytest.approx(values.std() / 200**0.5)
    twice = np.repeat(values, 2)
    assert clustered_error(twice, np.repeat(each, 2)) == pytest.approx(values.std() / 200**0.5)


@pytest.mark.parametrize("confidence", [0.95, 0.999])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6, 0.9])
def test_an_attack_on_few_people_finds_no_leak_where_there_is_none(rate: float, confidence: float) -> None:
    """Every possible outcome of 80 attacks on training and 20 on control records with the same success, weighted."""
    held = 0.0
    for mine, chance in enumerate(binom.pmf(np.arange(81), 80, rate)):
        for its, other in enumerate(binom.pmf(np.arange(21), 20, rate)):
            made = attacked(mine, its, 80, 20, confidence) if chance * other > 1e-9 else None
            measure = made.measure() if isinstance(made, Attack) else None
            held += chance * other * (measure is None or (measure.low <= 1e-12 and measure.high >= -1e-12))
    assert held >= confidence - 0.01 * (confidence < 0.99) - 0.001


def test_the_ratio_of_failures_is_wider_only_for_few_attacks() -> None:
    least, most = failure_ratio((3000, 10_000), (2000, 10_000), 0.95)
    # ratio 7/8; log standard error sqrt(.3/7000 + .2/8000) = .008237
    assert (least, most) == pytest.approx((0.875 * np.exp(-1.96 * 0.008237), 0.875 * np.exp(1.96 * 0.008237)), abs=2e-4)
    assert failure_ratio((80, 80), (10, 20), 0.95)[0] == 0
