"""Training of the encoder. Imported only where torch is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.threads import one_torch_thread
from hybrid.evaluation.options import EncoderOptions
from hybrid.lab.encoder.network import HIDDEN, Coded, InputScales, Network, random_masks

DROPOUT = 0.1


def train(
    network: Network, inputs: InputScales, records: Encoded, held: Encoded, options: EncoderOptions, seed: int
) -> Network:
    """Train an encoder to recognize records behind two random masks.

    ``network`` is not changed. The weights are those with the smallest loss on the records held back.
    """
    rng = rng_for(seed, "training")
    drops = torch.Generator().manual_seed(int(rng.integers(2**63)))
    with one_torch_thread():
        weights = _Weights(network)
        optimizer = torch.optim.Adam(weights.all, lr=options.rate)
        asked = [_tensors(part) for part in _hidden_twice(inputs, held, rng)]
        best, least, stale = weights.network(), np.inf, 0
        for _ in range(options.epochs):
            for rows in _batches(len(records), options.batch, rng):
                pair = _hidden_twice(inputs, records.take(rows), rng)
                found = contrast([weights.points(*_tensors(part), drops) for part in pair], options.temperature)
                optimizer.zero_grad()
                torch.autograd.backward(found)
                optimizer.step()
            with torch.no_grad():
                loss = float(contrast([weights.points(*part) for part in asked], options.temperature))
            if loss < least:
                best, least, stale = weights.network(), loss, 0
            elif (stale := stale + 1) == options.patience:
                break
    return best


def contrast(pair: Sequence[Tensor], temperature: float) -> Tensor:
    """Mean of both cross-entropies of recognizing a record's other point, in nats."""
    first, second = pair
    logits = first @ second.T / temperature
    own = torch.arange(len(logits))
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2


class _Weights:
    def __init__(self, network: Network) -> None:
        parts = (network.tables, network.weights, network.biases, network.gains, network.shifts)
        self.parts = [[torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in part] for part in parts]
        self.all = [tensor for part in self.parts for tensor in part]

    def points(self, numbers: Tensor, tokens: Tensor, drops: torch.Generator | None = None) -> Tensor:
        """Records as points; ``drops`` leaves out hidden units at random."""
        tables, weights, biases, gains, shifts = self.parts
        x = torch.cat(
            [*(functional.embedding(tokens[:, at], table) for at, table in enumerate(tables)), numbers], dim=1
        )
        for layer in range(HIDDEN):
            x = functional.linear(x, weights[layer], biases[layer])
            if layer:
                x = x if drops is None else _dropped(x, drops)
                x = functional.layer_norm(x, x.shape[1:], gains[layer - 1], shifts[layer - 1])
            x = functional.gelu(x)
        return functional.normalize(functional.linear(x, weights[-1], biases[-1]), dim=1)

    def network(self) -> Network:
        return Network(*(tuple(x.detach().numpy().astype(np.float64) for x in part) for part in self.parts))


def _dropped(x: Tensor, drops: torch.Generator) -> Tensor:
    return x * (torch.rand(x.shape, generator=drops) >= DROPOUT) / (1 - DROPOUT)


def _hidden_twice(inputs: InputScales, records: Encoded, rng: np.random.Generator) -> tuple[Coded, Coded]:
    n, p = records.ranks.shape
    first, second = (inputs.code(records, random_masks(n, p, rng)) for _ in range(2))
    return first, second


def _tensors(records: Coded) -> tuple[Tensor, Tensor]:
    numbers = np.concatenate([records.numbers, records.absent], axis=1)
    return torch.tensor(numbers, dtype=torch.float32), torch.tensor(records.tokens)


def _batches(n: int, size: int, rng: np.random.Generator) -> Iterator[Array]:
    order = rng.permutation(n)
    yield from (order[start : start + size] for start in range(0, n, size) if n - start > 1)
