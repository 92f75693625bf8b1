"""Findings in short: one number and what is allowed, or the data's own words; never an interval or a scale."""

from __future__ import annotations

import pytest

from hybrid.base.language import catalogue
from hybrid.base.sentence import sentence, sentences
from hybrid.publication.in_short import in_short
from hybrid.publication.verdict import Check

BETWEEN = sentence("score.between", n=0.9185, low=0.8816, high=0.9554)
SCALE = sentence("score.scale", score=BETWEEN, best=0.0, worst=1.0)
ABOVE = sentence("excess.above", n=572.0, low=538.0, high=608.0)
REFERENCE = {"n": 0.9068, "difference": -0.2839, "low": -0.3152, "high": -0.2525}


def short(found: str, metric: str | None = None) -> str:
    return in_short(Check("a rule", "review", found, metric=metric))


def test_the_data_s_own_words_stand_alone() -> None:
    low = sentence(
        "score.low_end", score=sentence("score.of", said="ward missing: 100 % of the rows", score=SCALE), n=0.9
    )
    found = sentence("allowed.most", found=low, limit=0.15)
    assert short(found) == "ward missing: 100 % of the rows."
    about = sentence("about", place="visits", found=found)
    assert short(about) == "About visits: ward missing: 100 % of the rows."
    broken = sentences(found, sentence("broken", rules="a <= b (rows that break it: 3)"))
    assert short(broken) == "ward missing: 100 % of the rows. Not kept: a <= b (rows that break it: 3)."


@pytest.mark.parametrize(
    ("number", "metric", "template", "limit", "expected"),
    [
        (
            ABOVE,
            "hitting_rate",
            "in_1000",
            1.0,
            "572 in 1,000 more than among people who are not in the data. Allowed: 1.",
        ),
        (
            sentence("excess.away", found=sentence("excess.below", n=30.0, low=-50.0, high=-10.0)),
            "dcr_share",
            "in_1000",
            40.0,
            "30 in 1,000 fewer than among people who are not in the data. Allowed: 40.",
        ),
        (
            sentence("right_answers", n=81.5, guessing=50.0, most=82.1),
            "membership_trained",
            "of_100",
            56.0,
            "The right answer is found in 81.5 of 100 cases. Up to 82.1 cannot be ruled out. Guessing finds 50. "
            "Allowed: 56.",
        ),
        (
            sentence("score.high_end", score=sentence("score.reference.between", score=BETWEEN, **REFERENCE), n=-0.25),
            "tstr",
            "",
            -0.1,
            "A model trained on the table predicts with 0.9185, one trained on real people with 0.9068 (1: sure).",
        ),
        (
            SCALE,
            "discriminator",
            "",
            0.8,
            "Shown a real row and a row of the table, a program finds the real one in 92 of 100 cases. Guessing finds "
            "it in 50. Allowed: 80.",
        ),
    ],
)
def test_a_number_stands_beside_what_is_allowed(
    number: str, metric: str, template: str, limit: float, expected: str
) -> None:
    found = sentence(f"allowed.most{'.' if template else ''}{template}", found=number, limit=limit)
    said = short(found, metric)
    assert said == expected
    assert catalogue("de").say(said) != said


def test_what_has_no_shorter_form_stays_as_it_is() -> None:
    found = sentence("allowed.most.percent", found=sentence("left_out", n=12.5), limit=10.0)
    assert short(found) == found
    assert short("words of an older version") == "words of an older version"
