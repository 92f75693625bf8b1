"""Evidence about single records in a trained TabDDPM: its loss on them.

A network that has memorized a record takes noise off it better than off records of other people: the attack by the loss
at small noise levels, which found most in the challenge on synthesis by diffusion models of tables (MIDST,
arXiv:2510.16037; Carlini et al., USENIX Security 2023, arXiv:2301.13188, for images). All records get the same noise.
Records of rare people are hard for any network: what reference people with similar values make a regression expect is
taken off (Bertran et al., NeurIPS 2023, arXiv:2307.03694). Imported only where torch is needed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.tabddpm import CHUNK_CELLS
from hybrid.synthesize.generators.tabddpm.diffusion import Draws, keep, signal_of
from hybrid.synthesize.generators.tabddpm.model import TabddpmModel, as_tensor, diffusion_of, first_states
from hybrid.synthesize.protocol import Encoded

TIMES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Noise levels, from 0 (clean) to 1."""
ROUNDS = 16
"""Draws of noise at each level, the same for all records."""


def log_odds(model: TabddpmModel, people: Encoded, reference: Encoded, seed: int) -> Array:
    """Loss expected from reference people with similar values, minus the loss on each record; shape (n,).

    Losses of a level are divided by their standard deviation among reference people, and summed over the levels.
    """
    own, others = losses(model, people, seed), losses(model, reference, seed)
    scale = np.maximum(others.std(axis=0), 1e-12)
    mine, theirs = (-(part / scale).sum(axis=1) for part in (own, others))
    return mine - expected(_inputs(model, people), _inputs(model, reference), theirs, seed)


@torch.no_grad()
def losses(model: TabddpmModel, data: Encoded, seed: int) -> Array:
    """Loss of each record at each of :data:`TIMES`, shape (n, n_times): the training's, under the same noise for all.

    Cross-entropy of the clean states plus half the squared error of the velocities, summed over columns and averaged
    over :data:`ROUNDS` draws. A state that was not learned costs as much as the rarest that was costs by itself, and
    the network is given a common one instead.
    """
    states, known, numbers = _coded(model, data)
    chunk = CHUNK_CELLS // max(len(model.frequencies), *model.options.layers, 1) + 1
    parts = [slice(start, start + chunk) for start in range(0, len(data), chunk)]
    found = np.zeros((len(data), len(TIMES)))
    for at, time in enumerate(TIMES):
        for number in range(ROUNDS):
            noise = int(rng_for(seed, "tabddpm inspect", at, number).integers(2**63))
            for rows in parts:
                found[rows, at] += _losses(model, states[rows], known[rows], numbers[rows], time, noise)
    return found / ROUNDS


def _coded(model: TabddpmModel, data: Encoded) -> tuple[Tensor, Tensor, Tensor]:
    """States, numbered through all columns, whether each was learned, and numbers."""
    device, firsts = model.frequencies.device, first_states(model.levels)
    pairs = list(zip(data.columns, model.levels, strict=True))
    codes = as_tensor([column for column, size in pairs if size], len(data), torch.int64, device)
    sizes = [size for size in model.levels if size]
    common = [int(part.argmax()) for part in model.frequencies.split(sizes)] if sizes else []
    states = torch.where(codes < 0, torch.tensor(common, dtype=torch.int64, device=device), codes)
    continuous = (column for column, size in pairs if not size)
    scores = [q.middle_scores(column) for q, column in zip(model.quantiles, continuous, strict=True)]
    numbers = as_tensor(scores, len(data), torch.float32, device)
    return states + torch.tensor(firsts, device=device), codes >= 0, numbers


def _losses(model: TabddpmModel, states: Tensor, known: Tensor, numbers: Tensor, time: float, seed: int) -> Array:
    """Losses (n,) of some records under one draw of noise, which is the same for all of them."""
    device, sizes = states.device, [size for size in model.levels if size]
    diffusion = diffusion_of(model.levels, model.frequencies, model.options)
    rng = torch.Generator(device).manual_seed(seed)
    times = torch.full((len(states),), time, device=device)
    fresh = diffusion.fresh_states(1, Draws(rng, balanced=False)).expand(len(states), -1)
    lost = torch.rand((1, states.shape[1]), generator=rng, device=device) >= keep(times[:1])
    noise = torch.randn((1, numbers.shape[1]), generator=rng, device=device)
    signal, sigma = signal_of(times)
    noisy = torch.where(lost, fresh, states), signal * numbers + sigma * noise
    logits, velocity = diffusion.logits(model.network.forward, *noisy, times)
    total = ((velocity - (signal * noise - sigma * numbers)) ** 2).sum(1) / 2
    surprise = -torch.log(model.frequencies.min()) if sizes else None
    first = 0
    for at, part in enumerate(logits.split(sizes, dim=1) if sizes else ()):
        wrong = functional.cross_entropy(part, states[:, at] - first, reduction="none")
        total = total + torch.where(known[:, at], wrong, surprise)
        first += part.shape[1]
    return total.double().cpu().numpy()


def _inputs(model: TabddpmModel, data: Encoded) -> Array:
    """Inputs of the regression: codes, and normal scores of numbers; shape (n, n_features)."""
    left = iter(model.quantiles)
    pairs = zip(data.columns, model.levels, strict=True)
    return np.column_stack([column if size else next(left).middle_scores(column) for column, size in pairs])


def expected(people: Array, reference: Array, scores: Array, seed: int) -> Array:
    """Score that people like these have who were not learned from, shape (n,): boosted trees on reference people."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(learning_rate=0.05, max_leaf_nodes=15, random_state=seed)
    return trees.fit(reference, scores).predict(people)
