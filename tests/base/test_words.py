"""Two numbers beside each other are told apart, also in German, and no number gets digits that it does not need."""

import pytest

from hybrid.base.language import catalogue
from hybrid.base.sentence import sentence
from hybrid.base.words import told_apart


@pytest.mark.parametrize(
    ("number", "other", "digits", "written"),
    [
        (12.0, 40.0, 0, ("12", "40")),
        (0.2, 0.4, 0, ("0.2", "0.4")),
        (99.96, 100.0, 0, ("99.96", "100.00")),
        (1234.56, 1234.58, 1, ("1,234.56", "1,234.58")),
        (0.5, 0.5, 2, ("0.50", "0.50")),
        (0.5, 0.500001, 2, ("0.50", "0.50")),
    ],
)
def test_digits_are_added_until_two_numbers_differ(
    number: float, other: float, digits: int, written: tuple[str, str]
) -> None:
    assert told_apart(number, other, digits) == written


def test_a_small_difference_is_said_in_german_too() -> None:
    there, real = told_apart(0.2, 0.4, 0)
    one = sentence("content.changed.percent", n=there, m=real, by="work", group="child")
    other = sentence("content.still.percent", n=30, by="work", group="field")
    said = sentence("content.relation", column="stroke", value="True", one=one, other=other)
    assert f"{there} % instead of {real} % where work is child" in said
    german = catalogue("de").say(said)
    assert german == "stroke = True: 0,2 % statt 0,4 %, wo work child ist, und weiterhin 30 %, wo work field ist"
