from __future__ import annotations

import numpy as np
import pytest

from hybrid.analysis.contrasts import Estimate, estimates
from hybrid.analysis.differences import PairedDifference, paradox_verdict
from hybrid.analysis.results import ResultColumn
from hybrid.evaluation import REGISTRY
from hybrid.report import describe
from hybrid.report.comparison.words import paradox

RISK = ResultColumn("synthetic.singling_out", "synthetic", "singling_out", "", "privacy", "lower")
USE = ResultColumn("synthetic.tstr.income", "synthetic", "tstr", "income", "utility", "higher")
FAR = ResultColumn("synthetic.total_variation", "synthetic", "total_variation", "", "fidelity", "lower")
TEXTS = describe(REGISTRY.values())


def _difference(column: ResultColumn, value: float, wide: float, bound: float) -> PairedDifference:
    """Known ends: ``wide`` of the simultaneous interval, ``bound`` of the one-sided bounds."""
    ends = {"low": -wide, "wide_low": -wide, "least": -bound, "high": wide, "wide_high": wide, "most": bound}
    known = Estimate(value, **{name: value + end for name, end in ends.items()}, seeds=3)
    return PairedDifference(column, value, 0.0, known, 1)


@pytest.mark.parametrize(
    ("risk", "use", "far", "answer", "begins"),
    [
        # (value, half of the wide interval, one-sided half): a loss of .1 found; gains below .005 + .01.
        ((0.1, 0.05, 0.02), (0.005, 0.02, 0.01), (-0.005, 0.02, 0.01), "paradox", "Yes: a loss of privacy was found"),
        ((0.1, 0.05, 0.02), (0.005, 0.05, 0.016), (0.0, 0.02, 0.01), "open", "Open: a loss of privacy was found, and"),
        ((0.1, 0.05, 0.02), (0.0, 0.02, 0.01), (-0.1, 0.05, 0.02), "trade", "A trade, not a paradox"),
        ((0.01, 0.05, 0.02), (0.1, 0.05, 0.02), (0.0, 0.1, 0.05), "no paradox", "No: a gain was found"),
        ((0.005, 0.02, 0.01), (0.0, 0.1, 0.05), (0.0, 0.1, 0.05), "no paradox", "No: every privacy metric excludes"),
        ((0.01, 0.05, 0.02), (0.0, 0.1, 0.05), (0.0, 0.1, 0.05), "open", "Open: no loss of privacy was found."),
    ],
)
def test_verdict_and_its_words(
    risk: tuple[float, float, float],
    use: tuple[float, float, float],
    far: tuple[float, float, float],
    answer: str,
    begins: str,
) -> None:
    found = [_difference(column, *ends) for column, ends in ((RISK, risk), (USE, use), (FAR, far))]
    assert paradox_verdict(found, 0.02).answer == answer
    assert paradox(found, 0.02, TEXTS).startswith(begins)


def test_words_name_what_is_not_excluded_with_its_bound() -> None:
    """TSTR may be .05 + .03 higher, total variation .01 + .03 lower, as far as one-sided 95 % bounds tell."""
    found = [
        _difference(RISK, 0.1, 0.05, 0.02),
        _difference(USE, 0.05, 0.06, 0.03),
        _difference(FAR, -0.01, 0.06, 0.03),
    ]
    said = paradox(found, 0.02, TEXTS)
    assert "Not excluded is a gain of 0.020 or more by TSTR, income (up to 0.080), " in said
    assert "(up to 0.040)." in said


def test_no_spread_excludes_nothing() -> None:
    """The same with every seed has no bound, so it cannot carry a Yes."""
    same = PairedDifference(USE, 0.0, 0.0, Estimate(0.0, seeds=3), 1)
    verdict = paradox_verdict([_difference(RISK, 0.1, 0.05, 0.02), same], 0.02)
    assert (verdict.answer, verdict.unsure_gains) == ("open", [same])


def test_privacy_alone_is_no_paradox() -> None:
    assert paradox_verdict([_difference(RISK, 0.1, 0.05, 0.02)], 0.02).answer == "open"


def test_a_true_trade_is_hardly_ever_called_a_paradox() -> None:
    """A loss of 10 sd and four gains of 2 sd, which is the margin: of 200 comparisons with 3 seeds 5 % at most."""
    rng = np.random.default_rng(4)
    truth = 0.01 * np.array([10, 2, 2, 2, 2])
    yes = old = 0
    for _ in range(200):
        found = estimates(np.eye(5), truth[:, None] + 0.01 * rng.normal(size=(5, 3)), 5)
        columns = [RISK, USE, USE, USE, USE]
        pairs = zip(columns, found, strict=True)
        verdict = paradox_verdict([PairedDifference(column, each.value, 0.0, each, 1) for column, each in pairs], 0.02)
        yes += verdict.answer == "paradox"
        old += bool(verdict.losses and not verdict.gains)
    assert yes <= 10 < 80 < old
