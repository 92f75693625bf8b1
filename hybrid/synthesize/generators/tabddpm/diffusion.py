"""Adding noise to records and taking it away: the noise process, its network and its random numbers.

Continuous columns: Gaussian diffusion (Ho et al. 2020) that keeps the variance, velocity prediction (Salimans,
Ho 2022). Discrete columns: multinomial diffusion (Hoogeboom et al. 2021, arXiv:2102.05379) as in TabDDPM
(Kotelnikov et al. 2023, arXiv:2209.15421), towards any prior ``pi``: a state survives to time t with
probability ``keep(t)`` and is else drawn afresh from ``pi``.

Balanced draws are those of systematic sampling (Madow, Madow 1944): every record by itself has exactly the same
distribution as with independent draws, but similar records get numbers that are spread evenly over 0..1. So the
shares in a drawn table are closer to what the model learned: the noise of drawing is less, what is learned is not
touched. Imported only where torch is needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

TIME_DIM = 128


class Denoiser(nn.Module):
    """Network that predicts logits of every discrete column's clean state, and a velocity for every continuous one.

    Before training it predicts exactly the marginal distributions: the last layer's weights are zero and its biases the
    log frequencies of the states of all discrete columns. ``given``: states and numbers of what is known of a record
    beforehand; (0, 0): nothing is.
    """

    def __init__(
        self,
        log_frequencies: Tensor,
        n_continuous: int,
        layers: tuple[int, ...],
        dropout: float,
        given: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__()
        self.n_states = len(log_frequencies)
        width = layers[0]
        self.states = nn.EmbeddingBag(max(self.n_states, 1), width, mode="sum")
        self.numbers = nn.Linear(n_continuous, width) if n_continuous else None
        self.given_states = nn.EmbeddingBag(given[0], width, mode="sum") if given[0] else None
        self.given_numbers = nn.Linear(given[1], width) if given[1] else None
        self.time = nn.Sequential(nn.Linear(TIME_DIM, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(a), nn.SiLU(), nn.Dropout(dropout), nn.Linear(a, b))
            for a, b in zip(layers, (*layers[1:], layers[-1]), strict=True)
        )
        head = nn.Linear(layers[-1], self.n_states + n_continuous)
        self.last = nn.Sequential(nn.LayerNorm(layers[-1]), nn.SiLU(), head)
        nn.init.normal_(self.states.weight, std=0.3)
        if self.given_states is not None:
            nn.init.normal_(self.given_states.weight, std=0.3)
        nn.init.zeros_(head.weight)
        with torch.no_grad():
            head.bias.zero_()
            head.bias[: self.n_states] = log_frequencies

    def forward(
        self, states: Tensor, numbers: Tensor, time: Tensor, given: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Predict logits (n, n_states) and velocities from noisy states and noisy numbers.

        States are numbered through all columns. ``time``: 0 clean .. 1 pure noise. ``given``: states and numbers known
        of each record.
        """
        hidden = self.time(_wave(time))
        if states.shape[1]:
            hidden = hidden + self.states(states)
        if self.numbers is not None:
            hidden = hidden + self.numbers(numbers)
        if given is not None and self.given_states is not None:
            hidden = hidden + self.given_states(given[0])
        if given is not None and self.given_numbers is not None:
            hidden = hidden + self.given_numbers(given[1])
        for block in self.blocks:
            change = block(hidden)
            hidden = hidden + change if change.shape == hidden.shape else change
        out = self.last(hidden)
        return out[:, : self.n_states], out[:, self.n_states :]


def _wave(time: Tensor) -> Tensor:
    half = TIME_DIM // 2
    speed = torch.exp(torch.linspace(0, math.log(1000), half, device=time.device))
    phase = time[:, None] * speed
    return torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)


GOLDEN = (math.sqrt(5) - 1) / 2
"""Fractional parts of its multiples are spread evenly, however many of them in a row one takes (Weyl)."""


@dataclass(frozen=True)
class Draws:
    """A source of random numbers."""

    rng: torch.Generator
    """Its device is the one of all results."""
    balanced: bool
    """Whether the records of one call balance each other."""

    def uniform(self, n: int) -> Tensor:
        """Numbers (n,) in 0..1, float32."""
        uniform = torch.rand(n, generator=self.rng, device=self.rng.device)
        if not self.balanced:
            return uniform
        return (torch.randperm(n, generator=self.rng, device=self.rng.device) + uniform) / n

    def normal(self, n: int, n_columns: int) -> Tensor:
        """Standard normal numbers (n, n_columns), float32; columns are independent."""
        if not self.balanced:
            return torch.randn((n, n_columns), generator=self.rng, device=self.rng.device)
        uniforms = [self.uniform(n).double().clamp(1e-9, 1 - 1e-9) for _ in range(n_columns)]
        return (
            torch.special.ndtri(torch.stack(uniforms, dim=1)).float()
            if uniforms
            else torch.empty((n, 0), device=self.rng.device)
        )

    def move(self, weights: Tensor, here: Tensor) -> Tensor:
        """Choose a state (n,) per record, by weights proportional to the probabilities.

        ``here`` are the present states, shape (n, 1). Records in the same one that are about as likely to stay are the
        similar ones.
        """
        n, n_states = weights.shape
        cumulated = weights.cumsum(1)
        if self.balanced:
            staying = weights.gather(1, here) / cumulated[:, -1:]
            similar = torch.argsort((here + staying.double()).squeeze(1))
            start = torch.rand((), generator=self.rng, device=self.rng.device, dtype=torch.float64)
            spread = (start + GOLDEN * torch.arange(n, device=self.rng.device, dtype=torch.float64)) % 1
            uniform = torch.empty(n, device=self.rng.device).scatter_(0, similar, spread.float())
        else:
            uniform = self.uniform(n)
        return torch.searchsorted(cumulated, uniform[:, None] * cumulated[:, -1:]).squeeze(1).clamp(max=n_states - 1)


Predict = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Forward pass of a :class:`Denoiser`, with what is known filled in."""
LAST_TIME = 0.999
STRIDE_POWER = 1.5
"""Strides get shorter towards the clean record: the i-th of m times is (i / m) ** 1.5."""

FEW = 10
"""Shares of states that so many records are expected to have are held half as strictly as those of common ones."""


@dataclass(frozen=True)
class Diffusion:
    """The noise process of a table."""

    levels: Sequence[int]
    """Number of states of each discrete column."""
    prior: Tensor
    """What each column diffuses to; sums to 1 per column; shape (n_states,), float32."""
    likelihood: bool
    """Whether predicted logits get the likelihood of the noisy state added."""
    shares: Tensor | None = None
    """What the mean prediction over all drawn records is held at while denoising; shape (n_states,), optional."""

    def noisy_states(self, states: Tensor, time: Tensor, rng: torch.Generator) -> Tensor:
        """Draw x_t given x_0, both (n, n_discrete), numbered through all columns; ``time`` (n,)."""
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
        """Loss per record, summed over columns: cross-entropy of the clean states, squared error of the velocities."""
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
        """Denoise ``n`` records in ``steps`` strides: their states, numbered through all columns, and numbers."""
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
        """Logits with the mean prediction moved towards the shares, near which it is on training records.

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
        """Draw x_s given x_t and p(x_0): the exact mixture over x_0 of q(x_s | x_t, x_0).

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
    """Probability that a state has survived to ``time``: the cosine schedule of Nichol and Dhariwal 2021."""
    return torch.cos(time * (math.pi / 2)) ** 2


def signal_of(time: Tensor) -> tuple[Tensor, Tensor]:
    """Factors (n, 1) of the clean number and of the noise at times (n,)."""
    angle = time * (math.pi / 2)
    return torch.cos(angle)[:, None], torch.sin(angle)[:, None]


def _earlier_numbers(numbers: Tensor, velocity: Tensor, now: Tensor, then: Tensor, draws: Draws) -> Tensor:
    """Draw x_s given x_t and the predicted x_0 (Ho et al. 2020, eq. 7, the larger of their two variances).

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
