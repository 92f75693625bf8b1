"""Constraints that hold in the rows of a table, suggested for a person to review."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Mask, Numbers
from hybrid.base.rng import rng_for
from hybrid.constraints.constraint import LEAST_HELD, LEAST_ROWS, Constraint
from hybrid.constraints.expression import parse, quoted
from hybrid.constraints.kinds.checked import Range
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.computed import RELATIVE, SINGLE, Derived, Equal
from hybrid.constraints.kinds.order import Le, Tied
from hybrid.constraints.registry import KINDS
from hybrid.table import Kind, Table
from hybrid.table.codings import numbers_of
from hybrid.table.persons import first_rows

LEAST_PEOPLE = 10
"""Rows, each of another person, in which the column, and every part of a sum, differs from the usual."""
MOST_DATES = 20
"""Dates among which differences are looked for."""
MOST_NUMBERS = 80
"""Columns of numbers among which sums and products are looked for."""
_PROBED = 200
"""Rows on which most formulas fail; up to a twentieth of them may break one that is looked at closer."""
_SCREENED = 10
"""Rows on which most sums fail; one of them may break a sum that is looked at closer."""
_DIGITS = 5
"""Significant digits of a factor at most: a conversion, and no fit."""
_ALL_DIGITS = 15
_LEAST_DIGITS = 2
"""Digits after the point of a logarithm at least: of fewer, other numbers agree by chance."""
_AGES = (0, 130)

Found = tuple[str, str]
"""A column and its formula."""


def derivations(table: Table) -> Iterator[Derived]:
    """Columns that nearly all rows suggest to be computed from others; one row of each person counts.

    At most one formula for a column, and none that leads back to itself. :data:`LEAST_HELD` of the rows agree with it,
    and as many of the column's values have what they are computed from.
    """
    rows = first_rows(table)
    if len(rows) < LEAST_ROWS:
        return
    made: dict[str, tuple[str, ...]] = {}
    search = _Search(rows)
    for name, text in search.found():
        sources = parse(text).columns
        if name in made or _leads_back(made, name, sources) or not search.holds(name, text):
            continue
        made[name] = sources
        yield Derived(derived={name: text})


def _leads_back(made: Mapping[str, Sequence[str]], name: str, sources: Collection[str]) -> bool:
    return name in sources or any(_leads_back(made, name, made.get(source, ())) for source in sources)


@dataclass(frozen=True, eq=False)
class _Search:
    table: Table

    @cached_property
    def names(self) -> list[str]:
        return [one.name for one in self.table.schema if one.kind.is_number and "`" not in one.name]

    @cached_property
    def dates(self) -> list[str]:
        found = [one.name for one in self.table.schema if one.kind.is_temporal and "`" not in one.name]
        return found[:MOST_DATES]

    @cached_property
    def values(self) -> Numbers:
        """The numbers, shape (n_rows, n_names); NaN where one is missing."""
        columns = [numbers_of(self.table.frame[name]) for name in self.names]
        return np.column_stack(columns) if columns else np.empty((len(self.table), 0))

    @cached_property
    def digits(self) -> Array:
        """Digits after the point of each column of numbers; :data:`_ALL_DIGITS` where they vary."""
        formats = [self.table.schema[name] for name in self.names]
        return np.array(
            [0 if one.kind is Kind.INTEGER else one.format.decimals or _ALL_DIGITS for one in formats], dtype=int
        )

    @cached_property
    def usual_digits(self) -> Array:
        """Digits that nine tenths of the numbers of each column need at most."""
        known = np.maximum((~np.isnan(self.values)).sum(axis=0), 1)
        enough = [(np.round(self.values, digits) == self.values).sum(axis=0) >= 0.9 * known for digits in range(8)]
        return np.asarray(np.argmax([*enough, np.ones_like(enough[0])], axis=0))

    @cached_property
    def usual(self) -> Mask:
        """True where a number is missing, or the most frequent of its column."""
        found = np.isnan(self.values)
        for at, column in enumerate(self.values.T):
            known = column[~np.isnan(column)]
            if len(known):
                distinct, counts = np.unique(known, return_counts=True)
                found[:, at] |= column == distinct[counts.argmax()]
        return found

    @cached_property
    def varied(self) -> list[int]:
        """Columns of numbers that enough people have another value of than most."""
        return [int(at) for at in np.flatnonzero((~self.usual).sum(axis=0) >= LEAST_PEOPLE)][:MOST_NUMBERS]

    @cached_property
    def probed(self) -> Array:
        """Rows that formulas are tried on, evenly spread."""
        return np.unique(np.linspace(0, len(self.table) - 1, _PROBED).astype(np.int64))

    def found(self) -> Iterator[Found]:
        yield from self._days_of_times()
        if self.varied:
            yield from self._parts_of_dates()
            yield from self._between_dates()
            yield from self._since_a_day()
            yield from self._proportional()
            yield from self._of_parts()
            yield from self._of_flags()
            yield from self._logarithms()

    def holds(self, name: str, text: str) -> bool:
        """True if enough rows agree with a formula, of those with an unusual value as of all.

        Few values may lack what they are computed from.
        """
        derived = Derived(derived={name: text})
        column, values = self.table.schema[name], self.table.frame[name]
        computed = derived.computed(self.table, column)
        there, known = values.notna().to_numpy(), (values.notna() & computed.notna()).to_numpy()
        agreeing = known & ~derived.broken(self.table)
        if column.kind is Kind.INTEGER:  # rounding is part of no formula that is looked for
            exact = numbers_of(derived.expression.value(self.table))
            agreeing &= np.abs(exact - np.rint(exact)) < 1e-6
        unusual = values.isin(values.mode()[1:]) | (values != values.mode().iloc[0]) if there.any() else values.isna()
        rare = known & unusual.fillna(False).to_numpy(dtype=bool)
        return bool(
            known.sum() >= max(LEAST_ROWS, LEAST_HELD * there.sum())
            and agreeing.sum() >= LEAST_HELD * known.sum()
            and (agreeing & rare).sum() >= max(LEAST_PEOPLE, 0.9 * rare.sum())
        )

    def _days_of_times(self) -> Iterator[Found]:
        kinds = {name: self.table.schema[name].kind for name in self.dates}
        for day, time in permutations(self.dates, 2):
            if kinds[day] is Kind.DATE and kinds[time] is Kind.DATETIME:
                yield day, quoted(time)

    def _parts_of_dates(self) -> Iterator[Found]:
        for name in self.dates:
            dates, date = self.table.frame[name].iloc[self.probed].dt, quoted(name)
            parts = {"year": dates.year, "month": dates.month, "day": dates.day, "hour": dates.hour}
            parts |= {"weekday": dates.weekday + 1}
            for part, values in parts.items():
                yield from self._agreeing(numbers_of(values), f"{part}({date})")
            yield from self._agreeing(numbers_of(dates.weekday), f"weekday({date}) - 1")

    def _between_dates(self) -> Iterator[Found]:
        some = {name: self.table.frame[name].iloc[self.probed] for name in self.dates}
        epoch = pd.Timestamp(0).as_unit("us")  # In nanoseconds dates beyond 2262 would overflow.
        days = {name: numbers_of(dates.dt.floor("D").sub(epoch).dt.days) for name, dates in some.items()}
        months = {name: numbers_of(12 * dates.dt.year + dates.dt.month) for name, dates in some.items()}
        day = {name: numbers_of(dates.dt.day) for name, dates in some.items()}
        for first, second in permutations(self.dates, 2):
            both = f"{quoted(first)}, {quoted(second)}"
            apart = days[second] - days[first]
            whole = months[second] - months[first] - (day[second] < day[first])
            yield from self._agreeing(apart, f"days({both})")
            yield from self._agreeing(apart + 1, f"days({both}) + 1")
            yield from self._agreeing(whole, f"months({both})")
            yield from self._agreeing(np.floor(whole / 12), f"years({both})")
            if Kind.DATETIME not in {self.table.schema[name].kind for name in (first, second)}:
                continue
            exact = numbers_of((some[second] - some[first]).dt.total_seconds())
            less = f"{quoted(second)} - {quoted(first)}"
            yield from self._agreeing(np.floor(exact / 86_400), f"floor({less})")
            yield from self._agreeing(exact / 86_400, less)
            for of_day in (24, 1_440):  # hours, minutes
                yield from self._agreeing(exact * of_day / 86_400, f"({less}) * {of_day}")
                yield from self._agreeing(np.floor(exact * of_day / 86_400), f"floor(({less}) * {of_day})")

    def _since_a_day(self) -> Iterator[Found]:
        """Ages on a fixed day, and days since or until one."""
        for name in self.dates:
            dates = self.table.frame[name].to_numpy(dtype="datetime64[D]")
            for at in self.varied:
                ages = self.values[:, at]
                known = ~np.isnat(dates) & ~np.isnan(ages)
                if self.digits[at] or known.sum() < LEAST_ROWS or (np.abs(ages[known]) > 1e5).any():
                    continue
                own, whole = dates[known], ages[known].astype(np.int64)
                for sign, text in ((1, "days('{}', {})"), (-1, "days({1}, '{0}')")):
                    since, counts = np.unique(own - sign * whole, return_counts=True)
                    if counts.max() >= LEAST_HELD * len(own):
                        yield self.names[at], text.format(since[counts.argmax()], quoted(name))
                if _AGES[0] <= whole.min() and whole.max() <= _AGES[1] and np.ptp(whole) > 1:
                    on = _day_of_ages(own, whole)
                    if on is not None:
                        yield self.names[at], f"years({quoted(name)}, '{on}')"

    def _proportional(self) -> Iterator[Found]:
        """Numbers that are others in another unit, rounded, or counted from another start."""
        probed = self.values[self.probed]
        for at in self.varied:
            x = probed[:, at]
            for other in self.varied:
                both = ~np.isnan(x) & ~np.isnan(probed[:, other])
                coarser = self.digits[other] < self.digits[at]
                same = self.digits[other] == self.digits[at]
                if other == at or not both.any() or not (coarser or (same and at < other) or self.digits[at] == 0):
                    continue
                first, last = np.flatnonzero(both)[[x[both].argmin(), x[both].argmax()]]
                if x[first] == x[last] or len(np.unique(probed[both, other])) < 3:
                    continue
                slope = (probed[last, other] - probed[first, other]) / (x[last] - x[first])
                yield from self._line(at, other, slope, first)
            if self.digits[at]:
                yield from self._agreeing(np.floor(x), f"floor({quoted(self.names[at])})")

    def _line(self, at: int, other: int, slope: float, row: int) -> Iterator[Found]:
        x, y = self.values[self.probed[row], at], self.values[self.probed[row], other]
        for factor in dict.fromkeys(float(f"{slope:.{digits}g}") for digits in (2, 3, _DIGITS)):
            shift = round(y - factor * x, int(min(self.digits[other], 6)))
            if not factor or not np.isfinite(factor):
                continue
            found = factor * self.values[self.probed][:, at] + shift
            if self._agrees(found, other):
                times = "" if factor == 1 else f"{factor:.{_DIGITS}g} * "
                plus = "" if not shift else f" {'+' if shift > 0 else '-'} {abs(shift):.15g}"
                yield self.names[other], f"{times}{quoted(self.names[at])}{plus}"
                return

    def _of_parts(self) -> Iterator[Found]:
        parts = [at for at in self.varied if (np.nan_to_num(self.values[:, at]) != 0).sum() >= LEAST_PEOPLE]
        pairs = np.array(list(combinations(range(len(parts)), 2)), dtype=np.int64).reshape(-1, 2)
        factors = np.concatenate([pairs, np.repeat(np.arange(len(parts)), 2).reshape(-1, 2)])
        for total in self.varied:
            if len(np.unique(self.values[self.probed, total])) < 3:
                continue
            rows = self._telling_rows(total)
            if len(rows) < _SCREENED:
                continue
            values, wanted = self.values[np.ix_(rows, np.array(parts))], self.values[rows, total]
            two = values[:, pairs[:, 0]] + values[:, pairs[:, 1]]
            found = [self._sum(total, parts, pair) for pair in pairs[self._screen(two, wanted, total)]]
            for third in range(len(parts)) if all(lost for lost, _ in found) else ():
                later = pairs[:, 0] > third
                three = self._screen(two[:, later] + values[:, [third]], wanted, total)
                found += [self._sum(total, parts, (third, *pair)) for pair in pairs[later][three]]
            found += self._runs(total, parts) if all(lost for lost, _ in found) else []
            yield from (one for lost, one in sorted(found) if lost < np.inf)
            with np.errstate(over="ignore"):
                product = values[:, factors[:, 0]] * values[:, factors[:, 1]]
            for pair in factors[self._screen(product, wanted, total)]:
                one, other = (parts[at] for at in pair)
                if total not in (one, other) and all(
                    (self.values[:, at] != 1).sum() >= LEAST_PEOPLE for at in (one, other)
                ):
                    yield self.names[total], f"{quoted(self.names[one])} * {quoted(self.names[other])}"

    def _of_flags(self) -> Iterator[Found]:
        """Flags that say that two others are both up, in all rows."""
        flags = [at for at in self.varied if np.isin(self.values[:, at], (0, 1)).all()]
        up = self.values[:, flags]
        both = up.T @ up  # Rows in which two flags are up.
        rows = both.diagonal()
        for at, total in enumerate(flags):
            wider = np.flatnonzero((both[at] == rows[at]) & (np.arange(len(flags)) != at))
            pairs = both[np.ix_(wider, wider)]
            alone = rows[wider, None] - pairs
            equal = (pairs == rows[at]) & (alone >= LEAST_PEOPLE) & (alone.T >= LEAST_PEOPLE)
            for one, other in wider[np.argwhere(np.triu(equal))]:
                yield self.names[total], f"{quoted(self.names[flags[one]])} * {quoted(self.names[flags[other]])}"

    def _logarithms(self) -> Iterator[Found]:
        """Logarithms of other numbers, of what is one more, and numbers of which only the logarithm has all digits."""
        targets = [at for at in self.varied if self.digits[at] >= _LEAST_DIGITS]
        for at in self.varied if targets else ():
            name, x = quoted(self.names[at]), self.values[self.probed, at]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                log, of_more = np.log(x), np.log(x + 1)
                forms = {
                    f"log({name})": log,
                    f"log({name} + 1)": of_more,
                    f"log({name}) / log(10)": log / np.log(10),
                    f"log({name}) / log(2)": log / np.log(2),
                    f"exp({name})": np.exp(x),
                }
                yield from (
                    (self.names[target], text)
                    for text, computed in forms.items()
                    for target in targets
                    if target != at and self._agrees(np.where(np.isfinite(computed), computed, np.nan), target)
                )

    def _telling_rows(self, total: int) -> Array:
        """Rows with unusual values of a column, few of which lack other values."""
        rows = np.flatnonzero(~self.usual[:, total])
        rows = rng_for(0, "discover sums").permutation(rows)[: 20 * _SCREENED]
        order = np.argsort(np.isnan(self.values[rows]).sum(axis=1), kind="stable")
        return rows[order][:_SCREENED]

    def _screen(self, sums: Numbers, wanted: Numbers, total: int) -> Mask:
        gap = np.abs(sums - wanted[:, None])
        near = gap <= self._allowed(wanted, total, of_sum=True)[:, None]
        return np.asarray(near.sum(axis=0) >= _SCREENED - 1)

    def _sum(self, total: int, parts: Sequence[int], chosen: Collection[int]) -> tuple[float, Found]:
        """A total as the sum of parts, or the part with most digits as what is left of the total.

        It follows the number of rows that do not agree, infinite where a part counts for too few people.
        """
        own = sorted(parts[at] for at in chosen)
        finest = max(own, key=lambda at: self.usual_digits[at])
        left = [quoted(self.names[at]) for at in own if at != finest]
        found = self.names[finest], " - ".join([quoted(self.names[total]), *left])
        if self.usual_digits[finest] <= self.usual_digits[total]:
            found = self.names[total], " + ".join(quoted(self.names[at]) for at in own)
        if total in own:
            return np.inf, found
        sums = self.values[:, own].sum(axis=1)
        asked = ~np.isnan(self.values[:, total])
        if found[0] == self.names[total] and np.isnan(sums[asked]).mean() > 1 - LEAST_HELD:
            # A total of what was answered, as of the items of a survey.
            sums = np.nan_to_num(self.values[:, own]).sum(axis=1)
            gaps = np.isnan(self.values[:, own]).any(axis=0)
            names = [quoted(self.names[at]) for at in own]
            terms = [f"known({name}, 0)" if gap else name for name, gap in zip(names, gaps, strict=True)]
            found = self.names[total], " + ".join(terms)
        gap = np.abs(sums - self.values[:, total])
        agree = gap <= self._allowed(self.values[:, total], total, of_sum=True)
        used = (self.values[agree][:, own] != 0).sum(axis=0)
        return (float((gap[~agree] > 0).sum()) if (used >= LEAST_PEOPLE).all() else np.inf), found

    def _runs(self, total: int, parts: Sequence[int]) -> list[tuple[float, Found]]:
        rows, n = self._telling_rows(total), len(parts)
        sums = np.cumsum(np.nan_to_num(self.values[np.ix_(rows, np.array(parts))]), axis=1)
        sums = np.column_stack([np.zeros(len(rows)), sums])
        runs = np.array([(i, j) for i in range(n) for j in range(i + 4, n + 1)], dtype=np.int64).reshape(-1, 2)
        near = self._screen(sums[:, runs[:, 1]] - sums[:, runs[:, 0]], self.values[rows, total], total)
        return [self._sum(total, parts, range(i, j)) for i, j in runs[near][:1]]

    def _agreeing(self, computed: Numbers, text: str) -> Iterator[Found]:
        yield from ((self.names[at], text) for at in self.varied if self._agrees(computed, at))

    def _agrees(self, computed: Numbers, at: int) -> bool:
        values = self.values[self.probed, at]
        known = ~np.isnan(computed) & ~np.isnan(values)
        near = np.abs(values - computed) <= self._allowed(values, at)
        return bool(known.sum() >= 2 and near[known].mean() >= 0.95)

    def _allowed(self, values: Numbers, at: int, *, of_sum: bool = False) -> Numbers:
        """Distance within which a computed number is the same; of a sum, to the digits of the coarsest decimals."""
        digits = min([each for each in (*self.digits, _ALL_DIGITS) if each]) if of_sum else self.digits[at]
        half = 0.5 * 10.0**-digits if digits else 1e-6
        share = SINGLE if self.digits[at] == _ALL_DIGITS else RELATIVE
        return np.asarray(share * np.maximum(np.abs(values), 1) + half * (1 + 1e-9))


def _day_of_ages(born: Array, ages: Array) -> str | None:
    """Day on which people had these ages, the first of a year or a month if one will do.

    Birthdays on 29 February are on 1 March in other years. None where no day fits nearly all of them.
    """
    months = born.astype("datetime64[M]")
    into = (born - months.astype("datetime64[D]")).astype(np.int64)
    low, high = (np.sort((months + 12 * years).astype("datetime64[D]") + into) for years in (ages, ages + 1))
    few = int((1 - LEAST_HELD) / 2 * len(ages))
    first, after = (low[-1], high[0]) if low[-1] < high[0] else (low[-1 - few], high[few])
    if first >= after:
        return None
    for unit in ("datetime64[Y]", "datetime64[M]"):
        start = (after - 1).astype(unit).astype("datetime64[D]")
        if start >= first:
            return str(start)
    return str(first)


SAMPLED = 5_000
"""Rows that candidates are looked for in; those found are checked on all rows."""
MOST_COLUMNS = 200
"""Columns beyond which no constraints are looked for: a person could not decide on those of all pairs."""


@dataclass(frozen=True)
class Suggestion:
    """A constraint that a person may declare."""

    constraint: Constraint
    """Names columns, and holds no value but the constants of a formula."""
    broken: int
    """Rows of the table that break it."""
    sure: bool = False
    """Whether names and values leave no doubt, so that it is declared until a person removes it."""


def discover(table: Table) -> list[Suggestion]:
    """Find constraints that hold in all rows, or nearly all, for a person to review, in the order of the kinds.

    Identifiers and undecided columns do not count; of equal columns only the first is in others. Each has at least a
    hundred rows to show for it, and would be broken if the columns were independent. What follows from others is left
    out. Orders of dates and formulas may be broken in one row of a hundred, the other kinds in none. None for tables of
    more than :data:`MOST_COLUMNS` columns.
    """
    rows = table.without_identifiers()
    if len(rows) < LEAST_ROWS or len(rows.schema) > MOST_COLUMNS:
        return []
    rng = rng_for(0, "discover constraints")
    some = (
        rows if len(rows) <= SAMPLED or not rows.rows_are_persons else rows.take(rng.permutation(len(rows))[:SAMPLED])
    )
    equal = [one for one in Equal.candidates(some, rng) if one.holds(rows)]
    copies = {name for one in equal for name in one.columns[1:]}
    left = [name for name in rows.schema.names if name not in copies]
    some, rows = some.only(left), rows.only(left)
    kinds = [kind for kind in KINDS.values() if kind is not Equal]
    of_kind = (derivations(some) if kind is Derived else kind.candidates(some, rng) for kind in kinds)
    candidates = [one for found in of_kind for one in found]
    candidates += _never_negative(candidates, rows)
    found = [*equal, *_telling([one for one in candidates if one.holds(rows)], rows)]
    return [Suggestion(one, int(one.broken(rows).sum() if set(one.columns) <= set(left) else 0)) for one in found]


def _telling(found: Sequence[Constraint], rows: Table) -> Iterator[Constraint]:
    """Constraints that do not follow from others.

    Dates that lie close together are tied, unless no row has them out of order.
    """
    orders = {one.le for one in found if isinstance(one, Le) and not one.broken(rows).any()}
    tied = {one.tied for one in found if isinstance(one, Tied)}
    derived = {one.column: {*one.columns} for one in found if isinstance(one, Derived)}
    pairs = [set(one.combinations) for one in found if isinstance(one, Combinations)]
    for one in found:
        if isinstance(one, Tied) and one.tied in orders:
            continue
        if isinstance(one, Le) and one.le in tied and one.le not in orders:
            continue
        if isinstance(one, Le) and (_is_told(one, derived) or (one.le not in tied and _between(one.le, orders))):
            continue
        if isinstance(one, Combinations) and (_is_told(one, derived) or _joined(set(one.combinations), pairs)):
            continue
        yield one


def _never_negative(found: Iterable[Constraint], rows: Table) -> Iterator[Constraint]:
    """Differences of numbers that are never below zero, such as a balance."""
    for one in found:
        if isinstance(one, Derived) and " - " in one.derived[one.column]:
            names = one.columns if all(rows.schema[name].kind.is_number for name in one.columns) else ()
            if names and not (rows.frame[one.column] < 0).fillna(False).any():
                yield Range(range={one.column: (0, None)})


def _is_told(pair: Constraint, derived: Mapping[str, Set[str]]) -> bool:
    return any(name in pair.columns and sources >= set(pair.columns) for name, sources in derived.items())


def _between(order: tuple[str, str], orders: Iterable[tuple[str, str]]) -> bool:
    low, high = order
    above = {second for first, second in orders if first == low}
    return any((middle, high) in orders for middle in above if middle != high)


def _joined(pair: set[str], earlier: Sequence[set[str]]) -> bool:
    before = earlier[: earlier.index(pair)]
    first, second = pair
    near = set[str]().union(*(one - {first} for one in before if first in one))
    return any(one == {middle, second} for middle in near for one in before)
