"""The gate.

Apply every rule of a policy to the facts of one run.
"""

from __future__ import annotations

from collections import Counter

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError, Problem
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import Evaluation, Measure
from hybrid.publication.all_rows import all_rows_checks
from hybrid.publication.composition import Exposure
from hybrid.publication.criteria import Criterion, criterion_of
from hybrid.publication.crossed import crossed_checks
from hybrid.publication.policy import Policy
from hybrid.publication.power import Power, power_checks
from hybrid.publication.rules.metric import about
from hybrid.publication.rules.rule import Facts
from hybrid.publication.verdict import Verdict

ERROR = 0.025
"""Error that all intervals of excesses of one criterion share: .05/(n (n + 1)) for the first draw."""


def judge(
    policy: Policy,
    evaluation: Evaluation,
    anonymization: AnonymizationResult | None,
    exposure: Exposure | str | None = None,
    draws: int = 1,
    power: Power | None = None,
    private: bool = False,
) -> Verdict:
    """Apply every rule of a policy; the worst status wins.

    Parameters
    ----------
    policy : Policy
        The rules.
    evaluation : Evaluation
        The metrics of a run.
    anonymization : AnonymizationResult or None
        How the intermediate table was made; None if nothing was anonymized.
    exposure : Exposure, str or None
        Joint disclosure of the release and earlier ones; why that is not known; None before publishing,
        when the rules about it are not applied.
    draws : int
        How often this data was drawn under this policy, this run included; 1 or more.
    power : Power or None
        Which planted leaks the verdict noticed; None: none were planted.
    private : bool
        Whether the configuration has ``privacy.mode: dp``. The rules are the same; hints name what there is to change.

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
        private,
        strictness(draws),
    )
    problems = [
        Problem(f"policy {policy.name!r}, {problem.message}", problem.hint)
        for kind, rule in policy.by_kind()
        for problem in kind.contradictions(rule, facts)
    ]
    if problems:
        raise ConfigError(problems)
    rules = [
        (kind, rule.model_copy(update={"hint": kind.private_hint(rule)}) if private else rule)
        for kind, rule in policy.by_kind()
    ]
    checks = [check for kind, rule in rules for check in kind.judge(rule, facts)]
    of_tables = (*all_rows_checks(policy, evaluation.all_rows), *crossed_checks(evaluation.crossed))
    whole = (*power_checks(policy, power), *of_tables)
    return Verdict.of(f"{policy.name} {policy.version}", (*checks, *whole))


def confidence_of_each(policy: Policy, evaluation: Evaluation) -> dict[Criterion | None, float]:
    """Confidence of each excess, by criterion.

    All excesses of a criterion hold simultaneously. The policy's numbers of one criterion that are compared by their
    excess share one error of :data:`ERROR`: Sidak's level for that many.
    """
    numbers = Counter(
        criterion_of(rule.metric)
        for rule in policy.rules
        if rule.compare == "excess"
        for metric in about(rule, evaluation)
        if isinstance(metric.outcome, Measure) and metric.outcome.excess is not None
    )
    return {criterion: simultaneous(1 - ERROR, number) for criterion, number in numbers.items()}


def strictness(draws: int) -> float:
    """Standard errors by which the n-th draw is judged more strictly.

    The draws are of the same data and policy; the first has 0. A leak that one draw hides with probability p, n draws
    hide at least once with up to n p. The n-th draw is judged as if at confidence 1 - .05/(n (n + 1)): the quantile
    that this adds to the first draw's is taken off the interval, so that all draws together hide a leak no more often
    than the first alone may, and trying again gains nothing.
    """
    return quantile(1 - 0.05 / (draws * (draws + 1))) - quantile(1 - ERROR)
