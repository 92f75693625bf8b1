"""Train the denoiser. Imported only where torch is needed."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.synthesize.generators.tabddpm.checkpoint import Training
from hybrid.synthesize.generators.tabddpm.diffusion import LAST_TIME, Diffusion
from hybrid.synthesize.generators.tabddpm.network import Denoiser
from hybrid.synthesize.generators.tabddpm.options import TabddpmOptions
from hybrid.synthesize.generators.tabddpm.watch import Watch

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
    """Minimize the diffusion's loss; return averaged networks, ready to sample from.

    By level of overfitting; a single one, at 0, where none is watched.

    Parameters
    ----------
    network : Denoiser
        Changed in place.
    states, numbers : Tensor, shapes (n, n_discrete) and (n, n_continuous)
        The clean records, on the network's device.
    unfinished : Path, optional
        A folder for checkpoints; training continues from the one in it to the same result.
    given : tuple of Tensor, optional
        What is known of each record, as :meth:`Denoiser.forward` takes it. Not with ``options.overfit``.

    Raises
    ------
    GeneratorError
        The loss is no number any more, or did not overfit as far as asked.
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
    """Hold back a tenth of the records to detect overfitting.

    Only if it is to be watched.
    """
    if options.overfit is None:
        return None, states, numbers
    if len(states) < 2:
        raise GeneratorError("tabddpm: overfit needs two records or more")
    order = torch.randperm(len(states), generator=rng, device=states.device)
    held, kept = order.tensor_split([max(1, len(states) // 10)])
    levels = options.snapshots or (options.overfit,)
    return Watch(diffusion, states[held], numbers[held], levels), states[kept], numbers[kept]


def _next_batch(training: Training, n: int, size: int) -> Tensor:
    """Row numbers of one batch, in a new order every epoch.

    Batches run across epochs.
    """
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
