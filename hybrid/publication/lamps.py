"""Lamps of the first page: status, answer and numbers of each criterion.

A number has three parts: what was measured, up to what cannot be ruled out, and what the policy allows. Status and
numbers are those of the same checks, so no green lamp stands beside a number above its limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hybrid.base.sentence import Sentence, sentence, sentences
from hybrid.publication.criteria import QUESTIONS, Criterion, criterion_of
from hybrid.publication.rules.comparisons import per_thousand
from hybrid.publication.verdict import WORST_FIRST, Check, Standing, Verdict

OF_THE_MOST_EXPOSED = ("membership_exposed", "membership_subgroups", "inference_exposed", "inference_subgroups")
"""Attacks on the people or the subgroup most at risk, whose numbers are not those of everybody."""
TRAINED = {
    "membership_trained_random": "everybody, by an attacker who repeats the whole process",
    "membership_trained": "the people least like others, by such an attacker",
}
"""Attacks that repeat the whole process, and whom each is about."""
OF_REGISTER = {"register_linkage": "people whom an attacker's register names alone"}
"""The attack that looks people up in a register, and whom it is about."""
EXACT_COPIES = "identical_match"
"""The metric of copies that counts rows."""
OF_SEVERAL_ROWS = "copied_sequences"
"""The metric of linkability whose target is a person with several rows."""
COIN = 500
"""Right answers of 1,000 by a coin."""
_WHOLE = 0.01
"""Shares from here on are told in whole numbers of 1,000."""
UNITS: dict[Criterion, str] = {
    "singling out": "Of 1,000 tries to pick out one person: how many more succeed in the data than outside it.",
    "linkability": (
        "Of 1,000 people: how many more in the data than outside it have two halves of a record that an attacker can "
        "join."
    ),
    "inference": "Of 1,000 people: how many more in the data than outside it have secrets that an attacker guesses.",
    "membership": (
        "Of 1,000 answers to the question which of two people is in the data: how many are right. A coin gets 500."
    ),
    "copies": "Of 1,000 rows: how many more are equal to a real record than chance explains.",
}
"""What is counted: what an attack gets from people in the data beyond what it gets from people who are not in it."""
_OF_SEVERAL = UNITS["linkability"].replace(" that an attacker", ", or two records, that an attacker")
_IN_REGISTER = "Of people in a register: at how many more of 1,000 a row points."
EVERYBODY, MOST_AT_RISK = "everybody", "the people most at risk"
EXACT = "exact copies"
OF_COPIES = {EXACT_COPIES: EXACT, "hitting_rate": "near copies"}
"""Metrics of copies that count, and what each counts; the others measure distances."""
_OF_NEAR = (
    "Near copies: of 1,000 people, how many more in the data than outside it have one. It has a person's categories, "
    "and each of its numbers differs by at most a thirtieth of that column's range."
)
Place = Literal["far inside", "just inside", "above", "far above"]
"""Where a measured number lies: within half of what is allowed, within all of it, beyond, or beyond what forbids."""
PLACES: dict[Place, str] = {
    "far inside": "measured: far inside what is allowed",
    "just inside": "measured: just inside what is allowed",
    "above": "measured: above what is allowed",
    "far above": "measured: far above what is allowed",
}
ALLOWED, FORBIDDEN = 1.0, 2.0
"""Where on the scale of a finding the number lies that is allowed, and the one beyond which a release is forbidden."""
_STAND_IN = 10.0
"""Times what is allowed, as the other end of the scale of a rule that forbids nothing."""


@dataclass(frozen=True)
class AttackFinding:
    """Numbers of one attack, in the unit of its lamp."""

    about: str
    """Whom it was tried on, and where it differs by whom."""
    status: Standing
    """As its check is shown."""
    measured: str | None
    up_to: str | None
    allowed: str | None
    """What was measured, up to what cannot be ruled out, and what the policy allows: "12 more", "3 fewer", "no more",
    or right answers such as "540". None where there is none."""
    on_scale: tuple[float | None, float | None] = (None, None)
    """Both numbers on a scale from 0 (no leak) over 1 (allowed) to 2 (beyond that a release is forbidden, if it is
    certain) and further, straight between these; None without a limit."""

    @property
    def sentence(self) -> str:
        parts = ("finding.measured", self.measured), ("finding.up_to", self.up_to), ("finding.allowed", self.allowed)
        said = sentences(*(sentence(template, n=part) for template, part in parts if part), between="listed")
        return sentence("finding", who=self.about, found=said)


@dataclass(frozen=True)
class Lamp:
    """Answer to one question of a data protection officer."""

    criterion: Criterion
    """A criterion of the Article 29 Working Party's Opinion 05/2014 (singling out, linkability, inference), or
    membership, or copies."""
    question: str
    """The question."""
    status: Standing
    """The worst of all checks about it, as each is shown (:attr:`Check.standing`); not judged: unknown."""
    answer: str
    """Whether a leak was found."""
    unit: str = ""
    """What the findings count; empty without findings."""
    findings: tuple[AttackFinding, ...] = ()
    """Of each group of people and attackers the attack that decides, everybody first."""
    place: Place | None = None
    """Where the farthest measured number of the checks with this status lies; None where none has a limit."""
    farthest: str = ""
    """Whom or what that number is about: a finding's ``about``, or the rule of a check that no finding shows."""

    @property
    def placed(self) -> str:
        """The place in words, and what it is about where that is known; empty without one."""
        place = "" if self.place is None else PLACES[self.place]
        return sentence("placed", place=place, about=self.farthest) if place and self.farthest else place

    @property
    def sentence(self) -> str:
        """Answer, unit and findings as text."""
        return sentences(self.answer, self.unit, *(each.sentence for each in self.findings))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Lamp:
        return cls(**{**content, "findings": tuple(AttackFinding(**each) for each in content["findings"])})


def lamps(verdict: Verdict) -> tuple[Lamp, ...]:
    """Summarize a verdict by criterion, in the order of :data:`QUESTIONS`."""
    about: dict[Criterion, list[Check]] = {criterion: [] for criterion in QUESTIONS}
    for check in verdict.checks:
        criterion = criterion_of(check.metric)
        if criterion is not None:
            about[criterion].append(check)
    return tuple(_lamp(criterion, about[criterion]) for criterion in QUESTIONS)


def _status(checks: Sequence[Check]) -> Standing:
    found = {check.standing for check in checks if check.applies}
    return next((standing for standing in WORST_FIRST if standing in found), "not judged")


def _lamp(criterion: Criterion, checks: Sequence[Check]) -> Lamp:
    question, status = QUESTIONS[criterion], _status(checks)
    asked = [check for check in checks if check.applies]
    measured = [check for check in asked if check.excess is not None]
    if not measured:
        return Lamp(criterion, question, status, _not_measured(checks, asked))
    distances = [check for check in measured if criterion == "copies" and check.metric != EXACT_COPIES]
    groups = _groups([check for check in measured if check.metric in OF_COPIES or check not in distances])
    answers = _closeness(distances)
    counted = {about: check for about, check in groups.items() if check not in distances}
    # No leak of one kind is no answer where another kind decides.
    if _status(distances) not in ("review", "block") or _status(tuple(counted.values())) in ("review", "block"):
        found = _found(counted)
        if found == [sentence("leak.none")] and any(check.is_above_by_chance for check in distances):
            found = [sentence("leak.no_copies")]
        answers = found + answers
    if any(check.status in ("review", "block") and _keeps_away(check) for check in measured):
        answers.append(sentence("leak.keeps_away"))
    if any(check.excess is None for check in asked):
        answers.append(sentence("leak.unjudged"))
    findings = tuple(_finding(criterion, about, check) for about, check in groups.items())
    several = any(check.metric == OF_SEVERAL_ROWS for check in measured)
    unit = _OF_SEVERAL if several else UNITS[criterion]
    if any(check.metric in OF_REGISTER for check in measured):
        unit = sentences(unit, _IN_REGISTER)
    if OF_COPIES["hitting_rate"] in groups:
        unit = sentences(unit, _OF_NEAR) if EXACT in groups else _OF_NEAR
    farthest = max((check for check in measured if check.standing == status), key=_measured_at, default=None)
    place = None if farthest is None else _place(farthest)
    shown = {id(check): about for about, check in groups.items()}
    about = "" if place is None or farthest is None else shown.get(id(farthest), farthest.rule)
    return Lamp(criterion, question, status, sentences(*answers), unit if findings else "", findings, place, about)


def _not_measured(checks: Sequence[Check], asked: Sequence[Check]) -> str:
    if not checks:
        return sentence("unknown.no_rule")
    return sentence("unknown.unjudged" if asked else "unknown.not_tried")


def _groups(checks: Sequence[Check]) -> dict[str, Check]:
    """Whom attacks are about, everybody first, each with the check that decides."""
    others = TRAINED | OF_REGISTER | OF_COPIES
    found: dict[str, list[Check]] = {about: [] for about in (EVERYBODY, MOST_AT_RISK, *others.values())}
    for check in checks:
        exposed = MOST_AT_RISK if check.metric in OF_THE_MOST_EXPOSED else EVERYBODY
        found[others.get(check.metric or "", exposed)].append(check)
    return {about: _deciding(each) for about, each in found.items() if each}


def _deciding(checks: Sequence[Check]) -> Check:
    """The check whose numbers are stated.

    Of the worst, the one that was measured farthest beyond its limit, or else whose interval reaches farthest.
    """
    return min(checks, key=lambda check: (WORST_FIRST.index(check.standing), -_beyond(check), -_reach(check)))


def _beyond(check: Check) -> float:
    """Measured number on the scale where it is beyond what is allowed, else 1."""
    return max(_on_scale(check.measured, check) or ALLOWED, ALLOWED)


def _on_scale(number: float | None, check: Check) -> float | None:
    limit = check.limit
    if number is None or limit is None or limit <= 0:
        return None
    if number <= limit:
        return number / limit
    has_end = check.forbidden is not None and check.forbidden > limit
    end = check.forbidden if has_end and check.forbidden is not None else _STAND_IN * limit
    place = ALLOWED + (number - limit) / (end - limit)
    return place if has_end else min(place, FORBIDDEN)


def _measured_at(check: Check) -> float:
    """Place of the measured number on the scale; below all others without one."""
    found = _on_scale(check.measured, check)
    return -math.inf if found is None else found


def _place(check: Check) -> Place | None:
    farthest = _on_scale(check.measured, check)
    if farthest is None:
        return None
    if farthest <= ALLOWED:
        return "far inside" if farthest <= ALLOWED / 2 else "just inside"
    return "far above" if farthest > FORBIDDEN else "above"


def _reach(check: Check) -> float:
    """Upper end of the interval in limits; as it is without one."""
    high = _ends(check)[1]
    return high / check.limit if check.limit else high


def _ends(check: Check) -> tuple[float, float]:
    assert check.excess is not None
    return check.excess


def _keeps_away(check: Check) -> bool:
    return _ends(check)[1] < 0


def _found(groups: dict[str, Check]) -> list[str]:
    if not groups:
        return []
    worst = _deciding(tuple(groups.values()))
    about = next(about for about, check in groups.items() if check is worst)
    said = _leak(worst)
    if about in (EVERYBODY, EXACT) or worst.standing == "pass":
        return [said]
    return [sentence("leak.about", who=about, found=said)]


def _leak(check: Check) -> Sentence:
    low, high = _ends(check)
    match check.standing:
        case "pass" if low > 0:
            return sentence("leak.allowed")
        case "not ruled out" if low > 0:
            return sentence("leak.uncertain")
        case "not ruled out" if check.is_above_by_chance:
            return sentence("leak.far_more" if _beyond(check) > FORBIDDEN else "leak.more")
        case "not ruled out":
            return sentence("leak.not_ruled_out")
        case "review" | "block" if check.metric in TRAINED and check.limit is not None and low <= check.limit < high:
            return sentence("leak.asked.found" if low > 0 else "leak.asked")
        case "review" | "block" if high >= 0 and check.limit is not None and low <= check.limit:
            return sentence("leak.drawn_again")
        case "review" | "block" if high >= 0:
            return sentence("leak.forbidden")
        case _:
            return sentence("leak.none")


def _finding(criterion: Criterion, about: str, check: Check) -> AttackFinding:
    measured = up_to = None
    if check.measured is not None:
        measured = _counted(criterion, _rounded(check.measured, check.limit, _step(criterion, check.measured)))
    if not _keeps_away(check):
        high = _ends(check)[1]
        up_to = _counted(criterion, _rounded_up(high, check.limit, _step(criterion, high)))
    allowed = None if check.limit is None else _counted(criterion, check.limit)
    numbers = check.measured, None if up_to is None else _ends(check)[1]
    least, most = (_short(_on_scale(number, check)) for number in numbers)
    return AttackFinding(about, check.standing, measured, up_to, allowed, (least, most))


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.3g}")


def _closeness(checks: Sequence[Check]) -> list[str]:
    close = [check for check in checks if not (check.status in ("review", "block") and _keeps_away(check))]
    if any(check.status in ("review", "block") for check in close):
        return [sentence("closer")]
    if beyond := [_beyond(check) for check in close if check.standing == "not ruled out" and _beyond(check) > 1]:
        return [sentence("closer.far_by_chance" if max(beyond) > FORBIDDEN else "closer.by_chance")]
    if any(check.standing == "not ruled out" for check in close):
        return [sentence("closer.not_ruled_out")]
    if close and len(close) == len(checks):
        return [sentence("closer.none")]
    return []


def _counted(criterion: Criterion, share: float) -> Sentence:
    """A share of 1,000, on the scale of the criterion's sentence."""
    if criterion == "membership":
        return sentence("count", n=max(COIN + 1000 * share, 0.0))
    if not share:
        return sentence("count.no_more")
    return sentence("count.more" if share > 0 else "count.fewer", n=per_thousand(abs(share)))


def _step(criterion: Criterion, share: float) -> float:
    # Thousandths, and two significant digits of small shares that are counted.
    if criterion == "membership" or abs(share) >= _WHOLE or not share:
        return 0.001
    return float(10.0 ** (math.floor(math.log10(abs(share))) - 1))


def _rounded(share: float, limit: float | None, step: float) -> float:
    near = step * round(share / step)
    return limit if limit is not None and share <= limit < near else near


def _rounded_up(high: float, limit: float | None, step: float) -> float:
    """An upper end rounded up, at most to a limit it keeps."""
    up = step * math.ceil(high / step - 1e-9)
    return limit if limit is not None and high <= limit < up else up
