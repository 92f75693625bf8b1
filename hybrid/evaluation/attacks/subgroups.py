"""Subgroups of people, by one column and by two."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.attacks.membership import People
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.encoding import ranks_of, row_keys
from hybrid.evaluation.engine.intervals import numbered

Side = Literal["train", "control"]
SIDES: tuple[Side, Side] = ("train", "control")
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
    """Groups by one column, which have no record in common.

    ``train`` and ``control``, shape (n,), int32: number of each record's group, -1 for none.
    """

    column: str
    labels: tuple[str, ...]
    train: Array
    control: Array

    def sizes(self, side: Side) -> Array:
        """Records of each group, shape (n_groups,), int64."""
        counts: Array = np.bincount(getattr(self, side) + 1, minlength=len(self.labels) + 1)[1:]
        return counts


@dataclass(frozen=True)
class Group:
    """Subgroup of people, by one cut or two.

    ``parts``: the groups that all of them are in. ``columns``: those that it is made by; none for people who are rare
    on the quasi-identifiers. ``sizes``: training and control records.
    """

    column: str
    label: str
    parts: tuple[tuple[Cut, int], ...]
    sizes: tuple[int, int]
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        """Column and label."""
        return self.column, self.label

    def mask(self, side: Side, rows: Array | None = None) -> Mask:
        """True for members, among all records or some ``rows``."""
        places = ((getattr(cut, side), at) for cut, at in self.parts)
        member: Mask = np.all([(place if rows is None else place[rows]) == at for place, at in places], axis=0)
        return member


class Members(NamedTuple):
    """Positions of a subgroup's people among the queried ones, and their persons.

    ``kind``: 0 for subgroups by one column, 1 by two; ``persons``: of both sides, numbered from 0; None where each
    record is another person.
    """

    group: Group
    kind: int
    train: Array
    control: Array
    persons: tuple[Array, Array] | None


def subgroups(context: Context) -> tuple[list[Group], list[Group]]:
    """Subgroups by one column, and by two."""
    return context.once_for_all_stages(
        "subgroups", lambda: (groups(context), crossed(context, context.options.min_cell, LEAST_UNSEEN))
    )


def groups(context: Context) -> list[Group]:
    """Subgroups by one column, and the rare on the quasi-identifiers.

    By categories, and by quarters of numbers and dates.
    """
    by_column = [(_by_column(context, at), (column.name,)) for at, column in enumerate(context.encoding.columns)]
    found = []
    for cut, columns in (*by_column, *((cut, ()) for cut in _rare(context))):
        for at, sizes in enumerate(zip(cut.sizes("train"), cut.sizes("control"), strict=True)):
            if sizes[0] < len(context.train):
                found.append(Group(cut.column, cut.labels[at], ((cut, at),), sizes, columns))
    return found


def crossed(context: Context, least: int, unseen: int) -> list[Group]:
    """Subgroups by two columns, large enough on both sides.

    They have at least ``least`` training and ``unseen`` control records, such as women in the oldest quarter. Of the
    quasi-identifiers, where there are any: what an attacker may know of a group. Otherwise of all columns, the first
    :data:`CROSSED` of them.
    """
    known = [int(at) for at in context.encoding.positions(context.schema.quasi_identifiers)]
    columns = (known or list(range(len(context.encoding.columns))))[:CROSSED]
    found = []
    for first, second in itertools.combinations([_by_column(context, at) for at in columns], 2):
        train, control = (_sizes(first, second, side) for side in SIDES)
        large = (train >= least) & (control >= unseen) & (train < len(context.train))
        for one, other in np.argwhere(large).tolist():
            names, label = (first.column, second.column), f"{first.labels[one]} and {second.labels[other]}"
            sizes = int(train[one, other]), int(control[one, other])
            found.append(Group(" and ".join(names), label, ((first, one), (second, other)), sizes, names))
    return found


def _sizes(first: Cut, second: Cut, side: Side) -> Array:
    """Records in both groups, for all pairs, shape (n_first, n_second)."""
    width = len(second.labels) + 1
    places = (getattr(first, side).astype(np.int64) + 1) * width + getattr(second, side) + 1
    counts = np.bincount(places, minlength=(len(first.labels) + 1) * width)
    return np.asarray(counts.reshape(-1, width)[1:, 1:])


def _by_column(context: Context, at: int) -> Cut:
    """Groups by a column: categories, or quarters of its numbers.

    Records without a value come first.
    """
    name = context.encoding.columns[at].name
    train, control = context.encoded("train"), context.encoded("control")
    if context.encoding.continuous[at]:
        sides = [side.numbers[:, at] for side in (train, control)]
        known = sides[0][~np.isnan(sides[0])]
        if not len(known):
            return Cut(name, ("missing",), *(np.where(np.isnan(side), 0, -1).astype(np.int32) for side in sides))
        edges = np.unique([-np.inf, *np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]), np.inf])
        labels = (f"part {i + 1} of {len(edges) - 1} by size" for i in range(len(edges) - 1))
        bins = (np.where(np.isnan(side), 0, np.searchsorted(edges, side, side="right")) for side in sides)
        return Cut(name, ("missing", *labels), *(part.astype(np.int32) for part in bins))
    ranks = train.ranks[:, at]
    present, first = np.unique(ranks, return_index=True)
    present, first = present[present >= 0], first[present >= 0]
    place = np.full(int(context.encoding.cardinality[at]) + 1, -1, dtype=np.int32)
    place[present], place[-1] = np.arange(1, len(present) + 1), 0
    values = context.train.frame[name].iloc[first].astype(str)
    return Cut(name, ("missing", *(f"= {value}" for value in values)), place[ranks], place[control.ranks[:, at]])


def _rare(context: Context) -> Iterator[Cut]:
    """People whom few or no other training records resemble on the quasi-identifiers."""
    names = context.schema.quasi_identifiers
    if not names or context.control is None:
        return
    train, control = row_keys(ranks_of([context.train, context.control], names))
    sizes = np.bincount(train, minlength=int(control.max(initial=0)) + 1)
    mine, its = sizes[train] - 1, sizes[control]
    for label, fewer in (("shared with no other record", 1), (f"shared with fewer than {RARE} others", RARE)):
        places = (np.where(side < fewer, 0, -1).astype(np.int32) for side in (mine, its))
        yield Cut("quasi-identifiers", (label,), *places)


def queried(context: Context) -> list[Members]:
    """Members of every subgroup among the records that searches query."""
    asked = context.asked_people
    key = "members", *map(len, asked)
    return context.once_for_all_stages(key, lambda: list(_members(context, asked, subgroups(context))))


def queried_in_full(context: Context) -> tuple[People, list[Members]]:
    """Records of the subgroups of :func:`in_full`, and the members among these."""

    def found() -> tuple[People, list[Members]]:
        people, names = in_full(context, subgroups(context))
        chosen = [[group for group in kind if group.name in names] for kind in subgroups(context)]
        return people, list(_members(context, (people[0].rows, people[1].rows), chosen))

    return context.once_for_all_stages(("members in full", *map(len, context.asked_people)), found)


def _members(context: Context, rows: tuple[Array, Array], kinds: Sequence[Sequence[Group]]) -> Iterator[Members]:
    persons = context.clusters(*rows)
    for at, kind in enumerate(kinds):
        for group in kind:
            train, control = (np.flatnonzero(group.mask(side, asked)) for side, asked in zip(SIDES, rows, strict=True))
            mine = persons and (numbered(persons[0][train]), numbered(persons[1][control]))
            yield Members(group, at, train, control, mine)


def in_full(context: Context, kinds: Sequence[Sequence[Group]]) -> tuple[People, set[tuple[str, str]]]:
    """Records of subgroups that are thinly sampled, and their names.

    Subgroups by one column come first, the smallest ones first, and together no more records than the sample has. None
    where all people are queried.
    """
    asked = context.asked_people
    room = [len(rows) for rows in asked]
    masks = np.zeros(len(context.train), dtype=bool), np.zeros(len(context.encoded("control")), dtype=bool)
    found = set()
    for group in _sampled_thinly(kinds, asked):
        if group.sizes[0] <= room[0] and group.sizes[1] <= room[1]:
            room = [left - size for left, size in zip(room, group.sizes, strict=True)]
            for mask, side in zip(masks, SIDES, strict=True):
                mask[group.mask(side)] = True
            found.add(group.name)
    train, control = (np.flatnonzero(mask) for mask in masks)
    return (Part("train", "subgroups in full", train), Part("control", "subgroups in full", control)), found


def _sampled_thinly(kinds: Sequence[Sequence[Group]], asked: tuple[Array, Array]) -> Iterator[Group]:
    """Subgroups of which few records are queried, smallest first.

    Those of one column come before those of two.
    """
    for kind in kinds:
        for group in sorted(kind, key=lambda group: (group.sizes[0], *group.name)):
            counts = (int(group.mask(side, rows).sum()) for side, rows in zip(SIDES, asked, strict=True))
            if any(count < min(ENOUGH, size) for count, size in zip(counts, group.sizes, strict=True)):
                yield group
