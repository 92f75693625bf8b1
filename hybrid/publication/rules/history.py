"""Rules about all releases of a data set together.

This release and all earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from hybrid.base.sentence import sentence
from hybrid.evaluation.measure import Direction
from hybrid.publication.actions import NoiseName
from hybrid.publication.composition import Exposure
from hybrid.publication.rules.rule import Facts, JudgedNumber, PolicyRule, RuleKind, limited, missing
from hybrid.publication.table_facts import ROUNDED_TO, few
from hybrid.publication.verdict import Check


class HistoryRule(PolicyRule):
    """Limit on joint disclosure with all earlier releases of the data set."""

    quantity: Literal["exposed_share", "smallest_joint_class"]
    """exposed_share: share (0..1) of the records whose joint class (:mod:`hybrid.publication.composition`) has fewer
    than k records; smallest_joint_class: records in the smallest."""

    @property
    def better(self) -> Direction:
        return "lower" if self.quantity == "exposed_share" else "higher"


class HistoryRules(RuleKind[HistoryRule]):
    """Limits on the joint exposure of all releases."""

    section = "history"
    description = "Rules about all releases together; applied when a run is published."
    Options = HistoryRule
    judges_run = False

    def judge(self, rule: HistoryRule, facts: Facts) -> Iterator[Check]:
        # Nothing before publishing.
        if facts.exposure is not None:
            lacks = facts.lacks_anonymization(rule) if facts.anonymization is None else None
            yield _check(rule, facts.exposure, lacks)

    def under_noise(self, rule: HistoryRule) -> tuple[tuple[NoiseName, ...], str]:  # noqa: ARG002 - of every quantity
        return (), "release less often, or judge differentially private tables by a policy without this rule"


def _check(rule: HistoryRule, exposure: Exposure | str, lacks: str | None) -> Check:
    if isinstance(exposure, str):
        return missing(rule, sentence("together.unknown", reason=exposure), lacks)
    earlier = exposure.releases - 1
    releases = sentence("together", n=earlier) if earlier else sentence("alone")
    match rule.quantity:
        case "exposed_share":
            share = exposure.exposed_share
            if exposure.exposed >= ROUNDED_TO:
                words = sentence("exposed.percent", releases=releases, n=float(100 * share), k=exposure.k)
            else:
                words = sentence("exposed", releases=releases, n=few(exposure.exposed), k=exposure.k)
            counts = few(exposure.exposed), few(exposure.records), few(exposure.departed)
            details = sentence("details.exposed", k=exposure.k, n=counts[0], of=counts[1], departed=counts[2])
            return limited(rule, JudgedNumber(share, words, details, 100, "percent"))
        case "smallest_joint_class":
            n = exposure.smallest
            words = sentence("smallest_joint", releases=releases, n=n)
            return limited(rule, JudgedNumber(n, words, sentence("details.smallest_joint", n=n)))
