"""Membership of single people by the target attention network of Meeus et al. 2023, appendix A.

PyTorch is imported only inside the functions.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.retraining import Rows, coder, ordered
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.threads import one_torch_thread
from hybrid.evaluation.families import attack_with_trainings
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.lab.attacks.shadows import attackable, judged, shadows, tests

EMBEDDING, ATTENTION, HIDDEN = 20, 15, 10
DROPOUT = 0.15
LEARNING_RATE = 0.01
"""The paper's; its code has 0.001, which learns nothing from a few hundred tables."""
BATCH = 20
EPOCHS, PATIENCE = 200, 20
"""Passes over the trainings at most, and without a smaller loss of those held back."""
HELD_BACK = 0.1


class Nearest(NamedTuple):
    """The person, which is the first row, and the rows nearest to it in n tables; ``there`` is False for padding."""

    codes: Array
    numbers: Array
    there: Array


def network(codes: int, numbers: int) -> Any:
    """Network of fresh weights: logit of membership of one batch of :class:`Nearest`.

    Rows are embedded (a linear layer over one-hot categories and numbers, ReLU, a linear layer, dropout); each gets the
    weight softmax(q k), q made from the person's embedding and k from its own, of its value v; two layers follow.
    Padding has no weight. (The paper's algorithm writes q v for q k.) The code ``codes`` is a category never seen,
    whose embedding is 0.
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
    """Probability of membership in each asked table, by a network fitted to tables with the person and without.

    Binary cross-entropy, Adamax; a tenth of the tables is held back, and the weights with their least loss are kept.
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


NEAREST = 100
"""Distinct rows, the nearest to the person, that the network sees of a table."""


def target_attention(context: Context) -> Outcome:
    """AUC of the target-attention attack on single people, 0..1.

    Meeus et al. 2023, appendix A. As ``counting_queries``, on the same trainings, with a network in the place of the
    queries: it sees the 100 distinct rows nearest to the person, each with its number and its distance, and weighs them
    by their likeness to the person. 0.5 where nobody is memorized; mean over the people. A low value from few shadow
    models is a weak attack, not safety.
    """
    if find_spec("torch") is None:
        reason = "a network is trained with torch, which is missing: pip install 'hybrid-release[tabddpm]' brings it"
        return NotComputable(reason, "failed")
    own = ordered(context).control
    assert own is not None
    shadow, test = shadows(context), tests(context)
    coding = coder(own, shadow.people, context.encoding.names)
    distinct = [[coding.rows(table).distinct() for table in part.tables] for part in (shadow, test)]
    rng = context.random("target attention")
    scores = []
    for at in attackable(shadow, test):
        person = coding.rows(shadow.person(at))
        seen = [stacked([nearest(rows, times, person) for rows, times in part], coding.unseen) for part in distinct]
        member, seed = shadow.member[:, at], int(rng.integers(2**31))
        scores.append((at, fitted_scores(seen[0], member, seen[1], coding.unseen, seed)))
    return judged(context, shadow, test, scores, context.options.confidence)


def nearest(rows: Rows, times: Array, person: Rows) -> tuple[Rows, Array]:
    """The person, then at most :data:`NEAREST` rows nearest to it, with multiplicity and distance of each."""
    distances = rows.distances_to(person)
    chosen = np.argsort(np.round(distances, 9), kind="stable")[:NEAREST]
    near = rows.take(chosen)
    about = np.column_stack([times[chosen], distances[chosen]])
    both = Rows(np.concatenate([person.codes, near.codes]), np.concatenate([person.numbers, near.numbers]))
    return both, np.concatenate([[[1.0, 0.0]], about])


def stacked(seen: list[tuple[Rows, Array]], unseen: int) -> Nearest:
    """Nearest rows of several tables, padded to one length."""
    longest = max(len(rows) for rows, _ in seen)

    def padded(part: Array, filler: float) -> Array:
        whole = np.full((longest, part.shape[1]), filler, dtype=part.dtype)
        whole[: len(part)] = part
        return whole

    return Nearest(
        np.array([padded(rows.codes, unseen) for rows, _ in seen]),
        np.array([padded(np.column_stack([rows.numbers, about]), 0.0) for rows, about in seen], dtype=np.float32),
        np.array([np.arange(longest) < len(rows) for rows, _ in seen]),
    )


BEFORE = "bagging_membership"
METRICS = (
    attack_with_trainings(
        target_attention,
        "membership",
        "How well a network that an attacker trains on rows like a conspicuous person finds out whether the "
        "person was in the training data.",
        by_default=False,
    ),
)
