"""Attacks on minimal anonymization, by going through every table that the published one leaves possible.

A minimal anonymization gives this table for some originals only: those for which no finer one would do. The attacker
knows the algorithm, its options and the hierarchies, runs it on every original that the labels leave possible, and
drops those with another outcome. What is left weighs more.

- `sensitive_values` (minimality attack; Wong, Fu, Wang and Pei 2007, VLDB): the attacker knows everybody's
  quasi-identifiers and looks for sensitive values.
- `compositions` (downcoding; Cohen 2022, USENIX Security): the attacker knows the labels alone and looks for the exact
  values below them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np

from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.anonymize_table import recode
from hybrid.anonymize.search.problem import prepare
from hybrid.base.errors import InfeasibleError
from hybrid.base.progress import silent
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import Kind
from tests.anonymize.cases import Q, S, table_of

Record = tuple[int, ...]
Labels = tuple[Record, ...]
SUPPRESSED: Record = ()


@dataclass(frozen=True)
class Setting:
    """What everybody knows: the hierarchies and the options."""

    hierarchies: Mapping[str, Hierarchy]
    options: AnonymizeOptions

    def publish(self, records: Sequence[Record], secrets: Sequence[int] | None = None) -> Labels | None:
        """Label nodes of every record, in order; None where nothing can be published."""
        names = list(self.hierarchies)
        columns = {name: [record[at] for record in records] for at, name in enumerate(names)}
        roles = dict.fromkeys(names, Q)
        if secrets is not None:
            columns, roles = columns | {"secret": list(secrets)}, roles | {"secret": S}
        try:
            task = prepare(table_of(roles, **columns), self.hierarchies, self.options, None)
            found = recode(task, silent)
        except InfeasibleError:
            return None
        rows = [
            SUPPRESSED if gone else tuple(map(int, node))
            for node, gone in zip(found.nodes, found.suppressed, strict=True)
        ]
        return tuple(rows[at] for at in task.records.row_of)

    def below(self, label: Record) -> list[Record]:
        """Every combination of exact values that a label covers."""
        sides = []
        for node, hierarchy in zip(label, self.hierarchies.values(), strict=True):
            leaves = np.flatnonzero(hierarchy.covers()[node])
            sides.append([int(hierarchy.leaves[at]) for at in leaves])
        return list(product(*sides))


@dataclass(frozen=True)
class Gained:
    """Probability of one statement about a class.

    Parameters
    ----------
    before : float
        From the published table as it stands, 0..1.
    after : float
        Without the originals that the algorithm would have published otherwise, 0..1.
    """

    before: float
    after: float


def sensitive_values(
    setting: Setting, records: Sequence[Record], secrets: Sequence[int]
) -> list[dict[int, Gained]] | None:
    """Probability of each sensitive value, for every person whose labels are published.

    None where nothing is published. Every assignment of a class's values to its members is as likely as any other.
    """
    published = setting.publish(records, secrets)
    if published is None:
        return None
    members = _classes(published)
    kinds: dict[tuple[tuple[Record, int], ...], bool] = {}
    before = [Counter[int]() for _ in records]
    after = [Counter[int]() for _ in records]
    for world in _assignments(members, secrets):
        key = tuple(sorted(zip(records, world, strict=True)))
        if key not in kinds:
            kinds[key] = setting.publish(records, world) == published
        for person, value in enumerate(world):
            before[person][value] += 1
            after[person][value] += kinds[key]
    attacked = {person for inside in members.values() for person in inside}
    return [_gained(before[at], after[at]) for at in sorted(attacked)]


def compositions(setting: Setting, records: Sequence[Record]) -> list[Gained] | None:
    """Probability of the true exact records of each class whose labels hide something.

    None where nothing is published. Exact values are equally likely a priori; suppressed records are taken as known.
    """
    published = setting.publish(records)
    if published is None:
        return None
    members = _classes(published)
    outside = [record for record, label in zip(records, published, strict=True) if label == SUPPRESSED]
    wanted = sorted(published)
    totals = [0.0, 0.0]
    true = {label: [0.0, 0.0] for label in members}
    truth = {label: tuple(sorted(records[at] for at in inside)) for label, inside in members.items()}
    choices = [
        list(combinations_with_replacement(setting.below(label), len(inside))) for label, inside in members.items()
    ]
    for world in product(*choices):
        weight = math.prod(_orders(part) for part in world)
        found = setting.publish([*outside, *(record for part in world for record in part)])
        same = found is not None and sorted(found) == wanted
        for at, counted in enumerate((True, same)):
            totals[at] += weight * counted
            for label, part in zip(members, world, strict=True):
                true[label][at] += weight * counted * (part == truth[label])
    hidden = [label for label in members if len(setting.below(label)) > 1]
    return [Gained(true[label][0] / totals[0], true[label][1] / totals[1]) for label in hidden]


def binary(n_columns: int) -> dict[str, Hierarchy]:
    """Columns with the values 0 and 1, and one label for both."""
    return {f"q{at}": from_levels(f"q{at}", Kind.INTEGER, np.arange(2), [["*", "*"]]) for at in range(n_columns)}


def _gained(before: Counter[int], after: Counter[int]) -> dict[int, Gained]:
    return {value: Gained(count / before.total(), after[value] / after.total()) for value, count in before.items()}


def _classes(published: Labels) -> dict[Record, list[int]]:
    found: dict[Record, list[int]] = {}
    for at, label in enumerate(published):
        if label != SUPPRESSED:
            found.setdefault(label, []).append(at)
    return found


def _assignments(members: Mapping[Record, Sequence[int]], secrets: Sequence[int]) -> Iterator[list[int]]:
    """Every distinct way to hand the values of each class to its members."""
    each = [[(inside, way) for way in _arrangements([secrets[at] for at in inside])] for inside in members.values()]
    for parts in product(*each):
        world = list(secrets)
        for inside, way in parts:
            for at, value in zip(inside, way, strict=True):
                world[at] = value
        yield world


def _arrangements(values: Sequence[int]) -> list[tuple[int, ...]]:
    """Distinct orders of a multiset."""
    if not values:
        return [()]
    found = []
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        found += [(first, *order) for order in _arrangements(rest)]
    return found


def _orders(part: Sequence[Record]) -> int:
    """Number of orders of a multiset."""
    return math.factorial(len(part)) // math.prod(math.factorial(count) for count in Counter(part).values())
