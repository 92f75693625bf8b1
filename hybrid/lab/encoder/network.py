"""Network of the encoder: its weights, and points computed with NumPy.

Categories are embedded, joined with the numbers, and passed through Linear - GELU, twice Linear - LayerNorm - GELU
(with dropout between while training), and a linear layer onto the unit sphere (thesis, section 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation.options import EncoderOptions
from hybrid.lab.encoder.inputs import FIRST, Coded, Inputs

HIDDEN = 3
EPSILON = 1e-5
"""Added to the variance by a layer norm."""


@dataclass(frozen=True)
class Network:
    """Weights of an encoder.

    Parameters
    ----------
    tables : tuple of numpy.ndarray, shape (categories + 2, width of the column)
        Embeddings of the tokens of each categorical column.
    weights, biases : tuple of numpy.ndarray, shapes (outputs, inputs) and (outputs,)
        Of the four linear layers.
    gains, shifts : tuple of numpy.ndarray, shape (width,)
        Of the layer norms after the second and the third.
    """

    tables: tuple[Array, ...]
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    gains: tuple[Array, ...]
    shifts: tuple[Array, ...]

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
        points: Array = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
        return points


def _gelu(x: Array) -> Array:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016), x Phi(x)."""
    from scipy.special import erf

    result: Array = x * 0.5 * (1 + erf(x / math.sqrt(2)))
    return result


def untrained(inputs: Inputs, options: EncoderOptions, seed: int) -> Network:
    """The network with random weights.

    Embeddings are standard normal, linear layers uniform within 1/sqrt(inputs), as PyTorch begins. Every column has a
    random stream of its own, so that one more category in a column leaves the other columns' weights as they are.
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


def dimensions(inputs: Inputs, options: EncoderOptions) -> int:
    """Dimensions of a point."""
    return options.dimensions or min(30, max(8, round(2 * inputs.n_columns / 3)))
