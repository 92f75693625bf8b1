"""TabDDPM for persons with several rows, by three diffusion models.

The static columns of persons are learned as any table; the number and the extent of their rows
(:mod:`hybrid.synthesize.generators.person_rows`) given these; and all columns of a row at once, given what is known
before it (:mod:`hybrid.synthesize.generators.person_rows`). An embedding of the known states and a linear layer of the
known numbers are added to the network's input. It is the conditional diffusion of ClavaDDPM (Pang et al. 2024,
arXiv:2405.17724) with the parent's record in the place of its clusters. Imported only where torch is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import joblib
import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.synthesize.generators.person_rows import PERSON, Known, RowPlan, TrainingRows, person_table, training_rows
from hybrid.synthesize.generators.tabddpm import TabddpmOptions
from hybrid.synthesize.generators.tabddpm.forms import Knowledge, TableForm
from hybrid.synthesize.generators.tabddpm.model import TabddpmModel, learn_model, load_model
from hybrid.synthesize.protocol import DrawnSequences, Feature, Sequences

T = TypeVar("T")
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

    def draw(self, n_persons: int, seed: int) -> DrawnSequences:
        rng = rng_for(seed, "tabddpm sequences draw")
        drawn = [] if self.people is None else self.people.draw(n_persons, int(rng.integers(2**31)))
        return self._drawn(self.plan.person_form.decode(drawn, n_persons), n_persons, rng)

    def draw_rows(self, persons: Sequence[Array], n_persons: int, seed: int) -> DrawnSequences:
        return self._drawn(persons, n_persons, rng_for(seed, "tabddpm sequences draw rows"))

    def save(self, folder: Path) -> None:
        joblib.dump(self.plan, folder / _PLAN)
        for name, model in ((_PERSONS, self.people), (_EXTENTS, self.extents), (_ROWS, self.rows)):
            if model is not None:
                (folder / name).mkdir(mode=0o700)
                model.save(folder / name)

    def _drawn(self, persons: Sequence[Array], n: int, rng: np.random.Generator) -> DrawnSequences:
        known = self.plan.of_person.encode(_named(persons), n)
        drawn = [] if self.extents is None else self.extents.draw(n, int(rng.integers(2**31)), known)
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
            drawn = self.rows.draw(n, int(rng.integers(2**31)), self.plan.before_row.encode(known, n))
        return self.plan.row_form.decode(drawn, n)


def load_sequences(folder: Path) -> TabddpmSequenceModel:
    places = (folder / name for name in (_PERSONS, _EXTENTS, _ROWS))
    people, extents, rows = (load_model(place) if place.is_dir() else None for place in places)
    return TabddpmSequenceModel(joblib.load(folder / _PLAN), people, extents, rows)


def learn_sequences(
    data: Sequences, options: TabddpmOptions, seed: int, progress: Progress, unfinished: Path | None = None
) -> TabddpmSequenceModel:
    """Train on static columns, on extents of rows, then on rows, with checkpoints in folders of ``unfinished``."""
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
