"""The gate: apply every rule of a policy to the facts of one run."""

from __future__ import annotations

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError, Problem
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.composition import Exposure
from hybrid.publication.policy import Policy
from hybrid.publication.rules.rule import Facts
from hybrid.publication.verdict import SEVERITY, Verdict


def judge(
    policy: Policy,
    evaluation: Evaluation,
    anonymization: AnonymizationResult | None,
    exposure: Exposure | str | None = None,
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
        What the release gives away together with earlier ones; why that is not known; None before publishing,
        when the rules about it are not applied.

    Returns
    -------
    Verdict
        One check per rule and metric it applies to, in the policy's order.

    Raises
    ------
    ConfigError
        A rule's direction is not that of its metric: it would let the bad and hold back the good.
    """
    facts = Facts(evaluation, anonymization, exposure)
    problems = [
        Problem(f"policy {policy.name!r}, {problem.message}", problem.hint)
        for kind, rule in policy.by_kind()
        for problem in kind.contradictions(rule, facts)
    ]
    if problems:
        raise ConfigError(problems)
    checks = [check for kind, rule in policy.by_kind() for check in kind.judge(rule, facts)]
    worst = max((check.status for check in checks), key=SEVERITY.__getitem__)
    return Verdict(worst, f"{policy.name} {policy.version}", tuple(checks))
