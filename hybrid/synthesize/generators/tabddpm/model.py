"""A trained TabDDPM: draws rows, or rows below parents by three diffusion models, is written and read.

Imported only where torch is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import joblib
import numpy as np
import torch
from torch import Tensor

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.person_rows import (
    PERSON,
    Known,
    RowPlan,
    TrainingRows,
    person_table,
    training_rows,
)
from hybrid.synthesize.generators.tabddpm import CHUNK_CELLS, TabddpmOptions
from hybrid.synthesize.generators.tabddpm.diffusion import Denoiser, Diffusion, Draws
from hybrid.synthesize.generators.tabddpm.forms import Knowledge, Quantiles, TableForm
from hybrid.synthesize.generators.tabddpm.train import train
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Feature, refuse_wide
from hybrid.synthesize.snapshots import Snapshots, named

T = TypeVar("T")
Given = tuple[Array, Array]
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

    def draw(self, n: int, seed: int) -> DrawnColumns:
        return DrawnColumns(self.columns(n, seed))

    def columns(self, n_rows: int, seed: int, known: Given | None = None) -> list[Array]:
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
    known: Given | None = None,
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


def _given(known: Given, rows: slice, device: torch.device) -> tuple[Tensor, Tensor]:
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


MOST_TRIES = 5
"""Further draws, at most, of a row whose values and flags of repeats do not agree."""
_PLAN, _PERSONS, _EXTENTS, _ROWS = "plan.joblib", "persons", "extents", "rows"
_SEEDS = {_PERSONS: 0, _EXTENTS: 1, _ROWS: 2}


@dataclass(frozen=True)
class SequencePlan:
    """Everything about persons and rows but the networks."""

    rows: RowPlan
    """What is known before each row."""
    person_form: TableForm
    extent_form: TableForm
    row_form: TableForm
    """Static columns, number and extent of the rows, and columns of a row, as they are learned. A row has a flag for
    each of ``repeats``."""
    of_person: Knowledge
    before_row: Knowledge
    """Static columns, and what is known before a row, as numbers."""
    repeats: tuple[int, ...]
    """Columns of a row whose value often is that of the row before."""


@dataclass(frozen=True)
class TabddpmSequenceModel:
    """Three trained denoisers. Private."""

    plan: SequencePlan
    """What they draw."""
    people: TabddpmModel | None
    extents: TabddpmModel | None
    rows: TabddpmModel | None
    """Of static columns, of number and extent of the rows, and of a row; None where nothing varies."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        rng = rng_for(seed, "tabddpm sequences draw")
        drawn = [] if self.people is None else self.people.columns(n, int(rng.integers(2**31)))
        return self._drawn(self.plan.person_form.decode(drawn, n), n, rng)

    def draw_below(self, parents: Sequence[Array], n_parents: int, seed: int) -> DrawnColumns:
        return self._drawn(parents, n_parents, rng_for(seed, "tabddpm sequences draw rows"))

    def save(self, folder: Path) -> None:
        joblib.dump(self.plan, folder / _PLAN)
        for name, model in ((_PERSONS, self.people), (_EXTENTS, self.extents), (_ROWS, self.rows)):
            if model is not None:
                (folder / name).mkdir(mode=0o700)
                model.save(folder / name)

    def _drawn(self, persons: Sequence[Array], n: int, rng: np.random.Generator) -> DrawnColumns:
        known = self.plan.of_person.encode(_named(persons), n)
        drawn = [] if self.extents is None else self.extents.columns(n, int(rng.integers(2**31)), known)
        people = [*persons, *self.plan.extent_form.decode(drawn, n)]
        return self.plan.rows.draw(people, lambda known, before, position: self._row(known, before, position, rng))

    def _row(self, known: Known, before: Sequence[Array], position: int, rng: np.random.Generator) -> list[Array]:
        """Columns of the rows at one position.

        A row with a value of the row before that is not flagged as repeated is drawn again.
        """
        plan, n = self.plan.rows, len(before[0]) if before else 0
        columns = self._rows(known, n, rng)
        for _ in range(MOST_TRIES if position else 0):
            repeats = zip(self.plan.repeats, columns[len(plan.features) :], strict=True)
            wrong = [(flag == 0) & (columns[at] == before[at]) for at, flag in repeats]
            again = np.flatnonzero(np.logical_or.reduce(wrong)) if wrong else np.empty(0, dtype=np.int64)
            if not len(again):
                break
            part = self._rows({name: column[again] for name, column in known.items()}, len(again), rng)
            for column, values in zip(columns, part, strict=True):
                column[again] = values
        row, flags = columns[: len(plan.features)], columns[len(plan.features) :]
        if plan.order is not None:
            row[plan.order] = plan.time(known, row[plan.order], before[plan.order], position)
        if position > 0:
            for at, flag in zip(self.plan.repeats, flags, strict=True):
                row[at] = np.where(flag == 1, before[at], row[at])
        return row

    def _rows(self, known: Known, n: int, rng: np.random.Generator) -> list[Array]:
        """Columns of ``n`` rows, and flags of repeats."""
        drawn = list[Array]()
        if self.rows is not None:
            drawn = self.rows.columns(n, int(rng.integers(2**31)), self.plan.before_row.encode(known, n))
        return self.plan.row_form.decode(drawn, n)


def load(folder: Path) -> TabddpmModel | TabddpmSequenceModel:
    """Read a model of rows, or of rows below parents."""
    if not (folder / _PLAN).is_file():
        return load_model(folder)
    places = (folder / name for name in (_PERSONS, _EXTENTS, _ROWS))
    people, extents, rows = (load_model(place) if place.is_dir() else None for place in places)
    return TabddpmSequenceModel(joblib.load(folder / _PLAN), people, extents, rows)


def learn_children(
    data: Children, options: TabddpmOptions, seed: int, progress: Progress, unfinished: Path | None = None
) -> TabddpmSequenceModel:
    """Train on static columns, on extents of rows, then on rows, with checkpoints in folders of ``unfinished``.

    The static columns of persons are learned as any table; the number, the extent and the means of their rows given
    these; and all columns of a row at once, given what is known before it
    (:mod:`hybrid.synthesize.generators.person_rows`). An embedding of the known states and a linear layer of the known
    numbers are added to the network's input. It is the conditional diffusion of ClavaDDPM (Pang et al. 2024,
    arXiv:2405.17724) with the parent's record in the place of its clusters.
    """
    if options.overfit is not None:
        raise GeneratorError("tabddpm: overfit is about single rows, not about persons", hint="leave overfit out")
    rng, table, most = rng_for(seed, "tabddpm sequences fit"), person_table(data), options.max_levels
    rows_plan = RowPlan.of(data, table)
    rows = training_rows(data, table, rows_plan)
    repeats, features, columns = _targets(rows, rows_plan)
    described, persons, static = table.encoded.features, table.encoded.columns, table.n_static
    extents = [_with_rows(column, data.counts, rng) for column in persons[static:]]
    plan = SequencePlan(
        rows_plan,
        TableForm.of(described[:static], persons[:static], most),
        TableForm.of(described[static:], extents, most),
        TableForm.of(features, columns, most),
        Knowledge.of(_named(described[:static]), _named(persons[:static])),
        Knowledge.of(rows.features, {name: rows.known[name] for name in rows.given}),
        repeats,
    )

    def learned(
        name: str, form: TableForm, values: Sequence[Array], given: Mapping[str, Array], by: Knowledge | None
    ) -> TabddpmModel | None:
        encoded = form.encode(values, rng)
        if encoded is None:
            return None
        known, n_given = (None, 0) if by is None else (by.encode(given, len(encoded)), by.n_states)
        left, own = _folder(unfinished, name), seed + _SEEDS[name]
        model = learn_model(encoded, options, own, progress, left, known, n_given)
        assert isinstance(model, TabddpmModel)
        return model

    return TabddpmSequenceModel(
        plan,
        learned(_PERSONS, plan.person_form, persons[:static], {}, None),
        learned(_EXTENTS, plan.extent_form, extents, _named(persons[:static]), plan.of_person),
        learned(_ROWS, plan.row_form, columns, rows.known, plan.before_row) if len(rows.persons) else None,
    )


def _named(items: Sequence[T]) -> dict[str, T]:
    """Columns of persons, or their features, by the name of their place."""
    return {f"{PERSON}{at}": item for at, item in enumerate(items)}


def _with_rows(column: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Extent of the rows; of persons without rows that of random others."""
    none, filled = np.flatnonzero((counts == 0) & np.isnan(column)), column.copy()
    known = column[counts > 0]
    if len(none) and len(known):
        filled[none] = rng.choice(known, len(none))
    return filled


def _folder(unfinished: Path | None, name: str) -> Path | None:
    if unfinished is None:
        return None
    (unfinished / name).mkdir(exist_ok=True)
    return unfinished / name


def _targets(rows: TrainingRows, plan: RowPlan) -> tuple[tuple[int, ...], list[Feature], list[Array]]:
    """Columns with repeats, and all columns that are learned of a row.

    Those of the row, the gap in the place of the order, and a flag of each column with repeats: 1 where the value is
    that of the row before.
    """
    features = list(plan.features)
    if plan.order is not None:
        features[plan.order] = Feature("gap", 0, ordered=True, missing=True)
    same = {at: rows.repeated(at) for at in range(len(features)) if at != plan.order}
    repeats = tuple(at for at, found in same.items() if len(found))
    flags = []
    for at in repeats:
        flag = np.zeros(len(rows.persons), dtype=np.int32)
        flag[same[at]] = 1
        flags.append(flag)
    named = [Feature(f"{features[at].name} repeats", 2, False, False) for at in repeats]
    return repeats, [*features, *named], [*rows.targets, *flags]
