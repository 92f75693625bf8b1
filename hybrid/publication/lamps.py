"""Lamps of the first page: status and sentence of each criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.publication.criteria import QUESTIONS, Criterion, criterion_of
from hybrid.publication.rules.rule import text_of
from hybrid.publication.verdict import Check, Status, Verdict

OF_THE_MOST_EXPOSED = ("membership_exposed", "membership_subgroups", "inference_exposed", "inference_subgroups")
"""Attacks on the people or the subgroup most at risk, whose numbers are not those of everybody."""
EXACT_COPIES = "identical_match"
"""The metric of copies that counts rows; the others measure distances."""
OF_SEVERAL_ROWS = "copied_sequences"
"""The metric of linkability whose target is a person with several rows."""


@dataclass(frozen=True)
class Lamp:
    """Answer to one question of a data protection officer.

    Parameters
    ----------
    criterion : str
        A criterion of the Article 29 Working Party's Opinion 05/2014 (singling out, linkability, inference), or
        membership, or copies.
    question : str
        The question.
    status : {"pass", "review", "block", "not judged"}
        The worst result of all checks about it; not judged: unknown.
    sentence : str
        The answer.
    """

    criterion: Criterion
    question: str
    status: Status
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)


def lamps(verdict: Verdict) -> tuple[Lamp, ...]:
    """Summarize a verdict by criterion.

    Parameters
    ----------
    verdict : Verdict
        Its checks know their metric and the widened interval of their excess.

    Returns
    -------
    tuple of Lamp
        One per criterion, in the order of :data:`QUESTIONS`.
    """
    about: dict[Criterion, list[Check]] = {criterion: [] for criterion in QUESTIONS}
    for check in verdict.checks:
        criterion = criterion_of(check.metric)
        if criterion is not None:
            about[criterion].append(check)
    return tuple(
        Lamp(criterion, question, _status(about[criterion]), _sentence(criterion, about[criterion]))
        for criterion, question in QUESTIONS.items()
    )


def _status(checks: Sequence[Check]) -> Status:
    """The worst status of the checks that apply, else not judged."""
    found = {check.status for check in checks if check.applies}
    order: tuple[Status, ...] = ("block", "review", "not judged", "pass")
    return next((status for status in order if status in found), "not judged")


def _sentence(criterion: Criterion, checks: Sequence[Check]) -> str:
    """The answer in natural frequencies, by the intervals' upper ends."""
    if not checks:
        return "Cannot tell: the policy has no rule about it."
    asked = [check for check in checks if check.applies]
    if not asked:
        return "Cannot tell: it was not tried, and the policy does not ask for it here."
    measured = [check for check in asked if check.excess is not None]
    if not measured:
        return "Cannot tell: no test of it could be judged."
    exposed = [check for check in measured if check.metric in OF_THE_MOST_EXPOSED]
    everybody = [check for check in measured if check not in exposed]
    if criterion == "copies":
        everybody = [check for check in measured if check.metric == EXACT_COPIES]
    frequency = _FREQUENCIES[criterion]
    if any(check.metric == OF_SEVERAL_ROWS for check in everybody):
        frequency = _joined
    sentences = [frequency(_per_thousand(everybody))] if everybody else []
    if any(check.excess is not None and check.excess[0] > 0 for check in everybody):
        sentences.append("This is more than chance explains.")
    if exposed:
        sentences.append(_of_exposed(criterion, _per_thousand(exposed)))
    return " ".join([*sentences, *_remarks(criterion, asked)])


def _remarks(criterion: Criterion, asked: Sequence[Check]) -> Iterator[str]:
    """Remarks beyond the frequencies."""
    failed = [check.excess for check in asked if check.status in ("review", "block") and check.excess is not None]
    if criterion == "copies" and any(high >= 0 for _, high in failed):
        yield "Rows are closer to real records than the policy allows."
    elif (
        criterion == "copies"
        and not failed
        and any(check.metric != EXACT_COPIES and check.excess is not None for check in asked)
    ):
        yield "Rows are no closer to real records than the policy allows."
    if any(high < 0 for _, high in failed):
        yield "The rows keep away from the people in the data. This, too, shows who they are."
    if any(check.excess is None for check in asked):
        yield "At least one test could not be judged."


def _per_thousand(checks: Sequence[Check]) -> int:
    """The highest upper end in 1,000, rounded up.

    An excess is (r_T - r_C)/(1 - r_C) of the success rates on training persons and on people never seen, so it is
    never below their difference: "at most so many more" holds.
    """
    high = max(check.excess[1] for check in checks if check.excess is not None)
    return math.ceil(1000 * min(max(high, 0.0), 1.0) - 1e-9)


def _more(high: int) -> str:
    return f"at most {text_of(high)} more" if high else "no more"


def _singled_out(high: int) -> str:
    return (
        f"Of 1,000 tries to pick out one person, {_more(high)} succeed on people in the data than on people who are "
        "not in it."
    )


def _linked(high: int) -> str:
    return (
        f"Of 1,000 people in the data, an attacker could join the two halves of {_more(high)} records than of people "
        "who are not in it."
    )


def _joined(high: int) -> str:
    return (
        f"Of 1,000 people in the data, an attacker could join the two halves of a record, or find two records, of "
        f"{_more(high)} than of people who are not in it."
    )


def _guessed(high: int) -> str:
    return (
        f"Of 1,000 people in the data, an attacker would guess the secrets of {_more(high)} than of people who are "
        "not in it."
    )


def _recognized(high: int) -> str:
    return (
        "An attacker sees two people and must say which one is in the data. "
        f"Of 1,000 answers, {_right(high)} are right. A coin gets 500."
    )


def _copied(high: int) -> str:
    return f"Of 1,000 rows, {_more(high)} are equal to a real record than chance explains."


_FREQUENCIES: dict[Criterion, Callable[[int], str]] = {
    "singling out": _singled_out,
    "linkability": _linked,
    "inference": _guessed,
    "membership": _recognized,
    "copies": _copied,
}


def _right(high: int) -> str:
    return f"at most {text_of(min(500 + high, 1000))}"


def _of_exposed(criterion: Criterion, high: int) -> str:
    """The upper end for the people and the group most at risk."""
    return f"For the people most at risk: {_right(high) if criterion == 'membership' else _more(high)} of 1,000."
