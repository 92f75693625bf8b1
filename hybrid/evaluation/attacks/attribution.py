"""Targeted correct attribution (GTCAP) and hitting rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import attacked
from hybrid.evaluation.context import Context, Part, Role
from hybrid.evaluation.engine.counting import matching
from hybrid.evaluation.engine.intervals import (
    Rate,
    exact_share_interval,
    failure_ratio,
    independent_attempts,
    quantile,
    risk,
    share_interval,
)
from hybrid.evaluation.engine.space import Space, gower
from hybrid.evaluation.families import attack, indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

HIT_SHARE = 1 / 30
"""Numbers within this share of the range hit (SynthEval)."""


class Attribution(NamedTuple):
    """Mean TCAP of rows that match a record, with half width.

    The half width is about the people attacked: the table is given.
    """

    rate: Rate
    coverage: float
    matched: int


def _attribution(context: Context, keys: Array, secret: int, people: Part) -> Attribution:
    radius, train = context.options.radius, [context.encoded("train")]
    known, all_of_it = (gower(context.encoding, columns, train) for columns in (keys, np.append(keys, secret)))
    table, attacked = (context.encoded(part.role).take(part.rows) for part in (context.whole("table"), people))

    def counts(space: Space, weights: Array | None = None) -> Array:
        return matching(space.place(table), space.place(attacked), radius, weights)

    found, agreeing = counts(known), counts(all_of_it)
    hit = found > 0
    if not hit.any():
        return Attribution(Rate(0.0, 0.0), 0.0, 0)
    share = np.divide(agreeing, found, out=np.zeros_like(agreeing), where=hit)
    mean, matched = float(share[hit].mean()), int(hit.sum())
    # What leaving one person out does to the mean: other shares, or one matched row fewer (the jackknife).
    others = np.maximum(found - 1, 1)
    weights = np.where(hit, np.stack([np.where(found > 1, share, mean) / others, 1 / others]), 0.0)
    less, more = (
        matching(space.place(attacked), space.place(table), radius, weight)
        for space, weight in zip((known, all_of_it), weights, strict=True)
    )
    error = float(np.sqrt((((more - less) / matched) ** 2).sum()))
    return Attribution(Rate(mean, quantile(context.options.confidence) * error), float(hit.mean()), matched)


def _average(parts: list[Attribution]) -> Attribution:
    """Mean over parts of a table.

    Each part has other people, attacked by the same rows.
    """
    made = [part for part in parts if part.matched]
    if not made:
        return parts[0]
    mean = float(np.mean([part.rate.value for part in made]))
    error = float(np.sqrt(np.sum([part.rate.error**2 for part in made]))) / len(made)
    return Attribution(Rate(mean, error), float(np.mean([part.coverage for part in parts])), made[0].matched)


def _is_chance(matched: int, confidence: float) -> bool:
    """True if so many rows match training records by chance.

    And none a control record: a match is then one of either with the same probability (exact bounds of Clopper and
    Pearson).
    """
    return exact_share_interval(matched, matched, confidence)[0] <= 1 / 2


def keys_of(context: Context, secret: str) -> Array:
    """Positions of the quasi-identifiers but the secret.

    Of all other columns, if there are none.
    """
    names = [name for name in context.schema.quasi_identifiers if name != secret]
    chosen = context.encoding.positions(names)
    if len(chosen):
        return chosen
    return context.encoding.positions([name for name in context.encoding.names if name != secret])


def gtcap(context: Context, column: str) -> Outcome:
    """Generalized targeted correct attribution probability, in excess of control (METRICS B8, B9).

    For every row of the table: among the training records with the same keys (categories equal, numbers within
    ``radius`` of train's range), the share that also has the row's secret; averaged over the rows that match anyone.
    Train and control are cut to the same size.
    Keys are the quasi-identifiers (every other column, if there are none). Risk = (T - C)/(1 - C), at most 1; the
    interval is the wider of the propagated one and that of Donner and Zou for as many people as matched (see
    :func:`hybrid.evaluation.engine.intervals.failure_ratio`), which holds where few of them are not told right.
    """
    if column not in context.encoding.names:
        return NotComputable("the secret is constant or names single records")
    keys, secret = keys_of(context, column), context.encoding.names.index(column)
    if not len(keys):
        return NotComputable("there is no other column to attack with")
    pairs = context.parts(("train", "control"))
    train, control = (
        _average(
            [_attribution(context, keys, secret, part) for part in {pair[i].key: pair[i] for pair in pairs}.values()]
        )
        for i in range(2)
    )
    if not train.matched or (not control.matched and _is_chance(train.matched, context.options.confidence)):
        return NotComputable("no more rows match a training record on the keys than chance explains", lacks="matches")
    if not control.matched:
        return NotComputable("no row of the table matches a record of people never seen on the keys", "too_few")
    excess = risk(train.rate, control.rate)
    if excess is None:
        return NotComputable("people never seen are attributed correctly every time", lacks="headroom")
    people = min(len(pairs[0][0].rows), len(pairs[0][1].rows))
    counts = [min(side.matched, people) for side in (train, control)]
    least, most = failure_ratio(
        (train.rate.value * counts[0], counts[0]),
        (control.rate.value * counts[1], counts[1]),
        context.options.confidence,
    )
    excess = excess._replace(low=min(excess.low, 1 - most), high=max(excess.high, 1 - least))
    details: dict[str, object] = {
        "train": train.rate.value,
        "control": control.rate.value,
        "coverage": train.coverage,
        "control_coverage": control.coverage,
        "keys": [context.encoding.names[i] for i in keys],
    }
    if context.options.paper:  # Without control.
        details["paper"] = {"TCAP": train.rate.value}
    return Measure(excess.value, excess.low, excess.high, 0.0, train.matched, details).above(0.0)


def hitting_rate(context: Context) -> Outcome:
    """Share of training records that some row hits.

    A hit has the same categories, and numbers within 1/30 of train's range (SynthEval). Each record counts once, 0..1.
    The reference is the share of control records hit; ``details["risk"]`` is (T - C)/(1 - C). Where all control records
    are hit, near copies tell nothing of training.
    """
    space = gower(context.encoding, tables=[context.encoded("train")])
    rows = space.place(context.encoded("table"))

    def hits(role: Role) -> tuple[Array, float, float]:
        asked = context.asked(context.whole(role)).rows
        found = matching(space.place(context.encoded(role).take(asked)), rows, HIT_SHARE)
        hit, persons = found > 0, context.persons(role)[asked]
        worth = independent_attempts(hit, persons) if context.has_persons(role) else float(len(asked))
        return hit, worth, float(found.mean())

    (train, worth, pairs), (control, worth_control, _) = hits("train"), hits("control")
    confidence, sides = context.options.confidence, (float(train.sum()), float(control.sum()))
    independent = (worth, worth_control) if context.has_persons("train") else None
    attack = attacked(*sides, len(train), len(control), confidence, independent=independent)
    if isinstance(attack, NotComputable):
        return attack
    told = attack.measure()
    low, high = share_interval(float(train.mean()), worth, confidence)
    details: dict[str, object] = {"risk": told.value, "risk_interval": [told.low, told.high]}
    if context.options.paper:  # PrivEval counts pairs.
        details["paper"] = {"HitR": pairs}
    counted = float(control.mean()), len(train), details, told.excess
    return Measure(float(train.mean()), low, high, *counted, unshrunk=told.unshrunk)


METRICS = (
    attack(
        gtcap,
        "inference",
        "How much more often rows with a person's quasi-identifiers show the secret of training people than of "
        "people never seen.",
        per="secret",
        mechanism="uniqueness",
        knows="quasi-identifiers",
        printed=("TCAP",),
    ),
    indicator(
        hitting_rate,
        "The share of training people of whom the table has a near copy.",
        unit="share of people",
        printed=("HitR",),
    ),
)
