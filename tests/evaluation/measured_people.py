"""Every metric measured on simulated people, and what the results say of a leak."""

from __future__ import annotations

import numpy as np

from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, Measure, NotComputable, evaluate
from hybrid.table import Table

FAST = EvaluateOptions(attacks=200, secrets=("illness", "cost", "admitted"), singling_out_columns=(3, 5))


LACKING = {
    *("copied_identifiers", "copied_digits", "constraint_violations", "gaps_between_dates", "orphans"),
    "lost_prediction",
} | {
    name
    for name, metric in REGISTRY.items()
    if {"persons", "order", "weight", "parents", "trainings", "model"} & set(metric.needs)
}
"""Metrics for what these people lack: columns that name single records, numbers with many digits, constraints,
dates that lie close together, rows, weights, parents, columns that the others predict well, how their table was
made, and the model that made it."""


def run(
    train: Table, control: Table | None, table: Table, options: EvaluateOptions = FAST, seed: int = 1
) -> Evaluation:
    """Every metric but those for what these people lack."""
    found = evaluate(train, control, {"synthetic": table}, options, np.random.default_rng(seed))
    return Evaluation(tuple(metric for metric in found.metrics if metric.name not in LACKING))


def value(evaluation: Evaluation, name: str, column: str | None = None) -> Measure:
    found = evaluation.find(name, "synthetic", column)
    assert found is not None
    assert isinstance(found.outcome, Measure), (name, found.outcome)
    return found.outcome


def differences(evaluation: Evaluation) -> dict[tuple[str, str | None], bool]:
    """Whether each control-differenced risk is within its interval of no leak."""
    covered = {}
    for result in evaluation.metrics:
        outcome, no_leak = result.outcome, REGISTRY[result.name].no_leak
        if isinstance(outcome, NotComputable):
            continue
        details = outcome.details
        interval = details.get("excess_interval") or details.get("difference_interval") or details.get("risk_interval")
        if interval is None and no_leak is not None and outcome.low is not None and outcome.high is not None:
            interval = [outcome.low - no_leak, outcome.high - no_leak]
        if interval is not None and result.family == "privacy":
            covered[result.name, result.column] = interval[0] - 1e-9 <= 0 <= interval[1] + 1e-9
    return covered
