"""Rules between columns: declared constraints, and gaps between the dates of a row."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from hybrid.base.arrays import Mask, Numbers
from hybrid.base.sentence import sentence
from hybrid.constraints import Redrawn
from hybrid.constraints.gaps import gaps, ties
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import share_interval, simultaneous
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.fidelity.histories import ks_distance
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Table
from hybrid.table.holders import n_distinct

ROUNDED_TO = 10
"""Real rows are counted in steps of this, rounded up, so that no single person shows."""


def row_share(rows: Mask, *, real: bool) -> float:
    """Share (0..1) of rows that are True; of real ones rounded up."""
    count = int(rows.sum())
    shown = min(ROUNDED_TO * math.ceil(count / ROUNDED_TO), len(rows)) if real else count
    return shown / max(len(rows), 1)


@dataclass(frozen=True)
class TiedDates:
    """Gaps between two dates of a table's rows, beside the training records'; shares or distances, 0..1.

    A row is out of order where its dates are the other way round than in most training records.
    """

    first: str
    second: str
    distance: float
    low: float
    high: float
    out_of_order: float
    out_of_order_real: float
    equal: float
    equal_real: float


def gaps_between_dates(context: Context) -> Outcome:
    """Kolmogorov-Smirnov distance of the gaps between two dates, 0..1.

    Of all tied pairs of a row, the one whose interval has the highest low end. Tied are dates or times of the training
    records whose gaps spread at most a quarter as far as the dates do (:func:`hybrid.constraints.gaps.ties`), whether
    the configuration declares them or not. The interval is that of two samples (Massart 1990), as large as they have
    people, and holds for all pairs together (Sidak). The reference is the largest distance of control.
    """
    pairs = context.once_for_all_stages("ties", lambda: ties(context.train))
    if not pairs:
        return NotComputable("no two dates or times of a row lie close together", lacks="tied_dates")
    level = simultaneous(context.options.confidence, len(pairs))
    real = context.stage == "original"
    found = [_compared(context.train, context.table, pair, level, real=real) for pair in pairs]
    worst = max(found, key=lambda one: (one.low, one.distance))
    control = context.control
    reference = None
    if control is not None and len(control):
        reference = context.once_for_all_stages(
            "gaps_between_dates",
            lambda: max(_compared(context.train, control, pair, level, real=True).distance for pair in pairs),
        )
    details = {"pairs": [asdict(one) for one in found], "interval": f"simultaneous over {len(found)}"}
    return Measure(worst.distance, worst.low, worst.high, reference, len(context.table), details, together=len(found))


def _compared(train: Table, table: Table, pair: tuple[str, str], level: float, *, real: bool) -> TiedDates:
    before, after = gaps(train, *pair), gaps(table, *pair)
    error = _error(train, before, level) + _error(table, after, level)
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    distance = ks_distance(before, after)
    distance = 1.0 if distance is None else distance
    back = 1.0 if (before > 0).sum() >= (before < 0).sum() else -1.0
    shares = [row_share(back * after < 0, real=real), row_share(back * before < 0, real=True)]
    shares += [row_share(after == 0, real=real), row_share(before == 0, real=True)]
    return TiedDates(*pair, distance, max(distance - error, 0.0), min(distance + error, 1.0), *shares)


def _error(table: Table, found: Numbers, level: float) -> float:
    """Half width of a distribution function's band (Massart 1990), at half of the error that the level leaves."""
    known = ~np.isnan(found)
    people = n_distinct(table.persons[known])
    return math.sqrt(math.log(4 / (1 - level)) / (2 * people)) if people else 1.0


def constraint_violations(context: Context) -> Outcome:
    """Share (0..1) of the rows that break a declared constraint.

    Reference: of the training records. The details have the same share for each rule. Counts of real rows are rounded
    up to tens. A combination of values counts as broken unless enough training persons hold it. A row without the
    values that a rule needs does not break it. Of the synthetic table the details also have the share of the
    generator's draws that were thrown out, and of the records that it did not learn from, since they break rules.
    """
    rules = context.making.rules
    if not rules:
        return NotComputable("no constraint between columns is declared", lacks="constraints")
    unjudged = tuple(constraint.sentence for constraint in rules.unjudged(context.table))
    if unjudged:
        return NotComputable(sentence("metric.no_persons", rules=unjudged))
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
        {"rules": shares} | _gone(context.making.redrawn),
    )


def _gone(redrawn: Redrawn | None) -> dict[str, float]:
    """Shares of draws and of records that were thrown out; of real records full tens count."""
    if redrawn is None:
        return {}
    left_out = ROUNDED_TO * (redrawn.left_out // ROUNDED_TO) / max(redrawn.records, 1)
    return {"draws_thrown_out": redrawn.thrown_rate, "records_left_out": left_out}


METRICS = (
    fidelity(
        gaps_between_dates,
        "How far the time between two dates of a row, such as a stay, is from the real one, at worst.",
    ),
    fidelity(constraint_violations, "The share of rows that break a declared constraint between columns.", copy=None),
)
