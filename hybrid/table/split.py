"""Split of a table into training, control and fresh records, and its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.base.arrays import Array, Codes, Mask, Rows
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.options import Options
from hybrid.table.persons import kept_together, person_groups
from hybrid.table.record_hash import SECRET_BYTES, each_once, record_hashes
from hybrid.table.schema import Table

CROSS = "cross"


class SplitOptions(Options):
    """Control set: records that no generator sees, the yardstick of every attack."""

    control: Annotated[float, Field(ge=0, lt=1)] | Literal["cross"] = 0.3
    """Share of records (0..1) kept as control. 0: none; metrics that need one are "not computable". cross: the table
    is made from all records, and the verdict is about ``folds`` further tables made the same way, each without the
    people who then are control. For small tables: nobody is kept away from the table, and everybody is control once."""
    folds: int = Field(default=4, ge=2, le=20)
    """Tables on which ``control: cross`` judges the procedure. Each is made without 1/folds of the people; a run costs
    about folds + 1 runs."""
    release: float = Field(default=0.0, ge=0, lt=1)
    """Share of records (0..1) set aside as fresh people for tables with a known leak (``risk``), and used for nothing
    else."""
    rows: int | None = Field(default=None, ge=2)
    """Use no more than so many records, drawn at random: a budget for trying things out. Of linked tables so many
    people, with their rows in all tables. Of a table larger than `anonymize.memory_limit` so many rows are read,
    persons with all of theirs that have labels; null: 100,000."""
    key: str | None = None
    """A column whose equal values stay on one side, such as a ward. With `data.person` or `data.household` it
    follows from them: all rows of a person, and all members of a household, are on one side."""
    stable: bool = False
    """Whether a record keeps its side when others come and go: for releases night after night, whose sum would
    give more away if everybody changed sides. Records are distinguished by ``key`` (or person), else by the
    identifiers, else by all columns."""

    independent: bool = False
    """Whether each person's side is drawn on its own, so that one person more or less moves no other; the shares are
    then kept on average only. `privacy.mode: dp` needs it, and sets it."""

    @model_validator(mode="after")
    def _room_for_training(self) -> Self:
        if self.independent and self.stable:
            raise ValueError("independent: a stable share is exact, and moves a few; leave one of them out")
        if self.is_crossed and self.release:
            raise ValueError("control: cross keeps nobody apart, and release does; leave one of them out")
        if self.is_crossed and self.rows is not None:
            raise ValueError("control: cross uses everybody, and rows leaves some out; leave one of them out")
        if self.is_crossed and self.independent:
            raise ValueError("independent: control: cross judges further tables made from the same people")
        if self.share_apart >= 1:
            raise ValueError("control and release together leave nothing to train on")
        return self

    @property
    def is_crossed(self) -> bool:
        """True if the procedure is judged on folds, and no record is kept apart."""
        return self.control == CROSS

    @property
    def control_share(self) -> float:
        """Share of records, 0..1, that the released table is made without, as control."""
        return self.control if isinstance(self.control, float | int) else 0.0

    @property
    def share_apart(self) -> float:
        """Share of records, 0..1, that the released table is made without."""
        return self.control_share + self.release

    @property
    def of_one_fold(self) -> SplitOptions:
        """The split of one fold of ``control: cross``."""
        return self.model_copy(update={"control": 1 / self.folds})


class Parts(NamedTuple):
    """Disjoint parts of a table."""

    train: Table
    control: Table | None
    """None if its share is 0."""
    release: Table | None
    """Fresh records for tables with a known leak; None if their share is 0."""


def split(
    table: Table,
    options: SplitOptions,
    rng: np.random.Generator,
    person: Sequence[str] = (),
    household: Sequence[str] = (),
) -> Parts:
    """Part the records into training, control and fresh ones, in the table's order.

    ``person`` and ``household`` are the columns that name these, where several rows share one. ``round(control *
    n_rows)`` records are control, and by the same shuffle ``round(release * n_rows)`` are fresh; with households,
    persons or a key, that share of the households, the persons or the key's distinct values (records without one count
    as one person each). With ``options.stable``, a generator in the same state gives the same record the same side in
    every table, but for the few that keep the share exact. With ``control: cross`` nobody is apart: :func:`folds` has
    the parts on which the procedure is judged.
    """
    table = _used(table, options, rng)
    share = options.control_share
    if options.share_apart == 0:
        return Parts(table, None, None)
    if options.independent:
        control, release = _each_alone(table, options, rng)
    else:
        groups, order = _ranked(table, options, rng, person, household)
        control = _between(order, 0.0, share)[groups]
        release = _between(order, share, options.share_apart)[groups]
    return Parts(
        table.take(~(control | release)),
        table.take(control) if share else None,
        table.take(release) if options.release else None,
    )


def folds(
    table: Table,
    options: SplitOptions,
    rng: np.random.Generator,
    person: Sequence[str] = (),
    household: Sequence[str] = (),
) -> tuple[Parts, ...]:
    """Training and control records of every fold of ``control: cross``; arguments as for :func:`split`.

    Every record is control in one of them and learned from in all others; persons and households, or equal values of
    the key, are whole. Control groups differ by one person, household or value at most.
    """
    table = _used(table, options, rng)
    groups, order = _ranked(table, options, rng, person, household)
    if len(order) < options.folds:
        raise DataError(
            f"{len(order)} separable records cannot be control in {options.folds} folds",
            hint="use a larger table, or set split.control: 0",
        )
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) * options.folds // len(order)
    masks = (fold[groups] == number for number in range(options.folds))
    return tuple(Parts(table.take(~mask), table.take(mask), None) for mask in masks)


def _used(table: Table, options: SplitOptions, rng: np.random.Generator) -> Table:
    if options.key is not None and options.key not in table.schema:
        raise ConfigError(
            f"split.key names the column {options.key!r}, which the data does not have",
            hint=f"use one of: {', '.join(table.schema.names)}",
        )
    if options.rows is None or options.rows >= len(table):
        return table
    return table.take(drawn_rows(len(table), options.rows, rng))


def drawn_rows(n_rows: int, used: int, rng: np.random.Generator) -> Rows:
    """Rows that are used of a table, drawn at random, in their order."""
    return np.sort(rng.permutation(n_rows)[:used])


def control_mask(persons: Codes, options: SplitOptions, rng: np.random.Generator) -> Array:
    """Mask of the control records of :func:`split` without stable sides, by the person of each record."""
    whole = {"rows": options.rows is not None, "release": bool(options.release), "independent": options.independent}
    if any(whole.values()):
        key = next(name for name, is_set in whole.items() if is_set)
        raise ConfigError(f"split.{key} is for tables that are read as a whole", hint="leave it out")
    share = options.control_share
    if share == 0:
        return np.zeros(len(persons), dtype=bool)
    groups = person_groups(persons)
    return _between(rng.permutation(int(groups.max(initial=-1)) + 1), 0.0, share)[groups]


def _each_alone(table: Table, options: SplitOptions, rng: np.random.Generator) -> tuple[Mask, Mask]:
    """Masks of control and fresh records, each group drawn by itself."""
    together = _together(table, options)
    place = rng.random(int(together.max(initial=-1)) + 1)[together]
    share = options.control_share
    control = place < share
    release = ~control & (place < options.share_apart)
    if (control | release).all() or (share and not control.any()) or (options.release and not release.any()):
        raise DataError("the draws leave one side of the split empty", hint="use a larger table, or split.control: 0")
    return control, release


def _between(order: Array, start: float, end: float) -> Array:
    inside = np.zeros(len(order), dtype=bool)
    if start == end:
        return inside
    first, last = round(start * len(order)), round(end * len(order))
    if not first < last < len(order):
        raise DataError(
            f"a share of {end - start:g} leaves one side of the split empty ({len(order)} separable records)",
            hint="use a larger table, or set split.control: 0",
        )
    inside[order[first:last]] = True
    return inside


def _ranked(
    table: Table, options: SplitOptions, rng: np.random.Generator, person: Sequence[str], household: Sequence[str]
) -> tuple[Array, Array]:
    """Group of each record, and the groups in the order in which they become the control group."""
    key = tuple(household) or tuple(person) or (() if options.key is None else (options.key,))
    if options.stable:
        secret = rng.bytes(SECRET_BYTES)
        hashes = record_hashes(table, secret, key)
        if household and person:  # Who has no household is one alone, with all rows.
            alone = table.frame[list(household)].isna().any(axis=1).to_numpy()
            hashes[alone] = record_hashes(table.take(alone), secret, person)
        distinct, groups = np.unique(hashes if key else each_once(hashes), return_inverse=True)
        return groups, np.arange(len(distinct))
    groups = _together(table, options)
    return groups, rng.permutation(int(groups.max()) + 1)


def _together(table: Table, options: SplitOptions) -> Codes:
    if options.key is None or table.has_households or not table.rows_are_persons:
        return kept_together(table)
    key = table.frame[options.key]
    codes: Codes
    codes, distinct = pd.factorize(key)
    missing = codes < 0
    codes[missing] = len(distinct) + np.arange(int(missing.sum()))
    return codes
