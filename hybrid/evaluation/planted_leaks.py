"""Leaks of known size, planted into a synthetic table.

They test whether a verdict would notice them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.vulnerability import RANKINGS, Ranking, first_of_person, rankings
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import NotComputable
from hybrid.table import Column, Kind, Table
from hybrid.table.persons import drawn_rows, person_groups

LeakName = Literal["copy", "near", "exposed", "group", "secrets"]
NOISE = 0.05
"""Largest relative change of a number in a near copy; of a date, in standard deviations of its column."""
MOST_EXPOSED = 0.01
"""Share of the people that count as most exposed."""
LEAST_EXPOSED = 20
"""Fewest people among the most exposed."""
LEAST_GROUP = 50
"""Fewest people in a leaked group."""

COPIES_SEEN_BY = ("identical_match", "persons_copied", "nndr_share", "linkability", "dcr_share")
NEAR_COPIES_SEEN_BY = ("nndr_share", "persons_near", "linkability", "nndr", "hitting_rate", "dcr_share")
SECRETS_SEEN_BY = ("identical_match_secrets", "inference_quasi", "identical_match_quasi", "gtcap", "inference")


class Planted(NamedTuple):
    """Table with a leak, and its replaced rows, shape (n,), int64."""

    table: Table
    rows: Array


@dataclass(frozen=True)
class Leak:
    """Kind of leak: the leaked people, and the values that enter.

    The values are those with which their records enter the table.

    Parameters
    ----------
    name : str
        As in ``must_detect`` of a policy.
    people : callable
        ``people(context, share, rng)`` gives the leaked training rows, shape (n,), or why there are none.
    values : callable
        ``values(context, rows, rng)`` gives their columns as they enter the table; columns that it leaves out keep
        the values of the row that is replaced.
    seen_by : tuple of str
        Metrics that are computed to notice it, in this order. Others may notice it, too: what is said of these is
        the least.
    way : str
        What the leaked people are chosen by, where there are several ways.
    others : tuple of Leak
        The same kind, planted in the other ways: each is tried on its own.
    """

    name: LeakName
    people: Callable[[Context, float, np.random.Generator], Array | NotComputable]
    values: Callable[[Context, Array, np.random.Generator], pd.DataFrame]
    seen_by: tuple[str, ...]
    way: str = ""
    others: tuple[Leak, ...] = ()

    @property
    def label(self) -> str:
        """Name and way."""
        return f"{self.name} {self.way}".strip()

    @property
    def ways(self) -> tuple[Leak, ...]:
        """The same kind of leak, in all its ways."""
        return self, *self.others

    def plant(self, context: Context, share: float, rng: np.random.Generator) -> Planted | NotComputable:
        """Replace random rows of the stage's table by leaked ones.

        Parameters
        ----------
        context : Context
            The tables.
        share : float
            Size of the leak in (0, 1]: of the table's rows; of the most exposed people for ``exposed``; without
            meaning for ``group``.
        rng : numpy.random.Generator
            Chooses people, noise and replaced rows.

        Returns
        -------
        Planted or NotComputable
            A table of as many rows, and those replaced; why this leak cannot be planted.
        """
        people = self.people(context, share, rng)
        if isinstance(people, NotComputable):
            return people
        people = people[: len(context.table)]
        replaced = rng.choice(len(context.table), len(people), replace=False)
        return Planted(_replaced(context.table, replaced, self.values(context, people, rng)), replaced)


def _random_people(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:
    """Random training rows, as many as ``share`` of the table's.

    At least one; each of another person, as far as there are so many.
    """
    wanted = max(round(share * len(context.table)), 1)
    if context.train.persons is not None:
        return drawn_rows(context.train.persons, rng)[:wanted]
    count = min(wanted, len(context.train))
    return np.asarray(rng.choice(len(context.train), count, replace=False))


def _exposed_people(
    context: Context, share: float, rng: np.random.Generator, ranking: Ranking
) -> Array | NotComputable:
    """``share`` of the most exposed 1 % of the people by one ranking.

    Ties are in random order; of each person the row least like others.
    """
    if ranking not in rankings(context):
        return NotComputable(f"no column is a number that {ranking} could be of", lacks="numbers")
    part = context.whole("train")
    rows = context.asked(part).rows
    people = first_of_person(context, part, ranking, rng.random(len(rows)))
    pool = round(MOST_EXPOSED * len(people))
    if pool < LEAST_EXPOSED:
        reason = f"the most exposed 1 % are {pool} people, fewer than {LEAST_EXPOSED}"
        return NotComputable(reason, "too_few")
    chosen: Array = rows[rng.choice(people[:pool], max(round(share * pool), 1), replace=False)]
    return chosen


def in_ways(first: Leak, *others: Leak) -> Leak:
    """One kind of leak, planted in several ways."""
    return replace(first, others=others)


def _exposed(ranking: Ranking) -> Leak:
    seen_by = ("inference_exposed", "membership_exposed", "hitting_rate")
    return Leak("exposed", partial(_exposed_people, ranking=ranking), _near, seen_by, ranking)


def _group(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:  # noqa: ARG001
    """All people with the rarest category of a quasi-identifier.

    It is the rarest that at least 50 people have.
    """
    known = context.schema.quasi_identifiers
    names = [name for name in known if not context.schema[name].kind.is_continuous]
    if not names:
        return NotComputable("no quasi-identifier is a category", lacks="quasi_identifiers")
    frame = context.train.frame
    counts = [_holders(context.train, name) for name in sorted(names)]
    found = [
        (int(count), at, str(value), value)
        for at, column in enumerate(counts)
        for value, count in column[column >= LEAST_GROUP].items()
    ]
    if not found:
        return NotComputable(f"no category of a quasi-identifier has {LEAST_GROUP} people", "too_few")
    _, at, _, value = min(found, key=lambda one: one[:3])
    return np.flatnonzero((frame[counts[at].name] == value).fillna(False).to_numpy(bool))


def _holders(table: Table, name: str) -> pd.Series:
    """Number of people with each category, under the column's name."""
    if table.persons is None:
        return table.frame[name].value_counts().rename(name)
    pairs = pd.DataFrame({"value": table.frame[name], "person": person_groups(table.persons)}).drop_duplicates()
    return pairs["value"].value_counts().rename(name)


def _with_secrets(context: Context, share: float, rng: np.random.Generator) -> Array | NotComputable:
    if not context.schema.quasi_identifiers:
        return NotComputable("no column has the role quasi_identifier", lacks="quasi_identifiers")
    if not _declared_secrets(context):
        return NotComputable("no column is declared as a secret", lacks="secret")
    return _random_people(context, share, rng)


def _declared_secrets(context: Context) -> Sequence[str]:
    chosen = context.options.secrets
    return context.schema.sensitive if chosen is None else chosen


def _exact(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    return context.train.take(rows).frame


def _near(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:
    """Records with perturbed numbers and one redrawn category.

    Numbers are multiplied by U(0.95, 1.05) on their column's grid; the category is redrawn from its column.
    """
    frame = context.train.take(rows).frame.copy()
    categories = []
    for column in context.schema:
        if not column.kind.is_continuous:
            categories.append(column.name)
        else:
            noise = rng.uniform(-NOISE, NOISE, len(rows))
            frame[column.name] = _moved(column, frame[column.name], context.train.frame[column.name], noise)
    redrawn = rng.integers(max(len(categories), 1), size=len(rows))
    donors = rng.integers(len(context.train), size=len(rows))
    for at, name in enumerate(categories):
        values = context.train.frame[name].take(donors).set_axis(frame.index)
        frame[name] = frame[name].where(redrawn != at, values)
    return frame


def _moved(column: Column, values: pd.Series, source: pd.Series, noise: Array) -> pd.Series:
    """Values moved by a relative noise, as the column can write them."""
    if column.kind.is_temporal:
        spread = source.std()
        moved = values + pd.to_timedelta(noise * (0.0 if pd.isna(spread) else spread.total_seconds()), unit="s")
        return moved.dt.round("D" if column.kind is Kind.DATE else "s").astype(values.dtype)
    moved = values.astype("float64") * (1 + noise)
    decimals = 0 if column.kind is Kind.INTEGER else column.format.decimals
    return (moved if decimals is None else moved.round(decimals)).astype(values.dtype)


def _known_and_secret(context: Context, rows: Array, rng: np.random.Generator) -> pd.DataFrame:  # noqa: ARG001
    """Quasi-identifiers, secrets and targets of people.

    The other columns stay those of the replaced rows.
    """
    leaked = {*context.schema.quasi_identifiers, *_declared_secrets(context), *context.schema.targets}
    return context.train.take(rows).frame[[name for name in context.schema.names if name in leaked]]


def _replaced(table: Table, rows: Array, values: pd.DataFrame) -> Table:
    """The table with other values in some rows.

    Only the columns of ``values`` change.
    """
    order = np.arange(len(table))
    order[rows] = len(table) + np.arange(len(rows))
    columns = {}
    for name, old in table.frame.items():
        if name not in values:
            columns[name] = old.reset_index(drop=True)
        elif isinstance(old.dtype, pd.CategoricalDtype):
            both = union_categoricals([old, values[name]], sort_categories=True)
            columns[name] = pd.Series(both.take(order))
        else:
            cells = old.array.copy()
            cells[rows] = values[name].array
            columns[name] = pd.Series(cells)
    return Table(pd.DataFrame(columns), table.schema)


LEAKS: dict[LeakName, Leak] = {
    leak.name: leak
    for leak in (
        Leak("copy", _random_people, _exact, COPIES_SEEN_BY),
        Leak("near", _random_people, _near, NEAR_COPIES_SEEN_BY),
        in_ways(*map(_exposed, RANKINGS)),
        Leak("group", _group, _near, ("membership_subgroups", "inference_subgroups", "hitting_rate")),
        Leak("secrets", _with_secrets, _known_and_secret, SECRETS_SEEN_BY),
    )
}
"""Every kind of leak by its name in ``must_detect``, in the order in which verdicts list them."""


FORMS: dict[str, str] = {
    "copy": "exact copies",
    "near": "copies with noise",
    "exposed": "copies of people unlike others",
    "group": "copies of a whole group",
    "secrets": "quasi-identifiers with the secrets of a person",
    "splice": "rows spliced of several people",
    "categories": "copies with more than one changed category",
    "rotation": "transformed (rotated) numbers",
    "small group": f"groups below {LEAST_GROUP} people",
    "group by number": "groups by a number",
    "unusual": "people unusual by other measures",
}
"""Forms in which records of people may enter a table, in plain words. The key is that of the kind of leak in
:data:`LEAKS` which plants them; a form without such a kind is never tried."""


def not_planted(kinds: Collection[str]) -> list[str]:
    """Forms of leaks that none of these kinds plants, in plain words.

    Parameters
    ----------
    kinds : collection of str
        As in ``must_detect`` of a policy.
    """
    planted = {kind for kind in kinds if kind in LEAKS}
    return [words for kind, words in FORMS.items() if kind not in planted]
