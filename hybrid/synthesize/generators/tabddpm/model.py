"""A trained TabDDPM: draws rows, is written and read.

Imported only where torch is needed.
"""

# The packages used here may be absent when types are checked.
# mypy: disable-error-code="import-untyped,import-not-found"
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls
# mypy: no-warn-unused-ignores, no-warn-return-any

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.tabddpm import CHUNK_CELLS, TabddpmOptions
from hybrid.synthesize.generators.tabddpm.diffusion import Denoiser, Diffusion, Draws
from hybrid.synthesize.generators.tabddpm.forms import Quantiles
from hybrid.synthesize.generators.tabddpm.train import train
from hybrid.synthesize.protocol import Encoded, refuse_wide
from hybrid.synthesize.snapshots import Snapshots, named

Known = tuple[Array, Array]
"""States (n, n_given), int64, numbered through all columns, and numbers (n, n_numbers), float32, known of n rows."""
_WEIGHTS, _QUANTILES, _OPTIONS = "network.pt", "quantiles.npz", "options.json"


@dataclass(frozen=True)
class TabddpmModel:
    """A trained denoiser. Private."""

    levels: tuple[int, ...]
    """States of each feature in order; 0 for continuous ones."""
    frequencies: Tensor
    """Observed frequencies of all discrete columns' states, one column after the other; shape (n_states,)."""
    sampled: Tensor
    """Frequencies among as many records drawn with replacement, each column by itself; shape (n_states,)."""
    quantiles: tuple[Quantiles, ...]
    """One per continuous feature."""
    network: Denoiser
    """With averaged weights."""
    options: TabddpmOptions
    """What it was trained with."""
    given: tuple[int, int] = (0, 0)
    """States and numbers of what must be known of a record to draw it; (0, 0): nothing."""

    def draw(self, n_rows: int, seed: int, known: Known | None = None) -> list[Array]:
        """Draw rows, of each of which ``known`` is known, where the model asks for it.

        Shares are then not held: those of the training records are not the shares of rows of which something is known.
        """
        rng = torch.Generator(self.frequencies.device).manual_seed(int(rng_for(seed, "tabddpm").integers(2**63)))
        draws = Draws(rng, self.options.balanced)
        held = {"free": None, "sampled": self.sampled, "exact": self.frequencies}[self.options.shares]
        diffusion = diffusion_of(self.levels, self.frequencies, self.options, held if known is None else None)
        chunk = CHUNK_CELLS // max(len(self.frequencies), *self.options.layers, 1) + 1
        steps, drawn = self.options.sampling_steps, []
        for start in range(0, n_rows, chunk):
            size = min(chunk, n_rows - start)
            part = None if known is None else _given(known, slice(start, start + size), self.frequencies.device)
            drawn.append(
                diffusion.draw(partial(self.network.forward, given=part), size, len(self.quantiles), steps, draws)
            )
        states = torch.cat([chunk[0] for chunk in drawn]).cpu().numpy() - first_states(self.levels)
        numbers = torch.cat([chunk[1] for chunk in drawn]).double().cpu().numpy()
        discrete = iter(states.T.astype(np.int32))
        continuous = iter(q.from_normal(scores) for q, scores in zip(self.quantiles, numbers.T, strict=True))
        return [next(discrete) if size else next(continuous) for size in self.levels]

    def save(self, folder: Path) -> None:
        """Write weights, quantiles and options; nothing executable."""
        saved = {"network": self.network.state_dict(), "frequencies": self.frequencies, "sampled": self.sampled}
        torch.save(saved, folder / _WEIGHTS)
        arrays: dict[str, Array] = {}
        for at, quantiles in enumerate(self.quantiles):
            arrays |= {f"distinct{at}": quantiles.distinct, f"cumulated{at}": quantiles.cumulated}
        np.savez(folder / _QUANTILES, **arrays)
        content = {"levels": self.levels, "options": self.options.model_dump(), "given": self.given}
        (folder / _OPTIONS).write_text(json.dumps(content), encoding="utf-8")


def load_model(folder: Path) -> TabddpmModel:
    content = json.loads((folder / _OPTIONS).read_text(encoding="utf-8"))
    options = TabddpmOptions.model_validate(content["options"])
    levels = tuple(content["levels"])
    device = _device(options)
    saved = torch.load(folder / _WEIGHTS, map_location=device, weights_only=True)
    arrays = np.load(folder / _QUANTILES)
    quantiles = tuple(Quantiles(arrays[f"distinct{at}"], arrays[f"cumulated{at}"]) for at in range(levels.count(0)))
    given = (content["given"][0], content["given"][1])
    network = _network(saved["frequencies"], levels, options, given).to(device)
    network.load_state_dict(saved["network"])
    network.eval().requires_grad_(False)
    return TabddpmModel(levels, saved["frequencies"], saved["sampled"], quantiles, network, options, given)


def learn_model(
    data: Encoded,
    options: TabddpmOptions,
    seed: int,
    progress: Progress,
    unfinished: Path | None = None,
    known: Known | None = None,
    n_given: int = 0,
) -> TabddpmModel | Snapshots:
    """Train on encoded columns without NaN; see :class:`TabddpmOptions`.

    ``known`` is what is known of each record beforehand, with ``n_given`` states in all.
    """
    levels = tuple(feature.n_levels for feature in data.features)
    refuse_wide("tabddpm", {feature.name: feature.n_levels for feature in data.features}, options.max_inputs)
    random = rng_for(seed, "tabddpm fit")
    device = _device(options)
    rng = torch.Generator(device).manual_seed(int(random.integers(2**63)))
    continuous = [values for values, size in zip(data.columns, levels, strict=True) if not size]
    quantiles = tuple(Quantiles.of(values) for values in continuous)
    scores = [q.to_normal(values, random) for q, values in zip(quantiles, continuous, strict=True)]
    numbers = as_tensor(scores, len(data), torch.float32, device)
    codes = [values for values, size in zip(data.columns, levels, strict=True) if size]
    states = as_tensor(codes, len(data), torch.int64, device) + torch.tensor(first_states(levels), device=device)
    frequencies = (torch.bincount(states.flatten(), minlength=sum(levels)) / len(data)).float()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(random.integers(2**63)))
        sizes = (0, 0) if known is None else (n_given, known[1].shape[1])
        network = _network(frequencies, levels, options, sizes).to(device)
        diffusion = diffusion_of(levels, frequencies, options)
        given = None if known is None else _given(known, slice(None), device)
        networks = train(network, diffusion, states, numbers, options, rng, progress, unfinished, given)
    sampled = _sampled(frequencies, levels, len(data), rng_for(seed, "tabddpm shares"))
    models = {
        named(level): TabddpmModel(levels, frequencies, sampled, quantiles, each, options, sizes)
        for level, each in networks.items()
    }
    return Snapshots(models) if options.snapshots else next(iter(models.values()))


def _given(known: Known, rows: slice, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.tensor(known[0][rows], device=device), torch.tensor(known[1][rows], device=device)


def _sampled(frequencies: Tensor, levels: Sequence[int], n: int, random: np.random.Generator) -> Tensor:
    """Frequencies that ``n`` records drawn with replacement have, each column by itself."""
    columns = frequencies.double().cpu().split([size for size in levels if size])
    counts = [random.multinomial(n, (share / share.sum()).numpy()) for share in columns]
    return torch.tensor(np.concatenate([np.empty(0), *counts]) / n, dtype=torch.float32, device=frequencies.device)


def _network(
    frequencies: Tensor, levels: Sequence[int], options: TabddpmOptions, given: tuple[int, int] = (0, 0)
) -> Denoiser:
    return Denoiser(torch.log(frequencies), levels.count(0), options.layers, options.dropout, given)


def diffusion_of(
    levels: Sequence[int], frequencies: Tensor, options: TabddpmOptions, held: Tensor | None = None
) -> Diffusion:
    sizes = [size for size in levels if size]
    prior = frequencies
    if options.prior == "uniform":
        prior = torch.cat([torch.full((size,), 1 / size) for size in sizes]).to(frequencies.device)
    return Diffusion(sizes, prior, options.likelihood, held)


def as_tensor(columns: list[Array], n_rows: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Columns (n_rows,) side by side, shape (n_rows, n_columns), on a device."""
    stacked = np.column_stack(columns) if columns else np.empty((n_rows, 0))
    return torch.tensor(stacked, dtype=dtype, device=device)


def first_states(levels: Sequence[int]) -> Array:
    """Number of the first state of each discrete column."""
    sizes = [size for size in levels if size]
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if sizes else np.empty(0, dtype=np.int64)


def _device(options: TabddpmOptions) -> torch.device:
    return torch.device("cuda" if options.gpu and torch.cuda.is_available() else "cpu")
