"""Membership inference by neural densities: a block neural autoregressive flow.

De Cao, Titov and Aziz 2019. PyTorch is imported only inside the functions.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import MAX_ATTACKED, folds, standardized, told_apart
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.threads import one_torch_thread
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome

WIDTH = 8
"""Hidden units per column, in each of two hidden layers."""
LEARNING_RATE, BATCH = 0.01, 256
EPOCHS, PATIENCE = 40, 5
"""Passes over the points at most, and without a smaller loss of those held back."""
HELD_BACK = 0.1
NOISE = 0.1
"""Standard deviation of the noise added to learned points: values that repeat have no density."""


def flow(columns: int) -> Any:
    """Flow of fresh weights: log density of each point of a batch.

    Three linear layers with tanh between, whose weights from a column's units to the same column's are positive, and
    to those of columns before it are 0: every output rises with its column, and depends on that and on earlier ones.
    """
    import torch
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]
        """Linear layer of blocks; logs of those on the diagonal."""

        def __init__(self, inside: int, outside: int) -> None:
            super().__init__()
            rows, places = (torch.arange(columns).repeat_interleave(width) for width in (outside, inside))
            self.own = rows[:, None] == places[None, :]
            self.before = rows[:, None] > places[None, :]
            self.weight = nn.Parameter(torch.randn(len(rows), len(places)) / math.sqrt(len(places)))
            self.scale = nn.Parameter(torch.rand(len(rows), 1).log())
            self.bias = nn.Parameter((torch.rand(len(rows)) * 2 - 1) / math.sqrt(len(rows)))
            self.shape = columns, outside, inside

        def forward(self, x: Any, slope: Any) -> tuple[Any, Any]:
            whole = self.weight.exp() * self.own + self.weight * self.before
            norm = (whole**2).sum(dim=1, keepdim=True).sqrt()
            logs = (self.scale + self.weight - norm.log())[self.own].view(self.shape)
            y = x @ (self.scale.exp() * whole / norm).T + self.bias
            return y, torch.logsumexp(logs + slope[:, :, None, :], dim=3)

    class Flow(nn.Module):  # type: ignore[misc]
        """Blocks with tanh between them."""

        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(1, WIDTH), Block(WIDTH, WIDTH), Block(WIDTH, 1)])

        def forward(self, x: Any) -> Any:
            slope = x.new_zeros(len(x), columns, 1)
            for at, block in enumerate(self.blocks):
                if at:
                    bent = -2 * (x - math.log(2) + nn.functional.softplus(-2 * x))
                    x, slope = x.tanh(), slope + bent.view(slope.shape)
                x, slope = block(x, slope)
            return -0.5 * (x**2 + math.log(2 * math.pi)).sum(dim=1) + slope.sum(dim=(1, 2))

    return Flow()


def fitted_log_densities(points: Array, asked: list[Array], seed: int) -> list[Array]:
    """Log densities at the asked points, by a flow fitted to others, two or more, all standardized.

    Adam; a tenth of the points is held back, and the weights with their least loss are kept.
    """
    import torch

    with one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = flow(points.shape[1])
        known = torch.from_numpy(points.astype(np.float32))[torch.randperm(len(points))]
        held = max(round(HELD_BACK * len(known)), 1)
        _fit(model, known[held:], known[:held])
        with torch.no_grad():
            found = [model(torch.from_numpy(part.astype(np.float32))).numpy().astype(np.float64) for part in asked]
    return [np.round(part, 6) for part in found]


def _fit(model: Any, learned: Any, held: Any) -> None:
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    tried = held + NOISE * torch.randn_like(held)
    best, kept, since = math.inf, model.state_dict(), 0
    for _ in range(EPOCHS):
        for batch in learned[torch.randperm(len(learned))].split(BATCH):
            optimizer.zero_grad()
            (-model(batch + NOISE * torch.randn_like(batch)).mean()).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            loss = float(-model(tried).mean())
        since = 0 if loss < best else since + 1
        if loss < best:
            best, kept = loss, {name: part.clone() for name, part in model.state_dict().items()}
        if since > PATIENCE:
            break
    model.load_state_dict(kept)


MAX_POINTS = 5_000
"""Records that a density is learned from."""


def membership_flow(context: Context) -> Outcome:
    """AUC of DOMIAS with neural densities.

    As ``membership_density``, the densities those of block neural autoregressive flows (De Cao et al. 2019), as in van
    Breugel et al. 2023: the score is log p_S(x) - log p_R(x). At most 5,000 records make up each density, and at most
    5,000 random members and non-members are attacked.
    """
    if find_spec("torch") is None:
        reason = "a density is learned with torch, which is missing: pip install 'hybrid-release[tabddpm]' brings it"
        return NotComputable(reason, "failed")
    rng = context.random("membership_flow")

    def points(part: Part, limit: int) -> tuple[Array, Array]:
        rows = rng.permutation(context.by_content(part))[:limit]
        return standardized(context, part.role, rows), rows

    table, _ = points(context.whole("table"), MAX_POINTS)
    asked = [[points(part, MAX_ATTACKED // 2) for part in (fold.members, fold.others)] for fold in folds(context)]
    seeds = [int(seed) for seed in rng.integers(2**31, size=3)]
    mine = fitted_log_densities(table, [people for fold in asked for people, _ in fold], seeds[0])
    scores: list[list[Array]] = [[], []]
    for at, (fold, people) in enumerate(zip(folds(context), asked, strict=True)):
        reference, _ = points(fold.reference, MAX_POINTS)
        its = fitted_log_densities(reference, [part for part, _ in people], seeds[1 + at])
        for side in range(2):
            scores[side].append(mine[2 * at + side] - its[side])
    members, others = (np.concatenate(side) for side in scores)
    clusters = context.clusters(*(np.concatenate([fold[side][1] for fold in asked]) for side in range(2)))
    return told_apart(context, (members, others), clusters, points=[len(table), len(reference)])


METRICS = (
    attack(
        membership_flow,
        "membership",
        "How well an attacker who compares neural densities (DOMIAS) finds out who was in the training data.",
        mechanism="density",
        by_default=False,
    ),
)
