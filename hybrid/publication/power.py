"""Power of a verdict: demanded leaks, trials, and their checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Field

from hybrid.base.options import Options
from hybrid.base.sentence import Fact, Sentence, sentence, sentences
from hybrid.evaluation.attacks.vulnerability import RANKINGS
from hybrid.evaluation.engine.intervals import share_interval
from hybrid.evaluation.planted_leaks import LEAKS, LeakName, not_planted
from hybrid.publication.verdict import Check

if TYPE_CHECKING:
    from hybrid.publication.policy import Policy

RELIABLE = 0.9
"""Share of the planned trials in which a leak must be noticed: one of twelve may pass, none of five."""
CONFIDENCE = 0.95
POWER = "power"
"""Start of the names of checks about planted leaks."""
NOT_MEASURED = "no leaks were planted into this table"
BLOCKED = "the table is blocked as it is"
"""Reason against planting leaks into a table that a rule about people never seen blocks anyway."""
REPEATS = "an attacker who can repeat the whole process"
MORE_PEOPLE = "take a larger table, or accept by name"
"""Hint where a leak of this size would not be noticed."""
PLANT_LEAKS = "run it again with planted leaks (evaluate.power: true), or accept by name"
"""Hint where none of the leaks that the policy asks about was planted."""


def _whole_group(sizes: dict[LeakName, float]) -> dict[LeakName, float]:
    if sizes.get("group", 1.0) != 1.0:
        raise ValueError("group leaks everybody with one value: write group: true")
    return sizes


MustDetect = Annotated[dict[LeakName, Annotated[float, Field(gt=0, le=1)]], AfterValidator(_whole_group)]
"""Size of every leak that a verdict must notice; 1 for ``group``, and shares of rows or people for the others."""


class SmallTable(Options):
    """Leaks that need not be noticed in a table made from few people."""

    people: int = Field(ge=1)
    """The entry is about tables made from fewer people than this, control included. Of several the smallest counts."""
    must_detect: dict[LeakName, Annotated[float, Field(gt=0, le=1)] | None]
    """Sizes in the place of those of `must_detect`; null: the kind of leak need not be noticed at all."""
    reason: str = Field(min_length=10)
    """Why smaller leaks are accepted, for the readers of a verdict."""


class PowerOptions(Options):
    """Trials with planted leaks."""

    trials: int = Field(default=20, ge=3, le=1000)
    """Draws of every kind of leak, on tables of up to 5,000 rows; fewer on larger ones, at least 5, unless one
    of these is missed."""
    skip: str | None = Field(default=None, min_length=10)
    """Why no leaks are planted. Not given: they are."""


@dataclass(frozen=True)
class LeakTrials:
    """Trials of one kind of leak; they end early once too many passed unnoticed for the kind to count as noticed."""

    kind: LeakName
    size: float
    """As in ``must_detect``."""
    planned: int
    made: int = 0
    noticed: int = 0
    reason: str = ""
    """Why no trial was made."""
    lacks: str | None = None
    """What the configuration does not have, where that alone is the reason."""
    way: str = ""
    """What the leaked people were chosen by, where a kind is planted in several ways."""

    @property
    def misses_allowed(self) -> int:
        return self.planned - math.ceil(RELIABLE * self.planned)

    @property
    def hopeless(self) -> bool:
        """More misses than allowed, whatever further trials would give."""
        return self.made - self.noticed > self.misses_allowed

    @property
    def reached(self) -> bool:
        """All planned trials made, and the leak noticed in enough of them."""
        return self.made == self.planned and not self.hopeless

    @property
    def words(self) -> str:
        return _words(self.kind, self.size, [self.way])


def _words(kind: LeakName, size: float, ways: Sequence[str]) -> str:
    """A leak in plain words, with what its people were chosen by."""
    by = tuple(sentence("leak.way", chosen=RANKINGS[ranking]) for way in ways for ranking in RANKINGS if ranking == way)
    leak = LEAKS[kind].in_words(size)
    return sentence("leak.by", leak=leak, ways=by) if by else leak


@dataclass(frozen=True)
class Power:
    """Trials of all kinds of leak, and the number of control records."""

    leaks: tuple[LeakTrials, ...]
    control: int
    people: int | None = None
    """Those the table was made from and those kept apart; None where that was not stated."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        leaks = tuple(LeakTrials(**leak) for leak in content["leaks"])
        return cls(leaks, content["control"], content.get("people"))


def not_tried(checks: Iterable[Check]) -> str:
    """Sentence on the forms of leaks that were not planted, and on the attacker who would repeat the whole process.

    Empty where no leak was demanded and that attack was made.
    """
    checks = tuple(checks)
    missing = untried_forms(checks)
    repeated = [check.status for check in checks if check.metric == "membership_trained"]
    if repeated and set(repeated) == {"not judged"}:
        missing.append(REPEATS)
    return sentence("not_tried", forms=tuple(missing)) if missing else ""


def untried_forms(checks: Iterable[Check]) -> list[str]:
    """Forms of leaks that were not planted; none where no leak was demanded."""
    start = f"{POWER}: "
    applies = {check.rule.removeprefix(start): check.applies for check in checks if check.rule.startswith(start)}
    return [*not_planted([kind for kind, does in applies.items() if does])] if applies else []


def power_checks(policy: Policy, power: Power | None) -> Iterator[Check]:
    """One check per kind of leak that the policy must detect.

    Trials are judged as a first draw. A repeated draw is judged more strictly, so it notices at least as much.
    A kind that was not noticed in nine of ten trials, or not tried, is not judged, which is a review; a kind that
    the table has no columns for does not apply.
    """
    if not policy.must_detect:
        return
    if policy.power.skip is not None:
        message = sentence("power.skipped", reason=policy.power.skip)
        yield Check(POWER, "not judged", message, applies=False)
        return
    small = policy.small_table(None if power is None else power.people)
    for kind, asked in policy.must_detect.items():
        size = asked if small is None else small.must_detect.get(kind, asked)
        if size is None:
            yield _accepted(
                Check(f"{POWER}: {kind}", "not judged", sentence("power.not_tried"), applies=False), kind, asked, small
            )
            continue
        leaks = () if power is None else tuple(leak for leak in power.leaks if (leak.kind, leak.size) == (kind, size))
        if power is None or {leak.way for leak in leaks} != {leak.way for leak in LEAKS[kind].ways}:
            words = LeakTrials(kind, size, 0).words
            said = sentence("power.unknown", leak=words, reason=NOT_MEASURED)
            yield Check(f"{POWER}: {kind}", "not judged", said, PLANT_LEAKS, subject=words)
        else:
            found = _check(leaks, power)
            yield found if size <= asked else _accepted(found, kind, asked, small)


def _accepted(check: Check, kind: LeakName, size: float, small: SmallTable | None) -> Check:
    assert small is not None
    words = _words(kind, size, [leak.way for leak in LEAKS[kind].ways])
    facts: dict[str, Fact] = {"leak": words, "people": small.people, "reason": small.reason}
    return replace(check, found=sentence("power.accepted", found=check.found, **facts), accepted=words)


def accepted_sentences(checks: Iterable[Check]) -> Iterator[str]:
    """Leaks that cannot be excluded, and that the policy accepts that; none of a table that must not leave."""
    checks = list(checks)
    leaks = [_without_ways(check.accepted) for check in checks if check.accepted]
    if leaks and not any(check.status == "block" for check in checks):
        yield sentence("accepted.leaks", leaks=sentences(*leaks, between="further"))
        yield sentence("accepted.why")


def _without_ways(leak: str) -> str:
    """A leak without what its people were chosen by, which its check says."""
    found = leak.facts["leak"] if isinstance(leak, Sentence) and leak.template == "leak.by" else leak
    return found if isinstance(found, str) else leak


def _check(leaks: Sequence[LeakTrials], power: Power) -> Check:
    """One check of a kind in all its ways: the one that was noticed least counts."""
    tried = [leak for leak in leaks if leak.lacks is None] or leaks
    leak = min(tried, key=lambda leak: (leak.reached, bool(leak.made), leak.noticed / max(leak.made, 1)))
    name, trials = f"{POWER}: {leak.kind}", {"noticed": leak.noticed, "made": leak.made}
    if leak.reached:
        low, _ = share_interval(leak.noticed / leak.made, leak.made, CONFIDENCE)
        words = _words(leak.kind, leak.size, [leak.way for leak in tried])
        often: dict[str, Fact] = {"leak": words, **trials, "least": round(100 * low)}
        return Check(name, "pass", sentence("power.noticed.each" if len(tried) > 1 else "power.noticed", **often))
    if not leak.made:
        words = _words(leak.kind, leak.size, [one.way for one in tried if one.reason == leak.reason])
        message = sentence("power.unknown", leak=words, reason=leak.reason)
        hint = "mend what blocks the table; then leaks are planted" if leak.reason == BLOCKED else MORE_PEOPLE
        return Check(name, "not judged", message, hint, applies=leak.lacks is None, subject=words)
    message = sentence("power.unnoticed", control=power.control, leak=leak.words, **trials)
    return Check(name, "not judged", message, MORE_PEOPLE, subject=leak.words)


def worst_power(found: Mapping[str, Power]) -> Power | None:
    """Trials of the table that notices a leak least, by kind and way; None without trials.

    A table that lacks the columns of a leak counts only where all tables do.
    """
    if not found:
        return None
    of_kind: dict[tuple[str, str], list[LeakTrials]] = {}
    for leak in (leak for power in found.values() for leak in power.leaks):
        of_kind.setdefault((leak.kind, leak.way), []).append(leak)
    worst = [min(leaks, key=lambda leak: (leak.lacks is not None, leak.noticed)) for leaks in of_kind.values()]
    people = max((power.people or 0 for power in found.values()), default=0) or None
    return Power(tuple(worst), min(power.control for power in found.values()), people)
