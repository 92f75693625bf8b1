"""Rules about all releases of a data set together.

This release and all earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from hybrid.evaluation.measure import Direction
from hybrid.publication.composition import Exposure
from hybrid.publication.rules.rule import Facts, Found, Rule, RuleKind, limited, missing, text_of
from hybrid.publication.verdict import Check


class HistoryRule(Rule):
    """Limit on joint disclosure with all earlier releases of the data set."""

    quantity: Literal["exposed_share", "smallest_joint_class"]
    """exposed_share: share (0..1) of the records whose joint class (:mod:`hybrid.publication.composition`) has fewer
    than k records; smallest_joint_class: records in the smallest."""

    @property
    def better(self) -> Direction:
        """Direction in which numbers are better, lower or higher."""
        return "lower" if self.quantity == "exposed_share" else "higher"


class HistoryRules(RuleKind[HistoryRule]):
    """Limits on the joint exposure of all releases."""

    section = "history"
    description = "Rules about all releases together; applied when a run is published."
    Options = HistoryRule
    judges_run = False

    def judge(self, rule: HistoryRule, facts: Facts) -> Iterator[Check]:
        """Compare one quantity of the joint exposure with the limits.

        Nothing before publishing.
        """
        if facts.exposure is not None:
            yield _check(rule, facts.exposure, "anonymization" if facts.anonymization is None else None)


def _check(rule: HistoryRule, exposure: Exposure | str, lacks: str | None) -> Check:
    if isinstance(exposure, str):
        return missing(rule, f"this and all earlier releases together: {exposure}", lacks)
    together = f"this and the {exposure.releases - 1} earlier releases together" if exposure.releases > 1 else "alone"
    match rule.quantity:
        case "exposed_share":
            share = exposure.exposed_share
            words = (
                f"records in joint classes of fewer than k = {exposure.k}, {together}: {text_of(share)} "
                f"({exposure.exposed} of {exposure.records}, {exposure.departed} of them no longer in the source)"
            )
            return limited(rule, Found(share, words))
        case "smallest_joint_class":
            return limited(rule, Found(exposure.smallest, f"smallest joint class, {together}: {exposure.smallest}"))
