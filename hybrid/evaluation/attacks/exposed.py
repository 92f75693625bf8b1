"""Attacks on the most exposed records and on subgroups of people, by one column and by two."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks import inference, shared_cells
from hybrid.evaluation.attacks.membership import People, scores
from hybrid.evaluation.attacks.outcome import Attack, attacked_people, worst
from hybrid.evaluation.attacks.vulnerability import OUTLIERS, Ranking, most_exposed, rankings, vulnerability
from hybrid.evaluation.context import PEOPLE, Context, Part, Role
from hybrid.evaluation.engine.encoding import in_parts, part_edges, ranks_of, row_keys
from hybrid.evaluation.engine.intervals import auc, auc_intervals, numbered, simultaneous
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table.cells import MISSING, PART_BY_SIZE, SHARED_WITH_FEWER, UNSHARED
from hybrid.table.holders import n_distinct

BINS = 4
CROSSED = 12
"""Columns that are crossed with each other at most."""
RARE = 5
"""Records with fewer others like them on the quasi-identifiers form a subgroup of their own."""
LEAST_UNSEEN = 10
"""People never seen that a subgroup is compared with, at least."""
ENOUGH = 200
"""Queried people of a subgroup that stand for all of it."""


class Cut(NamedTuple):
    """Groups by one column: labels, and the group of each record, -1 for none; shape (n,), int32."""

    column: str
    labels: tuple[str, ...]
    train: Array
    control: Array

    def sizes(self, side: Role) -> Array:
        return np.asarray(np.bincount(getattr(self, side) + 1, minlength=len(self.labels) + 1)[1:])


@dataclass(frozen=True)
class Group:
    """Subgroup of people, by the groups of one cut or two that all of them are in; training and control records."""

    column: str
    label: str
    parts: tuple[tuple[Cut, int], ...]
    sizes: tuple[int, int]
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        return self.column, self.label

    @property
    def is_crossed(self) -> bool:
        return len(self.parts) > 1

    def mask(self, side: Role, rows: Array | None = None) -> Mask:
        """True for members, among all records or some ``rows``."""
        places = ((getattr(cut, side), at) for cut, at in self.parts)
        return np.asarray(np.all([(place if rows is None else place[rows]) == at for place, at in places], axis=0))


class SubgroupMembers(NamedTuple):
    """Positions of a subgroup's people among the queried ones, and their persons from 0; None where each is another."""

    group: Group
    train: Array
    control: Array
    persons: tuple[Array, Array] | None


def subgroups(context: Context) -> list[Group]:
    """Subgroups by one column, then by two."""
    return context.once_for_all_stages("subgroups", lambda: [*groups(context), *_crossed(context)])


def groups(context: Context) -> list[Group]:
    """Subgroups by categories, by quarters of numbers and dates, and the rare on the quasi-identifiers."""
    by_column = [(_by_column(context, at), (column.name,)) for at, column in enumerate(context.encoding.columns)]
    found = []
    for cut, columns in (*by_column, *((cut, ()) for cut in _rare(context))):
        for at, sizes in enumerate(zip(cut.sizes("train"), cut.sizes("control"), strict=True)):
            if sizes[0] < len(context.train):
                found.append(Group(cut.column, cut.labels[at], ((cut, at),), sizes, columns))
    return found


def _crossed(context: Context) -> Iterator[Group]:
    """Subgroups by two columns, such as women in the oldest quarter: of the quasi-identifiers, or some columns."""
    known = [int(at) for at in context.encoding.positions(context.schema.quasi_identifiers)]
    columns = (known or list(range(len(context.encoding.columns))))[:CROSSED]
    for first, second in itertools.combinations([_by_column(context, at) for at in columns], 2):
        train, control = (_sizes(first, second, side) for side in PEOPLE)
        large = (train >= context.options.min_cell) & (control >= LEAST_UNSEEN) & (train < len(context.train))
        for one, other in np.argwhere(large).tolist():
            names, label = (first.column, second.column), f"{first.labels[one]} and {second.labels[other]}"
            sizes = int(train[one, other]), int(control[one, other])
            yield Group(" and ".join(names), label, ((first, one), (second, other)), sizes, names)


def _sizes(first: Cut, second: Cut, side: Role) -> Array:
    """Records in both groups, for all pairs, shape (n_first, n_second)."""
    width = len(second.labels) + 1
    places = (getattr(first, side).astype(np.int64) + 1) * width + getattr(second, side) + 1
    counts = np.bincount(places, minlength=(len(first.labels) + 1) * width)
    return np.asarray(counts.reshape(-1, width)[1:, 1:])


def _by_column(context: Context, at: int) -> Cut:
    """Groups by a column: records without a value, then categories or quarters of its numbers."""
    name = context.encoding.columns[at].name
    train, control = context.encoded("train"), context.encoded("control")
    if context.encoding.continuous[at]:
        sides = [side.numbers[:, at] for side in (train, control)]
        if np.isnan(sides[0]).all():
            return Cut(name, (MISSING,), *(np.where(np.isnan(side), 0, -1).astype(np.int32) for side in sides))
        edges = part_edges(sides[0], BINS)
        labels = (PART_BY_SIZE.format(i + 1, len(edges) + 1) for i in range(len(edges) + 1))
        return Cut(name, (MISSING, *labels), *((in_parts(side, edges) + 1).astype(np.int32) for side in sides))
    ranks = train.ranks[:, at]
    present, first = np.unique(ranks, return_index=True)
    present, first = present[present >= 0], first[present >= 0]
    place = np.full(int(context.encoding.cardinality[at]) + 1, -1, dtype=np.int32)
    place[present], place[-1] = np.arange(1, len(present) + 1), 0
    values = context.train.frame[name].iloc[first].astype(str)
    return Cut(name, (MISSING, *(f"= {value}" for value in values)), place[ranks], place[control.ranks[:, at]])


def _rare(context: Context) -> Iterator[Cut]:
    """People whom few or no other training records resemble on the quasi-identifiers."""
    names = context.schema.quasi_identifiers
    if not names or context.control is None:
        return
    train, control = row_keys(ranks_of([context.train, context.control], names))
    sizes = np.bincount(train, minlength=int(control.max(initial=0)) + 1)
    mine, its = sizes[train] - 1, sizes[control]
    for label, fewer in ((UNSHARED, 1), (SHARED_WITH_FEWER.format(RARE), RARE)):
        places = (np.where(side < fewer, 0, -1).astype(np.int32) for side in (mine, its))
        yield Cut("quasi-identifiers", (label,), *places)


def queried(context: Context) -> list[SubgroupMembers]:
    """Members of every subgroup among the records that searches query."""
    return context.once_for_asked("members", lambda: list(_members(context, context.asked_people, subgroups(context))))


def queried_in_full(context: Context) -> tuple[People, list[SubgroupMembers]]:
    """Records of the subgroups of :func:`in_full`, and the members among these."""

    def found() -> tuple[People, list[SubgroupMembers]]:
        people, names = in_full(context)
        chosen = [group for group in subgroups(context) if group.name in names]
        return people, list(_members(context, (people[0].rows, people[1].rows), chosen))

    return context.once_for_asked("members in full", found)


def _members(context: Context, rows: tuple[Array, Array], chosen: Sequence[Group]) -> Iterator[SubgroupMembers]:
    persons = context.clusters(*rows)
    for group in chosen:
        train, control = (np.flatnonzero(group.mask(side, asked)) for side, asked in zip(PEOPLE, rows, strict=True))
        mine = persons and (numbered(persons[0][train]), numbered(persons[1][control]))
        yield SubgroupMembers(group, train, control, mine)


def in_full(context: Context) -> tuple[People, set[tuple[str, str]]]:
    """Records of thinly sampled subgroups, as many as the sample has at most, and the names of these subgroups."""
    asked = context.asked_people
    room = [len(rows) for rows in asked]
    masks = np.zeros(len(context.train), dtype=bool), np.zeros(len(context.encoded("control")), dtype=bool)
    found = set()
    for group in _sampled_thinly(context):
        if group.sizes[0] <= room[0] and group.sizes[1] <= room[1]:
            room = [left - size for left, size in zip(room, group.sizes, strict=True)]
            for mask, side in zip(masks, PEOPLE, strict=True):
                mask[group.mask(side)] = True
            found.add(group.name)
    train, control = (np.flatnonzero(mask) for mask in masks)
    return (Part("train", "subgroups in full", train), Part("control", "subgroups in full", control)), found


def _sampled_thinly(context: Context) -> Iterator[Group]:
    """Subgroups of which few records are queried, those of one column before those of two, smallest first."""
    asked = context.asked_people
    for group in sorted(subgroups(context), key=lambda group: (group.is_crossed, group.sizes[0], *group.name)):
        counts = (int(group.mask(side, rows).sum()) for side, rows in zip(PEOPLE, asked, strict=True))
        if any(count < min(ENOUGH, size) for count, size in zip(counts, group.sizes, strict=True)):
            yield group


LISTED = 20
"""Subgroups listed in details."""
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99)


class Exposed(NamedTuple):
    """The people least like others by one ranking: a share of all (0..1), and masks of the queried records."""

    ranking: Ranking
    share: float
    train: Mask
    control: Mask

    @property
    def name(self) -> str:
        return f"{100 * self.share:.3g} % by {self.ranking}"


def exposed(context: Context, unseen: int) -> list[Exposed]:
    """The most exposed 5 % and 1 %, or as many as tests need, by each ranking, of training people and others."""
    parts, least = (context.whole("train"), context.whole("control")), (context.options.min_cell, unseen)
    enough = max(few / max(_persons(context, part), 1) for part, few in zip(parts, least, strict=True))
    shares = sorted({max(share, enough) for share in OUTLIERS if enough <= 1})
    return [
        Exposed(ranking, share, *(most_exposed(context, share, part, ranking) for part in parts))
        for ranking in rankings(context)
        for share in shares
    ]


def _persons(context: Context, part: Part) -> int:
    return n_distinct(context.persons(part.role)[context.asked(part).rows])


def _too_few(least: int, unseen: int) -> NotComputable:
    return NotComputable(sentence("metric.few.sides", n=least, unseen=unseen), "too_few")


def _vulnerabilities(context: Context) -> dict[str, Any]:
    """Quantiles of the training records' vulnerability; no single record's is given."""
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
    parts = {
        one.name: Measure(*interval, 0.5, int(one.train.sum()), {"part": one.name}, together=len(groups)).above(0.5)
        for interval, one in zip(intervals, groups, strict=True)
    }

    def low_end(one: Exposed) -> float:
        return parts[one.name].interval[1]

    worst_of = max(groups, key=low_end)
    details = {
        "advantage": 2 * parts[worst_of.name].value - 1,
        "non_members": int(worst_of.control.sum()),
        "share": worst_of.share,
        "ranking": worst_of.ranking,
        "groups": {name: [*part.interval] for name, part in parts.items()},
        **_vulnerabilities(context),
    }
    if context.options.paper:  # The thesis attacks outliers among members, but anybody among the others (METRICS B6).
        printed = max((one for one in groups if one.ranking == groups[0].ranking), key=low_end)
        details["paper"] = {"AUC": auc(members[printed.train], others)}
    return replace(parts[worst_of.name], details=details, parts=parts)


def membership_subgroups(context: Context) -> Outcome:
    """Membership AUC of the subgroup with the highest lower bound, by the attack that recognizes it best.

    Each subgroup is attacked twice: by the nearness of ``membership``, and by the rare cells that a record shares with
    one row (:func:`~.shared_cells.scores_of_records`), which one changed value does not hide. Bounds hold for all
    subgroups and both attacks at once (Sidak). Subgroups: categories, quarters of numbers and dates, people rare on
    their quasi-identifiers, and two of these together; only those with at least ``min_cell`` members and 10 others.
    Where searches query a sample of a large table, subgroups that it holds few of are attacked in full
    (:func:`in_full`).
    """
    least = context.options.min_cell
    attacked = [
        one for one in _attacked_groups(context) if len(one.members) >= least and len(one.others) >= LEAST_UNSEEN
    ]
    if not attacked:
        return NotComputable(sentence("metric.few.subgroup", n=least, unseen=LEAST_UNSEEN), "too_few")
    together = _together([one.group.is_crossed for one in attacked])
    levels = [simultaneous(context.options.confidence, parts) for parts in together]
    intervals = auc_intervals(
        [(one.members, one.others) for one in attacked],
        [levels[one.group.is_crossed] for one in attacked],
        [one.persons for one in attacked],
    )
    ordered = sorted(
        (_part(one, interval, together) for one, interval in zip(attacked, intervals, strict=True)),
        key=lambda part: (-part.interval[1], *part.details.values()),
    )
    surest: dict[tuple[str, str], Measure] = {}
    for part in ordered:
        surest.setdefault((part.details["column"], part.details["group"]), part)
    details = {
        "groups": len(surest),
        "in_full": len({one.group.name for one in attacked if one.in_full}),
        "most_exposed": [_listed(part) for part in surest.values()][:LISTED],
        "interval": f"simultaneous over {len(ordered)}",
    }
    parts = {"{column} {group} by {by}".format_map(part.details): part for part in ordered}
    return replace(ordered[0], details=details, parts=parts)


def _listed(part: Measure) -> dict[str, Any]:
    of = {"members": part.n, "value": part.value, "low": part.low, "high": part.high, "together": part.together}
    return part.details | of


ATTACKS = {"nearness": scores, "shared cells": shared_cells.scores_of_records}
"""Scores by which subgroups are attacked, by name."""


class AttackedGroup(NamedTuple):
    """Membership scores of a subgroup's members and people never seen, by one attack."""

    group: Group
    by: str
    members: Array
    others: Array
    persons: tuple[Array, Array] | None
    in_full: bool


def _part(one: AttackedGroup, interval: tuple[float, float, float], together: tuple[int, int]) -> Measure:
    named = {"column": one.group.column, "group": one.group.label, "by": one.by}
    return Measure(*interval, 0.5, len(one.members), named, together=together[one.group.is_crossed]).above(0.5)


def _attacked_groups(context: Context) -> list[AttackedGroup]:
    """Every subgroup by every attack, by the queried records or in full."""
    people, whole = queried_in_full(context)
    full = {one.group.name: one for one in whole}
    found = []
    for by, scored in ATTACKS.items():
        sides = {False: scored(context)}
        if full:
            sides[True] = scored(context, people)
        for sampled in queried(context):
            in_full = sampled.group.name in full
            one, (members, others) = full.get(sampled.group.name, sampled), sides[in_full]
            both = members[one.train], others[one.control]
            found.append(AttackedGroup(one.group, by, *both, one.persons, in_full))
    return found


def _together(crossed: list[bool]) -> tuple[int, int]:
    """Numbers of intervals by one and by two columns: each kind has half of the error, so its intervals count twice."""
    return 2 * crossed.count(False), 2 * crossed.count(True)


def _recovered(context: Context, only: inference.Only | None = None) -> dict[str, tuple[Array, Array]]:
    """Probability of a right guess of each secret, per queried record; NaN for those that are not among ``only``."""
    found = {}
    for secret, (*both, at) in inference.guesses(context, only=only).items():
        sides = [side.likely[:, at] for side in both]
        if only is not None:
            for side, (values, mask) in enumerate(zip(sides, only, strict=True)):
                sides[side] = np.full(len(mask), np.nan)
                sides[side][mask] = values
        found[secret] = (sides[0], sides[1])
    return found


def _attack(
    context: Context, recovered: tuple[Array, Array], chosen: tuple[Array, Array], asked_people: tuple[Array, Array]
) -> Attack | NotComputable:
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
        (secret, *one.group.name, one.group.is_crossed): _attack(context, both, (one.train, one.control), asked)
        for secret, both in _recovered(context).items()
        for one in chosen
        if secret in declared and secret not in one.group.columns
    }
    made = {name: attack for name, attack in attacks.items() if isinstance(attack, Attack)}
    if not declared:
        return NotComputable("no secret column is declared", lacks="secret")
    if not made:
        return NotComputable(sentence("metric.few.subgroup", n=least, unseen=LEAST_UNSEEN), "too_few")
    together = _together([name[3] for name in made])
    levels = [simultaneous(context.options.confidence, number) for number in together]
    rows = {name: replace(attack, confidence=levels[name[3]]).measure() for name, attack in made.items()}
    ordered = sorted(rows, key=lambda name: (-rows[name].interval[1], name))
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
