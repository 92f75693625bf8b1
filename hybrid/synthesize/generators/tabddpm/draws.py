"""Random numbers for many records at once: independent, or balanced.

Balanced draws are those of systematic sampling (Madow, Madow 1944): every record by itself has exactly the same
distribution as with independent draws, but similar records get numbers that are spread evenly over 0..1. So the
shares in a drawn table are closer to what the model learned: the noise of drawing is less, what is learned is not
touched. Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

GOLDEN = (math.sqrt(5) - 1) / 2
"""Fractional parts of its multiples are spread evenly, however many of them in a row one takes (Weyl)."""


@dataclass(frozen=True)
class Draws:
    """A source of random numbers.

    Parameters
    ----------
    rng : torch.Generator
        Its device is the one of all results.
    balanced : bool
        Whether the records of one call balance each other.
    """

    rng: torch.Generator
    balanced: bool

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
        """Choose a state (n,) per record.

        Parameters
        ----------
        weights : Tensor, shape (n, n_states)
            Proportional to the probabilities.
        here : Tensor, shape (n, 1), int64
            The present states. Records in the same one that are about as likely to stay are the similar ones.
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
