"""Classes of persons by definition: random tables with several rows per person, and a search of every node."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.table import Table
from tests.anonymize.slow_search import Problem, holds, labels, loss

Person = int


def random_persons(seed: int, n: int) -> list[Person]:
    """Person of each of n rows: 1 to 4 rows each, now and then up to 20, and some rows without a key."""
    rng = np.random.default_rng([seed, 7])
    sizes = []
    while sum(sizes) < n:
        sizes.append(int(rng.integers(8, 21)) if rng.random() < 0.05 else int(rng.integers(1, 5)))
    persons = np.repeat(np.arange(len(sizes)), sizes)[:n]
    persons[rng.random(n) < 0.08] = -1
    missing = np.flatnonzero(persons < 0)
    persons[missing] = -1 - np.arange(len(missing))
    return [int(person) for person in rng.permutation(persons)]


def with_persons(problem: Problem, persons: list[Person]) -> Table:
    return replace(problem.table(), named_persons=np.array(persons))


def best_node(
    problem: Problem, persons: list[Person], options: AnonymizeOptions
) -> tuple[tuple[int, ...], float, int] | None:
    """Levels, loss and suppressed records of the optimum; None if there is none."""
    best = None
    n, people = len(problem.rows), {person for person in persons if person >= 0}
    for node in itertools.product(*[range(len(levels)) for levels in problem.levels]):
        suppressed = violating(problem, persons, options, node)
        gone = people - {person for at, person in enumerate(persons) if at not in suppressed}
        if len(suppressed) > math.floor(options.suppression_limit * n + 1e-9) or len(suppressed) == n:
            continue
        if len(gone) > math.floor(options.suppression_limit * len(people) + 1e-9):
            continue
        key = (loss(problem, options, node, suppressed), sum(node), node)
        if best is None or key < (best[0], sum(best[1]), best[1]):
            best = key[0], node, len(suppressed)
    return None if best is None else (best[1], best[0], best[2])


def violating(problem: Problem, persons: list[Person], options: AnonymizeOptions, node: tuple[int, ...]) -> set[int]:
    classes = defaultdict(list)
    for at, row in enumerate(problem.rows):
        classes[labels(problem, node, row)].append(at)
    overall = Counter(weighed(problem.secrets, persons, range(len(persons))))
    bad: set[int] = set()
    for members in classes.values():
        fine = len({persons[at] for at in members if persons[at] >= 0}) >= options.k
        for model in options.models:
            if model.model == "l_diversity" and model.kind == "distinct":
                fine = fine and most_different([(persons[at], problem.secrets[at]) for at in members]) >= model.l
            else:
                fine = fine and holds(model, weighed(problem.secrets, persons, members), overall)
        bad |= set() if fine else set(members)
    return bad


def weighed(secrets: list[int], persons: list[Person], members) -> list[int]:
    """Values repeated so that every person of the class counts the same."""
    rows = Counter(persons[at] for at in members)
    whole = math.lcm(*rows.values())
    return [secrets[at] for at in members for _ in range(whole // rows[persons[at]])]


def most_different(held: list[tuple[Person, int]]) -> int:
    """Most persons (with a key) that can be given pairwise different values of their own: all choices are tried."""
    values = defaultdict(set)
    for person, value in held:
        if person >= 0:
            values[person].add(value)
    reached = {frozenset()}
    for own in values.values():
        reached |= {used | {value} for used in reached for value in own - used}
    return max(len(used) for used in reached)
