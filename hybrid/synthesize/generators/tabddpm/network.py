"""Network of TabDDPM: predicts the clean record from a noisy one.

Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

TIME_DIM = 128


class Denoiser(nn.Module):
    """Network that predicts clean-state logits and velocities.

    Logits for every discrete column, a velocity for every continuous one.

    Before training it predicts exactly the marginal distributions: the last layer's weights are zero and its
    biases the log frequencies.

    Parameters
    ----------
    log_frequencies : Tensor, shape (n_states,)
        Of the states of all discrete columns, one after the other.
    n_continuous : int
        Columns of numbers.
    layers : sequence of int
        Widths of the hidden layers.
    dropout : float
        Share of hidden units dropped while training.
    given : tuple of int
        States and numbers of what is known of a record beforehand; (0, 0): nothing is.
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
        """Predict.

        Parameters
        ----------
        states : Tensor, shape (n, n_discrete), int64
            Noisy states, numbered through all columns.
        numbers : Tensor, shape (n, n_continuous), float32
            Noisy numbers.
        time : Tensor, shape (n,), float32
            0 clean .. 1 pure noise.
        given : tuple of Tensor, shapes (n, n_given), int64, and (n, n_numbers), float32
            What is known of each record; states are numbered through all columns.

        Returns
        -------
        logits : Tensor, shape (n, n_states)
        velocity : Tensor, shape (n, n_continuous)
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
