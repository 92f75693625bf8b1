"""Drawing of rows, given the drawn rows of their parent, with dates as distances from a date of the parent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Mask, Rows
from hybrid.base.errors import GeneratorError
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.constraints import Form, HotDeck, Redrawn, Rules, first_draw
from hybrid.constraints.constraint import LEAST_ROWS
from hybrid.store import Store
from hybrid.synthesize import SynthesizeOptions
from hybrid.synthesize.fitted import FittedGenerator
from hybrid.synthesize.kept import fit_or_reuse
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.schema import concat_rows

SELDOM = 0.01
"""Share of the rows that would have a date before that of another's parent, from which an order is no chance."""
LEAST_BY_CHANCE = 12
"""Parents with such rows from which an order is no chance, either: of many rows they are few."""
CLOSER = 0.5
"""Spread of the distances, relative to that of the dates themselves, below which distances are learned."""


@dataclass(frozen=True)
class Anchor:
    """A date of rows, counted from a date of their parents."""

    column: str
    parent: str
    """The column of the rows; that of the parents."""
    later: bool
    """Whether no real row has a date before that of its parent."""
    low: float = -np.inf
    high: float = np.inf
    """Range of the learned dates, in microseconds; drawn ones beyond it are drawn again, if the parent's is within."""

    def within(self, learned: Table) -> Anchor:
        """The anchor with the range of the learned dates."""
        dates = _micros(learned.frame[self.column])
        return replace(self, low=float(np.nanmin(dates)), high=float(np.nanmax(dates)))

    def encode(self, table: Table, parents: Table, rows: Rows) -> Table:
        """The table with distances, in whole microseconds, instead of dates."""
        distances = _micros(table.frame[self.column]) - _micros(parents.frame[self.parent])[rows]
        if self.later:
            distances = np.maximum(distances, 0)
        return _with(table, self.column, Kind.INTEGER, _integers(distances))

    def decode(self, table: Table, parents: Table, rows: Rows, column: Column) -> Table:
        """The table with dates instead of distances; ``column`` describes the dates."""
        start = _micros(parents.frame[self.parent])[rows]
        found = start + table.frame[self.column].to_numpy(dtype=np.float64, na_value=np.nan)
        return self._dated(table, found, column)

    def beyond(self, table: Table, parents: Table, rows: Rows) -> Mask:
        """Rows whose date is outside of the range, though that of their parent is inside; shape (n,), bool."""
        start, dates = _micros(parents.frame[self.parent])[rows], _micros(table.frame[self.column])
        inside = (start >= self.low) & (start <= self.high)
        return inside & ((dates < self.low) | (dates > self.high))

    def clipped(self, table: Table, parents: Table, rows: Rows) -> Table:
        """The table with the end of the range for dates beyond it."""
        dates = _micros(table.frame[self.column])
        found = np.where(self.beyond(table, parents, rows), np.clip(dates, self.low, self.high), dates)
        return self._dated(table, found, table.schema[self.column])

    def _dated(self, table: Table, found: Array, column: Column) -> Table:
        dates = np.full(len(found), np.datetime64("NaT"), dtype="datetime64[us]")
        known = ~np.isnan(found)
        dates[known] = np.rint(found[known]).astype(np.int64).astype("datetime64[us]")
        changed = _with(table, self.column, column.kind, pd.Series(dates))
        columns = (column if each.name == self.column else each for each in changed.schema)
        return replace(changed, schema=Schema(tuple(columns)))


def find_anchors(table: Table, parents: Table, rows: Rows) -> list[Anchor]:
    """Dates of rows that lie close to a date of their parents.

    Of each date or time of the rows (``rows``: parent of each) it is the parents' date that is known for all of them
    and whose distance spreads least, if it spreads less than :data:`CLOSER` of the date itself (middle half of the
    values).
    """
    found = []
    for column in table.schema:
        if not column.kind.is_temporal:
            continue
        own = _micros(table.frame[column.name])
        starts = {one.name: _micros(parents.frame[one.name])[rows] for one in parents.schema if one.kind is column.kind}
        spreads = {name: _spread(own - start) for name, start in starts.items() if not np.isnan(start).any()}
        best = min(spreads, key=lambda name: spreads[name], default=None)
        if best is None or not spreads[best] < CLOSER * _spread(own):
            continue
        distances = own - starts[best]
        found.append(Anchor(column.name, best, bool((distances[~np.isnan(distances)] >= 0).all())))
    return found


@dataclass(frozen=True)
class Floor:
    """A date of rows that is never before a date of their parents."""

    column: str
    parent: str
    """The column of the rows; that of the parents."""

    def below(self, table: Table, parents: Table, rows: Rows) -> Mask:
        """Rows whose date is before that of their parent; shape (n,), bool."""
        least, dates = self._compared(table, parents, rows)
        return np.asarray((dates < least).fillna(False), dtype=bool)

    def raised(self, table: Table, parents: Table, rows: Rows) -> Table:
        """The table with the date of the parent where that of the row is before it."""
        least, dates = self._compared(table, parents, rows)
        raised = dates.mask(dates < least, least)
        return replace(table, frame=table.frame.assign(**{self.column: raised.astype(dates.dtype)}))

    def _compared(self, table: Table, parents: Table, rows: Rows) -> tuple[pd.Series, pd.Series]:
        """Dates of the parents, of which a time counts as its day beside a date, and of the rows."""
        least = parents.frame[self.parent].take(rows).reset_index(drop=True)
        return table.schema[self.column].kind.type.floor(least), table.frame[self.column].reset_index(drop=True)


def find_floors(table: Table, parents: Table, rows: Rows, anchors: Collection[Anchor]) -> list[Floor]:
    """Dates of rows that are in no row before a date of their parents, though dates of others would be.

    ``rows`` has the parent of each row; ``anchors`` are dates that are counted from a date of the parent.
    """
    counted = {(one.column, one.parent) for one in anchors if one.later}
    pairs = (
        Floor(own.name, above.name)
        for own in table.schema
        for above in parents.schema
        if own.kind.is_temporal and above.kind.is_temporal and (own.name, above.name) not in counted
    )
    others = rng_for(0, "floors").permutation(len(table))
    found = []
    for one in pairs:
        known = table.frame[one.column].notna().to_numpy() & parents.frame[one.parent].notna().to_numpy()[rows]
        if known.sum() < LEAST_ROWS or one.below(table, parents, rows).any():
            continue
        by_chance = one.below(table, parents, rows[others])
        if by_chance.mean() >= SELDOM or len(np.unique(rows[others][by_chance])) >= LEAST_BY_CHANCE:
            found.append(one)
    return found


def _micros(values: pd.Series) -> Array:
    """Dates in microseconds since 1970; NaN where missing; shape (n,), float64."""
    dates = values.to_numpy(dtype="datetime64[us]")
    numbers: Array = dates.astype(np.int64).astype(np.float64)
    numbers[np.isnat(dates)] = np.nan
    return numbers


def _integers(values: Array) -> pd.Series:
    missing = np.isnan(values)
    whole = np.rint(np.where(missing, 0, values)).astype(np.int64)
    return pd.Series(pd.arrays.IntegerArray(whole, missing))


def _spread(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(np.subtract(*np.percentile(known, [75, 25]))) if len(known) else 0.0


def _with(table: Table, name: str, kind: Kind, values: pd.Series) -> Table:
    columns = (replace(each, kind=kind, format=ColumnFormat()) if each.name == name else each for each in table.schema)
    return replace(table, frame=table.frame.assign(**{name: values}), schema=Schema(tuple(columns)))


def with_columns_of(table: Table, other: Table, rows: Rows, names: Mapping[str, str]) -> Table:
    """The table with columns of another one.

    ``rows`` has the row of ``other`` that each row belongs to, ``names`` the columns of ``other`` and what they are
    called; a column of ``table`` with that name is replaced.
    """
    added = {new: other.frame[old].take(rows).reset_index(drop=True) for old, new in names.items()}
    kept = [column for column in table.schema if column.name not in added]
    columns = (*kept, *(replace(other.schema[old], name=new, order=None) for old, new in names.items()))
    frame = pd.DataFrame({column.name: table.frame[column.name] for column in kept} | added)
    return replace(table, frame=frame, schema=Schema(columns))


def renamed(table: Table, names: Mapping[str, str]) -> Table:
    """Some columns of the table under other names, without persons' order."""
    columns = tuple(replace(table.schema[old], name=new, order=None) for old, new in names.items())
    return replace(table, frame=table.frame[list(names)].rename(columns=dict(names)), schema=Schema(columns))


def own_names(other: Table, taken: Table, prefix: str) -> dict[str, str]:
    """Names of another table's columns beside a table.

    Their own, with a prefix where the table has that name. Sampling weights are of persons, and stay out.
    """
    names = [column.name for column in other.schema.without_identifiers() if column.role is not Role.WEIGHT]
    return {name: f"{prefix}.{name}" if name in taken.schema else name for name in names}


MOST_ROUNDS = 100
"""Rounds of drawing again at most."""
DATED_ROUNDS = 20
"""Rounds after which a date before that of its parent is set to it."""
FAR_ROUNDS = 15
"""Rounds after which a date beyond the range of the learned ones is set to its end."""
MOST_LEFT_OUT = 0.05
"""Share of the rows at most that may be left out, since no draw for their parent keeps the rules."""


@dataclass(frozen=True)
class DrawnParents:
    """Drawn rows of a parent table, and the persons behind them."""

    table: Table
    """Everything that the rows of a child may depend on; n rows."""
    people: Table
    persons: Rows
    """Row of ``people`` of each parent; shape (n,), int64."""


@dataclass(frozen=True)
class ChildDraw:
    """Learning and drawing of one table, with its constraints held."""

    options: SynthesizeOptions
    rules: Rules
    """Constraints that the table's rows keep; they may name columns of the person."""
    anchors: Sequence[Anchor]
    """Dates that are learned as distances from a date of the parent."""
    floors: Sequence[Floor]
    """Dates that are not before a date of the parent."""
    static: Mapping[str, str]
    """Columns of the person table, and what they are called beside the rows."""
    seed: int
    progress: Progress
    store: Store
    where: str | None = None
    """The condition that the drawn persons meet: other draws than without one."""
    only_kept: bool = False
    """Refuse to train: without a kept model nothing is drawn."""
    attempt: int = 0
    """Number of the draw: those after the first come from the same model, with random numbers of their own."""
    models: dict[str, FittedGenerator] | None = None
    """Holds the model, for many draws; None: each draw trains, or reads what the store keeps."""

    def __call__(
        self, learned: Table, parents: Table, dated: Table, drawn: DrawnParents
    ) -> tuple[Table, Redrawn | None]:
        """Learn real rows given their parents, and draw rows of other parents.

        ``persons`` of the learned rows is the position of each row's parent in ``parents``. ``dated`` are the same
        parents with the dates from which those of ``learned`` are counted: in ``parents``, dates may have been drawn
        anew below a label.

        Gives rows with the columns of their person, ``persons`` as in ``learned`` but of ``drawn``, ascending; and the
        rows that were drawn again to keep the constraints.
        """
        form = Form.of(self.rules, learned, [*self.static.values()], rng_for(self.seed, "repair records"))
        encoded = form.encoded
        anchors = [anchor.within(encoded) for anchor in self.anchors if anchor.column not in form.replaced]
        owners = encoded.persons
        rows = encoded.only([name for name in encoded.schema.names if name not in self.static.values()])
        for anchor in anchors:
            rows = anchor.encode(rows, dated, owners)
        learning, drawing = (int(seed) for seed in rng_for(self.seed, "synthesize").integers(2**31, size=2))
        if self.where is not None:
            drawing = int(rng_for(self.seed, "synthesize", "where", self.where).integers(2**31))
        if self.attempt:
            drawing = int(rng_for(drawing, "further rows", self.attempt).integers(2**31))
        fitted = self._learned(parents, rows, learning)

        def draw(places: Rows, attempt: int) -> Table:
            seed = int(rng_for(drawing, "again", attempt).integers(2**31)) if attempt else drawing
            table = fitted.sample_below(drawn.table.take(places), seed)
            owners = places[table.persons]
            for anchor in anchors:
                table = anchor.decode(table, drawn.table, owners, encoded.schema[anchor.column])
            whole = with_columns_of(table, drawn.people, drawn.persons[owners], self.static)
            return replace(form.decode(whole.only(encoded.schema.names)), named_persons=owners)

        bounds = Bounds(self.floors, drawn.table, anchors)
        table, found = _held(draw, self.rules, bounds, len(drawn.table), frozenset(self.static.values()), drawing)
        left_out = len(learned) - len(form.learned)
        return table, replace(found, left_out=left_out, records=len(learned)) if self.rules else None

    def _learned(self, parents: Table, rows: Table, learning: int) -> FittedGenerator:
        known = None if self.models is None else self.models.get("children")
        if known is None:
            about = self.options, learning, self.store, self.progress
            known = fit_or_reuse(rows, *about, parents=parents, only_kept=self.only_kept)
            if self.models is not None:
                self.models["children"] = known
        return known


@dataclass(frozen=True)
class Bounds:
    """Dates of drawn parents that no row is before, and ranges of learned dates that no row is beyond."""

    floors: Sequence[Floor]
    parents: Table
    anchors: Sequence[Anchor] = ()

    def broken(self, table: Table) -> Mask:
        low = (one.below(table, self.parents, table.persons) for one in self.floors)
        far = (one.beyond(table, self.parents, table.persons) for one in self.anchors)
        return reduce(np.logical_or, (*low, *far), np.zeros(len(table), dtype=bool))

    def raised(self, table: Table) -> Table:
        return reduce(lambda found, one: one.raised(found, self.parents, found.persons), self.floors, table)

    def clipped(self, table: Table) -> Table:
        return reduce(lambda found, one: one.clipped(found, self.parents, found.persons), self.anchors, table)


def _held(
    draw: Callable[[Rows, int], Table],
    rules: Rules,
    bounds: Bounds,
    n_parents: int,
    fixed: Collection[str],
    seed: int,
) -> tuple[Table, Redrawn]:
    """Rows of all parents that keep all rules, and are not before dates of their parents.

    A row that breaks one is repaired, but for columns of the person. What cannot be is replaced by a row of a further
    draw for the same parent: if all rows of a parent were, those with few rows would be preferred. What no draw can
    repair, such as care of somebody who died at birth, is left out.
    """
    first = rules.settle(draw(np.arange(n_parents), 0))
    found, rows, deck = first_draw(rules, first), len(first), HotDeck.by(rules, first, fixed)

    def repaired(table: Table, attempt: int) -> Table:
        new = deck(table, rng_for(seed, "repair", attempt))
        return table if new is table else rules.settle(_together(new, new.take(np.empty(0, dtype=np.int64))))

    table = repaired(first, 0)
    thrown = int(rules.broken(table).sum())
    found = replace(found, repaired=max(found.broken - thrown, 0), thrown=thrown, drawn=rows)
    for attempt in range(1, MOST_ROUNDS + 1):
        if attempt == FAR_ROUNDS:
            table = rules.settle(bounds.clipped(table))
        if attempt == DATED_ROUNDS:
            table = rules.settle(bounds.raised(table))
        broken = rules.broken(table) | bounds.broken(table)
        bad = np.unique(table.persons[broken])
        if not len(bad):
            return table, found
        again = repaired(rules.settle(draw(bad, attempt)), attempt)
        good = ~rules.broken(again) & ~bounds.broken(again)
        if attempt < FAR_ROUNDS:
            taken, gone = _in_place(table, broken, again, good)
        else:
            taken, gone = _replacing(table, broken, again.take(good), n_parents)
        table = rules.settle(_together(table.take(~gone), taken))
    breaking = [rule.constraint.sentence for rule, mask in rules.masks(table) if mask.any()]
    for _ in range(MOST_ROUNDS):  # a row that is left out may change the numbers of others
        broken = rules.broken(table)
        if not broken.any():
            break
        table = rules.settle(table.take(~broken))
    if rows - len(table) <= MOST_LEFT_OUT * rows:
        return table, replace(found, dropped=max(rows - len(table), 0))
    raise GeneratorError(
        f"after {MOST_ROUNDS} rounds of drawing again, rows still break constraints: {'; '.join(breaking)}",
        hint="`hybrid check` lists how many rows of the source break each; loosen or remove what few rows keep",
    )


def _in_place(table: Table, broken: Mask, again: Table, good: Mask) -> tuple[Table, Mask]:
    """Good rows of the places that broken ones have among those of their parent, and the rows of the table that go.

    A second row is none of the first rows of another draw: of those there would be two.
    """
    most = max(len(table), len(again))
    places, others = (one.persons * most + _rank(one.persons) for one in (table, again))
    good = good & np.isin(others, places[broken])
    return again.take(good), broken & np.isin(places, others[good])


def _replacing(table: Table, broken: Mask, good: Table, n_parents: int) -> tuple[Table, Mask]:
    """Good rows that take the place of broken ones of the same parent, and the rows of the table that go."""
    places, others = table.persons, good.persons
    counts = np.bincount(places[broken], minlength=n_parents)
    taken = good.take(_rank(others) < counts[others])
    gone = broken.copy()
    gone[broken] = _rank(places[broken]) < np.bincount(taken.persons, minlength=n_parents)[places[broken]]
    return taken, gone


def _rank(owners: Rows) -> Rows:
    """Place of each row among those of its parent, from 0, where parents ascend."""
    found: Rows = np.arange(len(owners)) - np.searchsorted(owners, owners)
    return found


def _together(table: Table, other: Table) -> Table:
    owners = np.concatenate([table.persons, other.persons])
    whole = Table(concat_rows(table.frame, other.frame), table.schema, owners)
    order = table.schema.order
    ranks = np.zeros(len(owners)) if order is None else pd.factorize(whole.frame[order], sort=True)[0].astype(float)
    return whole.take(np.lexsort((np.where(ranks < 0, np.inf, ranks), owners)))
