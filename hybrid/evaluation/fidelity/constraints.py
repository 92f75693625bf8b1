"""Violations of the declared constraints between columns."""

from __future__ import annotations

from hybrid.constraints import Redrawn
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import share_interval
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.fidelity.row_shares import ROUNDED_TO, row_share
from hybrid.evaluation.measure import Measure, NotComputable, Outcome


def constraint_violations(context: Context) -> Outcome:
    """Share (0..1) of the rows that break a declared constraint.

    Reference: of the training records. The details have the same share for each rule. Counts of real rows are rounded
    up to tens. A combination of values counts as broken unless enough training persons hold it. A row without the
    values that a rule needs does not break it. Of the synthetic table the details also have the share of the
    generator's draws that were thrown out, and of the records that it did not learn from, since they break rules.
    """
    rules = context.rules
    if not rules:
        return NotComputable("no constraint between columns is declared", lacks="constraints")
    unjudged = [constraint.sentence for constraint in rules.unjudged(context.table)]
    if unjudged:
        return NotComputable(f"its rows are not linked to persons, and constraints need that: {'; '.join(unjudged)}")
    real = context.stage == "original"
    shares = {rule.constraint.sentence: row_share(mask, real=real) for rule, mask in rules.masks(context.table)}
    value, n = row_share(rules.broken(context.table), real=real), len(context.table)
    low, high = share_interval(value, n, context.options.confidence)
    return Measure(
        value,
        low,
        high,
        row_share(rules.broken(context.train), real=True),
        n,
        {"rules": shares} | _gone(context.redrawn),
    )


def _gone(redrawn: Redrawn | None) -> dict[str, float]:
    """Shares of draws and of records that were thrown out; of real records full tens count."""
    if redrawn is None:
        return {}
    left_out = ROUNDED_TO * (redrawn.left_out // ROUNDED_TO) / max(redrawn.records, 1)
    return {"draws_thrown_out": redrawn.thrown_rate, "records_left_out": left_out}


METRICS = (
    fidelity(constraint_violations, "The share of rows that break a declared constraint between columns.", copy=None),
)
