"""Network of the encoder: coding of its inputs, its weights, and points computed with NumPy.

Categories are embedded, joined with the numbers, and passed through Linear - GELU, twice Linear - LayerNorm - GELU
(with dropout between while training), and a linear layer onto the unit sphere (thesis, section 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation.engine.encoding import Encoded, Encoding
from hybrid.evaluation.engine.space import standard
from hybrid.evaluation.options import EncoderOptions

MASKED, MISSING, FIRST = 0, 1, 2
"""Tokens of a hidden value and of a missing one, and that of a column's first category."""
MOST = 8.0
"""Standard deviations beyond which a number is not told apart."""


class Coded(NamedTuple):
    """Records as a network reads them: standardized numbers, 1 where they are absent, and tokens."""

    numbers: Array
    absent: Array
    tokens: Array

    def take(self, rows: Array) -> Coded:
        return Coded(*(part[rows] for part in self))


@dataclass(frozen=True)
class InputScales:
    """Scales and categories of the judged table: what its holder can know."""

    numeric: Array
    other: Array
    """Positions of the a continuous and of the b other columns in the coding."""
    center: Array
    scale: Array
    """Mean and standard deviation in the judged table; 0 and 1 where nothing varies; shape (a,)."""
    known: tuple[Array, ...]
    """For each other column, which of its categories occur in the judged table."""

    @property
    def n_columns(self) -> int:
        return len(self.numeric) + len(self.other)

    def code(self, records: Encoded, shown: Array) -> Coded:
        """Records with only the shown values.

        Categories that the judged table does not have are hidden, too. ``shown`` has the shape (n, p) or (p,).
        """
        shown = np.broadcast_to(shown, records.ranks.shape)
        values = (records.numbers[:, self.numeric] - self.center) / self.scale
        absent = np.isnan(values) | ~shown[:, self.numeric]
        numbers = np.where(absent, 0.0, np.clip(values, -MOST, MOST))
        tokens = np.full((len(records), len(self.other)), MASKED, dtype=np.int64)
        for at, (column, known) in enumerate(zip(self.other, self.known, strict=True)):
            ranks = records.ranks[:, column]
            token = np.where(ranks < 0, MISSING, np.where(np.append(known, False)[ranks], ranks + FIRST, MASKED))
            tokens[:, at] = np.where(shown[:, column], token, MASKED)
        return Coded(numbers, absent.astype(np.float64), tokens)


def inputs_of(encoding: Encoding, table: Encoded) -> InputScales:
    """Learn scales and categories from the judged table."""
    numeric, other = np.flatnonzero(encoding.continuous), np.flatnonzero(~encoding.continuous)
    known = []
    for column in other:
        ranks = table.ranks[:, column]
        known.append(np.bincount(ranks[ranks >= 0], minlength=int(encoding.cardinality[column])) > 0)
    return InputScales(numeric, other, *standard(table.numbers[:, numeric]), tuple(known))


def random_masks(n: int, p: int, rng: np.random.Generator) -> Array:
    """Random masks, True for what is shown: 1 to p - 1 of p columns are hidden, each number as often."""
    hidden = rng.integers(1, p, size=n)
    place = np.argsort(np.argsort(rng.random((n, p)), axis=1), axis=1)
    return np.asarray(place >= hidden[:, None])


HIDDEN = 3
EPSILON = 1e-5
"""Added to the variance by a layer norm."""


@dataclass(frozen=True)
class Network:
    """Weights of an encoder."""

    tables: tuple[Array, ...]
    """Embeddings of the tokens of each categorical column; shape (categories + 2, width of the column)."""
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    """Of the four linear layers; shapes (outputs, inputs) and (outputs,)."""
    gains: tuple[Array, ...]
    shifts: tuple[Array, ...]
    """Of the layer norms after the second and the third; shape (width,)."""

    def points(self, records: Coded) -> Array:
        """Records as points on the unit sphere; shape (n, dimensions), float64."""
        parts = [table[token] for table, token in zip(self.tables, records.tokens.T, strict=True)]
        x = np.concatenate([*parts, records.numbers, records.absent], axis=1)
        for layer in range(HIDDEN):
            x = x @ self.weights[layer].T + self.biases[layer]
            if layer:
                centred = x - x.mean(axis=1, keepdims=True)
                spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
                x = centred / spread * self.gains[layer - 1] + self.shifts[layer - 1]
            x = _gelu(x)
        x = x @ self.weights[-1].T + self.biases[-1]
        return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _gelu(x: Array) -> Array:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016), x Phi(x)."""
    from scipy.special import erf

    return np.asarray(x * 0.5 * (1 + erf(x / math.sqrt(2))))


def untrained(inputs: InputScales, options: EncoderOptions, seed: int) -> Network:
    """The network with random weights, as PyTorch begins: standard normal embeddings, layers uniform in 1/sqrt(inputs).

    Every column has a random stream of its own, so that one more category leaves the other columns' weights as they
    are.
    """
    widths = [_category_width(len(known), options) for known in inputs.known]
    tables = [
        rng_for(seed, "embedding", at).normal(size=(len(known) + FIRST, width))
        for at, (known, width) in enumerate(zip(inputs.known, widths, strict=True))
    ]
    blocks = [*widths, *(1 for _ in range(2 * len(inputs.numeric)))]
    n_inputs, width = sum(blocks), options.width
    first = np.concatenate(
        [rng_for(seed, "first layer", at).uniform(-1, 1, (size, width)) for at, size in enumerate(blocks)]
    )
    rng = rng_for(seed, "layers")
    shapes = [(width, n_inputs), *((width, width) for _ in range(HIDDEN - 1)), (dimensions(inputs, options), width)]
    weights = [first.T, *(rng.uniform(-1, 1, shape) for shape in shapes[1:])]
    scales = [1 / math.sqrt(shape[1]) for shape in shapes]
    return Network(
        tuple(tables),
        tuple(weight * scale for weight, scale in zip(weights, scales, strict=True)),
        tuple(rng.uniform(-1, 1, shape[0]) * scale for shape, scale in zip(shapes, scales, strict=True)),
        tuple(np.ones(width) for _ in range(HIDDEN - 1)),
        tuple(np.zeros(width) for _ in range(HIDDEN - 1)),
    )


def _category_width(categories: int, options: EncoderOptions) -> int:
    return max(2, min(16, -(-categories // 2))) if options.categories is None else options.categories


def dimensions(inputs: InputScales, options: EncoderOptions) -> int:
    return options.dimensions or min(30, max(8, round(2 * inputs.n_columns / 3)))
