"""Gate: every rule of a policy, applied to the facts of one run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError, Problem
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import AllRows, Crossed, Evaluation, Measure, Subject
from hybrid.publication.actions import ActionName, Situation, with_actions
from hybrid.publication.composition import Exposure
from hybrid.publication.criteria import QUESTIONS, Criterion, criterion_of
from hybrid.publication.policy import Policy
from hybrid.publication.power import MORE_PEOPLE, Power, power_checks
from hybrid.publication.rules import KINDS
from hybrid.publication.rules.anonymity import AnonymityRule
from hybrid.publication.rules.metric import MetricRule, about
from hybrid.publication.rules.rule import Facts, PolicyRule, RuleKind
from hybrid.publication.verdict import CONTENT, REPEATED, Check, Verdict, proven
from hybrid.table.split import CROSS, SplitOptions

if TYPE_CHECKING:
    from hybrid.publication.policy import Policy


TOO_FEW = (
    "other settings trade what the table keeps against what it gives away: use more people, give columns that nobody "
    "needs the role excluded, or let `hybrid tune` try"
)
"""Hint where an attacker who repeats the process finds too much of a table that already loses too much."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ENDINGS = {1: "ordinal.st", 2: "ordinal.nd", 3: "ordinal.rd"}


@dataclass(frozen=True)
class DrawNumber:
    """Number of a draw among those of the same data and policy, counted for each data set (its name) by itself."""

    number: int
    """1 or more."""
    total: int
    """Highest number so far; a number that a run brings from another private zone may leave a gap below it."""
    elsewhere: int = 0
    """Draws of the same data under the same policy that were counted for other data sets."""

    @property
    def words(self) -> str:
        """In words, such as "third draw of this data under this policy"."""
        found = sentence("draw", nth=_ordinal(self.number))
        if self.elsewhere:
            found = sentence("draw.elsewhere", draw=found, n=self.elsewhere)
        return sentence("draw.later", draw=found, n=self.total) if self.total > self.number else found


def _ordinal(number: int) -> str:
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    return sentence("ordinal.th" if number // 10 % 10 == 1 else _ENDINGS.get(number % 10, "ordinal.th"), n=number)


ALL_ROWS = "all rows"
"""Start of the names of the checks."""
COPIES = "identical_match"
"""Metric whose rule limits the excess of exact copies."""
_ALL_ROWS_HINT = "release no more rows than are judged, or let a person decide"
_CONFIDENCE = 0.95
_UNMEASURED = "mend what kept it from being measured, or let a person decide without it"
_NEARER: tuple[ActionName, ...] = ("smaller groups", "smaller leaves")
"""Actions on rows that keep away from the people in the data."""
EVERYBODY: ActionName = "everybody as control"


def all_rows_checks(policy: Policy, found: AllRows | None) -> Iterator[Check]:
    """Checks about all rows; none where all rows were judged.

    Exact copies are counted on all rows: the share of training records that equal one of them, above that of control
    records, is limited as the policy limits the excess of exact copies; its low end is judged (normal approximation
    of the difference of two shares). All other attacks are run on the sample, and what more rows disclose is not
    judged: that is a review, whatever they find.
    """
    if found is None:
        return
    yield _copies(policy, found)
    sampled = sentence("all_rows.attacks", n=found.judged, rows=found.rows)
    yield Check(f"{ALL_ROWS}: attacks", "not judged", sampled, _ALL_ROWS_HINT)


def _rule_of_copies(policy: Policy) -> MetricRule | None:
    return next((rule for rule in policy.rules if rule.metric == COPIES and rule.compare == "excess"), None)


def _copies(policy: Policy, found: AllRows) -> Check:
    name = f"{ALL_ROWS}: exact copies"
    rule = _rule_of_copies(policy)
    if not found.control or rule is None:
        lacks = sentence("all_rows.no_rule", metric=COPIES) if rule is None else sentence("all_rows.no_control")
        return Check(name, "not judged", sentence("all_rows.copies_not_judged", reason=lacks), _ALL_ROWS_HINT)
    shares = found.train_found / found.train, found.control_found / found.control
    errors = (share * (1 - share) / n for share, n in zip(shares, (found.train, found.control), strict=True))
    low = shares[0] - shares[1] - quantile(_CONFIDENCE) * math.sqrt(sum(errors))
    train, control, least = (float(f"{100 * share:.2g}") for share in (*shares, max(low, 0.0)))
    message = sentence("all_rows.copies", train=train, control=control, rows=found.rows, least=least)
    if rule.block is not None and low > rule.block:
        return Check(name, "block", message, metric=COPIES)
    if rule.review is not None and low > rule.review:
        return Check(name, "review", message, metric=COPIES)
    return Check(name, "pass", message, metric=COPIES)


LIKE_FOLDS = "like the judged tables"
"""Start of the names of the checks."""
_COUNTED = {"identical_match": "exact copies of people", "hitting_rate": "people with a near copy"}
_FOLDS_HINT = (
    "run it again: the released table is one draw; where it happens again, look for what depends on single people"
)


def folds_of(config: Mapping[str, Any]) -> int | None:
    """Number of folds of a configuration (JSON types); None without ``split.control: cross``."""
    split = SplitOptions.model_validate(config.get("split") or {})
    return split.folds if split.control == CROSS else None


def first_page_sentences(folds: int, *, sampled: bool) -> Iterator[str]:
    """State on the first page what the verdict is about, and who is in the data."""
    yield sentence("crossed.everybody")
    yield sentence("crossed.tables", n=folds)
    yield sentence("crossed.sampled" if sampled else "crossed.whole")


def measured_sentence(folds: int) -> str:
    """State in the technical guarantee what was measured."""
    return sentence("crossed.measured", n=folds)


def crossed_checks(found: Sequence[Crossed]) -> Iterator[Check]:
    """Check that the released table holds no more copies of people than those by which it was judged.

    A table from F / (F - 1) times as many people has by chance up to so many times the share. Beyond that the
    difference must lie within the intervals of both (Zou and Donner 2008).
    """
    for one in found:
        expected, most = (one.folds / (one.folds - 1) * share for share in (one.of_folds, one.high))
        chance = math.hypot(one.released - one.low, most - expected)
        here, there = (float(f"{1000 * share:.2g}") for share in (one.released, one.of_folds))
        message = sentence("like_folds", what=_COUNTED[one.metric], n=here, most=there, tables=one.folds)
        name = f"{LIKE_FOLDS}: {_COUNTED[one.metric]}"
        message = message if one.table is None else sentence("about", place=one.table, found=message)
        if one.released - expected > chance:
            more = sentences(message, sentence("like_folds.more"))
            yield Check(name, "review", more, _FOLDS_HINT, table=one.table)
        else:
            yield Check(name, "pass", message, table=one.table)


TOGETHER = "proven leaks together"
"""Name of the check."""
_TOGETHER_REASON = "One attack may have a quirk; attacks of several kinds have none in common."
_TOGETHER_HINT = "see what to try at each of these rules"


def together_checks(policy: Policy, checks: Sequence[Check]) -> Iterator[Check]:
    """Check that forbids a release for several proven leaks; none where the policy's number is not reached."""
    together = policy.proven_leaks
    found = {} if together is None else proven(checks, together.times)
    if together is None or len(found) < together.questions:
        return
    rules = dict.fromkeys(check.rule for those in found.values() for check in those)
    said = sentence("proven", n=len(found), of=len(QUESTIONS), times=together.times, rules=tuple(rules))
    yield Check(TOGETHER, "block", said, _TOGETHER_HINT, reason=_TOGETHER_REASON)


ERROR = 0.025
"""Error that all intervals of excesses of one criterion share: .05/(n (n + 1)) for the first draw."""
LEAST_SHARED = 4
"""Numbers that share it, at least: a rule that is alone in its criterion raises no more false alarms than others."""


def judge(
    policy: Policy,
    evaluation: Evaluation,
    anonymization: AnonymizationResult | None,
    exposure: Exposure | str | None = None,
    draws: int = 1,
    power: Power | None = None,
    config: Mapping[str, Any] | None = None,
    claims_privacy: bool = False,
) -> Verdict:
    """Apply every rule of a policy; the worst status wins.

    Parameters
    ----------
    anonymization : AnonymizationResult or None
        How the intermediate table was made; None if nothing was anonymized.
    exposure : Exposure, str or None
        Joint disclosure of the release and earlier ones; why that is not known; None before publishing,
        when the rules about it are not applied.
    draws : int
        How often this data was drawn under this policy, this run included; 1 or more.
    power : Power or None
        Which planted leaks the verdict noticed; None: none were planted.
    config : mapping or None
        The configuration as resolved (JSON types), which decides what there is left to change; None: not known. The
        rules are the same.
    claims_privacy : bool
        Whether the run claims differential privacy.

    Returns
    -------
    Verdict
        One check per rule and metric it applies to, in the policy's order, one per leak that it must detect, and two of
        a table of which only a sample was judged.

    Raises
    ------
    ConfigError
        A rule's direction is not that of its metric: it would let the bad and hold back the good.
    """
    facts = Facts(
        evaluation,
        anonymization,
        exposure,
        confidence_of_each(policy, evaluation),
        policy.trust,
        config or {},
        strictness(draws),
        claims_privacy and policy.yearly_budget is not None,
    )
    problems = [
        Problem(f"policy {policy.name!r}, {problem.message}", problem.hint)
        for kind, rule in policy.by_kind()
        for problem in kind.contradictions(rule, facts)
    ]
    if problems:
        raise ConfigError(problems)
    at = Situation(facts.config, anonymization, _least_k(policy))
    rules = [(kind, _under_noise(kind, rule) if facts.private else rule) for kind, rule in policy.by_kind()]
    checks = [_advised(check, rule, facts, at) for kind, rule in rules for check in kind.judge(rule, facts)]
    if not facts.private and any(check.metric in CONTENT and check.status in ("review", "block") for check in checks):
        checks = [_of_too_few(check) for check in checks]
    of_tables = (*all_rows_checks(policy, evaluation.all_rows), *crossed_checks(evaluation.crossed))
    checks += together_checks(policy, checks)
    whole = (_seen_further(check, _rule_of_copies(policy), at) for check in (*power_checks(policy, power), *of_tables))
    return Verdict.of(f"{policy.name} {policy.version}", (*checks, *whole))


def _under_noise(kind: RuleKind[Any], rule: PolicyRule) -> PolicyRule:
    actions, hint = kind.under_noise(rule)
    return rule.model_copy(update={"actions": actions, "hint": hint})


def _least_k(policy: Policy) -> int:
    asked = (rule for rule in policy.all_rules if isinstance(rule, AnonymityRule) and rule.quantity == "k")
    limits = [limit for rule in asked for limit in (rule.review, rule.block)]
    return math.ceil(max(filter(None, limits), default=2))


def _advised(check: Check, rule: PolicyRule, facts: Facts, at: Situation) -> Check:
    """The check with what is left to try, where it does not pass."""
    if check.rule != rule.name or check.decision == "pass":
        return check
    if check.status == "not judged":
        without = SplitOptions.model_validate(facts.config.get("split") or {}).control == 0
        names: list[ActionName] = [
            one for one in rule.actions if one == "larger groups" and facts.anonymization is None
        ]
        names += [EVERYBODY] if rule.detects and without else []
        hint = check.hint if facts.private or check.hint != rule.hint else ""
        return with_actions(check, names, hint or _UNMEASURED, at)
    place = check.column, check.table
    found = None if check.metric is None else facts.evaluation.find(check.metric, "synthetic", *place)
    details = found.outcome.details if found is not None and isinstance(found.outcome, Measure) else None
    here = replace(at, column=check.column, table=check.table, details=details)
    keeps_away = check.excess is not None and check.excess[1] < 0
    return with_actions(check, _NEARER if keeps_away else rule.actions, check.hint, here)


def _seen_further(check: Check, copies: MetricRule | None, at: Situation) -> Check:
    """The check of planted leaks, or of all rows, with the action by which more would be seen, or fewer be copied."""
    if check.metric == COPIES and copies is not None and check.decision != "pass":
        return with_actions(check, copies.actions, copies.hint, at)
    names: dict[str, ActionName] = {MORE_PEOPLE: EVERYBODY, _ALL_ROWS_HINT: "all rows judged"}
    name = names.get(check.hint)
    return check if name is None or not at.config else with_actions(check, [name], check.hint, at)


def _of_too_few(check: Check) -> Check:
    is_open = check.metric in REPEATED and check.decision != "pass"
    return replace(check, hint=TOO_FEW, actions=()) if is_open else check


def confidence_of_each(policy: Policy, evaluation: Evaluation) -> dict[Criterion | None, float]:
    """Confidence of each excess, by criterion.

    All excesses of a criterion hold simultaneously. The policy's numbers of one criterion that are compared by their
    excess share one error of :data:`ERROR`: Sidak's level for that many, and for :data:`LEAST_SHARED` at least.
    """
    numbers = Counter(
        criterion_of(rule.metric)
        for rule in policy.rules
        if rule.compare == "excess"
        for metric in about(rule, evaluation)
        if isinstance(metric.outcome, Measure) and metric.outcome.excess is not None
    )
    return {criterion: simultaneous(1 - ERROR, max(number, LEAST_SHARED)) for criterion, number in numbers.items()}


def strictness(draws: int) -> float:
    """Standard errors by which the n-th draw is judged more strictly.

    The draws are of the same data and policy; the first has 0. A leak that one draw hides with probability p, n draws
    hide at least once with up to n p. The n-th draw is judged as if at confidence 1 - .05/(n (n + 1)): the quantile
    that this adds to the first draw's is taken off the interval, so that all draws together hide a leak no more often
    than the first alone may, and trying again gains nothing.
    """
    return quantile(1 - 0.05 / (draws * (draws + 1))) - quantile(1 - ERROR)


def verdicts_by_stage(policy: Policy, evaluation: Evaluation) -> dict[Subject, Verdict]:
    """Judge each stage's table by the policy's metric rules, as if it were released.

    Rules about the intermediate table and about earlier releases are left out: they are not about a stage's table.
    So are leaks that must be detected: they are planted into the released table alone. Rules that name another stage
    than the released one keep it.
    """
    rules = policy.restricted([kind for kind in KINDS.values() if kind.judges_stage]).without_detection()
    stages = [stage for stage in get_args(Subject) if stage in evaluation.stages]
    return {stage: judge(rules, _as_released(evaluation, stage), None) for stage in stages if rules.all_rules}


def _as_released(evaluation: Evaluation, stage: Subject) -> Evaluation:
    """Evaluation in which this stage's metrics replace those of the synthetic table."""
    others = [metric for metric in evaluation.metrics if metric.stage != "synthetic"]
    mine = [replace(metric, stage="synthetic") for metric in evaluation.metrics if metric.stage == stage]
    return Evaluation((*mine, *others))
