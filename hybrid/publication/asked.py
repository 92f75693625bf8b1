"""Metrics that a run computes: what its policy judges, and what the first page shows."""

from __future__ import annotations

from hybrid.base.sentence import sentence
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.metric import SWITCHED, Metric
from hybrid.evaluation.options import EVERY, EvaluateOptions
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.publication.guarantee import WHITE_BOX
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.verdict import REPEATED
from hybrid.table import Role, Table

REFERENCES = ("orphans", "children_per_parent", "parent_child_association")
"""Metrics of the references between linked tables, which the joint page of these states."""
SHOWN = frozenset((*(name for name, metric in REGISTRY.items() if metric.headline), *REPEATED, WHITE_BOX, *REFERENCES))
"""Metrics that a report's first page, a certificate and the improvement over the baseline state whatever is judged."""


def asked_by(policy: Policy) -> frozenset[str]:
    """Names of the metrics that a run under a policy is for: what its rules judge, and what is shown."""
    return SHOWN.union(*(rule.judged_metrics for rule in policy.all_rules))


def ways_to_ask() -> dict[str, str]:
    """Value of ``evaluate.also`` that asks for a metric, by its name.

    Empty for metrics that a run under the default policy computes anyway, or that another section switches on.
    """
    anyway = asked_by(load_policy())
    ways = {}
    for name, metric in REGISTRY.items():
        needed = name not in anyway and not SWITCHED.keys() & set(metric.needs)
        ways[name] = "its name" if not metric.by_default else "all, or its name" if needed else ""
    return ways


def asked(policy: Policy | None, options: EvaluateOptions) -> list[Metric]:
    """Metrics that a run computes, in the order of the registry.

    Parameters
    ----------
    policy : Policy or None
        Its rules ask for what they judge; None: no verdict comes of the run, which is compared with others by every
        default metric.
    options : EvaluateOptions
        ``metrics`` names all; else ``families`` restricts them, and ``also`` and the sections that switch metrics on
        add others.
    """
    return metrics_of(options, None if policy is None else asked_by(policy))


def not_asked(policy: Policy | None, options: EvaluateOptions, table: Table) -> str:
    """Sentence on the default metrics that were not asked for; empty where all were.

    Empty, too, where the configuration itself names all metrics. Metrics that need what the table does not have are
    not named.
    """
    if options.metrics is not None:
        return ""
    known = {
        "persons": not table.rows_are_persons,
        "order": table.schema.order is not None,
        "weight": bool(table.schema.having(Role.WEIGHT)),
    }
    done, everything = set(asked(policy, options)), metrics_of(options.model_copy(update={"also": EVERY}))
    left_out = [one.name for one in everything if one not in done and all(known.get(need, True) for need in one.needs)]
    if not left_out:
        return ""
    return sentence("not_computed", metrics=tuple(left_out))
