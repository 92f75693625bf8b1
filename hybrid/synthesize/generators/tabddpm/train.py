"""Training of the denoiser, with checkpoints and a watch on overfitting. Imported only where torch is needed."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.synthesize.generators.tabddpm import TabddpmOptions
from hybrid.synthesize.generators.tabddpm.diffusion import LAST_TIME, Denoiser, Diffusion

ROUNDS = 8
"""Noisy versions of every held-back record whose losses are averaged; the same ones at every look."""


@dataclass
class Watch:
    """The validation loss over time, relative to its minimum so far."""

    diffusion: Diffusion
    """The noise process."""
    states: Tensor
    numbers: Tensor
    """The held-back records."""
    levels: tuple[float, ...]
    """Ascending. 1: keep the weights with the lowest loss. More: keep those at the first look after it whose loss is
    that many times as large; training stops at the last."""
    lowest: float = field(default=float("inf"), init=False)
    reached: float = field(default=1.0, init=False)
    kept: dict[float, Denoiser] = field(default_factory=dict, init=False)
    """Weights by level."""

    @torch.no_grad()
    def look(self, averaged: Denoiser) -> float:
        """Measure the loss, and keep the weights of the levels reached; afterwards :attr:`done` is True to stop."""
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
        return self.levels[-1] > 1 and self.reached >= self.levels[-1]

    def result(self) -> dict[float, Denoiser]:
        """Networks of all levels."""
        if len(self.kept) < len(self.levels):
            raise GeneratorError(
                f"tabddpm: the validation loss went up to {self.reached:.3f} times its minimum, not "
                f"{self.levels[-1]:g}",
                hint="set more steps, lr_decay: none, a larger learning rate or larger layers",
            )
        return self.kept


FILE = "tabddpm.pt"


@dataclass
class Training:
    """Everything that changes while the denoiser is trained."""

    network: Denoiser
    averaged: Denoiser
    """The weights, and their average."""
    optimizer: torch.optim.Optimizer
    """With its moments."""
    rng: torch.Generator
    """Draws times, noise and orders."""
    watch: Watch | None
    """The validation loss so far."""
    order: Tensor
    """Row numbers left of the present epoch."""
    step: int = 0
    """Steps made."""
    told: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    """Every progress report so far: step, and its values."""

    def save(self, folder: Path) -> None:
        """Write a checkpoint whole or not at all, in the place of the one before."""
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
        """Go back to where the checkpoint in a folder was written; False if there is none that can be read."""
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


REPORT_EVERY = 50
"""Steps between two progress reports; the reported loss is their mean."""
CHECKPOINT_EVERY = 10 * REPORT_EVERY
"""Steps between two checkpoints, where they are kept."""
STEP = "fit tabddpm"


def train(
    network: Denoiser,
    diffusion: Diffusion,
    states: Tensor,
    numbers: Tensor,
    options: TabddpmOptions,
    rng: torch.Generator,
    progress: Progress,
    unfinished: Path | None = None,
    given: tuple[Tensor, Tensor] | None = None,
) -> dict[float, Denoiser]:
    """Minimize the diffusion's loss; return averaged networks by level of overfitting, ready to sample from.

    It is a single one, at 0, where no overfitting is watched. Training continues from the checkpoint in the folder
    ``unfinished`` to the same result. ``given`` is what is known of each record, as :meth:`Denoiser.forward` takes it;
    not with ``options.overfit``.
    """
    watch, states, numbers = _hold_back(diffusion, states, numbers, options, rng)
    batch = min(options.batch_size, len(states))
    total = options.steps if options.epochs is None else options.epochs * -(-len(states) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.lr, weight_decay=options.weight_decay, fused=True)
    averaged = copy.deepcopy(network).eval().requires_grad_(False)
    no_records = torch.empty(0, dtype=torch.int64, device=states.device)
    training = Training(network, averaged, optimizer, rng, watch, order=no_records)
    if unfinished is not None and training.resume(unfinished):
        for done, values in training.told:
            progress(STEP, done, total, **values)
    network.train()
    losses: list[Tensor] = []
    while training.step < total and not (watch is not None and watch.done):
        _set_rate(optimizer, rate_at(options, training.step / total))
        rows = _next_batch(training, len(states), batch)
        time = _times(len(rows), rng, states.device)
        known = None if given is None else (given[0][rows], given[1][rows])
        loss = diffusion.loss(partial(network.forward, given=known), states[rows], numbers[rows], time, rng)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        training.step += 1
        _average(averaged, network, min(options.ema, training.step / (training.step + 9)))
        losses.append(loss.detach())
        if len(losses) == REPORT_EVERY or training.step == total:
            _report(losses, training, total, progress)
            losses = []
        if unfinished is not None and training.step % CHECKPOINT_EVERY == 0:
            training.save(unfinished)
    return {0.0: averaged} if watch is None else watch.result()


def _hold_back(
    diffusion: Diffusion, states: Tensor, numbers: Tensor, options: TabddpmOptions, rng: torch.Generator
) -> tuple[Watch | None, Tensor, Tensor]:
    """Hold back a tenth of the records to detect overfitting, only if it is to be watched."""
    if options.overfit is None:
        return None, states, numbers
    if len(states) < 2:
        raise GeneratorError("tabddpm: overfit needs two records or more")
    order = torch.randperm(len(states), generator=rng, device=states.device)
    held, kept = order.tensor_split([max(1, len(states) // 10)])
    levels = options.snapshots or (options.overfit,)
    return Watch(diffusion, states[held], numbers[held], levels), states[kept], numbers[kept]


def _next_batch(training: Training, n: int, size: int) -> Tensor:
    """Row numbers of one batch, in a new order every epoch; batches run across epochs."""
    while len(training.order) < size:
        epoch = torch.randperm(n, generator=training.rng, device=training.order.device)
        training.order = torch.cat([training.order, epoch])
    rows, training.order = training.order[:size], training.order[size:]
    return rows


def _times(n: int, rng: torch.Generator, device: torch.device) -> Tensor:
    """Times (n,) evenly over (0, LAST_TIME), so batches see all."""
    uniform = torch.rand(n, generator=rng, device=device)
    return (torch.arange(n, device=device) + uniform) * (LAST_TIME / n)


def rate_at(options: TabddpmOptions, done: float) -> float:
    """Learning rate once the share ``done`` (0..1) of all steps is done."""
    return options.lr * (1 - done if options.lr_decay == "linear" else 1.0)


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def _average(averaged: Denoiser, network: Denoiser, decay: float) -> None:
    torch._foreach_lerp_(list(averaged.parameters()), list(network.parameters()), 1 - decay)


def _report(losses: list[Tensor], training: Training, total: int, progress: Progress) -> None:
    values = {"loss": float(torch.stack(losses).mean())}
    if not values["loss"] < float("inf"):
        raise GeneratorError(
            f"tabddpm: the loss is no number any more after {training.step} of {total} steps",
            hint="set a smaller learning rate (synthesize.options.lr)",
        )
    if training.watch is not None:
        values["eval_loss"] = training.watch.look(training.averaged)
    training.told.append((training.step, values))
    progress(STEP, training.step, total, **values)
