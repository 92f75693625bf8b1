"""People on whom settings are tried: the training people of a run, and those of them who are held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress
from hybrid.pipeline.child_draw import own_names, with_columns_of
from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.inputs import Inputs, Sources
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.read_people import read_people, refuse_too_large
from hybrid.pipeline.repetition import some_people
from hybrid.pipeline.seeds import keep_split
from hybrid.pipeline.sources import read_sources
from hybrid.table import Table
from hybrid.table.persons import n_persons
from hybrid.table.split import Parts, split


class Halves(NamedTuple):
    """Rows of a table to learn from, and rows to predict, with the columns of their persons; no identifiers."""

    train: Table
    held_out: Table
    own: tuple[str, ...]
    """Columns of the table that are not its persons'."""


@dataclass(frozen=True)
class TuningPeople:
    """Training people with all of their rows, of one table or of linked tables."""

    config: RunConfig
    sources: Sources
    """Their tables, with identifiers."""
    split_seed: int
    """Of the split into training and control people."""
    has_control: bool
    """Whether control people were set apart."""

    @classmethod
    def of(cls, config: RunConfig, seed: int | None, zone: Path, progress: Progress) -> TuningPeople:
        """Read the tables, and split the people as a run does.

        ``seed`` is that of the split; by default that which the private zone keeps, or keeps from now on.
        """
        sources = read_people(config, seed or 0)[0] if refuse_too_large(config) else read_sources(config)
        table = sources.tables[config.links.person]
        split_seed = keep_split(zone, config, table) if seed is None else seed
        parts = Inputs(config, Recorder(), progress, table).split(split_seed)
        if config.is_linked:
            people = some_people(config.links, sources, parts.train.persons)
        else:
            people = Sources({SINGLE: parts.train}, {}, {}, {})
        return cls(config, people, split_seed, parts.control is not None)

    def __len__(self) -> int:
        return n_persons(self.table)

    @property
    def table(self) -> Table:
        """The only table, or the person table."""
        return self.sources.tables[self.config.links.person]

    def run(self, config: RunConfig, progress: Progress) -> Pipeline:
        """Run of a configuration on these people."""
        return Pipeline(config, self.split_seed, progress=progress, given=self.sources, judge_power=False)

    def halves(self, share: float, rng: np.random.Generator) -> Mapping[str, Halves]:
        """Rows of each table that most people have, and those of a share of the people who are held out."""
        apart = self.config.split.model_copy(update={"control": share, "release": 0.0, "rows": None})
        data = self.config.data
        parts = split(self.table, apart, rng, data.person_columns, data.household_columns)
        assert parts.control is not None
        train, held_out = parts.train.without_identifiers(), parts.control.without_identifiers()
        person = self.config.links.person
        found = {person: Halves(train, held_out, tuple(train.schema.names))}
        for name, table in self.sources.tables.items():
            if name != person:
                found[name] = self._halves_below(table, parts)
        return found

    def _halves_below(self, table: Table, parts: Parts) -> Halves:
        beside = own_names(self.table, table, self.config.links.person)
        own = table.without_identifiers().schema.names
        whole = with_columns_of(table, self.table, table.persons, beside).without_identifiers()
        sides = (np.isin(table.persons, part.persons) for part in (parts.train, parts.control) if part is not None)
        train, held_out = (whole.take(side) for side in sides)
        return Halves(train, held_out, tuple(own))
