"""Points of an encoder, and the metrics' context among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation.context import Context, Making
from hybrid.evaluation.engine.encoding import Encoded, Encoding, row_keys
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Columns, Space
from hybrid.evaluation.options import EncoderOptions
from hybrid.lab.encoder.network import InputScales, Network, inputs_of, random_masks, untrained

DIGITS = 6
"""Decimals of a coordinate: points that differ by rounding alone are one point."""
BLOCK = 4096
"""Records that are passed through the network at once."""
CHECKED = 500
"""Held-back records of the self-check, at most."""


class EncoderCheck(NamedTuple):
    """Recognition of records that an encoder was not trained on."""

    records: int
    """Records held back from training, of which each is hidden twice, by two random masks."""
    found: float
    """Share (0..1) whose two points find each other among all; ``chance`` is 1/records."""
    chance: float
    loss: float
    """Contrastive loss of these records in nats; log(records) is guessing."""


@dataclass(frozen=True)
class Encoder:
    """A network with the coding it reads."""

    inputs: InputScales
    network: Network

    def points(self, records: Encoded, shown: Array | None = None) -> Array:
        """Records as points of length 1, rounded to six decimals; equal ones in what is shown are one point."""
        seen = np.ones(records.ranks.shape[1], dtype=bool) if shown is None else shown
        keys = row_keys([np.where(seen, records.ranks + 1, -1)])[0]
        _, rows, inverse = np.unique(keys, return_index=True, return_inverse=True)
        blocks = (records.take(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK))
        found = [self.network.points(self.inputs.code(block, seen)) for block in blocks]
        if not found:
            return np.empty((0, len(self.network.biases[-1])))
        return np.asarray(np.round(np.concatenate(found), DIGITS)[inverse])


@dataclass(frozen=True)
class Embedding:
    """One encoder of a judged table, and how well it works."""

    encoder: Encoder
    space: Context
    """The metrics' context whose records are the encoder's points."""
    check: EncoderCheck


class _Embedded(Context):
    """Context whose distances are those between an encoder's points; samples and random streams are its source's."""

    def __init__(self, context: Context, encoder: Encoder) -> None:
        super().__init__(
            context.train, context.control, context.table, context.options, context.seed, context.stage,
            progress=context.progress, making=Making(rules=context.making.rules),
        )  # fmt: skip
        self.asked_about = context.asked_about
        coded = context.encoding
        whole = coded.tables[0].join(coded.tables[1]).join(coded.tables[2])
        bounds = np.cumsum([len(part) for part in coded.tables])[:-1]
        points = np.split(encoder.points(whole), bounds)
        self._points = tuple(Encoded(part.ranks, z) for part, z in zip(coded.tables, points, strict=True))
        self._coded = coded

    @cached_property
    def encoding(self) -> Encoding:
        return replace(self._coded, tables=self._points)

    @cached_property
    def space(self) -> Space:
        """Euclidean distance of the points, which orders them as the angle does."""
        return sphere(self._points[0].numbers.shape[1])


def sphere(n_dimensions: int) -> Space:
    none = np.empty(0)
    return Space(np.arange(n_dimensions), np.zeros(n_dimensions), np.ones(n_dimensions), none, True)


def placed(points: Array) -> Columns:
    """Points in the layout of the compiled searches."""
    n, n_dimensions = points.shape
    return sphere(n_dimensions).place(Encoded(np.empty((n, 0), np.int32), points))


def nearest_groups(references: Array, queries: Array) -> tuple[Array, Array]:
    """Groups of references at one point, and the group (of equally near ones the first) nearest to each query."""
    scaled = np.rint((references + 1) * 10**DIGITS).astype(np.int64)
    _, first, group = np.unique(row_keys([scaled])[0], return_index=True, return_inverse=True)
    found = nearest(sphere(references.shape[1]), placed(queries), placed(references[first]))[1]
    return group, found[:, 0]


def trained(context: Context) -> tuple[Embedding, ...]:
    """Embeddings of the judged table by trained encoders, once per context; ImportError without torch."""
    return context.once("trained encoders", lambda: tuple(_trained(context)))


def without_training(context: Context) -> Embedding:
    options = chosen(context)

    def make() -> Embedding:
        inputs = inputs_of(context.encoding, context.encoded("table"))
        network = untrained(inputs, options, _seed(context, "untrained"))
        return _embedding(context, Encoder(inputs, network), held_back(context))

    return context.once("untrained encoder", make)


def _trained(context: Context) -> list[Embedding]:
    from hybrid.lab.encoder.train import train

    options, table = chosen(context), context.encoded("table")
    inputs, held = inputs_of(context.encoding, table), held_back(context)
    learned = table.take(np.setdiff1d(np.arange(len(table)), held))
    found = []
    for number in range(options.encoders):
        context.progress(f"train encoder ({context.stage})", number, options.encoders)
        seed = _seed(context, f"encoder {number}")
        network = train(untrained(inputs, options, seed), inputs, learned, table.take(held), options, seed)
        found.append(_embedding(context, Encoder(inputs, network), held))
    return found


def chosen(context: Context) -> EncoderOptions:
    """Options of the encoder, which the metrics that use it ask for."""
    assert context.options.encoder is not None
    return context.options.encoder


def _seed(context: Context, name: str) -> int:
    return int(context.random(name).integers(2**63))


def held_back(context: Context) -> Array:
    """Tenth of the judged rows that no encoder learns from; ascending, int64."""
    order = context.encoded("table").order
    tenth = context.random("held back").permutation(order)[: max(len(order) // 10, 1)]
    return np.asarray(np.sort(tenth))


def _embedding(context: Context, encoder: Encoder, held: Array) -> Embedding:
    records = context.encoded("table").take(held)
    return Embedding(encoder, _Embedded(context, encoder), checked(encoder, records, chosen(context), context.seed))


def checked(encoder: Encoder, records: Encoded, options: EncoderOptions, seed: int) -> EncoderCheck:
    """Recognition of records by two random masks.

    Each of at most 500 records is hidden twice; a find counts if no other record's second point is nearer.
    """
    rng = rng_for(seed, "self-check")
    some = records.take(rng.permutation(len(records))[:CHECKED])
    n, p = some.ranks.shape
    first, second = (encoder.network.points(encoder.inputs.code(some, random_masks(n, p, rng))) for _ in range(2))
    similar = first @ second.T
    return EncoderCheck(
        n, float((similar.argmax(axis=1) == np.arange(n)).mean()), 1 / n, loss(similar, options.temperature)
    )


def loss(similar: Array, temperature: float) -> float:
    """Contrastive loss of similarities in nats, both ways (InfoNCE; van den Oord et al. 2018); shape (n, n)."""
    from scipy.special import logsumexp

    logits = similar / temperature
    own = np.diag(logits)
    return float(np.mean([(logsumexp(logits, axis=axis) - own).mean() for axis in (0, 1)]))
