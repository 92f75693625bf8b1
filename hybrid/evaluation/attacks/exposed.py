"""Attacks on the most exposed records and subgroups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.attacks import inference
from hybrid.evaluation.attacks.membership import scores
from hybrid.evaluation.attacks.outcome import Attack, attacked_people, worst
from hybrid.evaluation.attacks.subgroups import LEAST_UNSEEN, Group, queried, queried_in_full
from hybrid.evaluation.attacks.vulnerability import OUTLIERS, Ranking, most_exposed, rankings, vulnerability
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.intervals import auc, auc_intervals, simultaneous
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

LISTED = 20
"""Subgroups listed in details."""
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99)


class Exposed(NamedTuple):
    """The people least like others by one ranking, among the queried records.

    ``share`` of the people in 0..1; ``train``, ``control``, shape (n_asked,), bool.
    """

    ranking: Ranking
    share: float
    train: Mask
    control: Mask

    @property
    def name(self) -> str:
        """Such as ``1 % by size``."""
        return f"{100 * self.share:.3g} % by {self.ranking}"


def exposed(context: Context, unseen: int) -> list[Exposed]:
    """The most exposed 5 % and 1 % by each ranking, of training people and of people never seen.

    The shares are the same on both sides, and each is large enough for ``min_cell`` training people and ``unseen``
    people never seen: one share where these are too few, none where there are not so many people.
    """
    parts, least = (context.whole("train"), context.whole("control")), (context.options.min_cell, unseen)
    enough = max(few / max(_persons(context, part), 1) for part, few in zip(parts, least, strict=True))
    shares = sorted({max(share, enough) for share in OUTLIERS if enough <= 1})
    return [
        Exposed(ranking, share, *(most_exposed(context, share, part, ranking) for part in parts))
        for ranking in rankings(context)
        for share in shares
    ]


def _persons(context: Context, part: Part) -> int:
    """Number of people among the queried records."""
    rows = context.asked(part).rows
    return len(np.unique(context.persons(part.role)[rows])) if context.has_persons(part.role) else len(rows)


def _too_few(least: int, unseen: int) -> NotComputable:
    return NotComputable(f"fewer than {least} training people or {unseen} people never seen", "too_few")


def _vulnerabilities(context: Context) -> dict[str, Any]:
    """Vulnerability of the training records, in quantiles.

    No single record's vulnerability is given.
    """
    values = np.quantile(vulnerability(context, context.whole("train")), QUANTILES)
    return {"quantiles": list(QUANTILES), "vulnerability": [float(value) for value in values]}


def membership_exposed(context: Context) -> Outcome:
    """``membership`` on the people least like others.

    The attack is on 5 % or 1 % of the people, those least like others by each ranking of
    :func:`hybrid.evaluation.attacks.vulnerability.ranked`: direction, size, distance and isolation. Members and
    non-members are chosen by the same rule and in the same share. The ranking and share with the highest lower bound
    are given; bounds hold for all of them at once (Sidak).
    """
    members, others = scores(context)
    groups = exposed(context, LEAST_UNSEEN)
    if not groups:
        return _too_few(context.options.min_cell, LEAST_UNSEEN)
    asked, unseen = context.asked_people
    intervals = auc_intervals(
        [(members[one.train], others[one.control]) for one in groups],
        [simultaneous(context.options.confidence, len(groups))] * len(groups),
        [context.clusters(asked[one.train], unseen[one.control]) for one in groups],
    )
    attacks = list(zip(intervals, groups, strict=True))
    (value, low, high), worst_of = max(attacks, key=_low_end)
    details = {
        "advantage": 2 * value - 1,
        "non_members": int(worst_of.control.sum()),
        "share": worst_of.share,
        "ranking": worst_of.ranking,
        "groups": {one.name: list(interval) for interval, one in attacks},
        **_vulnerabilities(context),
    }
    if context.options.paper:  # The thesis attacks outliers among members, but anybody among the others (METRICS B6).
        _, printed = max((one for one in attacks if one[1].ranking == groups[0].ranking), key=_low_end)
        details["paper"] = {"AUC": auc(members[printed.train], others)}
    n, number = int(worst_of.train.sum()), len(groups)
    parts = {
        one.name: Measure(*interval, 0.5, int(one.train.sum()), {"part": one.name}, together=number).above(0.5)
        for interval, one in attacks
    }
    return Measure(value, low, high, 0.5, n, details, together=number, parts=parts).above(0.5)


def _low_end(attack: tuple[tuple[float, float, float], Exposed]) -> float:
    return attack[0][1]


class Subgroup(NamedTuple):
    """Membership AUC of one subgroup."""

    column: str
    group: str
    members: int
    value: float
    low: float
    high: float
    together: int


def membership_subgroups(context: Context) -> Outcome:
    """``membership`` AUC of the subgroup with the highest lower bound.

    Bounds hold for all subgroups at once (Sidak). Subgroups: categories, quarters of numbers and dates, people rare on
    their quasi-identifiers, and two of these together; only those with at least ``min_cell`` members and 10 others.
    Where searches query a sample of a large table, subgroups that it holds few of are attacked in full
    (:func:`~.subgroups.in_full`).
    """
    least = context.options.min_cell
    attacked = [
        one for one in _attacked_groups(context) if len(one.members) >= least and len(one.others) >= LEAST_UNSEEN
    ]
    if not attacked:
        return NotComputable(f"no subgroup has {least} members and {LEAST_UNSEEN} people never seen", "too_few")
    together = _together([one.kind for one in attacked])
    levels = [simultaneous(context.options.confidence, parts) for parts in together]
    intervals = auc_intervals(
        [(one.members, one.others) for one in attacked],
        [levels[one.kind] for one in attacked],
        [one.persons for one in attacked],
    )
    rows = [
        Subgroup(one.group.column, one.group.label, len(one.members), *interval, together[one.kind])
        for one, interval in zip(attacked, intervals, strict=True)
    ]
    rows.sort(key=lambda row: (-row.low, row.column, row.group))
    details = {
        "groups": len(rows),
        "in_full": sum(one.in_full for one in attacked),
        "most_exposed": [row._asdict() for row in rows[:LISTED]],
        "interval": f"simultaneous over {len(rows)}",
    }
    top = rows[0]
    parts = {}
    for row in rows:
        interval, named = (row.value, row.low, row.high), {"column": row.column, "group": row.group}
        one = Measure(*interval, 0.5, row.members, named, together=row.together)
        parts[f"{row.column} {row.group}"] = one.above(0.5)
    return Measure(top.value, top.low, top.high, 0.5, top.members, details, None, top.together, parts).above(0.5)


class AttackedGroup(NamedTuple):
    """Membership scores of a subgroup's members and people never seen."""

    group: Group
    kind: int
    members: Array
    others: Array
    persons: tuple[Array, Array] | None
    in_full: bool


def _attacked_groups(context: Context) -> list[AttackedGroup]:
    """Every subgroup, by the queried records or in full."""
    people, whole = queried_in_full(context)
    full = {one.group.name: one for one in whole}
    sides = {False: scores(context)}
    if full:
        sides[True] = scores(context, people)
    found = []
    for sampled in queried(context):
        in_full = sampled.group.name in full
        one, (members, others) = full.get(sampled.group.name, sampled), sides[in_full]
        scored = members[one.train], others[one.control]
        found.append(AttackedGroup(one.group, one.kind, *scored, one.persons, in_full))
    return found


def _together(kinds: list[int]) -> tuple[int, int]:
    """Numbers of simultaneous intervals, by one and by two columns.

    Each of the two kinds has half of the total error, so its intervals count twice.
    """
    return 2 * kinds.count(0), 2 * kinds.count(1)


def _recovered(context: Context, only: inference.Only | None = None) -> dict[str, tuple[Array, Array]]:
    """Probability of a right guess of each secret, per queried record.

    For training and control records; NaN for those that are not among ``only``.
    """
    found = {}
    for secret, (*both, at) in inference.guesses(context, only=only).items():
        sides = [inference.expected(side)[:, at] for side in both]
        if only is not None:
            for side, (values, mask) in enumerate(zip(sides, only, strict=True)):
                sides[side] = np.full(len(mask), np.nan)
                sides[side][mask] = values
        found[secret] = (sides[0], sides[1])
    return found


def _attack(
    context: Context, recovered: tuple[Array, Array], chosen: tuple[Array, Array], asked_people: tuple[Array, Array]
) -> Attack | NotComputable:
    """The attack on the chosen among the queried records."""
    (train, control), (mine, its), (asked, unseen) = recovered, chosen, asked_people
    return attacked_people(context, train[mine], control[its], (asked[mine], unseen[its]))


def inference_exposed(context: Context) -> Outcome:
    """Largest ``inference`` risk of the people least like others.

    The largest over all secrets, of the 5 % or 1 % of the people least like others by each ranking. Chosen as for
    :func:`membership_exposed`; the interval holds for all secrets, rankings and shares at once (Sidak).
    """
    if not inference.attackable(context):
        return NotComputable("no secret varies")
    least = context.options.min_cell  # Ten people never seen are enough for an AUC, not for a rate of right guesses.
    groups = exposed(context, least)
    if not groups:
        return _too_few(least, least)
    anybody = np.logical_or.reduce([one.train for one in groups]), np.logical_or.reduce([one.control for one in groups])
    recovered = _recovered(context, anybody)
    attacks = {
        f"{secret}, {one.name}": _attack(context, both, (one.train, one.control), context.asked_people)
        for one in groups
        for secret, both in recovered.items()
    }
    return worst(attacks, "secret", context.options.confidence, context.options.paper)


def inference_subgroups(context: Context) -> Outcome:
    """``inference`` risk of the most exposed subgroup and secret.

    It is the pair with the highest lower bound; bounds are simultaneous (Sidak). Of the declared secrets (the targets,
    if there are none). Subgroups as for :func:`membership_subgroups`, but not by the secret itself; at least
    ``min_cell`` training and 10 control records.
    """
    least = context.options.min_cell
    chosen = [one for one in queried(context) if len(one.train) >= least and len(one.control) >= LEAST_UNSEEN]
    asked, declared = context.asked_people, set(context.declared_secrets)
    attacks = {
        (secret, *one.group.name, one.kind): _attack(context, both, (one.train, one.control), asked)
        for secret, both in _recovered(context).items()
        for one in chosen
        if secret in declared and secret not in one.group.columns
    }
    made = {name: attack for name, attack in attacks.items() if isinstance(attack, Attack)}
    if not declared:
        return NotComputable("no secret column is declared", lacks="secret")
    if not made:
        return NotComputable(f"no subgroup has {least} training and {LEAST_UNSEEN} control records", "too_few")
    together = _together([name[3] for name in made])
    levels = [simultaneous(context.options.confidence, number) for number in together]
    rows = {name: replace(attack, confidence=levels[name[3]]).measure() for name, attack in made.items()}
    ordered = sorted(rows, key=lambda name: (-_low(rows[name]), name))
    listed = [
        {"secret": name[0], "column": name[1], "group": name[2], "members": made[name].n_train}
        | {"value": made[name].measure().value, "low": rows[name].low, "high": rows[name].high}
        for name in ordered[:LISTED]
    ]
    top, value = rows[ordered[0]], made[ordered[0]].measure().value
    details = {"groups": len(rows), "most_exposed": listed, "interval": f"simultaneous over {len(rows)}"}
    number = together[ordered[0][3]]
    parts = {}
    for name, row in rows.items():
        assert row.unshrunk is not None
        named = {"secret": name[0], "column": name[1], "group": name[2]}
        one = Measure(*row.unshrunk, 0.0, made[name].n_train, named, together=together[name[3]])
        parts[" ".join(map(str, name[:3]))] = one.above(0.0)
    return Measure(value, top.low, top.high, 0.0, top.n, details, together=number, parts=parts).above(0.0)


def _low(measure: Measure) -> float:
    return measure.value if measure.low is None else measure.low


METRICS = (
    attack(
        membership_exposed,
        "membership",
        "How well an attacker can find out who was in the training data, among the people least like any other.",
        copy=1.0,
        printed=("AUC",),
    ),
    attack(
        membership_subgroups,
        "membership",
        "How well an attacker can find out who was in the training data, in the subgroup most at risk.",
        copy=1.0,
    ),
    attack(
        inference_exposed,
        "inference",
        "How much more often the most exposed secret is guessed right of training people who are least like any "
        "other than of people never seen.",
        copy=1.0,
        printed=("risk",),
    ),
    attack(
        inference_subgroups,
        "inference",
        "How much more often a secret is guessed right of training people than of people never seen, in the "
        "subgroup most at risk.",
        copy=1.0,
    ),
)
