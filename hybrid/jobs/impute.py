"""Empty cells of a user's rows, completed from a judged draw.

Every completed cell is copied from a row of the draw: who has the draw and the rows can complete them alone, so that
nothing leaves which the checks of the draw were not about. It is a nearest-neighbour hot deck (Andridge and Little
2010, International Statistical Review 78(1)) whose donors are synthetic rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask, Rows
from hybrid.base.atomic import atomic_file
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.constraints import Rules
from hybrid.jobs.sample_run import sample_run
from hybrid.linked.config import AnyConfig
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
_AT_ONCE = 2_000_000
"""Pairs of rows that are compared at a time, about."""
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

    Parameters
    ----------
    run, out, where, balance, rows, work, progress
        As of :func:`hybrid.jobs.sample_run.sample_run`.
    file : Path or str
        Rows with empty cells, written as the source of the run.

    Returns
    -------
    tuple of Pipeline, Completed or None, and Path
        The draw; the rows, None where the policy blocks the draw; and the file beside ``out`` that they are written to,
        for this user alone.

    Raises
    ------
    ConfigError, DataError
        The file does not fit the table; or as of ``sample_run``. Nothing was drawn.
    HybridError
        As of ``sample_run``.
    """
    found: list[Table] = []

    def read(config: AnyConfig) -> None:
        if not isinstance(config, RunConfig):
            raise ConfigError("rows of linked tables are not completed", hint="impute from a run of a single table")
        found.append(read_incomplete(Path(file), config))

    about: dict[str, Any] = {"balance": balance, "rows": rows, "work": work, "progress": progress, "ready": read}
    pipeline = sample_run(run, where, out=out, **about)
    assert isinstance(pipeline, Pipeline)
    folder = Path(out)
    target = folder.with_name(f"{folder.name}-imputed{Path(file).suffix}")
    if pipeline.verdict.status == "block":
        return pipeline, None, target
    done = complete(found[0], pipeline.synthetic, pipeline.rules, pipeline.seed)
    data = pipeline.config.data
    with atomic_file(target, private=True) as temporary:
        write_table(done.table, temporary, data.separator, data.encoding)
    return pipeline, done, target


@dataclass(frozen=True)
class Completed:
    """Rows with completed cells.

    Parameters
    ----------
    table : Table, n rows
        In the order of the file.
    filled : int
        Cells that were completed.
    empty : int
        Cells that stay empty: of identifiers, of weights, or where no near row of the draw keeps the constraints.
    donors : int
        Rows of the draw.
    """

    table: Table
    filled: int
    empty: int
    donors: int

    @property
    def words(self) -> str:
        """Sentence on the numbers."""
        left = f"; {self.empty:,} stay empty" if self.empty else ""
        return f"{self.filled:,} cells of {len(self.table):,} rows completed from a draw of {self.donors:,} rows{left}"


def read_incomplete(path: Path, config: RunConfig) -> Table:
    """Read the rows to complete, as the configuration reads its source.

    Parameters
    ----------
    path : Path
        A data file. It may lack columns of the table, which then are empty, and may have no others.
    config : RunConfig
        Of the run: kinds, formats and marks of missing values.

    Raises
    ------
    ConfigError
        The file has columns that the table does not have.
    DataError
        It cannot be read.
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
    draw (Gower 1971, Biometrics 27(4)). All empty cells of a row come from one of its five nearest rows, at random.

    Parameters
    ----------
    rows : Table, n rows
        Some of whose cells are empty.
    draw : Table, m rows
        Synthetic rows that were judged, 1 or more.
    rules : Rules
        Constraints that a completed row keeps. A row that would break one, or keep an empty cell, gets the cells of the
        next nearest row instead.
    seed : int
        Decides which of the nearest rows is the donor.

    Raises
    ------
    DataError
        Rows and draw have no column in common.
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
    order = _nearest(whole.take(open_).only(common), draw, rng_for(seed, "impute"))
    left, before = open_, whole
    able = [name for name in gaps if draw.frame[name].notna().any()]
    for at in range(order.shape[1]):
        if not len(left):
            break
        whole = _filled(whole, left, gaps, draw, order[np.searchsorted(open_, left), at])
        tried = whole.take(left)
        left = left[_broken(rules, tried) | tried.frame[able].isna().any(axis=1).to_numpy()]
    whole = _filled_back(whole, left[_broken(rules, whole.take(left))], before)
    empty = int(whole.frame.isna().to_numpy().sum())
    filled = sum(int((gap & whole.frame[name].notna().to_numpy()).sum()) for name, gap in gaps.items())
    return Completed(whole, filled, empty, len(draw))


def _broken(rules: Rules, table: Table) -> Mask:
    return rules.of_rows.broken(table) if rules else np.zeros(len(table), dtype=bool)


def _nearest(rows: Table, draw: Table, rng: np.random.Generator) -> Rows:
    """Places of the nearest rows of the draw, the five nearest in random order; shape (n, tried)."""
    tried = min(MOST_TRIED, len(draw))
    pairs = [_numbers(rows, draw, name) for name in rows.schema.names]
    step = max(_AT_ONCE // max(len(draw), 1), 1)
    found = np.empty((len(rows), tried), dtype=np.int64)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        distance = sum((_distance(mine[part], its, is_number) for mine, its, is_number in pairs), np.zeros(()))
        # Ties are in random order, so that no row of the draw is preferred.
        jitter = rng.random(distance.shape) * 1e-9
        near = np.argpartition(distance + jitter, tried - 1, axis=1)[:, :tried]
        ranked = np.take_along_axis(distance + jitter, near, axis=1).argsort(axis=1)
        found[part] = np.take_along_axis(near, ranked, axis=1)
    first = min(NEAREST, tried)
    found[:, :first] = rng.permuted(found[:, :first], axis=1)
    return found


def _numbers(rows: Table, draw: Table, name: str) -> tuple[Array, Array, bool]:
    """Values of a column as ranks within the draw, or as codes; NaN where missing."""
    kind = draw.schema[name].kind
    mine, its = rows.frame[name], draw.frame[name]
    if kind.is_continuous:
        known = np.sort(its.dropna().to_numpy(dtype=kind.type.plain_dtype))

        def ranks(values: pd.Series) -> Array:
            there = values.notna().to_numpy()
            found = np.full(len(values), np.nan)
            found[there] = np.searchsorted(known, values[there].to_numpy(dtype=kind.type.plain_dtype))
            return found / max(len(known), 1)

        return ranks(mine), ranks(its), True
    codes: Codes = pd.factorize(pd.concat([mine.astype(object), its.astype(object)], ignore_index=True))[0]
    numbers = np.where(codes < 0, np.nan, codes.astype(float))
    return numbers[: len(mine)], numbers[len(mine) :], False


def _distance(mine: Array, its: Array, is_number: bool) -> Array:
    """Distance of each row to each of the draw in one column, 0 where the row has no value; shape (n, m)."""
    if is_number:
        found = np.abs(mine[:, None] - its[None, :])
    else:
        found = np.where(np.isnan(its)[None, :], np.nan, (mine[:, None] != its[None, :]).astype(float))
    found = np.where(np.isnan(found), 1.0, found)
    found[np.isnan(mine)] = 0.0
    return found


def _filled(table: Table, rows: Rows, gaps: dict[str, Mask], draw: Table, donors: Rows) -> Table:
    """The table whose rows have the donors' values in their gaps."""
    columns = dict(table.frame.items())
    for name, gap in gaps.items():
        mine = gap[rows]
        old, new = in_one_dtype(columns[name], draw.frame[name].take(donors[mine]))
        columns[name] = old.copy()
        columns[name].iloc[rows[mine]] = new.array
    return Table(pd.DataFrame(columns), table.schema)


def _filled_back(table: Table, rows: Rows, before: Table) -> Table:
    """The table whose rows are again as they were."""
    columns = dict(table.frame.items())
    for name, values in columns.items():
        old, new = in_one_dtype(values, before.frame[name].take(rows))
        columns[name] = old.copy()
        columns[name].iloc[rows] = new.array
    return Table(pd.DataFrame(columns), table.schema)
