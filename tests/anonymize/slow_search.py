"""A slow and simple anonymizer that visits every node, written from the definitions, and random problems for it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import Column, Kind, Role, Schema, Table


@dataclass
class Problem:
    """Columns of text values, one list of labels per level and column (level 0 first), and a sensitive column."""

    rows: list[tuple[int, ...]]
    secrets: list[int]
    levels: list[list[list[str]]]
    n_secrets: int

    @property
    def names(self) -> list[str]:
        return [f"q{at}" for at in range(len(self.levels))]

    def table(self) -> Table:
        frame = {
            name: pd.Categorical([self.levels[at][0][row[at]] for row in self.rows])
            for at, name in enumerate(self.names)
        }
        frame["secret"] = pd.Series(self.secrets, dtype="Int64")
        columns = [Column(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in self.names]
        return Table(pd.DataFrame(frame), Schema((*columns, Column("secret", Role.SENSITIVE, Kind.INTEGER))))

    def hierarchies(self) -> dict[str, Hierarchy]:
        return {
            name: from_levels(name, Kind.CATEGORICAL, np.array(levels[0], dtype=object), levels[1:])
            for name, levels in zip(self.names, self.levels, strict=True)
        } | {"secret": self.secret_hierarchy()}

    def secret_hierarchy(self) -> Hierarchy:
        leaves = np.arange(self.n_secrets)
        return from_levels("secret", Kind.INTEGER, leaves, [[f"h{v // 2}" for v in leaves], ["*"] * len(leaves)])


@st.composite
def hierarchy_levels(draw: st.DrawFn) -> list[list[str]]:
    n_leaves = draw(st.integers(1, 6))
    levels = [[f"v{leaf}" for leaf in range(n_leaves)]]
    group = list(range(n_leaves))
    for level in range(draw(st.integers(0, 2))):
        n_groups = max(group) + 1
        parent = draw(st.lists(st.integers(0, max(0, n_groups // 2)), min_size=n_groups, max_size=n_groups))
        dense = {value: at for at, value in enumerate(dict.fromkeys(parent))}
        group = [dense[parent[g]] for g in group]
        levels.append([f"{level}.{g}" for g in group])
    levels.append(["*"] * n_leaves)
    return levels


@st.composite
def problems(draw: st.DrawFn, max_rows: int = 24) -> Problem:
    levels = draw(st.lists(hierarchy_levels(), min_size=1, max_size=3))
    row = st.tuples(*[st.integers(0, len(column[0]) - 1) for column in levels])
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    n_secrets = draw(st.integers(1, 4))
    secrets = draw(st.lists(st.integers(0, n_secrets - 1), min_size=len(rows), max_size=len(rows)))
    return Problem(rows, secrets, levels, n_secrets)


def best_node(problem: Problem, options: AnonymizeOptions) -> tuple[tuple[int, ...], float, int] | None:
    """Levels, loss and suppressed records of the optimum; None if there is none."""
    best = None
    n = len(problem.rows)
    choices = [
        [options.levels[name]] if name in options.levels else range(len(levels))
        for name, levels in zip(problem.names, problem.levels, strict=True)
    ]
    for node in itertools.product(*choices):
        suppressed = violating(problem, options, node)
        if len(suppressed) <= math.floor(options.suppression_limit * n + 1e-9) and len(suppressed) < n:
            key = (loss(problem, options, node, suppressed), sum(node), node)
            if best is None or key < (best[0], sum(best[1]), best[1]):
                best = key[0], node, len(suppressed)
    return None if best is None else (best[1], best[0], best[2])


def labels(problem: Problem, node: tuple[int, ...], row: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(problem.levels[at][level][leaf] for at, (level, leaf) in enumerate(zip(node, row, strict=True)))


def violating(problem: Problem, options: AnonymizeOptions, node: tuple[int, ...]) -> set[int]:
    classes: dict[tuple[str, ...], list[int]] = {}
    for at, row in enumerate(problem.rows):
        classes.setdefault(labels(problem, node, row), []).append(at)
    overall = Counter(problem.secrets)
    bad = [
        members
        for members in classes.values()
        if len(members) < options.k
        or not all(holds(model, [problem.secrets[m] for m in members], overall) for model in options.models)
    ]
    return {member for members in bad for member in members}


def holds(model, secrets: list[int], overall: Counter) -> bool:
    counts = sorted(Counter(secrets).values(), reverse=True)
    n, total = len(secrets), sum(overall.values())
    q = {value: Counter(secrets)[value] / n for value in overall}
    p = {value: overall[value] / total for value in overall}
    if model.model == "l_diversity" and model.kind == "distinct":
        return len(counts) >= model.l
    if model.model == "l_diversity" and model.kind == "entropy":
        return -sum(c / n * math.log(c / n) for c in counts) >= math.log(model.l) - 1e-12
    if model.model == "l_diversity":
        return counts[0] < model.c * sum(counts[int(model.l) - 1 :]) - 1e-9
    if model.model == "alpha_k":
        return counts[0] / n <= model.alpha + 1e-12
    if model.model == "beta_likeness":
        cap = {v: model.beta if model.kind == "basic" else min(model.beta, -math.log(p[v])) for v in p}
        return all(q[v] - p[v] <= cap[v] * p[v] + 1e-11 for v in p)
    return distance(model.distance, p, q) <= model.t + 1e-12


def distance(kind: str, p: dict[int, float], q: dict[int, float]) -> float:
    values = sorted(p)
    if kind == "equal":
        return sum(abs(p[v] - q[v]) for v in values) / 2
    if kind == "ordered":
        running = itertools.accumulate(q[v] - p[v] for v in values)
        return sum(map(abs, running)) / max(len(values) - 1, 1)
    pairs: dict[int, list[float]] = {}
    for v in values:
        pairs.setdefault(v // 2, []).append(q[v] - p[v])
    inside = sum(min(sum(max(d, 0) for d in ds), sum(max(-d, 0) for d in ds)) for ds in pairs.values())
    extra = [sum(ds) for ds in pairs.values()]
    return inside / 2 + sum(max(e, 0) for e in extra)


def _floor(value: float) -> float:
    return math.floor(max(value, 0) * 1e10) / 1e10


def loss(problem: Problem, options: AnonymizeOptions, node: tuple[int, ...], suppressed: set[int]) -> float:
    o, n = options.loss, len(problem.rows)
    kept = [at for at in range(n) if at not in suppressed]
    sizes = Counter(labels(problem, node, problem.rows[at]) for at in kept).values()
    if o.name == "aecs":
        return n / (len(sizes) + bool(suppressed))
    if o.name == "discernibility":
        return float(sum(size**2 for size in sizes) + len(suppressed) * n)
    keep = 1.0 if o.gs_factor <= 0.5 else 1 - 2 * (o.gs_factor - 0.5)
    drop = 2 * o.gs_factor if o.gs_factor < 0.5 else 1.0
    terms = []
    for at, level in enumerate(node):
        column, weight = problem.levels[at], o.weights.get(f"q{at}", 1.0)
        if o.name in ("loss", "association"):
            share = [column[level].count(column[level][row[at]]) / len(column[0]) for row in problem.rows]
            first = 1 / len(column[0])
            if o.name == "association":
                lost = lost_association(problem, at, level)
                share, first = [s / 2 + lost / 2 for s in share], first / 2
            raw = sum(keep * share[r] if r in set(kept) else share[r] + drop * (1 - share[r]) for r in range(n))
            least = keep * n * first
            term = _floor((raw - least) / (n - least)) if n - least > 1e-9 else 0.0
        elif o.name == "precision":
            term = (len(kept) * keep * level / max(len(column) - 1, 1) + len(suppressed) * drop) / n
        else:
            term = _entropy_term(problem, at, level, suppressed)
            own = _entropy_term(problem, at, len(column) - 1, set())
            term = (term / own if own else 0.0) if o.normalized else term
        terms.append(term * weight)
    if o.name == "entropy" and not o.normalized:
        return sum(terms)
    if (o.mean or ("geometric" if o.name in ("loss", "association") else "arithmetic")) == "geometric":
        return math.prod(term + 1 for term in terms) ** (1 / len(terms)) - 1
    return sum(terms) / len(terms)


def lost_association(problem: Problem, at: int, level: int) -> float:
    """What a level of a column loses of its association with all others, over all that the most telling column has."""
    most = max(_kept(problem, one, 0) for one in range(len(problem.levels)))
    return (_kept(problem, at, 0) - _kept(problem, at, level)) / most if most else 0.0


def _kept(problem: Problem, at: int, level: int) -> float:
    others = [[str(row[one]) for row in problem.rows] for one in range(len(problem.levels)) if one != at]
    total, columns = 0.0, [*(_indicators(values) for values in others), [_twentieths(problem.secrets)]]
    for scores in columns:
        coarser = range(level, len(problem.levels[at]))
        total += max(_explained(problem, at, one, scores) for one in coarser)
    return total


def _indicators(values: list[str]) -> list[list[float]]:
    return [[float(value == one) for value in values] for one in sorted(set(values))]


def _twentieths(secrets: list[int]) -> list[float]:
    """The number of the twentieth that a value's mean rank is in."""
    ranks = {v: sum(s < v for s in secrets) + (secrets.count(v) + 1) / 2 for v in set(secrets)}
    return [float(math.ceil(20 * (ranks[v] / len(secrets)))) for v in secrets]


def _explained(problem: Problem, at: int, level: int, scores: list[list[float]]) -> float:
    """Adjusted share of the scores' variance between the labels of a level; 0 where it can be chance."""
    n, groups = len(problem.rows), {}
    for number, row in enumerate(problem.rows):
        groups.setdefault(problem.levels[at][level][row[at]], []).append(number)
    total = between = 0.0
    for score in scores:
        mean = sum(score) / n
        total += sum((one - mean) ** 2 for one in score)
        between += sum(len(g) * (sum(score[i] for i in g) / len(g) - mean) ** 2 for g in groups.values())
    r = len(groups)
    if total <= 1e-9 * n or r < 2 or r >= n:
        return 0.0
    a, b = (r - 1) / 2, (n - r) / 2
    spread = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)) / max(len(scores) - 1, 1))
    share = between / total
    return 1 - (1 - share) * (n - 1) / (n - r) if share > a / (a + b) + 2 * spread + 1e-9 else 0.0


def _entropy_term(problem: Problem, at: int, level: int, suppressed: set[int]) -> float:
    column = problem.levels[at]
    a = Counter(row[at] for row in problem.rows)
    b = Counter(column[level][row[at]] for row in problem.rows)
    c = Counter(column[level][problem.rows[r][at]] for r in suppressed)
    bits = -sum(n * math.log2(n / b[column[level][leaf]]) for leaf, n in a.items())
    return _floor(bits - sum(n * math.log2(n / len(suppressed)) for n in c.values()))
