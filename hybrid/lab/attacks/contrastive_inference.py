"""Attribute inference in the space of a contrastive encoder."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.inference import MAX_ROWS, is_right
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.utility.models import boosting, features, filled
from hybrid.lab.encoder.embed import Embedding, Encoder, nearest_groups

_PEOPLE: tuple[Role, ...] = ("train", "control")
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
    asked = [context.asked(context.whole(role)).rows for role in _PEOPLE]
    known = [rows[context.encoded(role).ranks[rows, at] >= 0] for role, rows in zip(_PEOPLE, asked, strict=True)]
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
            chosen.details[name] = {"value": alone.value, "low": alone.low, "high": alone.high}
    return chosen


def _risk(context: Context, people: Encoded, at: int, guess: Array, known: list[Array]) -> Outcome:
    train, control = np.split(is_right(context, people, at, guess), [len(known[0])])
    made = attacked_people(context, train, control, (known[0], known[1]))
    return made if isinstance(made, NotComputable) else made.measure()


def _secrets(context: Context, records: Encoded, at: int) -> Array:
    """Secrets as numbers, or as ranks of categories; shape (n,)."""
    return records.numbers[:, at] if context.encoding.continuous[at] else records.ranks[:, at].astype(np.int64)


def _commonest(secrets: Array, group: Array, near: Array) -> Array:
    """Commonest secret of each query's nearest group.

    The least of equally common ones; shape (m,).
    """
    values, codes = np.unique(secrets, return_inverse=True)
    pairs, counts = np.unique(group * len(values) + codes, return_counts=True)
    best = np.lexsort((pairs, -counts, pairs // len(values)))
    of_group = pairs[best] // len(values)
    first = best[np.searchsorted(of_group, np.arange(int(group.max()) + 1))]
    guess: Array = values[pairs[first] % len(values)][near]
    return guess


def _modelled(context: Context, source: Encoded, people: Encoded, at: int) -> Array:
    """Secrets that gradient boosting on the table predicts; shape (m,)."""
    encoding = context.encoding
    rng = context.random(f"cl_inference {encoding.names[at]}")
    rows = rng.permutation(len(source))[:MAX_ROWS] if len(source) > MAX_ROWS else np.arange(len(source))
    learned = source.take(rows)
    secrets, others = _secrets(context, learned, at), np.flatnonzero(np.arange(len(encoding.columns)) != at)
    distinct, classify = np.unique(secrets), not bool(encoding.continuous[at])
    if len(distinct) == 1:
        return np.full(len(people), distinct[0])
    rounds = max(min(100, TREES // len(distinct)), 1) if classify else 100
    model = boosting(encoding, others, classify, int(rng.integers(2**31)), rounds)
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
