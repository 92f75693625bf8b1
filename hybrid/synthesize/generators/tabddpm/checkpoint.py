"""Checkpoints of training, to resume exactly after an interruption.

Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hybrid.synthesize.generators.tabddpm.network import Denoiser
from hybrid.synthesize.generators.tabddpm.watch import Watch

FILE = "tabddpm.pt"


@dataclass
class Training:
    """Everything that changes while the denoiser is trained.

    Parameters
    ----------
    network, averaged : Denoiser
        The weights, and their average.
    optimizer : torch.optim.Optimizer
        With its moments.
    rng : torch.Generator
        Draws times, noise and orders.
    watch : Watch or None
        The validation loss so far.
    order : Tensor
        Row numbers left of the present epoch.
    step : int
        Steps made.
    told : list
        Every progress report so far: step, and its values.
    """

    network: Denoiser
    averaged: Denoiser
    optimizer: torch.optim.Optimizer
    rng: torch.Generator
    watch: Watch | None
    order: Tensor
    step: int = 0
    told: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Write a checkpoint whole or not at all.

        It takes the place of the one before.
        """
        watch = self.watch
        state: dict[str, Any] = {
            "network": self.network.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rng": self.rng.get_state(),
            "dropout": _dropout_state(self.order.device),
            "order": self.order.clone(),
            "step": self.step,
            "told": self.told,
            "watch": None if watch is None else (watch.lowest, watch.reached, _weights(watch)),
        }
        temporary = folder / f"{FILE}.tmp"
        torch.save(state, temporary)
        temporary.replace(folder / FILE)

    def resume(self, folder: Path) -> bool:
        """Go back to where the checkpoint in a folder was written.

        False if there is none that can be read.
        """
        try:
            # Generator states must stay on the CPU; weights are copied to where they belong.
            state = torch.load(folder / FILE, map_location="cpu", weights_only=True)
        except Exception:  # noqa: BLE001  (a broken file may break any reader)
            return False
        device = self.order.device
        self.network.load_state_dict(state["network"])
        self.averaged.load_state_dict(state["averaged"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng.set_state(state["rng"])
        (torch.cuda if device.type == "cuda" else torch).set_rng_state(state["dropout"])
        self.order, self.step, self.told = state["order"].to(device), state["step"], state["told"]
        if self.watch is not None:
            self.watch.lowest, self.watch.reached, kept = state["watch"]
            self.watch.remember(self.averaged, kept)
        return True


def _weights(watch: Watch) -> dict[float, dict[str, Tensor]]:
    return {level: network.state_dict() for level, network in watch.kept.items()}


def _dropout_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
