"""Adding noise to records and taking it away.

Continuous columns: Gaussian diffusion (Ho et al. 2020) that keeps the variance, velocity prediction (Salimans,
Ho 2022). Discrete columns: multinomial diffusion (Hoogeboom et al. 2021, arXiv:2102.05379) as in TabDDPM
(Kotelnikov et al. 2023, arXiv:2209.15421), towards any prior ``pi``: a state survives to time t with
probability ``keep(t)`` and is else drawn afresh from ``pi``. Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from hybrid.synthesize.generators.tabddpm.draws import Draws

Predict = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Forward pass of a :class:`~hybrid.synthesize.generators.tabddpm.network.Denoiser`, with what is known filled in."""
LAST_TIME = 0.999
STRIDE_POWER = 1.5
"""Strides get shorter towards the clean record: the i-th of m times is (i / m) ** 1.5."""

FEW = 10
"""Shares of states that so many records are expected to have are held half as strictly as those of common ones."""


@dataclass(frozen=True)
class Diffusion:
    """The noise process of a table.

    Parameters
    ----------
    levels : sequence of int
        Number of states of each discrete column.
    prior : Tensor, shape (n_states,), float32
        What each column diffuses to; sums to 1 per column.
    likelihood : bool
        Whether predicted logits get the likelihood of the noisy state added.
    shares : Tensor, shape (n_states,), optional
        What the mean prediction over all drawn records is held at while denoising.
    """

    levels: Sequence[int]
    prior: Tensor
    likelihood: bool
    shares: Tensor | None = None

    def noisy_states(self, states: Tensor, time: Tensor, rng: torch.Generator) -> Tensor:
        """Draw x_t given x_0.

        Both (n, n_discrete), numbered through all columns; ``time`` (n,).
        """
        lost = torch.rand(states.shape, generator=rng, device=states.device) >= keep(time)[:, None]
        return torch.where(lost, self.fresh_states(len(states), Draws(rng, balanced=False)), states)

    def fresh_states(self, n: int, draws: Draws) -> Tensor:
        """Draw x_1: every column from its prior."""
        columns, first = [], 0
        for size in self.levels:
            cumulated = self.prior[first : first + size].cumsum(0)
            columns.append(first + torch.searchsorted(cumulated, draws.uniform(n)).clamp(max=size - 1))
            first += size
        if not columns:
            return torch.empty((n, 0), dtype=torch.int64, device=self.prior.device)
        return torch.stack(columns, dim=1)

    def logits(self, network: Predict, states: Tensor, numbers: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Unnormalized log p(x_0 | x_t) of all discrete columns, and the velocities."""
        logits, velocity = network(states, numbers, time)
        if self.likelihood and states.shape[1]:
            kept = keep(time)[:, None]
            odds = torch.log1p(kept / ((1 - kept).clamp(min=1e-6) * self.prior[states]))
            logits = logits.scatter_add(1, states, odds)
        return logits, velocity

    def loss(self, network: Predict, states: Tensor, numbers: Tensor, time: Tensor, rng: torch.Generator) -> Tensor:
        """Loss per record, summed over columns.

        Cross-entropy of the clean states plus squared error of the velocities.
        """
        noise = torch.randn(numbers.shape, generator=rng, device=numbers.device)
        signal, sigma = signal_of(time)
        logits, velocity = self.logits(
            network, self.noisy_states(states, time, rng), signal * numbers + sigma * noise, time
        )
        total = ((velocity - (signal * noise - sigma * numbers)) ** 2).sum() / 2
        first = 0
        for at, part in enumerate(logits.split(list(self.levels), dim=1)):
            total = total + functional.cross_entropy(part, states[:, at] - first, reduction="sum")
            first += part.shape[1]
        return total / len(states)

    @torch.no_grad()
    def draw(self, network: Predict, n: int, n_continuous: int, steps: int, draws: Draws) -> tuple[Tensor, Tensor]:
        """Denoise ``n`` records in ``steps`` strides.

        Returns
        -------
        states : Tensor, shape (n, n_discrete), int64, numbered through all columns
        numbers : Tensor, shape (n, n_continuous), float32
        """
        states = self.fresh_states(n, draws)
        numbers = draws.normal(n, n_continuous)
        times = LAST_TIME * torch.linspace(1, 0, steps + 1, device=self.prior.device) ** STRIDE_POWER
        for now, then in itertools.pairwise(times):
            time = now.expand(n)
            logits, velocity = self.logits(network, states, numbers, time)
            if self.shares is not None:
                logits = self._held(logits, self.shares)
            numbers = _earlier_numbers(numbers, velocity, now, then, draws)
            states = self._earlier_states(states, logits, now, then, draws)
        return states, numbers

    def _held(self, logits: Tensor, shares: Tensor) -> Tensor:
        """Logits with the mean prediction moved towards the shares.

        It is near the shares on training records.

        E[p(x_0 | x_t)] over x_t is p(x_0): one step of iterative proportional fitting, less of it for states that few
        of these records are expected to have.
        """
        held = []
        for part, share in zip(logits.split(list(self.levels), 1), shares.split(list(self.levels)), strict=True):
            expected = share * len(part)
            gap = torch.log(share / torch.softmax(part, 1).mean(0).clamp(min=1e-12)).clamp(-1, 1)
            held.append(part + gap * expected / (expected + FEW))
        return torch.cat(held, dim=1) if held else logits

    def _earlier_states(self, states: Tensor, logits: Tensor, now: Tensor, then: Tensor, draws: Draws) -> Tensor:
        """Draw x_s given x_t and p(x_0).

        The exact mixture over x_0 of q(x_s | x_t, x_0).

        With a = keep(s), c = keep(t), b = c / a: q(x_s = k | x_t, x_0) = q(x_t | k) q(k | x_0) / q(x_t | x_0).
        """
        a, c = keep(then), keep(now)
        b = c / a
        columns, first = [], 0
        for at, size in enumerate(self.levels):
            p0 = torch.softmax(logits[:, first : first + size], dim=1)
            pi = self.prior[first : first + size]
            here = (states[:, at] - first)[:, None]
            pi_here = pi[here]
            p_here = p0.gather(1, here)
            at_other, at_here = (1 - c) * pi_here, c + (1 - c) * pi_here
            through = p0.scatter(1, here, p_here * at_other / at_here)
            evidence = (1 - p_here) + p_here * at_other / at_here
            weight = a * through + (1 - a) * pi * evidence
            back = weight * (1 - b) * pi_here
            back = back.scatter_add(1, here, b * weight.gather(1, here))
            columns.append(first + draws.move(back, here))
            first += size
        return torch.stack(columns, dim=1) if columns else states


def keep(time: Tensor) -> Tensor:
    """Probability that a state has survived to ``time``.

    Cosine schedule, Nichol, Dhariwal 2021.
    """
    return torch.cos(time * (math.pi / 2)) ** 2


def signal_of(time: Tensor) -> tuple[Tensor, Tensor]:
    """Factors (n, 1) of the clean number and of the noise at times (n,)."""
    angle = time * (math.pi / 2)
    return torch.cos(angle)[:, None], torch.sin(angle)[:, None]


def _earlier_numbers(numbers: Tensor, velocity: Tensor, now: Tensor, then: Tensor, draws: Draws) -> Tensor:
    """Draw x_s given x_t and the predicted x_0.

    Ho et al. 2020, eq. 7, with the larger of their two variances.

    That variance is exact for normally distributed columns, which the quantile transform makes of all.
    """
    half = math.pi / 2
    a_t, s_t, a_s, s_s = torch.cos(now * half), torch.sin(now * half), torch.cos(then * half), torch.sin(then * half)
    clean = a_t * numbers - s_t * velocity
    if then == 0:
        return clean
    ratio = a_t / a_s
    variance = s_t**2 - ratio**2 * s_s**2
    mean = (ratio * s_s**2 * numbers + a_s * variance * clean) / s_t**2
    return mean + torch.sqrt(variance) * draws.normal(*numbers.shape)
