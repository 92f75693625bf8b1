"""Real and synthetic table side by side, without small groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.table import Column, Table
from hybrid.table.cells import Cells, column_cells, count_people
from hybrid.table.holders import row_holders
from hybrid.table.weights import with_weights_like


@dataclass(frozen=True)
class ColumnView:
    """One real column beside the same synthetic column."""

    name: str
    role: str
    kind: str
    """What the column is."""
    cells: Cells | None
    """How its values are parted; None if too few people have a value to show any."""
    real: Array
    synthetic: Array
    """Share of each cell among the non-missing values, 0..1. A pool of fewer people than the minimum has NaN in
    ``real`` and is excluded from the denominator, so that it cannot be recovered; shape (n_cells,), float64."""
    missing_real: float | None
    missing_synthetic: float | None
    """Share of missing values, 0..1; None where fewer people than the minimum lack a value, or have one, but not
    none."""
    distance: float | None
    reference: float | None
    """Total variation distance between the shares (missing values are one more cell), 0 (equal) .. 1 (disjoint): of the
    synthetic table from the real one, and of the control set from the real one."""


@dataclass(frozen=True)
class PairAssociations:
    """Pairwise associations of columns: Cramér's V with Bergsma's bias correction, 0..1.

    ``real``, ``synthetic`` and ``control`` have shape (n_columns, n_columns), are symmetric and have ones on the
    diagonal; NaN where a column is constant.
    """

    names: tuple[str, ...]
    real: Array
    synthetic: Array
    control: Array | None

    def most_different(self, most: int) -> list[tuple[int, int]]:
        """Positions of the pairs whose associations differ most, at most ``most`` of them; the first column first."""
        rows, columns = np.tril_indices(len(self.names), -1)
        difference = (self.synthetic - self.real)[rows, columns]
        order = np.argsort(-np.nan_to_num(np.abs(difference)), kind="stable")[:most]
        return [(int(columns[at]), int(rows[at])) for at in order if np.isfinite(difference[at])]


@dataclass(frozen=True)
class TableComparison:
    """Every column, and every pair of columns, real beside synthetic."""

    columns: tuple[ColumnView, ...]
    associations: PairAssociations
    minimum_cell: int


def compare_tables(
    real: Table, synthetic: Table, control: Table | None = None, minimum_cell: int = 5
) -> TableComparison:
    """Compare two tables column by column and pair by pair.

    Parameters
    ----------
    real, synthetic : Table
        The training records, with the people behind them, and what is to be released; the columns both have are
        compared, identifiers are left out. Records that were protected are given as they are after that, so that no
        value that protection took out is shown. Sampling weights are compared as if they had the same mean.
    control : Table, optional
        Records the generator never saw: what they score against ``real`` is the reference.
    minimum_cell : int
        No category, bound or share is given that belongs to fewer people than this (but not to nobody).

    Returns
    -------
    TableComparison
        Aggregates only: this may leave the private zone.
    """
    synthetic = with_weights_like(synthetic, real)
    names = [name for name in real.schema.without_identifiers().names if name in synthetic.schema]
    cells = {name: column_cells(real, name, minimum_cell) for name in names}
    tables = {"real": real, "synthetic": synthetic, **({"control": control} if control is not None else {})}
    codes = {
        which: {name: cell.assign(table.frame[name]) for name, cell in cells.items() if cell is not None}
        for which, table in tables.items()
    }
    columns = tuple(_view(real.schema[name], cells[name], codes, tables, minimum_cell) for name in names)
    shown = tuple(name for name in names if cells[name] is not None)
    matrices = {which: _matrix([columns_of[name] for name in shown]) for which, columns_of in codes.items()}
    pairs = PairAssociations(shown, matrices["real"], matrices["synthetic"], matrices.get("control"))
    return TableComparison(columns, pairs, minimum_cell)


def _view(
    column: Column,
    cells: Cells | None,
    codes: dict[str, dict[str, Array]],
    tables: dict[str, Table],
    minimum: int,
) -> ColumnView:
    name = column.name
    missing = _missing_shares(tables["real"], tables["synthetic"], name, minimum)
    if cells is None:
        empty = np.zeros(0)
        return ColumnView(name, str(column.role), str(column.kind), None, empty, empty, *missing, None, None)
    counts = {which: np.bincount(of[name], minlength=len(cells) + 1) for which, of in codes.items()}
    shares = {which: _shares(count) for which, count in counts.items()}
    shown = counts["real"][:-1].astype(np.float64)
    shown[-1] = np.nan if cells.hidden else shown[-1]
    reference = _total_variation(shares["real"], shares["control"]) if "control" in shares else None
    return ColumnView(
        name=name,
        role=str(column.role),
        kind=str(column.kind),
        cells=cells,
        real=_shares(shown),
        synthetic=_shares(counts["synthetic"][:-1]),
        missing_real=missing[0],
        missing_synthetic=missing[1],
        distance=_total_variation(shares["real"], shares["synthetic"]),
        reference=reference,
    )


def _missing_shares(real: Table, synthetic: Table, name: str, minimum: int) -> tuple[float | None, float | None]:
    absent, whose = real.frame[name].isna().to_numpy(), row_holders(real)
    if any(rows.any() and count_people(rows, whose) < minimum for rows in (absent, ~absent)):
        return None, None
    share = float(synthetic.frame[name].isna().mean()) if len(synthetic) else 0.0
    return float(absent.sum() / max(len(real), 1)), share


def _shares(counts: Array) -> Array:
    shares: Array = counts / max(np.nansum(counts), 1)
    return shares


def _total_variation(first: Array, second: Array) -> float:
    return float(np.abs(first - second).sum() / 2)


def _matrix(codes: list[Array]) -> Array:
    """Bias-corrected Cramér's V of every pair.

    W. Bergsma, J. Korean Stat. Soc. 42 (2013) 323-328, eq. 4.
    """
    n_columns = len(codes)
    result = np.eye(n_columns)
    sizes = [int(column.max(initial=0)) + 1 for column in codes]
    for i in range(n_columns):
        for j in range(i):
            joint = np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j])
            result[i, j] = result[j, i] = _cramers_v(joint.reshape(sizes[i], sizes[j]))
    return result


def _cramers_v(joint: Array) -> float:
    joint = joint[joint.any(axis=1)][:, joint.any(axis=0)].astype(np.float64)
    n, (rows, columns) = joint.sum(), joint.shape
    if n < 2 or min(rows, columns) < 2:
        return float("nan")
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / n
    phi2 = float(((joint - expected) ** 2 / expected).sum() / n)
    corrected = max(0.0, phi2 - (rows - 1) * (columns - 1) / (n - 1))
    fewest = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1))
    return float(np.sqrt(min(corrected / (fewest - 1), 1.0))) if fewest > 1 else float("nan")
