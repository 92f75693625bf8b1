"""Secrets read off rows with a person's keys: GTCAP, CAP and AIR; and the hitting rate.

CAP and AIR are forms of PrivEval, a review of seventeen privacy metrics: each in excess of control, and as printed in
``details.paper``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.inference import secrets_of
from hybrid.evaluation.attacks.outcome import attacked_people, measured
from hybrid.evaluation.context import PEOPLE, ROLES, Context, Part, Role
from hybrid.evaluation.engine.encoding import in_parts, part_edges, row_keys
from hybrid.evaluation.engine.intervals import (
    Rate,
    exact_share_interval,
    failure_ratio,
    quantile,
    risk,
    share_interval,
)
from hybrid.evaluation.engine.neighbours import Guesses, Secrets, infer
from hybrid.evaluation.engine.space import TIE, Columns, Space, euclidean, gower
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack, indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome


def matching(queries: Columns, references: Columns, radius: float, weights: Array | None = None) -> Array:
    """Weight of the references that match each query.

    A match equals the query in all categories and lies within ``radius`` in every number. Records are grouped by their
    categories and sorted by their numbers inside a group. Up to two numbers cost O((n + m) log m) time whatever the
    sizes of the groups; of three and more, the references within reach in the most selective number are compared in the
    others. Memory is O(n + m). ``radius`` is in units of the space, below 1: the distance of missing from a number. A
    reference counts 1 without weights.
    """
    mine, its = row_keys([_exact(queries), _exact(references)])
    worth = np.ones(len(its)) if weights is None else weights
    numbers = zip(queries.numbers, references.numbers, strict=True)
    windows = sorted((_window(x, y, radius + TIE) for x, y in numbers), key=lambda window: window.reach)
    if not windows:
        n_groups = 1 + max(int(mine.max(initial=-1)), int(its.max(initial=-1)))
        return np.asarray(np.bincount(its, worth, n_groups)[mine])
    first, others = windows[0], windows[1:]
    width = len(its) + 1
    place = its * width + first.rank
    order = np.argsort(place, kind="stable")
    begin, end = (np.searchsorted(place[order], mine * width + side) for side in (first.low, first.high))
    if not others:
        summed = np.concatenate([[0.0], np.cumsum(worth[order])])
        return np.asarray(summed[end] - summed[begin])
    return _in_all(others, order, begin, end, worth[order])


class Window(NamedTuple):
    """References within reach of each query in one number: those of rank low..high-1."""

    low: Array
    high: Array
    rank: Array
    """Of each reference, shape (n_references,)."""
    reach: float
    """References in a window, on average."""


def _window(queries: Array, references: Array, radius: float) -> Window:
    ordered = np.sort(references)
    low, high = np.searchsorted(ordered, queries - radius), np.searchsorted(ordered, queries + radius, side="right")
    return Window(low, high, np.searchsorted(ordered, references), float((high - low).sum()) / max(len(low), 1))


def _exact(records: Columns) -> Array:
    """Columns of exact comparison: categories, and which numbers are missing; shape (n, q + p), int32."""
    return np.column_stack([records.codes.T, records.missing.T.astype(np.int32)])


def _in_all(windows: list[Window], order: Array, begin: Array, end: Array, worth: Array) -> Array:
    """Weight of the references in all windows of each query: of query i, ``order[begin[i]:end[i]]``."""
    from hybrid.evaluation.engine import kernels

    low, high = (np.array([window[side] for window in windows]) for side in (0, 1))
    ranks = np.array([window.rank[order] for window in windows])
    found = np.zeros(len(begin))
    if len(windows) == 1:
        events = np.argsort(np.concatenate([begin, end]), kind="stable")
        kernels.sweep(low[0], high[0], ranks[0], begin, end, events, worth, found)
    else:
        in_chunks(len(begin), kernels.inside, low, high, ranks, begin, end, worth, out=[found])
    return found


HIT_SHARE = 1 / 30
"""Numbers within this share of the range hit (SynthEval)."""


class Attribution(NamedTuple):
    """Mean TCAP of rows that match a record, with its half width about the people attacked: the table is given."""

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
    """Mean over parts of a table, each of other people attacked by the same rows."""
    made = [part for part in parts if part.matched]
    if not made:
        return parts[0]
    mean = float(np.mean([part.rate.value for part in made]))
    error = float(np.sqrt(np.sum([part.rate.error**2 for part in made]))) / len(made)
    return Attribution(Rate(mean, error), float(np.mean([part.coverage for part in parts])), made[0].matched)


def _is_chance(matched: int, confidence: float) -> bool:
    """True if chance alone explains so many rows that match training records, and none a control record.

    A match is then one of either with the same probability (exact bounds of Clopper and Pearson).
    """
    return exact_share_interval(matched, matched, confidence)[0] <= 1 / 2


def keys_of(context: Context, secret: str) -> Array:
    """Positions of the quasi-identifiers but the secret; of all other columns, if there are none."""
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
    pairs = context.parts(PEOPLE)
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

    pairs = [matching(space.place(context.asked_records(role)), rows, HIT_SHARE) for role in PEOPLE]
    train, control = (found > 0 for found in pairs)
    attack = attacked_people(context, train, control)
    if isinstance(attack, NotComputable):
        return attack
    told, worth = attack.measure(), attack.independent[0] if attack.independent else float(len(train))
    low, high = share_interval(float(train.mean()), worth, context.options.confidence)
    details: dict[str, object] = {"risk": told.value, "risk_interval": [told.low, told.high]}
    if context.options.paper:  # PrivEval counts pairs.
        details["paper"] = {"HitR": float(pairs[0].mean())}
    counted = float(control.mean()), len(train), details, told.excess
    return Measure(float(train.mean()), low, high, *counted, unshrunk=told.unshrunk)


BINS = 20
"""Parts of about as many training records each, in which two numbers are one value."""
AIR_TOLERANCE = 0.1
"""A number is told within this share of the larger of guess and truth (PrivEval, AIR)."""
Attacked = Callable[[Context, Array, int], tuple[Array, Array, dict[str, float]]]
"""Success on each queried training and control record, and what ``details.paper`` says."""


def codes(context: Context, role: Role, columns: Array, bins: int | None = BINS) -> Array:
    """Codes that are equal where values are, numbers and dates by part of train's quantiles or by rank; -1 missing."""
    table, train = context.encoded(role), context.encoded("train")
    found: Array = table.ranks[:, columns].astype(np.int32)
    if bins is None:
        return found
    for place, at in enumerate(columns):
        if context.encoding.continuous[at]:
            found[:, place] = in_parts(table.numbers[:, at], part_edges(train.numbers[:, at], bins))
    return found


def _exact_shares(context: Context, keys: Array, secret: int, bins: int | None) -> tuple[Array, Array]:
    """Share of the rows with a queried record's keys that have its secret; 0 where no row has the keys."""
    coded = [codes(context, role, np.append(keys, secret), bins) for role in ROLES]
    known, whole = row_keys([part[:, :-1] for part in coded]), row_keys(coded)

    def rows(ids: list[Array], asked: Array) -> Array:
        counts = np.bincount(ids[2], minlength=1 + max(int(part.max(initial=-1)) for part in ids))
        return counts[asked]

    asked = context.asked_people
    shares = [rows(whole, whole[at][asked[at]]) / np.maximum(rows(known, known[at][asked[at]]), 1) for at in range(2)]
    return shares[0], shares[1]


def zcap(context: Context, column: str) -> Outcome:
    """Excess correct attribution probability on rows with a person's keys.

    Success on a record: of the rows of the table with its quasi-identifiers, the share with its secret; 0 where there
    is no such row (ZCAP of PrivEval, after Taub et al. 2018). Numbers are one value in each of 20 parts of the training
    records. R = (r_T - r_C)/(1 - r_C) over all training and control records: at most 1, 0 without a leak. As printed:
    the mean over training records alone, numbers equal to the last digit.
    """
    return _attack(context, column, partial(_cap, _exact_shares, "ZCAP"))


def _as_columns(coded: Array) -> Columns:
    n, q = coded.shape
    numbers, none = np.empty((0, n)), np.empty((0, n), dtype=bool)
    by_column = np.ascontiguousarray(coded.T)
    return Columns(numbers, numbers.astype(np.float32), none, np.empty(0, dtype=bool), by_column, np.ones(q))


def _hamming_shares(context: Context, keys: Array, secret: int, bins: int | None) -> tuple[Array, Array]:
    """Share of the rows nearest by Hamming distance on the keys that have a record's secret."""
    chosen, table = np.append(keys, secret), codes(context, "table", np.append(keys, secret), bins)
    people = np.concatenate([codes(context, role, chosen, bins)[context.asked_rows(role)] for role in PEOPLE])
    nothing = np.array([-1])
    of_people, of_rows = (_as_columns(np.ascontiguousarray(part[:, :-1])) for part in (people, table))
    found = infer(of_people, of_rows, nothing, Secrets.codes(people[:, -1]), Secrets.codes(table[:, -1]))
    return context.by_role(found.likely[:, 0])


def _cap(
    shares: Callable[[Context, Array, int, int | None], tuple[Array, Array]],
    printed: str,
    context: Context,
    keys: Array,
    secret: int,
) -> tuple[Array, Array, dict[str, float]]:
    train, control = shares(context, keys, secret, BINS)
    paper = {printed: float(shares(context, keys, secret, None)[0].mean())} if context.options.paper else {}
    return train, control, paper


def gcap(context: Context, column: str) -> Outcome:
    """Excess correct attribution probability on the rows nearest by keys.

    As :func:`zcap` with the rows whose quasi-identifiers differ from the record's in the fewest columns, all ties
    (GCAP of PrivEval). Always some row is nearest: success never lacks a match.
    """
    return _attack(context, column, partial(_cap, _hamming_shares, "GCAP"))


def _nearest_share(context: Context, keys: Array, secret: int, symmetric: bool) -> Guesses:
    """Guesses about the queried training, then the control records, from the rows nearest in E1 on the keys."""
    space, at = euclidean(context.encoding, keys), np.array([secret])
    people, table = context.everybody_asked(), context.encoded("table")
    truth, guess = (
        secrets_of(context, part, at, AIR_TOLERANCE)._replace(symmetric=symmetric) for part in (people, table)
    )
    return infer(space.place(people), space.place(table), np.array([-1]), truth, guess, squared=True)


def _inferred(context: Context, keys: Array, secret: int) -> tuple[Array, Array, dict[str, float]]:
    found = _nearest_share(context, keys, secret, True)
    train, control = context.by_role(found.likely[:, 0])
    paper: dict[str, float] = {}
    if context.options.paper:
        right = context.by_role(_nearest_share(context, keys, secret, False).first[:, 0].astype(float))[0]
        precision = float(_surprise(context.keys["train"], context.asked_rows("train")) @ right)
        paper = {"AIR": 2 * precision / (1 + precision)}
    return train, control, paper


def _surprise(contents: Array, asked: Array) -> Array:
    """Share of each queried record in the entropy of the contents: -p log p over their sum; shape (n_asked,)."""
    share = np.bincount(contents)[contents[asked]] / len(contents)
    weight = -share * np.log(share)
    total = weight.sum()
    return weight / total if total > 0 else np.full(len(asked), 1 / len(asked))


def air(context: Context, column: str) -> Outcome:
    """Excess attribute inference risk from the row nearest by keys.

    AIR of PrivEval. The nearest row in E1 on the quasi-identifiers, ties all in expectation; a category is told if
    equal, a number within 10 % of the larger of guess and truth, a date within 10 % of train's range. R = (r_T -
    r_C)/(1 - r_C). As printed: F1 of training records alone, weighted by their contents' share of the entropy, without
    false negatives, 2p/(1 + p); the first of tied rows, numbers within 10 % of the guess.
    """
    return _attack(context, column, _inferred)


def _attack(context: Context, column: str, attacked: Attacked) -> Outcome:
    names = context.encoding.names
    if column not in names:
        return NotComputable("the secret is constant or names single records", lacks="secret")
    keys = keys_of(context, column)
    if not len(keys):
        return NotComputable("there is no other column to attack with", lacks="quasi_identifiers")
    train, control, paper = attacked(context, keys, names.index(column))
    details: dict[str, object] = {"keys": [names[at] for at in keys], **({"paper": paper} if paper else {})}
    return measured(attacked_people(context, train, control), **details)


_from_quasi = partial(
    attack, needs=("control", "quasi_identifiers"), per="secret", knows="quasi-identifiers", by_default=False
)
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
    _from_quasi(
        zcap,
        "inference",
        "How much more often rows with exactly a person's quasi-identifiers show the secret of training people "
        "than of people never seen.",
        mechanism="uniqueness",
        printed=("ZCAP",),
    ),
    _from_quasi(
        gcap,
        "inference",
        "How much more often the rows that differ least from a person's quasi-identifiers show the secret of "
        "training people than of people never seen.",
        printed=("GCAP",),
    ),
    _from_quasi(
        air,
        "inference",
        "How much more often the row nearest to a person's quasi-identifiers tells the secret of training people "
        "than of people never seen.",
        printed=("AIR",),
    ),
)
