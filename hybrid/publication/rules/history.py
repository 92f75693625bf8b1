"""Rules about all releases of a data set together.

This release and all earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from hybrid.evaluation.measure import Direction
from hybrid.publication.actions import NoiseName
from hybrid.publication.composition import Exposure
from hybrid.publication.rules.rule import Facts, JudgedNumber, PolicyRule, RuleKind, limited, missing, text_of
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
            yield _check(rule, facts.exposure, "anonymization" if facts.anonymization is None else None)

    def under_noise(self, rule: HistoryRule) -> tuple[tuple[NoiseName, ...], str]:  # noqa: ARG002 - of every quantity
        return (), "release less often, or judge differentially private tables by a policy without this rule"


def _check(rule: HistoryRule, exposure: Exposure | str, lacks: str | None) -> Check:
    if isinstance(exposure, str):
        return missing(rule, f"what this and all earlier releases give away together: {exposure}", lacks)
    earlier = exposure.releases - 1
    together = (
        f"this and {earlier} earlier {'releases' if earlier > 1 else 'release'} together"
        if earlier
        else "this release alone"
    )
    match rule.quantity:
        case "exposed_share":
            share = exposure.exposed_share
            some = f"{text_of(100 * share)} % of the" if exposure.exposed >= ROUNDED_TO else few(exposure.exposed)
            words = f"By {together}, {some} records are in groups of fewer than {exposure.k}"
            details = (
                f"in joint classes of fewer than k = {exposure.k}: {few(exposure.exposed)} of "
                f"{few(exposure.records)}, {few(exposure.departed)} of them no longer in the source"
            )
            return limited(rule, JudgedNumber(share, words, details, 100, " %"))
        case "smallest_joint_class":
            words = f"By {together}, the smallest group of records that look alike has {exposure.smallest}"
            return limited(rule, JudgedNumber(exposure.smallest, words, f"smallest joint class: {exposure.smallest}"))
