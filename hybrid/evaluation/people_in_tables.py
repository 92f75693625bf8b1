"""People of linked tables: one row each, with a summary of their rows in the tables below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Rows
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.codings import numbers_of


@dataclass(frozen=True, repr=False, eq=False)
class LinkedPeople(Table):
    """People with all of their rows in linked tables.

    Rows are those of the person table; columns are its own, and of every table below it the number of rows and a
    summary of each column: mean and largest of numbers (dates in seconds), the most frequent category (of equally
    frequent ones the first by name) and the number of different ones. Those of sensitive columns and targets are
    sensitive. ``below`` has the tables below themselves, with the number of the person of each row in ``persons``.
    """

    below: tuple[Table, ...] = ()

    @property
    def numbers(self) -> Rows:
        """Number of each person, by which the rows below name their person; shape (n_people,), int64."""
        return self.persons

    @classmethod
    def of(cls, people: Table, below: Mapping[str, tuple[Table, Sequence[str]]]) -> Self:
        """Join people and their rows below, of which the named columns count; persons number the people."""
        columns, values = list(people.schema), {name: people.frame[name] for name in people.schema.names}
        numbers = people.persons
        for name, (table, own) in below.items():
            owners = pd.Index(numbers).get_indexer(pd.Index(table.persons))
            for column, found in _summary(name, table.only(own), owners, len(people)):
                columns.append(column)
                values[column.name] = found.astype(DTYPES[column.kind])
        tables = tuple(table for table, _ in below.values())
        return cls(pd.DataFrame(values), Schema(tuple(columns)), numbers, None, tables)


def _summary(name: str, table: Table, owners: Array, n: int) -> Iterator[tuple[Column, pd.Series]]:
    """Number of rows of each of n people, and a summary of each column."""
    counts = np.bincount(owners, minlength=n)
    yield Column(f"number of {name}", Role.INSENSITIVE, Kind.INTEGER), pd.Series(counts)
    for column in table.schema.without_identifiers():
        values = table.frame[column.name]
        role = Role.SENSITIVE if column.target or column.role is Role.SENSITIVE else Role.INSENSITIVE
        if column.kind.is_continuous:
            grouped = pd.Series(numbers_of(values)).groupby(owners)
            parts = {"mean": grouped.mean(), "largest": grouped.max()}
            kinds = (Kind.DECIMAL, Kind.DECIMAL)
        else:
            parts, kinds = _of_categories(values, owners), (Kind.CATEGORICAL, Kind.INTEGER)
        for (what, found), kind in zip(parts.items(), kinds, strict=True):
            yield (
                Column(f"{what} of {name}.{column.name}", role, kind),
                found.reindex(range(n)).reset_index(drop=True),
            )


def _of_categories(values: pd.Series, owners: Array) -> dict[str, pd.Series]:
    """Most frequent category of each person, and number of different ones."""
    known = values.notna().to_numpy()
    pairs = pd.DataFrame({"owner": owners[known], "value": values[known].astype(str).to_numpy(dtype=object)})
    times = pairs.groupby(["owner", "value"]).size().rename("times").reset_index()
    ranked = times.sort_values(["owner", "times", "value"], ascending=[True, False, True])
    first = ranked.drop_duplicates("owner").set_index("owner")["value"]
    return {"most frequent": first, "different": times.groupby("owner").size()}
