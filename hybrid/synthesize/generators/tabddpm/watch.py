"""Watch the loss on held-back records to stop training.

At its minimum, or at given distances past it.

Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hybrid.base.errors import GeneratorError
from hybrid.synthesize.generators.tabddpm.diffusion import LAST_TIME, Diffusion
from hybrid.synthesize.generators.tabddpm.network import Denoiser

ROUNDS = 8
"""Noisy versions of every held-back record whose losses are averaged; the same ones at every look."""


@dataclass
class Watch:
    """The validation loss over time, relative to its minimum so far.

    Parameters
    ----------
    diffusion : Diffusion
        The noise process.
    states, numbers : Tensor
        The held-back records.
    levels : tuple of float
        Ascending. 1: keep the weights with the lowest loss. More: keep those at the first look after it whose loss is
        that many times as large; training stops at the last.
    """

    diffusion: Diffusion
    states: Tensor
    numbers: Tensor
    levels: tuple[float, ...]
    lowest: float = field(default=float("inf"), init=False)
    reached: float = field(default=1.0, init=False)
    kept: dict[float, Denoiser] = field(default_factory=dict, init=False)
    """Weights by level."""

    @torch.no_grad()
    def look(self, averaged: Denoiser) -> float:
        """Measure the loss, keep the weights of the levels reached.

        Afterwards :attr:`done` is True to stop.
        """
        n = len(self.states)
        rng = torch.Generator(self.states.device).manual_seed(0)
        total = 0.0
        for part in range(ROUNDS):
            places = (torch.arange(n, device=self.states.device) * 0.6180339887 + part / ROUNDS) % 1
            total += float(self.diffusion.loss(averaged, self.states, self.numbers, places * LAST_TIME, rng))
        loss = total / ROUNDS
        self.reached = max(self.reached, loss / self.lowest) if loss >= self.lowest else 1.0
        if loss < self.lowest:
            self.lowest = loss
            self.kept.clear()
        for level in self.levels:
            if level <= self.reached and level not in self.kept:
                self.kept[level] = copy.deepcopy(averaged)
        return loss

    def remember(self, like: Denoiser, weights: dict[float, dict[str, Tensor]]) -> None:
        """Take the kept weights from a checkpoint; ``like`` has their shapes."""
        self.kept = {level: copy.deepcopy(like) for level in weights}
        for level, state in weights.items():
            self.kept[level].load_state_dict(state)

    @property
    def done(self) -> bool:
        """True if the loss is far enough past its minimum."""
        return self.levels[-1] > 1 and self.reached >= self.levels[-1]

    def result(self) -> dict[float, Denoiser]:
        """Networks of all levels.

        Raises
        ------
        GeneratorError
            Training ended before the loss was so far past its minimum.
        """
        if len(self.kept) < len(self.levels):
            raise GeneratorError(
                f"tabddpm: the validation loss went up to {self.reached:.3f} times its minimum, not "
                f"{self.levels[-1]:g}",
                hint="set more steps, lr_decay: none, a larger learning rate or larger layers",
            )
        return self.kept
