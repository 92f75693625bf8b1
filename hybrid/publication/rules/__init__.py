"""Registry of rule kinds: one file per kind, one line here."""

from typing import Any

from hybrid.publication.rules.anonymity import AnonymityRules
from hybrid.publication.rules.history import HistoryRules
from hybrid.publication.rules.metric import MetricRules
from hybrid.publication.rules.rule import RuleKind

KINDS: dict[str, RuleKind[Any]] = {
    kind.section: kind
    for kind in (
        AnonymityRules(),
        HistoryRules(),
        MetricRules(),
    )
}
"""Every kind by its section of the policy, in the order in which they are judged."""
