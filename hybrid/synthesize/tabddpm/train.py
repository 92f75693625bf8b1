"""Train the denoiser. Imported only where torch is needed."""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor

from hybrid.errors import GeneratorError
from hybrid.progress import Progress
from hybrid.synthesize.tabddpm.diffusion import LAST_TIME, Diffusion
from hybrid.synthesize.tabddpm.network import Denoiser
from hybrid.synthesize.tabddpm.options import TabddpmOptions
from hybrid.synthesize.tabddpm.watch import Watch

REPORT_EVERY = 50
"""Steps between two progress reports; the loss told is their mean."""
STEP = "fit tabddpm"


def train(
    network: Denoiser,
    diffusion: Diffusion,
    states: Tensor,
    numbers: Tensor,
    options: TabddpmOptions,
    rng: torch.Generator,
    progress: Progress,
) -> Denoiser:
    """Minimize the diffusion's loss; return the averaged network, ready to sample from.

    Parameters
    ----------
    network : Denoiser
        Changed in place.
    states, numbers : Tensor, shapes (n, n_discrete) and (n, n_continuous)
        The clean records, on the network's device.

    Raises
    ------
    GeneratorError
        The loss is no number any more, or did not overfit as far as asked.
    """
    watch, states, numbers = _hold_back(diffusion, states, numbers, options, rng)
    batch = min(options.batch_size, len(states))
    total = options.steps if options.epochs is None else options.epochs * -(-len(states) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.lr, weight_decay=options.weight_decay)
    averaged = copy.deepcopy(network).eval().requires_grad_(False)
    network.train()
    losses: list[Tensor] = []
    for step, rows in zip(range(total), _batches(len(states), batch, rng, states.device), strict=False):
        _set_rate(optimizer, options, step / total)
        time = _times(len(rows), rng, states.device)
        loss = diffusion.loss(network, states[rows], numbers[rows], time, rng)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        _average(averaged, network, min(options.ema, (step + 1) / (step + 10)))
        losses.append(loss.detach())
        if len(losses) == REPORT_EVERY or step + 1 == total:
            watched = {} if watch is None else {"eval_loss": watch.look(averaged)}
            _report(losses, step + 1, total, progress, watched)
            losses = []
            if watch is not None and watch.done:
                break
    return averaged if watch is None else watch.result(averaged)


def _hold_back(
    diffusion: Diffusion, states: Tensor, numbers: Tensor, options: TabddpmOptions, rng: torch.Generator
) -> tuple[Watch | None, Tensor, Tensor]:
    """Part a tenth of the records from the others, if overfitting is to be watched."""
    if options.overfit is None:
        return None, states, numbers
    if len(states) < 2:
        raise GeneratorError("tabddpm: overfit needs two records or more")
    order = torch.randperm(len(states), generator=rng, device=states.device)
    held, kept = order.tensor_split([max(1, len(states) // 10)])
    return Watch(diffusion, states[held], numbers[held], options.overfit), states[kept], numbers[kept]


def _batches(n: int, size: int, rng: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Row numbers of one batch after the other, in a new order every epoch; batches run across epochs."""
    left = torch.empty(0, dtype=torch.int64, device=device)
    while True:
        while len(left) < size:
            left = torch.cat([left, torch.randperm(n, generator=rng, device=device)])
        yield left[:size]
        left = left[size:]


def _times(n: int, rng: torch.Generator, device: torch.device) -> Tensor:
    """Times (n,) evenly over (0, LAST_TIME), so that every batch sees all of them."""
    uniform = torch.rand(n, generator=rng, device=device)
    return (torch.arange(n, device=device) + uniform) * (LAST_TIME / n)


def _set_rate(optimizer: torch.optim.Optimizer, options: TabddpmOptions, done: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = options.lr * (1 - done if options.lr_decay == "linear" else 1.0)


@torch.no_grad()
def _average(averaged: Denoiser, network: Denoiser, decay: float) -> None:
    torch._foreach_lerp_(list(averaged.parameters()), list(network.parameters()), 1 - decay)


def _report(losses: list[Tensor], done: int, total: int, progress: Progress, watched: dict[str, float]) -> None:
    loss = float(torch.stack(losses).mean())
    if not loss < float("inf"):
        raise GeneratorError(
            f"tabddpm: the loss is no number any more after {done} of {total} steps",
            mend="set a smaller learning rate (synthesize.options.lr)",
        )
    progress(STEP, done, total, loss=loss, **watched)
