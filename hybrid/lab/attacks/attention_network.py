"""Target attention network of Meeus et al. 2023, appendix A.

PyTorch is imported only inside the functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.threads import one_torch_thread

EMBEDDING, ATTENTION, HIDDEN = 20, 15, 10
DROPOUT = 0.15
LEARNING_RATE = 0.01
"""The paper's; its code has 0.001, which learns nothing from a few hundred tables."""
BATCH = 20
EPOCHS, PATIENCE = 200, 20
"""Passes over the trainings at most, and without a smaller loss of those held back."""
HELD_BACK = 0.1


class Nearest(NamedTuple):
    """The person and the rows nearest to it, in n tables.

    ``codes`` (n, rows, q), int: as in :class:`~hybrid.evaluation.attacks.retraining.Rows`; ``numbers`` (n, rows, m),
    float32; ``there`` (n, rows), bool: False for padding. The person is the first row.
    """

    codes: Array
    numbers: Array
    there: Array


def network(codes: int, numbers: int) -> Any:
    """Network of fresh weights: logit of membership of one batch of :class:`Nearest`.

    Rows are embedded (a linear layer over one-hot categories and numbers, ReLU, a linear layer, dropout); each gets
    the weight softmax(q k), q made from the person's embedding and k from its own, of its value v; two layers follow.
    Padding has no weight. (The paper's algorithm writes q v for q k.)

    Parameters
    ----------
    codes : int
        Number of codes of categories; that number itself is a category never seen, whose embedding is 0.
    """
    import torch
    from torch import nn

    class TargetAttention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.categories = nn.Embedding(codes + 1, EMBEDDING, padding_idx=codes)
            self.numbers = nn.Linear(numbers, EMBEDDING)
            self.second = nn.Sequential(nn.ReLU(), nn.Linear(EMBEDDING, EMBEDDING), nn.Dropout(DROPOUT))
            self.query, self.key, self.value = (nn.Linear(EMBEDDING, ATTENTION, bias=False) for _ in range(3))
            self.predict = nn.Sequential(nn.Linear(ATTENTION, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
            nn.init.uniform_(self.categories.weight, -0.1, 0.1)
            with torch.no_grad():
                self.categories.weight[codes] = 0

        def forward(self, coded: Any, values: Any, there: Any) -> Any:
            rows = self.second(self.categories(coded).sum(dim=2) + self.numbers(values))
            person, near = rows[:, 0], rows[:, 1:]
            score = (self.key(near) @ self.query(person)[:, :, None]).squeeze(2)
            weight = torch.softmax(score.masked_fill(~there[:, 1:], -torch.inf), dim=1)
            return self.predict((weight[:, :, None] * self.value(near)).sum(dim=1)).squeeze(1)

    return TargetAttention()


def fitted_scores(learned: Nearest, member: Array, asked: Nearest, codes: int, seed: int) -> Array:
    """Probability of membership in each asked table, by a fitted network.

    Shape (n_asked,). Binary cross-entropy, Adamax; a tenth of the tables is held back, and the weights with their least
    loss are kept.

    Parameters
    ----------
    member : numpy.ndarray, shape (n_learned,), bool
        Whether the person was in.
    seed : int
        Decides weights, dropout, batches and the tables held back.
    """
    import torch

    with one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = network(codes, learned.numbers.shape[2])
        inputs, truth = _tensors(learned), torch.from_numpy(member.astype(np.float32))
        order = torch.randperm(len(truth))
        held = order[: max(round(HELD_BACK * len(order)), 1)]
        _fit(model, inputs, truth, order[len(held) :], held)
        model.eval()
        with torch.no_grad():
            found: Array = torch.sigmoid(model(*_tensors(asked))).numpy().astype(np.float64)
    return np.round(found, 9)


def _tensors(seen: Nearest) -> tuple[Any, Any, Any]:
    import torch

    parts = seen.codes.astype(np.int64), seen.numbers, seen.there
    codes, numbers, there = (torch.from_numpy(np.ascontiguousarray(part)) for part in parts)
    return codes, numbers, there


def _fit(model: Any, inputs: tuple[Any, Any, Any], truth: Any, learned: Any, held: Any) -> None:
    import torch

    loss = torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adamax(model.parameters(), lr=LEARNING_RATE)
    best, kept, since = np.inf, None, 0
    for _ in range(EPOCHS):
        model.train()
        for batch in learned[torch.randperm(len(learned))].split(BATCH):
            optimizer.zero_grad()
            loss(model(*(part[batch] for part in inputs)), truth[batch]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            found = float(loss(model(*(part[held] for part in inputs)), truth[held]))
        since = 0 if found < best else since + 1
        if found < best:
            best, kept = found, {name: part.clone() for name, part in model.state_dict().items()}
        if since > PATIENCE:
            break
    if kept is not None:
        model.load_state_dict(kept)
