"""Empty cells of a user's rows, completed from a judged draw.

Every completed cell is copied from a row of the draw: who has the draw and the rows can complete them alone, so that
nothing leaves which the checks of the draw were not about. It is a nearest-neighbour hot deck (Andridge and Little
2010, International Statistical Review 78(1)) whose donors are synthetic rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask, Rows
from hybrid.base.atomic import atomic_file
from hybrid.base.errors import ConfigError, DataError, Problem
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.base.sentence import sentence, sentences
from hybrid.constraints import Rules
from hybrid.evaluation.engine.encoding import Encoded, Encoding, encode
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Space
from hybrid.jobs.sample_run import sample_run
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.table import Role, Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.schema import in_one_dtype
from hybrid.table.write import write_table

NEAREST = 5
"""Rows of the draw that are nearest to a row, of which one at random is its donor."""
MOST_TRIED = 50
"""Nearest rows of the draw that are tried, at most, until the completed row keeps the constraints."""
SMALL = 1e-4
"""Distance that rows at the same distance differ by at most, at random: no row of the draw is preferred."""
NOT_JUDGED = (
    "Not judged: your rows, and what else their readers know. The checks are about the draw that the cells are from; a "
    "cell is a likely value, not that of the person."
)
"""Sentence on what no check is about."""


def impute_run(
    run: Path | str,
    file: Path | str,
    *,
    out: Path | str,
    where: str | None = None,
    balance: Mapping[str, Any] | None = None,
    rows: int | None = None,
    work: Path | str = "work",
    progress: Progress = silent,
) -> tuple[Pipeline, Completed | None, Path]:
    """Draw from a finished run's model, judge the draw, and complete the empty cells of a file from it.

    Without a condition, shares or ``rows`` it is the run's own table, which is no further draw.

    The file has rows with empty cells, written as the source of the run; of linked tables, rows of the person table.
    Nothing is drawn if it does not fit the table. Other arguments and errors are those of ``sample_run``.

    Gives the draw; the rows, None where the policy blocks the draw; and the file beside ``out`` that they are written
    to, for this user alone.
    """
    found: list[Table] = []

    def read(config: RunConfig) -> None:
        with _person_table_alone(config):
            found.append(read_incomplete(Path(file), config))

    about: dict[str, Any] = {"balance": balance, "rows": rows, "work": work, "progress": progress, "ready": read}
    pipeline = sample_run(run, where, out=out, **about)
    folder = Path(out)
    target = folder.with_name(f"{folder.name}-imputed{Path(file).suffix}")
    if pipeline.verdict.status == "block":
        return pipeline, None, target
    person = pipeline.person
    draw = pipeline.released[pipeline.config.links.person]
    with _person_table_alone(pipeline.config):
        done = complete(found[0], draw, person.rules, pipeline.seed)
    data = person.config.data
    with atomic_file(target, private=True) as temporary:
        write_table(done.table, temporary, data.separator, data.encoding)
    return pipeline, done, target


@contextmanager
def _person_table_alone(config: RunConfig) -> Iterator[None]:
    """Say in errors of the block that of linked tables the person table alone is completed, and why."""
    try:
        yield
    except (ConfigError, DataError) as error:
        if not config.is_linked:
            raise
        alone = Problem(
            f"of linked tables, rows of {config.links.person} alone are completed: those of other tables would get the "
            "cells of several made-up persons, who contradict each other",
            "give rows of the person table",
        )
        raise ConfigError([*error.problems, alone]) from error


@dataclass(frozen=True)
class Completed:
    """Rows with completed cells."""

    table: Table
    """In the order of the file; n rows."""
    filled: int
    """Cells that were completed."""
    empty: int
    """Cells that stay empty: of identifiers, of weights, or where no near row of the draw keeps the constraints."""
    donors: int
    """Rows of the draw."""

    @property
    def words(self) -> str:
        """Sentence on the numbers."""
        done = sentence("completed", n=self.filled, rows=len(self.table), donors=self.donors)
        return sentences(done, sentence("completed.empty", n=self.empty) if self.empty else "", between="further")


def read_incomplete(path: Path, config: RunConfig) -> Table:
    """Read the rows to complete, as the configuration reads its source.

    The file may lack columns of the table, which then are empty, and may have no others.
    """
    data = config.data
    plain = DataOptions.model_validate(
        {"path": str(path), "separator": data.separator, "decimal": data.decimal, "encoding": data.encoding}
    )
    there = read_table(path, plain.model_copy(update={"missing": data.missing})).schema.names
    unknown = [name for name in there if name not in data.columns] if data.unlisted == "error" else []
    if unknown:
        raise ConfigError(
            f"{path}: the table has no column {', '.join(unknown)}", hint=f"one of: {', '.join(data.columns)}"
        )
    columns = {name: about for name, about in data.columns.items() if name in there}
    return read_table(path, data.model_copy(update={"columns": columns})).without_left_out()


def complete(rows: Table, draw: Table, rules: Rules, seed: int) -> Completed:
    """Complete the empty cells of rows from the nearest rows of a draw.

    The distance of two rows is the mean over the columns in which the row has a value: 0 or 1 for categories, the
    difference of the ranks within the draw, divided by its rows, for numbers, dates and times, and 1 for a gap of the
    draw (Gower 1971, Biometrics 27(4)). Columns that name a row, or are constant, do not count. All empty cells of a
    row come from one of its five nearest rows, at random.

    ``draw`` has one or more synthetic rows that were judged. A row that would break one of the ``rules``, or keep an
    empty cell, gets the cells of the next nearest row instead. ``seed`` decides which of the nearest rows is the donor.
    """
    wanted = [one for one in draw.schema if one.role not in (Role.IDENTIFIER, Role.WEIGHT)]
    common = [one.name for one in wanted if one.name in rows.schema]
    if not common:
        raise DataError("the rows have no column of the draw", hint="give rows with the columns of the table")
    schema = Schema((*rows.schema, *(one for one in wanted if one.name not in rows.schema)))
    frame = rows.frame.reindex(columns=schema.names)
    for name in (one.name for one in wanted if one.name not in rows.schema):
        frame[name] = draw.frame[name].iloc[:0].reindex(frame.index)
    whole = Table(frame, schema)
    gaps = {one.name: whole.frame[one.name].isna().to_numpy() for one in wanted}
    open_ = np.flatnonzero(np.logical_or.reduce(list(gaps.values())))
    order = _nearest(whole.take(open_).only(common), draw.only(common), rng_for(seed, "impute"))
    left, before = open_, whole
    able = [name for name in gaps if draw.frame[name].notna().any()]
    for at in range(order.shape[1]):
        if not len(left):
            break
        whole = _filled(whole, left, gaps, draw, order[np.searchsorted(open_, left), at])
        tried = whole.take(left)
        left = left[_broken(rules, tried) | tried.frame[able].isna().any(axis=1).to_numpy()]
    back = left[_broken(rules, whole.take(left))]
    whole = _with_cells(whole, {name: (back, values.take(back)) for name, values in before.frame.items()})
    empty = int(whole.frame.isna().to_numpy().sum())
    filled = sum(int((gap & whole.frame[name].notna().to_numpy()).sum()) for name, gap in gaps.items())
    return Completed(whole, filled, empty, len(draw))


def _broken(rules: Rules, table: Table) -> Mask:
    return rules.of_rows.broken(table) if rules else np.zeros(len(table), dtype=bool)


def _nearest(rows: Table, draw: Table, rng: np.random.Generator) -> Rows:
    """Places of the nearest rows of the draw, the five nearest in random order; shape (n, tried)."""
    tried = min(MOST_TRIED, len(draw))
    encoding = encode([draw, rows])
    its, mine = (_ranked(part, encoding, rng) for part in encoding.tables)
    found = np.empty((len(rows), tried), dtype=np.int64)
    # Rows with the same gaps are compared in the same columns.
    patterns, pattern_of = np.unique(mine.ranks >= 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        at = np.flatnonzero(pattern_of.ravel() == number)
        space = _space(encoding, pattern)
        found[at] = nearest(space, space.place(mine.take(at)), space.place(its), tried)[1]
    first = min(NEAREST, tried)
    found[:, :first] = rng.permuted(found[:, :first], axis=1)
    return found


def _ranked(part: Encoded, encoding: Encoding, rng: np.random.Generator) -> Encoded:
    """Numbers as shares of the draw's values below, and as the last column a random number that decides ties."""
    numbers = part.numbers.copy()
    for at in np.flatnonzero(encoding.continuous):
        values = encoding.tables[0].numbers[:, at]
        known, there = np.sort(values[~np.isnan(values)]), ~np.isnan(numbers[:, at])
        numbers[there, at] = np.searchsorted(known, numbers[there, at]) / max(len(known), 1)
    ties = SMALL * rng.random((len(part), 1))
    return Encoded(np.hstack([part.ranks, np.zeros((len(part), 1), np.int32)]), np.hstack([numbers, ties]))


def _space(encoding: Encoding, known: Mask) -> Space:
    """Gower's distance over the columns in which rows have a value."""
    numeric = np.append(np.flatnonzero(encoding.continuous & known[:-1]), len(encoding.columns))
    other = np.flatnonzero(~encoding.continuous & known[:-1])
    zeros, ones = np.zeros(len(numeric)), np.ones(len(numeric))
    return Space(np.concatenate([numeric, other]), zeros, ones, np.ones(len(other)), False)


def _filled(table: Table, rows: Rows, gaps: Mapping[str, Mask], draw: Table, donors: Rows) -> Table:
    mine = {name: gap[rows] for name, gap in gaps.items()}
    return _with_cells(table, {name: (rows[of], draw.frame[name].take(donors[of])) for name, of in mine.items()})


def _with_cells(table: Table, cells: Mapping[str, tuple[Rows, pd.Series]]) -> Table:
    """The table with other values in some rows of each column."""
    columns = dict(table.frame.items())
    for name, (rows, values) in cells.items():
        old, new = in_one_dtype(columns[name], values)
        columns[name] = old.copy()
        columns[name].iloc[rows] = new.array
    return Table(pd.DataFrame(columns), table.schema)
