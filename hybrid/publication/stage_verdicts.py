"""Hypothetical verdicts on the tables of other stages."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hybrid.evaluation.measure import Evaluation, Subject
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy
from hybrid.publication.rules import KINDS
from hybrid.publication.verdict import Verdict


def verdicts_by_stage(policy: Policy, evaluation: Evaluation) -> dict[Subject, Verdict]:
    """Judge each stage's table by the policy's metric rules.

    As if it were released.

    Rules about the intermediate table and about earlier releases are left out: they are not about a stage's table.
    So are leaks that must be detected: they are planted into the released table alone. Rules that name another stage
    than the released one keep it.
    """
    rules = policy.restricted([kind for kind in KINDS.values() if kind.judges_stage]).without_detection()
    stages = [stage for stage in get_args(Subject) if any(metric.stage == stage for metric in evaluation.metrics)]
    return {stage: judge(rules, _as_released(evaluation, stage), None) for stage in stages if rules.all_rules}


def _as_released(evaluation: Evaluation, stage: Subject) -> Evaluation:
    """Evaluation in which this stage's metrics replace those of the synthetic table."""
    others = [metric for metric in evaluation.metrics if metric.stage != "synthetic"]
    mine = [replace(metric, stage="synthetic") for metric in evaluation.metrics if metric.stage == stage]
    return Evaluation((*mine, *others))
