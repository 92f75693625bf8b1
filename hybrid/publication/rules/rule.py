"""Common options of rules, protocol of rule kinds, comparison with limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import Problem
from hybrid.base.options import Options
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.measure import NOTHING_TO_LEAK, Direction, Evaluation, MayLack
from hybrid.evaluation.trust import TrustLeague
from hybrid.publication.actions import ActionName, NoiseName
from hybrid.publication.composition import Exposure
from hybrid.publication.criteria import Criterion
from hybrid.publication.private_words import is_dp
from hybrid.publication.verdict import Check, Status

Condition = Literal[MayLack, "anonymization", "without_noise", "l_diversity", "households"]
"""A part of a configuration or a table without which a rule may have nothing to judge; signal: models of the real rows
predict a target beyond chance; lone_values: values that one row of the table holds alone; lone_records: people whom
nobody equals, or beside whom nobody lies; tied_dates: dates of a row that lie close together; linked_columns: columns
of which one says something about another; persons: data.person names columns; trainings: the way from records to
the table can be repeated in minutes, or evaluate.retrain asks for it; several_rows: a person with two different rows;
single_rows: persons with one row each;
without_noise: no differential privacy is claimed, or the policy has no yearly budget for it;
households: data.household names columns; parents: the table has a parent table; weight: a column has that role;
numbers: numbers with so many digits together that a copy stands out; register: evaluate.attacker_register names a
table. Control records are none of them."""


class PolicyRule(Options):
    """Common options of rules: two limits and the sentences around them."""

    name: str = Field(min_length=1)
    """What the rule is called in verdicts and certificates; unique in a policy."""
    review: float | None = Field(default=None, allow_inf_nan=False)
    """Beyond this a person decides. A number that equals a limit is within it."""
    block: float | None = Field(default=None, allow_inf_nan=False)
    """Beyond this nothing is released."""
    if_not_computable: Literal["review", "block"] = "review"
    """What follows where the number does not exist: the check is not judged, which is a review, or it blocks."""
    applies_if: tuple[Condition, ...] = ()
    """What there must be for the rule to apply: where the number is missing for want of this alone, the check is
    shown as not judged and the verdict does not depend on it. Not given: the rule always applies."""
    reason: str = Field(min_length=1)
    """Why the rule exists, in one sentence."""
    actions: tuple[ActionName, ...] = ()
    """What to change in the configuration where the rule is not met, the best first. Of these the run's verdict names
    those that its configuration has not taken, each as a line of YAML."""
    hint: str = ""
    """What to try beside that, in words."""

    @property
    def better(self) -> Direction:
        """Direction in which numbers are better, lower or higher."""
        raise NotImplementedError

    @property
    def detects(self) -> bool:
        """True for rules that may notice planted leaks."""
        return False

    @property
    def judged_metrics(self) -> tuple[str, ...]:
        """Names of the metrics that the rule judges, which a run must compute."""
        return ()

    @property
    def metric_to_trust(self) -> str | None:
        """Metric that a league must vouch for; None: none."""
        return None

    @model_validator(mode="after")
    def _limits_in_order(self) -> Self:
        if self.review is None and self.block is None:
            raise ValueError("a rule needs a limit: review, block or both")
        if self.review is not None and self.block is not None:
            stricter = self.review <= self.block if self.better == "lower" else self.review >= self.block
            if not stricter:
                side = "below" if self.better == "lower" else "above"
                raise ValueError(f"review must not be looser than block: {self.better} is better, so it lies {side}")
        return self


Unit = Literal["", "percent", "in_1000", "of_100"]
_ALLOWED: dict[Direction, dict[Unit, str]] = {
    "lower": {
        "": "allowed.most",
        "percent": "allowed.most.percent",
        "in_1000": "allowed.most.in_1000",
        "of_100": "allowed.most.of_100",
    },
    "higher": {
        "": "allowed.least",
        "percent": "allowed.least.percent",
        "in_1000": "allowed.least.in_1000",
        "of_100": "allowed.least.of_100",
    },
}
AnyRule = TypeVar("AnyRule", bound=PolicyRule)


@dataclass(frozen=True)
class Facts:
    """The facts about one run that rules judge."""

    evaluation: Evaluation
    """The metrics."""
    anonymization: AnonymizationResult | None = None
    """How the intermediate table was made; None if nothing was anonymized."""
    exposure: Exposure | str | None = None
    """Joint exposure of this and earlier releases; why it is not known; None before publishing."""
    confidence: Mapping[Criterion | None, float] = field(default_factory=dict)
    """Confidence of the interval of each excess, by criterion; .95 where none is given. See
    :func:`hybrid.publication.gate.confidence_of_each`."""
    league: TrustLeague | None = None
    """Verdicts of a laboratory on the metrics of rules that need trust."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The configuration as resolved (JSON types); empty where it is not known."""
    strictness: float = 0.0
    """Standard errors taken off these intervals for a repeated draw; see :func:`hybrid.publication.gate.strictness`."""
    protected_by_noise: bool = False
    """True where the run claims differential privacy, and the policy limits what such draws spend in a year."""

    @property
    def private(self) -> bool:
        """True where the configuration asks for differential privacy (``privacy.mode: dp``)."""
        return is_dp(self.config)

    def lacks_anonymization(self, rule: PolicyRule) -> Condition:
        """Condition that a run fails which anonymized nothing: of several the one that the rule names."""
        of_noise = self.protected_by_noise and "without_noise" in rule.applies_if
        return "without_noise" if of_noise else "anonymization"


class RuleKind(ABC, Generic[AnyRule]):
    """A kind of rule: one section of a policy file."""

    section: ClassVar[str]
    """The key of the policy that lists rules of this kind."""
    description: ClassVar[str]
    """What the section is about, for the policy reference."""
    Options: type[AnyRule]
    """Options of one rule."""
    judges_run: ClassVar[bool] = True
    """Whether the rules judge the run itself; a policy needs at least one such rule."""
    judges_stage: ClassVar[bool] = False
    """Whether the rules also make sense for another stage's table as if it were to be released."""

    @abstractmethod
    def judge(self, rule: AnyRule, facts: Facts) -> Iterator[Check]:
        """Apply one rule.

        Parameters
        ----------
        rule : Options
            The rule.
        facts : Facts
            The run.

        Yields
        ------
        Check
            At least one if ``judges_run``; :func:`limited` for a number, :func:`missing` where there is none.
        """

    def under_noise(self, rule: AnyRule) -> tuple[tuple[NoiseName, ...], str]:
        """Actions and further words under ``privacy.mode: dp``, which refuses most settings of other actions."""
        raise NotImplementedError

    def contradictions(self, rule: AnyRule, facts: Facts) -> Iterator[Problem]:  # noqa: ARG002 - most have none
        """Problems of a rule that make its verdict meaningless; none by default."""
        yield from ()


@dataclass(frozen=True)
class JudgedNumber:
    """Number to compare with a rule's limits, and the words around it."""

    number: float
    words: str
    """What was found, without a full stop; all languages have it if it is a :class:`~hybrid.base.sentence.Sentence`."""
    details: str = ""
    """The finding by the program's own names."""
    scale: float = 1.0
    """Factor between the limits and what the words count in: 1000 for "in 1,000"."""
    unit: Unit = ""
    """Unit of the scaled limit."""
    blocks: float | None = None
    """Number that the limit for block is about, where that is another one."""
    excess: tuple[float, float, float] | None = None
    """Value and interval of an excess, where the number is one of its ends."""
    zero: float = 0.0
    """The number at which there is no excess."""


def limited(rule: PolicyRule, found: JudgedNumber) -> Check:
    """The check of a number against both limits of its rule.

    It names the limit for review even where the other one is broken: what is allowed is no more of the worst tables.
    """
    status: Status = "pass"
    limit = rule.block if rule.review is None else rule.review
    if _beyond(rule, found.number if found.blocks is None else found.blocks, rule.block):
        status = "block"
    elif _beyond(rule, found.number, rule.review):
        status = "review"
    assert limit is not None
    words = sentence(_ALLOWED[rule.better][found.unit], found=found.words, limit=float(limit * found.scale))
    check = replace(_said(rule, status, words), details=found.details)
    if found.excess is None:
        return check
    value, *ends = found.excess
    forbidden = None if rule.block is None else rule.block - found.zero
    judged = replace(check, measured=value, excess=(ends[0], ends[1]), limit=limit - found.zero, forbidden=forbidden)
    if judged.standing != "not ruled out":
        return judged
    more = value > limit - found.zero
    return replace(judged, found=sentences(words, sentence("may_be_chance" if more else "not_ruled_out")))


def _beyond(rule: PolicyRule, number: float, limit: float | None) -> bool:
    if limit is None:
        return False
    return number > limit if rule.better == "lower" else number < limit


def missing(rule: PolicyRule, reason: str, lacks: str | None = None, details: str = "") -> Check:
    """The check of a number that does not exist, for a reason.

    ``lacks`` is the one thing for want of which it does not exist, ``details`` the number by the program's own names.
    """
    if lacks in NOTHING_TO_LEAK:
        found = sentence("missing.nothing_to_leak", reason=reason)
        return Check(rule.name, "not judged", found, applies=False, details=details)
    if lacks in rule.applies_if:
        found = sentence("missing.not_asked", reason=reason)
        return Check(rule.name, "not judged", found, applies=False, details=details)
    status: Status = "block" if rule.if_not_computable == "block" else "not judged"
    return replace(_said(rule, status, sentence("missing", reason=reason)), details=details)


def _said(rule: PolicyRule, status: Status, found: str) -> Check:
    if status == "pass":
        return Check(rule.name, status, found)
    return Check(rule.name, status, found, rule.hint, reason=rule.reason)
