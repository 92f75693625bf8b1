"""Lamps of the first page: status and sentence of each criterion.

A sentence has three parts: what was measured, what cannot be ruled out, and what the policy allows. Status and numbers
are those of the same checks, so no green lamp stands beside a number above its limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.publication.criteria import QUESTIONS, Criterion, criterion_of
from hybrid.publication.rules.comparisons import per_thousand
from hybrid.publication.rules.rule import text_of
from hybrid.publication.verdict import WORST_FIRST, Check, Standing, Verdict

OF_THE_MOST_EXPOSED = ("membership_exposed", "membership_subgroups", "inference_exposed", "inference_subgroups")
"""Attacks on the people or the subgroup most at risk, whose numbers are not those of everybody."""
TRAINED = {
    "membership_trained_random": (
        "An attacker who can repeat the whole process finds out who was in the data in {} of 100 cases. 50 is guessing."
    ),
    "membership_trained": "Among the people least like others, the attacker does so in {} of 100 cases.",
}
"""Attacks that repeat the whole process, whose limits are about what is not ruled out, each with its sentence."""
EXACT_COPIES = "identical_match"
"""The metric of copies that counts rows; the others measure distances."""
OF_SEVERAL_ROWS = "copied_sequences"
"""The metric of linkability whose target is a person with several rows."""
COIN = 500
"""Right answers of 1,000 by a coin to the question which of two people is in the data."""
_WHOLE = 0.01
"""Shares from here on are told in whole numbers of 1,000."""
_MEASURED: dict[Criterion, str] = {
    "singling out": (
        "Of 1,000 tries to pick out one person, {} succeed on people in the data than on people who are not in it."
    ),
    "linkability": (
        "Of 1,000 people in the data, an attacker can join the two halves of {} records than of people who are not in "
        "it."
    ),
    "inference": (
        "Of 1,000 people in the data, an attacker guesses the secrets of {} than of people who are not in it."
    ),
    "membership": (
        "An attacker sees two people and must say which one is in the data. "
        f"Of 1,000 answers, {{}} are right. A coin gets {COIN}."
    ),
    "copies": "Of 1,000 rows, {} are equal to a real record than chance explains.",
}
"""What an attack gets from people in the data beyond what it gets from people who are not in it."""
_JOINED = (
    "Of 1,000 people in the data, an attacker can join the two halves of a record, or find two records, of {} than of "
    "people who are not in it."
)
_OF_EXPOSED: dict[Criterion, str] = {
    "inference": "Of 1,000 of them, an attacker guesses the secrets of {}.",
    "membership": "Of 1,000 answers, {} are right.",
}


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
    status : {"pass", "not ruled out", "review", "block", "not judged"}
        The worst of all checks about it, as each is shown (:attr:`Check.standing`); not judged: unknown.
    sentence : str
        What was measured, what cannot be ruled out, and what is allowed.
    """

    criterion: Criterion
    question: str
    status: Standing
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lamps(verdict: Verdict) -> tuple[Lamp, ...]:
    """Summarize a verdict by criterion, in the order of :data:`QUESTIONS`."""
    about: dict[Criterion, list[Check]] = {criterion: [] for criterion in QUESTIONS}
    for check in verdict.checks:
        criterion = criterion_of(check.metric)
        if criterion is not None:
            about[criterion].append(check)
    return tuple(
        Lamp(criterion, question, _status(about[criterion]), _sentence(criterion, about[criterion]))
        for criterion, question in QUESTIONS.items()
    )


def _status(checks: Sequence[Check]) -> Standing:
    found = {check.standing for check in checks if check.applies}
    return next((standing for standing in WORST_FIRST if standing in found), "not judged")


def _sentence(criterion: Criterion, checks: Sequence[Check]) -> str:
    if not checks:
        return "Cannot tell: the policy has no rule about it."
    asked = [check for check in checks if check.applies]
    if not asked:
        return "Cannot tell: it was not tried, and the policy does not ask for it here."
    measured = [check for check in asked if check.excess is not None]
    if not measured:
        return "Cannot tell: no test of it could be judged."
    repeated = [check for check in measured if check.metric in TRAINED]
    exposed = [check for check in measured if check.metric in OF_THE_MOST_EXPOSED]
    everybody = [check for check in measured if check not in exposed and check not in repeated]
    distances = [check for check in everybody if criterion == "copies" and check.metric != EXACT_COPIES]
    counted = [check for check in everybody if check not in distances]
    sentences: list[str] = []
    if counted:
        several = any(check.metric == OF_SEVERAL_ROWS for check in counted)
        words, worst = _JOINED if several else _MEASURED[criterion], _deciding(counted)
        sentences += [_found(criterion, worst), *_three_parts(criterion, worst, words)]
    if exposed:
        worst = _deciding(exposed)
        found = _found(criterion, worst)
        sentences += [f"For the people most at risk: {found[0].lower()}{found[1:]}"]
        sentences += _three_parts(criterion, worst, _OF_EXPOSED[criterion])
    sentences += _closeness(distances)
    for check in repeated:
        sentences += _of_100(check)
    if any(check.status in ("review", "block") and _keeps_away(check) for check in measured):
        sentences.append("The rows keep away from the people in the data. This, too, shows who they are.")
    if any(check.excess is None for check in asked):
        sentences.append("At least one test could not be judged.")
    return " ".join(sentences)


def _of_100(check: Check) -> Iterator[str]:
    if check.metric is not None and check.measured is not None:
        yield TRAINED[check.metric].format(_cases(check.measured))
    yield f"Up to {_cases(_ends(check)[1])} cannot be ruled out."
    if check.limit is not None:
        yield f"The policy allows {_cases(check.limit)}."


def _cases(excess: float) -> str:
    """Cases of 100 with the right answer, of which guessing finds half."""
    return text_of(round(50 + 100 * excess, 1))


def _deciding(checks: Sequence[Check]) -> Check:
    """The check whose numbers are stated: of the worst, the one whose interval reaches farthest beyond its limit."""
    return min(checks, key=lambda check: (WORST_FIRST.index(check.standing), -_reach(check)))


def _reach(check: Check) -> float:
    """Upper end of the interval in limits; as it is without one."""
    high = _ends(check)[1]
    return high / check.limit if check.limit else high


def _ends(check: Check) -> tuple[float, float]:
    assert check.excess is not None
    return check.excess


def _keeps_away(check: Check) -> bool:
    return _ends(check)[1] < 0


def _found(criterion: Criterion, check: Check) -> str:
    low, high = _ends(check)
    match check.standing:
        case "pass" if low > 0:
            return "A leak was found that the policy allows."
        case "not ruled out" if low > 0:
            return "A leak was found. With so few people it is not certain that it is as small as the policy asks."
        case "not ruled out":
            most = per_thousand(_rounded_up(high, check.limit, _step(criterion, high)))
            if check.measured is not None and check.limit is not None and check.measured > check.limit:
                return (
                    "More was measured than the policy allows, on so few people that it may be chance. A leak of up to "
                    f"{most} in 1,000 cannot be ruled out."
                )
            return f"No leak was found, but with so few people one of up to {most} in 1,000 cannot be ruled out."
        case "review" | "block" if high >= 0 and check.limit is not None and low <= check.limit:
            return "It does not pass, since a table that is drawn again is judged more strictly."
        case "review" | "block" if high >= 0:
            return "A leak was found that the policy does not allow."
        case _:
            return "No leak was found."


def _three_parts(criterion: Criterion, check: Check, words: str) -> Iterator[str]:
    if check.measured is not None:
        yield words.format(_counted(criterion, _rounded(check.measured, check.limit, _step(criterion, check.measured))))
    said = check.standing == "not ruled out" and _ends(check)[0] <= 0
    if not said and not _keeps_away(check):
        high = _ends(check)[1]
        up_to = _counted(criterion, _rounded_up(high, check.limit, _step(criterion, high)))
        yield f"Up to {up_to} cannot be ruled out."
    if check.limit is not None:
        yield f"The policy allows {_counted(criterion, check.limit)}."


def _closeness(checks: Sequence[Check]) -> Iterator[str]:
    """Sentence on closeness to real records, by metrics of different units."""
    close = [check for check in checks if not (check.status in ("review", "block") and _keeps_away(check))]
    if any(check.status in ("review", "block") for check in close):
        yield "Rows are closer to real records than the policy allows."
    elif any(check.standing == "not ruled out" for check in close):
        yield "Rows closer to real records than the policy allows were not found, but cannot be ruled out."
    elif close and len(close) == len(checks):
        yield "Rows are no closer to real records than the policy allows."


def _counted(criterion: Criterion, share: float) -> str:
    """A share of 1,000, on the scale of the criterion's sentence."""
    if criterion == "membership":
        return text_of(max(COIN + 1000 * share, 0.0))
    if not share:
        return "no more"
    return f"{per_thousand(abs(share))} {'more' if share > 0 else 'fewer'}"


def _step(criterion: Criterion, share: float) -> float:
    # Thousandths, and two significant digits of small shares that are counted.
    if criterion == "membership" or abs(share) >= _WHOLE or not share:
        return 0.001
    return float(10.0 ** (math.floor(math.log10(abs(share))) - 1))


def _rounded(share: float, limit: float | None, step: float) -> float:
    """A share rounded, but not beyond the limit that it keeps."""
    near = step * round(share / step)
    return limit if limit is not None and share <= limit < near else near


def _rounded_up(high: float, limit: float | None, step: float) -> float:
    """An upper end rounded up, at most to a limit it keeps."""
    up = step * math.ceil(high / step - 1e-9)
    return limit if limit is not None and high <= limit < up else up
