"""Canaries: random secrets planted in training records and recovered."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.retraining import retrained
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded, encode, in_parts, part_edges
from hybrid.evaluation.engine.intervals import quantile, wilson
from hybrid.evaluation.engine.neighbours import Secrets, infer
from hybrid.evaluation.engine.space import gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.price import WIDEST, Price
from hybrid.table import Table

BINS = 10
"""Numbers and dates are guessed up to their tenth of the training records."""
MIN_CANARIES = 10


class Canaries(NamedTuple):
    """Rows of training records with planted secrets, of the donors of these, and the number of secrets there are."""

    records: Array
    donors: Array
    edges: Array
    """Bounds of the parts of a number; empty for categories."""
    domain: int


def _drawn(context: Context, at: int, count: int, rng: np.random.Generator) -> Canaries | NotComputable:
    """Random records, each with the donor of a secret drawn evenly from all others than the record's own."""
    train = context.encoded("train")
    known = train.order[train.ranks[train.order, at] >= 0]
    edges = part_edges(train.numbers[:, at], BINS)
    present, codes = np.unique(_parts(train, at, edges)[known], return_inverse=True)
    if len(present) < 2:
        return NotComputable("the secret has only one value in the training records")
    chosen = rng.choice(len(known), min(count, len(known)), replace=False)
    other = (codes[chosen] + rng.integers(1, len(present), len(chosen))) % len(present)
    by_code = np.argsort(codes, kind="stable")
    first, size = np.searchsorted(codes[by_code], other), np.bincount(codes)[other]
    donors = by_code[first + rng.integers(size)]
    return Canaries(known[chosen], known[donors], edges, len(present))


def _parts(table: Encoded, at: int, edges: Array) -> Array:
    """Secret of each row: the category, or the part of the number's range; -1 where missing."""
    return in_parts(table.numbers[:, at], edges) if len(edges) else table.ranks[:, at]


def canary(context: Context, column: str) -> Outcome:
    """Risk that the table reveals a secret planted at random.

    METRICS B12; thesis, section 4.2. In each training one record (``together`` of them) gets a secret drawn evenly from
    all others than its own. It is then inferred from the table by the nearest row on all other columns; numbers and
    dates up to their tenth. By chance one of the n - 1 other secrets is guessed as often as any guess but the true one:
    risk = (p - b)/(1 - b) with b = P(guess is not the record's own)/(n - 1). At most 1, 0 where nothing is remembered;
    a table that copies the share f of its training records scores about f.
    """
    options = context.retrain
    if column not in context.encoding.names or len(context.encoding.names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column")
    at = context.encoding.names.index(column)
    rng = context.random(f"canary {column}")
    drawn = _drawn(context, at, options.canaries, rng)
    if isinstance(drawn, NotComputable):
        return drawn
    groups = np.array_split(np.arange(len(drawn.records)), -(-len(drawn.records) // options.together))
    rows = min(options.rows, len(context.train))

    def build(i: int) -> Table:
        mine = drawn.records[groups[i]]
        others = np.setdiff1d(context.encoded("train").order, mine, assume_unique=True)
        chosen = np.concatenate([mine, rng.permutation(others)[: max(rows - len(mine), 0)]])
        return _with_secrets(context.train, chosen, drawn.donors[groups[i]], column)

    recovered: list[Array] = []
    for i, table in retrained(context, f"canaries of {column}", len(groups), build, rng):
        recovered.append(_recovered(context, table, drawn, groups[i], column))
    found = np.concatenate(recovered) if recovered else np.empty((0, 2))
    if len(found) < MIN_CANARIES:
        return NotComputable(sentence("metric.time.canaries", n=len(found), least=MIN_CANARIES), "timed_out")
    return _measured(context, found, drawn.domain, rows)


def _with_secrets(train: Table, rows: Array, donors: Array, column: str) -> Table:
    secrets = train.frame[column].take(np.concatenate([donors, rows[len(donors) :]])).array
    some = train.take(rows)
    return replace(some, frame=some.frame.assign(**{column: secrets}))


def _recovered(context: Context, table: Table, drawn: Canaries, group: Array, column: str) -> Array:
    """Probability that the nearest row has the planted secret, and the record's own; shape (n_canaries, 2)."""
    mine, donors = drawn.records[group], drawn.donors[group]
    people = _with_secrets(context.train, np.concatenate([mine, mine]), donors, column)
    encoding = encode([people, people.take(np.empty(0, np.int64)), table])
    if column not in encoding.names or len(encoding.names) < 2:
        return np.zeros((len(group), 2))
    at = encoding.names.index(column)
    space = gower(encoding)
    truth, guess = (Secrets.codes(_parts(encoding.tables[i], at, drawn.edges)) for i in (0, 2))
    placed = [space.place(encoding.tables[i]) for i in (0, 2)]
    found = infer(placed[0], placed[1], np.flatnonzero(space.columns == at), truth, guess)
    return found.likely[:, 0].reshape(2, -1).T


def _measured(context: Context, found: Array, domain: int, rows: int) -> Measure:
    confidence, n = context.options.confidence, len(found)
    planted, own = found.mean(axis=0)
    chance = (1 - own) / (domain - 1)
    rate = wilson(float(planted) * n, n, confidence)
    spread = quantile(confidence) * float(found[:, 1].std()) / (domain - 1) / np.sqrt(n)
    error = float(np.hypot(rate.error, spread)) / (1 - chance)
    value = float((planted - chance) / (1 - chance))
    middle = float((rate.value - chance) / (1 - chance))
    details: dict[str, object] = {
        "recovered": float(planted),
        "by_chance": float(chance),
        "own_secret": float(own),
        "secrets": domain,
        "rows": rows,
        "asked_for": context.retrain.canaries,
        "together": context.retrain.together,
    }
    if context.options.paper:
        details["paper"] = {"success": float(planted), "risk": (planted - 1 / domain) / (1 - 1 / domain)}
    return Measure(value, min(middle - error, value), max(middle + error, value), 0.0, n, details).above(0.0)


BEFORE = "counting_queries"
PRICES = {"canary": Price(widest=WIDEST)}
METRICS = (
    attack(
        canary,
        "inference",
        "How much more often than by chance a secret planted in one training record can be read from the table.",
        needs=("retraining",),
        per="declared_secret",
        mechanism="canary",
        access="black_box",
    ),
)
