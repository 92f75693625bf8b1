"""Leaks of known size, planted into a synthetic table to test whether a verdict would notice them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.copies import lone_rows, rows_alone, to_others
from hybrid.evaluation.attacks.vulnerability import RANKINGS, Ranking, first_of_person, rankings
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import NotComputable
from hybrid.table import Column, Table
from hybrid.table.codings import decimals_of
from hybrid.table.holders import value_holders
from hybrid.table.persons import drawn_rows, n_persons, person_groups

LeakName = Literal[
    "copy", "near", "changed", "splice", "half", "rotated", "recoded", "exposed", "group", "histories", "secrets"
]
NOISE = 0.05
"""Largest change of a number in a near copy: as a share of the number, and in standard deviations of its column, the
smaller of both; of a date, in standard deviations."""
MOST_EXPOSED = 0.01
"""Share of the people that count as most exposed."""
LEAST_EXPOSED = 20
"""Fewest people among the most exposed."""
_EXPOSED: LeakName = "exposed"
LEAST_GROUP, GROUP_SHARE = 50, 0.01
"""Fewest people in a leaked group, and its least share of all."""
HALVES = 64
"""Ways to part the columns in halves, of which a spliced row has one."""
CHANGED = 3
"""Categories that are redrawn in a copy with several changed ones."""

COPIES_SEEN_BY = ("lone_copies", "identical_match", "persons_copied", "nndr_share", "linkability", "dcr_share")
NEAR_COPIES_SEEN_BY = (
    "lone_near_copies",
    "nndr_share",
    "persons_near",
    "linkability",
    "nndr",
    "hitting_rate",
    "dcr_share",
)
CELLS_SEEN_BY = ("shared_cells", "rare_values", "singling_out_univariate", "linkability")
CHANGED_SEEN_BY = ("shared_cells", *NEAR_COPIES_SEEN_BY)
SECRETS_SEEN_BY = (
    "lone_secrets",
    "identical_match_secrets",
    "inference_quasi",
    "identical_match_quasi",
    "gtcap",
    "inference",
)


class Planted(NamedTuple):
    """Table with a leak, and its replaced rows, shape (n,), int64."""

    table: Table
    rows: Array


People = Callable[[Context, float, np.random.Generator], Array | NotComputable]
Values = Callable[[Context, Array, np.random.Generator], pd.DataFrame]


@dataclass(frozen=True)
class Leak:
    """Kind of leak: the leaked people, and the values with which their records enter the table."""

    name: LeakName
    """As in ``must_detect`` of a policy."""
    people: People
    """``people(context, share, rng)`` gives the leaked training rows, shape (n,), or why there are none."""
    values: Values
    """``values(context, rows, rng)`` gives their columns as they enter the table; columns that it leaves out keep the
    values of the row that is replaced."""
    seen_by: tuple[str, ...]
    """Metrics that are computed to notice it, in this order. Others may notice it, too: what is said of these is the
    least."""
    words: str
    """Template of what is leaked, in plain words, with its size."""
    of_rows: bool = True
    """Whether its size is a share of the table's rows."""
    way: str = ""
    """What the leaked people are chosen by, where there are several ways."""
    others: tuple[Leak, ...] = ()
    """The same kind, planted in the other ways: each is tried on its own."""

    def in_words(self, share: float) -> str:
        """Words for the leak at this size, 0..1."""
        if share >= 1 and self.name == _EXPOSED:
            return sentence("planted.exposed.all")
        return sentence(self.words, size=float(f"{100 * share:.3g}"))

    @property
    def label(self) -> str:
        return f"{self.name} {self.way}".strip()

    @property
    def ways(self) -> tuple[Leak, ...]:
        return self, *self.others

    def plant(self, context: Context, share: float, rng: np.random.Generator) -> Planted | NotComputable:
        """Replace random rows of the stage's table by leaked ones.

        ``share`` is that of the table's rows; of the most exposed people for ``exposed``; of the people with several
        rows for ``histories``; without meaning for ``group``.
        """
        planted = self.plant_nested(context, [share], rng)
        return planted if isinstance(planted, NotComputable) else planted[0]

    def plant_nested(
        self, context: Context, shares: Sequence[float], rng: np.random.Generator
    ) -> list[Planted] | NotComputable:
        """Leaks of several sizes, of which a larger one holds every smaller one, in the place of the same rows.

        What is measured on the tables is paired. Of ``group``, shares are those of the largest one, which is the whole
        group.
        """
        people = self.people(context, max(shares), rng)
        if isinstance(people, NotComputable):
            return people
        people = people[: len(context.table)]
        replaced = rng.choice(len(context.table), len(people), replace=False)
        values = self.values(context, people, rng)
        groups = _groups(context.train, people)
        n = int(groups.max(initial=-1)) + 1
        rank = rng.permutation(n)[groups]
        planted = []
        for share in shares:
            leaked = rank < max(round(n * share / max(shares)), 1)
            table = _replaced(context.table, replaced[leaked], values[leaked])
            planted.append(Planted(_linked(context, table, replaced[leaked], people[leaked]), replaced[leaked]))
        return planted


def _people_alone(
    context: Context, share: float, rng: np.random.Generator, ways: Callable[[Context], Array]
) -> Array | NotComputable:
    """Random training rows whose leaked cells are no other person's.

    Cells that several people share would disclose none of them. As many rows as ``share`` of the table's, at least one;
    each of another person, as far as there are so many. ``ways`` gives the leaked columns, as :func:`_own_halves` does.
    """
    wanted = max(round(share * len(context.table)), 1)
    alone = context.once(("rows alone", ways.__name__), lambda: _rows_alone(context, ways(context)))
    if not context.train.rows_are_persons:
        alone = np.intersect1d(alone, drawn_rows(context.train.persons, rng))
    return _enough(context, alone, wanted, rng)


def _people_apart(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:
    """Random training rows of the people who lie farthest from all others, as many as for :func:`_people_alone`.

    Those beside whom nobody lies as near as a near copy, and twice as many as are leaked at least: a near copy of other
    people may as well be one of their neighbours.
    """
    wanted = max(round(share * len(context.table)), 1)
    rows, distances = to_others(context, "train")
    farthest = rows[np.argsort(-distances, kind="stable")][: int((distances > 0).sum())]
    farthest = farthest[np.sort(np.unique(context.train.persons[farthest], return_index=True)[1])]
    apart = np.isin(farthest, lone_rows(context, "train", near=True)).sum()
    return _enough(context, np.sort(farthest[: max(apart, 2 * wanted)]), wanted, rng)


def _enough(context: Context, alone: Array, wanted: int, rng: np.random.Generator) -> Array | NotComputable:
    """So many of these training rows, of people who are alone; not computable where they are too few."""
    chosen: Array = rng.choice(alone, min(wanted, len(alone)), replace=False)
    if len(chosen) < min(wanted, n_persons(context.train) / 2):
        return NotComputable(sentence("planted.few.alone", n=len(alone)), "too_few", lacks="lone_records")
    return chosen


def _rows_alone(context: Context, ways: Array) -> Array:
    """Training rows whose cells in some columns are no other person's, of training or control."""
    n = len(context.train)
    alone = np.zeros(n, dtype=bool)
    for number, leaked in enumerate(ways):
        names = [name for name, is_leaked in zip(context.schema.names, leaked, strict=True) if is_leaked]
        rows, _ = rows_alone(context, [name for name in names if name not in context.schema.identifiers])
        alone[rows[rows % len(ways) == number]] = True
    return np.flatnonzero(alone)


def _whole(context: Context) -> Array:
    return np.ones((1, len(context.schema.names)), dtype=bool)


def _own_halves(context: Context) -> Array:
    """Columns of the half that is a person's, in the way of the row's number; bool, shape (HALVES, n_columns)."""
    p = len(context.schema.names)
    half = np.tile(np.arange(p) < (p + 1) // 2, (HALVES, 1))
    return context.random("halves of rows").permuted(half, axis=1)


def _known_or_secret(context: Context) -> Array:
    """Quasi-identifiers, secrets and targets, in one way."""
    leaked = {*context.schema.quasi_identifiers, *context.named_secrets, *context.schema.targets}
    return np.array([[name in leaked for name in context.schema.names]])


def _exposed_people(
    context: Context, share: float, rng: np.random.Generator, ranking: Ranking
) -> Array | NotComputable:
    """``share`` of the most exposed 1 % of the people by one ranking, each by the row least like others."""
    if ranking not in rankings(context):
        return NotComputable(sentence("planted.no_numbers", ranking=ranking), lacks="numbers")
    part = context.whole("train")
    rows = context.asked(part).rows
    people = first_of_person(context, part, ranking, rng.random(len(rows)))
    pool = round(MOST_EXPOSED * len(people))
    if pool < LEAST_EXPOSED:
        return NotComputable(sentence("planted.few.exposed", n=pool, least=LEAST_EXPOSED), "too_few")
    return np.asarray(rows[rng.choice(people[:pool], max(round(share * pool), 1), replace=False)])


def in_ways(first: Leak, *others: Leak) -> Leak:
    return replace(first, others=others)


def _exposed(ranking: Ranking) -> Leak:
    return Leak(
        _EXPOSED,
        partial(_exposed_people, ranking=ranking),
        _near,
        ("inference_exposed", "membership_exposed", "hitting_rate"),
        "planted.exposed",
        of_rows=False,
        way=ranking,
    )


def _group(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:  # noqa: ARG001
    """All people with the rarest category of a quasi-identifier that at least 50, and one in a hundred, have."""
    known = context.schema.quasi_identifiers
    names = [name for name in known if not context.schema[name].kind.is_continuous]
    if not names:
        return NotComputable("no quasi-identifier is a category", lacks="quasi_identifiers")
    frame = context.train.frame
    least = max(LEAST_GROUP, math.ceil(GROUP_SHARE * n_persons(context.train)))
    counts = [value_holders(context.train, name) for name in sorted(names)]
    found = [
        (int(count), at, str(value), value)
        for at, column in enumerate(counts)
        for value, count in column[column >= least].items()
    ]
    if not found:
        return NotComputable(sentence("planted.few.group", n=least), "too_few")
    _, at, _, value = min(found, key=lambda one: one[:3])
    return np.flatnonzero((frame[counts[at].name] == value).fillna(False).to_numpy(bool))


def _with_secrets(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:
    if not context.schema.quasi_identifiers:
        return NotComputable("no column has the role quasi_identifier", lacks="quasi_identifiers")
    if not context.named_secrets:
        return NotComputable("no column is declared as a secret", lacks="secret")
    return _people_alone(context, share, rng, _known_or_secret)


def _histories(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:
    """All rows of ``share`` of the persons with several."""
    if context.train.rows_are_persons:
        return NotComputable("each row is taken for another person: data.person names no column", lacks="persons")
    groups = person_groups(context.train.persons)
    several = np.flatnonzero(np.bincount(groups) > 1)
    if not len(several):
        return NotComputable("no person in the data has several rows", lacks="several_rows")
    chosen = rng.choice(several, max(round(share * len(several)), 1), replace=False)
    return np.flatnonzero(np.isin(groups, chosen))


def _exact(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    return context.train.take(rows).frame


def _near(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records with perturbed numbers and, of several categories, one redrawn.

    Who has a rare value of the only category would else be copied without it, and be no nearer to the copy than others
    are. Numbers move by U(-0.05, 0.05) of the smaller of their size and their column's standard deviation, on its grid;
    the category is redrawn from its column.
    """
    return _redrawn(context, _noisy(context, rows, rng), int(len(_categories(context)) > 1), rng)


def _changed(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """As :func:`_near`, with several redrawn categories."""
    return _redrawn(context, _noisy(context, rows, rng), CHANGED, rng)


def _noisy(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    frame = context.train.take(rows).frame.copy()
    for column in context.schema:
        if column.kind.is_continuous:
            noise = rng.uniform(-NOISE, NOISE, len(rows))
            frame[column.name] = _moved(column, frame[column.name], context.train.frame[column.name], noise)
    return frame


def _redrawn(context: Context, frame: pd.DataFrame, count: int, rng: np.random.Generator) -> pd.DataFrame:
    names = _categories(context)
    redrawn = rng.permuted(np.tile(np.arange(len(names)) < count, (len(frame), 1)), axis=1)
    donors = rng.integers(len(context.train), size=len(frame))
    for at, name in enumerate(names):
        values = context.train.frame[name].take(donors).set_axis(frame.index)
        frame[name] = frame[name].where(~redrawn[:, at], values)
    return frame


def _categories(context: Context) -> list[str]:
    return [column.name for column in context.schema if not column.kind.is_continuous]


def _in_time(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records with perturbed numbers, moved by the median distance of two values of the column that orders rows."""
    frame, order = _noisy(context, rows, rng), context.schema.order
    if order is not None:
        values = context.train.take(rows).frame[order]
        known = np.sort(context.train.frame[order].dropna().unique())
        if len(known) > 1:
            frame[order] = (values + pd.Series(np.diff(known)).median()).astype(values.dtype)
    return frame


def _rotated(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records whose standardized numbers are rotated, all by the same random rotation.

    Categories are as they are; missing numbers stay missing, and count as the mean for the others.
    """
    frame = context.train.take(rows).frame.copy()
    columns = [column for column in context.schema if column.kind.is_number]
    source = context.train.frame[[column.name for column in columns]].astype("float64")
    center, spread = source.mean(), source.std().replace(0, 1).fillna(1)
    rotation, triangle = np.linalg.qr(rng.normal(size=(len(columns), len(columns))))
    points = ((source.take(rows) - center) / spread).fillna(0).to_numpy() @ (rotation * np.sign(np.diag(triangle)))
    for at, column in enumerate(columns):
        values = pd.Series(points[:, at] * spread.iloc[at] + center.iloc[at], index=frame.index)
        values = values.where(frame[column.name].notna())
        frame[column.name] = _on_grid(column, values).astype(frame[column.name].dtype)
    return frame


def _recoded(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    frame = context.train.take(rows).frame.copy()
    for name in _categories(context):
        values = pd.Index(context.train.frame[name].dropna().unique())
        exchanged = dict(zip(values, values[rng.permutation(len(values))], strict=True))
        frame[name] = frame[name].astype("object").map(exchanged).astype(frame[name].dtype)
    return frame


def _moved(column: Column, values: pd.Series, source: pd.Series, noise: Array) -> pd.Series:
    """Values moved by a relative noise, as the column can write them."""
    if not column.kind.is_number:
        spread = source.std()
        seconds = noise * (0.0 if pd.isna(spread) else spread.total_seconds())
        moved = values + pd.to_timedelta(seconds, unit="s").as_unit("us")
        return column.kind.type.within(moved.dt.round("D" if column.kind.type.finest > 1 else "s").astype(values.dtype))
    numbers, spread = values.astype("float64"), float(source.astype("float64").std())
    return _on_grid(column, numbers + noise * np.minimum(numbers.abs(), spread)).astype(values.dtype)


def _on_grid(column: Column, values: pd.Series) -> pd.Series:
    decimals = decimals_of(column)
    return values if decimals is None else values.round(decimals)


def _spliced(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records of which half of the columns are another person's."""
    return _halves(context, rows, _drawn(context.train, len(rows), rng))


def _half(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records of which half of the columns are the table's."""
    return _halves(context, rows, _drawn(context.table, len(rows), rng))


def _drawn(table: Table, n: int, rng: np.random.Generator) -> pd.DataFrame:
    return table.take(rng.integers(len(table), size=n)).frame


def _halves(context: Context, rows: Array, others: pd.DataFrame) -> pd.DataFrame:
    frame, n = context.train.take(rows).frame, len(rows)
    own = _own_halves(context)[rows % HALVES]
    order = np.where(own, np.arange(n)[:, None], n + np.arange(n)[:, None])
    return pd.DataFrame({name: _joined(frame[name], others[name], order[:, at]) for at, name in enumerate(frame)})


def _known_and_secret(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    """Quasi-identifiers, secrets and targets of people; other columns stay those of the replaced rows."""
    return context.train.take(rows).frame.loc[:, _known_or_secret(context)[0]]


def _replaced(table: Table, rows: Array, values: pd.DataFrame) -> Table:
    order = np.arange(len(table))
    order[rows] = len(table) + np.arange(len(rows))
    columns = {
        name: _joined(old, values[name], order) if name in values else old.reset_index(drop=True)
        for name, old in table.frame.items()
    }
    return Table(pd.DataFrame(columns), table.schema)


def _groups(train: Table, rows: Array) -> Array:
    """Persons of some rows as numbers without gaps; a row that comes twice is two, where each row is a person."""
    return np.arange(len(rows)) if train.rows_are_persons else person_groups(train.persons[rows])


def _linked(context: Context, table: Table, replaced: Array, people: Array) -> Table:
    """The table with the persons of its rows, if known: leaked rows of a person stay together."""
    if context.table.rows_are_persons:
        return table
    persons = context.table.persons.copy()
    persons[replaced] = persons.max() + 1 + _groups(context.train, people)
    return replace(table, named_persons=persons)


def _joined(first: pd.Series, second: pd.Series, order: Array) -> pd.Series:
    """Cells of two columns by number, the second after the first."""
    if isinstance(first.dtype, pd.CategoricalDtype):
        return pd.Series(union_categoricals([first, second], sort_categories=True).take(order))
    return pd.concat([first, second], ignore_index=True).take(order).reset_index(drop=True)


_of_records, _of_halves = (partial(_people_alone, ways=ways) for ways in (_whole, _own_halves))
LEAKS: dict[LeakName, Leak] = {
    leak.name: leak
    for leak in (
        Leak("copy", _of_records, _exact, COPIES_SEEN_BY, "planted.copy"),
        Leak("near", _people_apart, _near, NEAR_COPIES_SEEN_BY, "planted.near"),
        Leak("changed", _of_records, _changed, CHANGED_SEEN_BY, "planted.changed"),
        Leak("splice", _of_halves, _spliced, CELLS_SEEN_BY, "planted.splice"),
        Leak("half", _of_halves, _half, CELLS_SEEN_BY, "planted.half"),
        Leak("rotated", _of_records, _rotated, CHANGED_SEEN_BY, "planted.rotated"),
        Leak("recoded", _of_records, _recoded, CELLS_SEEN_BY, "planted.recoded"),
        in_ways(*map(_exposed, RANKINGS)),
        Leak(
            "group",
            _group,
            _near,
            ("membership_subgroups", "inference_subgroups", "hitting_rate"),
            "planted.group",
            of_rows=False,
        ),
        Leak(
            "histories",
            _histories,
            _in_time,
            ("near_histories", "persons_near"),
            "planted.histories",
            of_rows=False,
        ),
        Leak(
            "secrets",
            _with_secrets,
            _known_and_secret,
            SECRETS_SEEN_BY,
            "planted.secrets",
        ),
    )
}
"""Every kind of leak by its name in ``must_detect``, in the order in which verdicts list them."""


FORMS: dict[str, str] = {
    "copy": "exact copies",
    "near": "copies with noise",
    "changed": "copies with more than one changed category",
    "splice": "rows spliced of several people",
    "half": "rows of which half is one person's",
    "rotated": "transformed (rotated) numbers",
    "recoded": "copies with exchanged categories",
    "exposed": "copies of people unlike others",
    "group": "copies of a whole group",
    "histories": "histories moved in time",
    "secrets": "quasi-identifiers with the secrets of a person",
    "small group": sentence("planted.small_group", n=LEAST_GROUP),
    "group by number": "groups by a number",
    "unusual": "people unusual by other measures",
}
"""Forms in which records of people may enter a table, in plain words. The key is that of the kind of leak in
:data:`LEAKS` which plants them; a form without such a kind is never tried."""


def not_planted(kinds: Collection[str]) -> list[str]:
    """Forms of leaks that none of these kinds plants, in plain words."""
    planted = {kind for kind in kinds if kind in LEAKS}
    return [words for kind, words in FORMS.items() if kind not in planted]
