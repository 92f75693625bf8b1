"""Attacks and distances in the space of a contrastive encoder.

The encoder is trained on the judged table alone. Beside every number stands that of the same network with random
weights: what the training adds is the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.closeness import dcr_score, dcr_share
from hybrid.evaluation.attacks.inference import MAX_ROWS, is_right, known_rows
from hybrid.evaluation.attacks.linkability import halves
from hybrid.evaluation.attacks.membership import membership
from hybrid.evaluation.attacks.outcome import Attack, attacked_people, measured, worst
from hybrid.evaluation.attacks.singling_out import (
    BATCH,
    Predicates,
    collected,
    stratified,
    success,
    tables_of,
    univariate_predicates,
)
from hybrid.evaluation.attacks.vulnerability import local_outlier_factors
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.intervals import difference
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.families import attack, indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.options import TORCH_HINT
from hybrid.evaluation.price import Price
from hybrid.evaluation.utility.models import boosting, features, filled
from hybrid.lab.encoder.embed import Embedding, Encoder, chosen, nearest_groups, placed, trained, without_training

TREES = 1000
"""Trees of the model of a secret, at most, over all its classes; 100 rounds at most."""


def inferred(context: Context, embedding: Embedding, secret: str) -> Outcome:
    """Risk that an encoder chooses a person's secret of two candidates.

    One candidate is the secret of the nearest row by all other columns, the commonest one among rows at one point; the
    other is what gradient boosting, trained on the table, predicts for the person. Chosen is the one whose point, all
    other columns hidden, has the larger product with the point of the person, the secret hidden. Right is as in
    ``inference``. ``details`` have the risk of each candidate alone. All people with a known secret are attacked.
    """
    if secret not in context.encoding.names:
        return NotComputable("the secret is constant or names single records", lacks="secret")
    at = context.encoding.names.index(secret)
    table = context.encoded("table")
    rows = table.order[table.ranks[table.order, at] >= 0]
    if not len(rows):
        return NotComputable("the secret is missing in every row of the table", "too_few")
    known = known_rows(context, at)
    if not all(map(len, known)):
        return NotComputable("the secret of nobody is known", "too_few", lacks="secret")
    people = context.encoded("train").take(known[0]).join(context.encoded("control").take(known[1]))
    source = table.take(rows)
    encoder = embedding.encoder
    shown = np.arange(len(context.encoding.columns)) != at
    query = encoder.points(people, shown)
    near = _commonest(_secrets(context, source, at), *nearest_groups(encoder.points(source, shown), query))
    modelled = context.once(("cl_inference model", at), lambda: _modelled(context, source, people, at))
    kind = len(shown), bool(context.encoding.continuous[at])
    likely = [np.einsum("ij,ij->i", query, _points(encoder, at, guess, *kind)) for guess in (near, modelled)]
    chosen = _risk(context, people, at, np.where(likely[1] > likely[0], modelled, near), known)
    if isinstance(chosen, NotComputable):
        return chosen
    for name, guess in (("nearest", near), ("model", modelled)):
        alone = _risk(context, people, at, guess, known)
        if isinstance(alone, Measure):
            chosen.details[name] = _ends(alone)
    return chosen


def _risk(context: Context, people: Encoded, at: int, guess: Array, known: tuple[Array, Array]) -> Outcome:
    train, control = np.split(is_right(context, people, at, guess), [len(known[0])])
    return measured(attacked_people(context, train, control, known))


def _secrets(context: Context, records: Encoded, at: int) -> Array:
    """Secrets as numbers, or as ranks of categories; shape (n,)."""
    return records.numbers[:, at] if context.encoding.continuous[at] else records.ranks[:, at].astype(np.int64)


def _commonest(secrets: Array, group: Array, near: Array) -> Array:
    """Commonest secret of each query's nearest group, the least of equally common ones; shape (m,)."""
    values, codes = np.unique(secrets, return_inverse=True)
    pairs, counts = np.unique(group * len(values) + codes, return_counts=True)
    best = np.lexsort((pairs, -counts, pairs // len(values)))
    of_group = pairs[best] // len(values)
    first = best[np.searchsorted(of_group, np.arange(int(group.max()) + 1))]
    return np.asarray(values[pairs[first] % len(values)][near])


def _modelled(context: Context, source: Encoded, people: Encoded, at: int) -> Array:
    encoding = context.encoding
    rng = context.random(f"cl_inference {encoding.names[at]}")
    rows = rng.permutation(len(source))[:MAX_ROWS] if len(source) > MAX_ROWS else np.arange(len(source))
    learned = source.take(rows)
    secrets, others = _secrets(context, learned, at), np.flatnonzero(np.arange(len(encoding.columns)) != at)
    distinct, classify = np.unique(secrets), not bool(encoding.continuous[at])
    if len(distinct) == 1:
        return np.full(len(people), distinct[0])
    rounds = max(min(100, TREES // len(distinct)), 1) if classify else 100
    model = boosting(encoding.continuous[others], classify, int(rng.integers(2**31)), rounds)
    with one_model:
        model.fit(filled(features(encoding, learned, others)), secrets)
        guess: Array = model.predict(features(encoding, people, others))
    return guess


def _points(encoder: Encoder, at: int, guess: Array, n_columns: int, continuous: bool) -> Array:
    """Points of records with a guess and nothing else; shape (m, dimensions)."""
    ranks = np.full((len(guess), n_columns), -1, dtype=np.int64)
    numbers = np.full((len(guess), n_columns), np.nan)
    if continuous:
        ranks[:, at], numbers[:, at] = np.unique(guess, return_inverse=True)[1], guess
    else:
        ranks[:, at] = guess
    return encoder.points(Encoded(ranks, numbers), np.arange(n_columns) == at)


SHARE = 10
"""One row in so many is an outlier."""


def outliers(context: Context, embedding: Embedding) -> Array:
    """Tenth of the rows that searches query with the largest outlier factors, int64."""
    rows = context.by_content(context.asked(context.whole("table")))
    points = placed(embedding.space.encoded("table").numbers[rows])
    factors = local_outlier_factors(embedding.space.space, points)
    return np.asarray(rows[np.argsort(-factors, kind="stable")[: max(len(rows) // SHARE, 1)]])


def several_columns(context: Context, embedding: Embedding) -> Outcome:
    """Risk of being singled out by several columns of an outlier.

    Predicates of all numbers of columns together. ``details`` have each number of columns, with intervals that hold
    for all of them (Sidak), and the same attack with predicates about rows of all sorts.
    """
    widths = [n for n in context.options.singling_out_columns if 2 <= n <= len(context.encoding.columns)]
    if not widths:
        return NotComputable("too few columns to combine")

    def attack(rows: Array, name: str) -> Outcome:
        predicates = _conjunctions(context, rows, widths, name)
        made = _attack(context, predicates)
        if isinstance(made, NotComputable):
            return made
        n_columns = (predicates.columns >= 0).sum(axis=1)
        parts = {str(n): predicates.take(np.flatnonzero(n_columns == n)) for n in widths}
        each = {n: _attack(context, part) for n, part in parts.items()}
        top = worst(each, "columns", context.options.confidence)
        said = {name: top.details[name] for name in ("columns", "worst_columns")} if isinstance(top, Measure) else {}
        return made.measure(**said)

    return _beside_random(context, embedding, "cl_singling_out", attack)


def one_column(context: Context, embedding: Embedding) -> Outcome:
    """Risk of being singled out by one value of an outlier (:func:`~.singling_out.singling_out_univariate`)."""
    index = tables_of(context).table
    every = univariate_predicates(context, index)
    about = index.find(every)[1]

    def attack(rows: Array, name: str) -> Outcome:
        mine = every.take(np.flatnonzero(np.isin(about, rows)))
        if not len(mine):
            return NotComputable("no value of these rows stands alone in the table", "too_few", lacks="lone_values")
        return measured(_attack(context, stratified(mine, context.options.attacks, context.random(name))))

    return _beside_random(context, embedding, "cl_singling_out_univariate", attack)


def _attack(context: Context, predicates: Predicates) -> Attack | NotComputable:
    return success(tables_of(context), predicates, context.options.confidence)


def _beside_random(
    context: Context, embedding: Embedding, name: str, attack: Callable[[Array, str], Outcome]
) -> Outcome:
    """The attack on outliers, with that on any rows in its details; both have random streams of their own."""
    mine = attack(outliers(context, embedding), f"{name} of outliers")
    order, stream = context.encoded("table").order, f"{name} of any rows"
    other = context.once(stream, lambda: attack(order, stream))
    if isinstance(mine, Measure) and isinstance(other, Measure):
        mine.details["random_targets"] = _ends(other) | {"gain": [*difference(mine.interval, other.interval)]}
    return mine


def _conjunctions(context: Context, rows: Array, widths: Sequence[int], name: str) -> Predicates:
    """Distinct conjunctions that fit one row alone, over one of the ``widths`` of random columns of these rows."""
    index, rng = tables_of(context).table, context.random(name)
    p, widest = len(context.encoding.columns), max(widths)
    intervals = [_interval_ends(context, c) for c in range(p)]

    def draw() -> Predicates:
        about = rows[rng.integers(len(rows), size=BATCH)]
        size = np.asarray(widths)[rng.integers(len(widths), size=BATCH)]
        order = np.argsort(rng.random((BATCH, p)), axis=1)[:, :widest]
        columns = np.sort(np.where(np.arange(widest) < size[:, None], order, p), axis=1)
        columns = np.where(columns == p, -1, columns)
        low, high = np.full_like(columns, -1), np.full_like(columns, -1)
        for c, (lows, highs) in enumerate(intervals):
            at = np.nonzero(columns == c)
            ranks = index.ranks[c, about[at[0]]]
            low[at], high[at] = lows[ranks], highs[ranks]
        return Predicates(*(x.astype(np.int32) for x in (columns, low, high)))

    return collected(index, draw, widest, context.options.attacks)


def _interval_ends(context: Context, c: int) -> tuple[Array, Array]:
    """Least and largest rank of the interval around each rank, last of missing (-1); categories are their own."""
    count = int(context.encoding.cardinality[c])
    own = np.append(np.arange(count), -1)
    if not context.encoding.continuous[c]:
        return own, own
    values = np.full(count, np.nan)
    for part in context.encoding.tables:
        known = part.ranks[:, c] >= 0
        values[part.ranks[known, c]] = part.numbers[known, c]
    mine = context.encoded("table").numbers[:, c]
    least, most = np.nanmin(mine), np.nanmax(mine)
    bins = chosen(context).bins
    width = (most - least) / bins
    place = np.floor((values - least) / width) if width > 0 else np.zeros(count)
    place[values == most] = bins - 1 if width > 0 else 0
    low, high = (np.searchsorted(place, place, side) for side in ("left", "right"))
    return np.append(low, -1), np.append(high - 1, -1)


InSpace = Callable[[Context, Embedding], Outcome]


def in_space(context: Context, measure: InSpace) -> Outcome:
    """A metric in the encoder's space, the mean over the trained encoders.

    Value, interval and excess are means over the encoders; ``details.untrained`` has the same of a network with random
    weights and the gain over it, with an interval that takes both as independent; ``details.encoder`` how well the
    encoders recognize records.
    """
    if len(context.encoding.columns) < 2:
        return NotComputable("an encoder needs two columns that vary")
    engine = chosen(context).engine
    if engine == "contrastive" and find_spec("torch") is None:
        return NotComputable(sentence("metric.no_torch", hint=TORCH_HINT), "failed")
    random = without_training(context)
    beside = measure(context, random)
    if engine == "untrained":
        return _saying(beside, (random,), engine) if isinstance(beside, Measure) else beside
    embeddings = trained(context)
    outcomes = [measure(context, embedding) for embedding in embeddings]
    found = [outcome for outcome in outcomes if isinstance(outcome, Measure)]
    if len(found) < len(outcomes):
        return next(outcome for outcome in outcomes if isinstance(outcome, NotComputable))
    mean = _saying(_mean(found), embeddings, engine)
    if isinstance(beside, Measure):
        check = {"found": random.check.found, "loss": random.check.loss}
        mean.details["untrained"] = _ends(beside) | check | {"gain": [*difference(mean.interval, beside.interval)]}
    else:
        mean.details["untrained"] = {"reason": beside.reason}
    return mean


def _mean(found: list[Measure]) -> Measure:
    values = [measure.value for measure in found]
    low, high = (_mean_of([getattr(measure, end) for measure in found]) for end in ("low", "high"))
    excess = [
        _mean_of(list(ends)) for ends in zip(*(measure.excess for measure in found if measure.excess), strict=True)
    ]
    each = [_ends(measure) | measure.details for measure in found]
    return replace(
        found[0],
        value=_mean_of(values),
        low=low,
        high=high,
        reference=_mean_of([measure.reference for measure in found if measure.reference is not None]),
        details={"each": each, "spread": max(values) - min(values)},
        excess=(excess[0], excess[1], excess[2]),
    )


def _mean_of(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ends(measure: Measure) -> dict[str, object]:
    return {"value": measure.value, "low": measure.low, "high": measure.high}


def _saying(measure: Measure, embeddings: tuple[Embedding, ...], engine: str) -> Measure:
    checks = [embedding.check for embedding in embeddings]
    encoder = {
        "engine": engine,
        "encoders": len(checks),
        "records": checks[0].records,
        "found": float(np.mean([check.found for check in checks])),
        "chance": checks[0].chance,
        "loss": float(np.mean([check.loss for check in checks])),
    }
    measure.details["encoder"] = encoder
    return measure


def linked(context: Context, embedding: Embedding) -> Outcome:
    """Risk that two holders' columns lead to a common nearest row.

    As in :func:`~.linkability.linkability`, each holder hiding the other's columns from the encoder. Rows at one point
    are tied.
    """
    masks = [np.isin(context.encoding.names, side) for side in halves(context)]
    if not all(mask.any() for mask in masks):
        return NotComputable("each of the two data holders needs at least one column that varies")
    everybody, table, points = context.everybody_asked(), context.encoded("table"), embedding.encoder.points
    sides = [nearest_groups(points(table, mask), points(everybody, mask)) for mask in masks]
    (group, near), (other_group, other_near) = sides
    wide = int(other_group.max()) + 1
    common = np.isin(near * wide + other_near, group * wide + other_group)
    return measured(attacked_people(context, *context.by_role(common)))


def _in_its_space(compute: Callable[[Context], Measure]) -> InSpace:
    """A metric of distances as it is, on the encoder's points."""

    def measure(_: Context, embedding: Embedding) -> Outcome:
        found = compute(embedding.space)
        return replace(
            found,
            details={name: found.details[name] for name in ("ties", "threshold", "advantage") if name in found.details},
        )

    return measure


def _of_column(context: Context, column: str) -> Outcome:
    return in_space(context, partial(inferred, secret=column))


_attack_in_space = partial(attack, needs=("control", "encoder"), mechanism="embedding")
_indicator_in_space = partial(indicator, needs=("control", "encoder"), mechanism="embedding")
BEFORE = "privacy_score"
PRICES = {
    "cl_singling_out": Price(searches=1.0, cells=1.5),
    "cl_linkability": Price(searches=1.5),
    "cl_inference": Price(searches=0.5, cells=2.0),
    "cl_dcr_share": Price(searches=2.5),
    "cl_dcr_score": Price(searches=0.5),
    "cl_membership": Price(searches=1.0),
}
METRICS = (
    _attack_in_space(
        partial(in_space, measure=several_columns),
        "singling out",
        "How much more often several values of an outlying row describe exactly one training person than one "
        "person never seen.",
        name="cl_singling_out",
        copy=1.0,
    ),
    _attack_in_space(
        partial(in_space, measure=one_column),
        "singling out",
        "How much more often one rare value of an outlying row describes exactly one training person than one "
        "person never seen.",
        name="cl_singling_out_univariate",
        copy=1.0,
    ),
    _attack_in_space(
        partial(in_space, measure=linked),
        "linkability",
        "How much more often the table links two partial records of one training person than of one person never "
        "seen, by the points of an encoder.",
        name="cl_linkability",
        copy=1.0,
    ),
    _attack_in_space(
        _of_column,
        "inference",
        "How much more often this secret is guessed right of training people than of people never seen, by the "
        "points of an encoder.",
        name="cl_inference",
        per="declared_secret",
    ),
    _indicator_in_space(
        partial(in_space, measure=_in_its_space(dcr_share)),
        "The share of rows that lie closer to a training record than to any person never seen among the points "
        "of an encoder; .5 is chance.",
        name="cl_dcr_share",
        no_leak=0.5,
    ),
    _indicator_in_space(
        partial(in_space, measure=_in_its_space(dcr_score)),
        "The share of rows that lie closer to a training record than real people lie to each other among the "
        "points of an encoder.",
        name="cl_dcr_score",
        low=None,
        no_leak=0.0,
    ),
    _attack_in_space(
        partial(in_space, measure=_in_its_space(membership)),
        "membership",
        "How well an attacker can find out from the points of an encoder who was in the training data; .5 is guessing.",
        name="cl_membership",
        copy=1.0,
    ),
)
