"""Base classes of constraints and of their fitted rules."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask, Numbers
from hybrid.base.errors import Problem
from hybrid.base.options import Options
from hybrid.base.yaml_document import flow
from hybrid.table import Column, Schema, Table
from hybrid.table.codings import numbers_of

_SECOND = 1e6
"""Microseconds."""
LEAST_ROWS = 100
"""Rows with the values that a constraint needs, so that it is suggested."""
LEAST_HELD = 0.99
"""Share of the rows that must keep it, so that it is suggested for a source with errors."""
BY_CHANCE = 0.05
"""Share of rows that would break it if the columns were independent, so that it is suggested."""


class Constraint(Options, ABC):
    """Declared constraint between columns, whose only key is the name of its kind."""

    about_identifiers: ClassVar[bool] = False
    """Whether it may name identifier columns, which hold surrogates in a release."""
    of_table: ClassVar[bool] = False
    """Whether it is about all rows together, so that a row alone cannot break it."""
    learns: ClassVar[Literal["nothing", "form", "values"]] = "nothing"
    """What the training records decide: the form in which a generator learns, or which values are allowed."""

    @property
    def key(self) -> str:
        """Name of its kind, as in the configuration."""
        return next(iter(type(self).model_fields))

    @property
    def text(self) -> str:
        """The constraint as YAML writes it, on one line."""
        return flow(self.model_dump(mode="json"))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it is about; by default those that its only key lists."""
        return tuple(getattr(self, self.key))

    @property
    @abstractmethod
    def sentence(self) -> str:
        """Sentence of the rule, without its full stop and without a cell value."""

    def breach(self, least: int) -> Problem:  # noqa: ARG002 - few kinds are about how many people have a value
        """Finding about rows that the fitted rule does not allow, without cell values; ``least`` as for :meth:`fit`.

        The message follows a number of rows, the hint says what becomes of them.
        """
        hint = "no such row is learned as it is, and none comes out; correct the source, or loosen the constraint"
        return Problem(f"rows of the source break: {self.sentence}", hint)

    def problems(self, schema: Schema) -> Iterator[Problem]:  # noqa: ARG002 - most kinds fit any column
        """Problems with the kinds of its columns, all of which exist in ``schema``."""
        yield from ()

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The constraint with other names of columns, which are in backticks in formulas."""
        return type(self).model_validate(_renamed(self.model_dump(), names))

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - few kinds
        """Constraints of the kind that rows without identifiers suggest; of most kinds none.

        ``rng`` shuffles columns, to see what would hold by chance.
        """
        yield from ()

    def holds(self, table: Table) -> bool:
        """True if so few rows of a table break it that it is suggested: none, unless a kind allows for errors."""
        return not bool(self.broken(table).any())

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - most kinds learn nothing
        """The rule for data like these original training records, without identifiers.

        ``least``: persons who must hold a combination or lie beyond a bound that may come out.
        """
        return Rule(self)

    @classmethod
    def together(cls, constraints: Sequence[Self], table: Table, least: int) -> Iterator[Rule]:  # noqa: ARG003
        """Rules that each hold several constraints of the kind that share columns, by one form; most kinds have none.

        ``table`` and ``least`` as for :meth:`fit`.
        """
        yield from ()

    @abstractmethod
    def broken(self, table: Table) -> Mask:
        """Rows that break it, shape (n_rows,), bool.

        A row in which a value is missing that it needs does not break it.
        """


@dataclass(frozen=True, eq=False)
class Rule:
    """A constraint with what it learned from the training records.

    A rule is held by drawing again unless a kind overrides :meth:`encode` and :meth:`decode` (held by what the
    generator learns) or :meth:`settle` (held by computing a column from others).
    """

    constraint: Constraint
    """What was declared."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.constraint.columns

    @property
    def replaces(self) -> tuple[str, ...]:
        """Columns that :meth:`encode` writes in another form."""
        return ()

    @property
    def settles(self) -> tuple[str, ...]:
        """Columns that :meth:`settle` computes from others."""
        return ()

    def applies(self, table: Table) -> bool:
        """True if the table has what is needed to judge the rule."""
        return set(self.columns) <= set(table.schema.names)

    def broken(self, table: Table) -> Mask:
        """Rows that break the rule, shape (n_rows,), bool."""
        return self.constraint.broken(table)

    def accepting(self, groups: Mapping[str, Collection[str]]) -> Rule:  # noqa: ARG002 - most ask for no value
        """The rule that accepts names of groups in place of rare values, by column."""
        return self

    def encodes(self, table: Table) -> bool:  # noqa: ARG002 - most rules cannot
        """True if these records have a form that holds the rule."""
        return False

    def coarseness(self, table: Table) -> float:  # noqa: ARG002 - of most rules there is but one form
        """Of several rules that can write a column in another form, the one with the least number does."""
        return 0.0

    def encode(self, table: Table, original: Table) -> Table:
        """Form of records in which none can break the rule; ``table`` has them as the rules before encoded them."""
        raise NotImplementedError

    def decode(self, table: Table, like: Table) -> Table:
        """Undo :meth:`encode` for drawn records; kinds and categories as in ``like``."""
        raise NotImplementedError

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002
        """Repair protected records whose protection broke the rule; ``before``: the same records without protection.

        Kinds that cannot do so leave them as they are; a generator then does not learn from them.
        """
        return table

    def settle(self, table: Table) -> Table:
        """The table with columns that follow from others computed; most rules have none."""
        return table


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value) or re.sub("`([^`]+)`", lambda found: f"`{names.get(found[1], found[1])}`", value)
    if isinstance(value, Mapping):
        return {_renamed(key, names): _renamed(one, names) for key, one in value.items()}
    return [_renamed(one, names) for one in value] if isinstance(value, list | tuple) else value


def in_order(table: Table, column: Column) -> Numbers:
    """Numbers in the order of a column's values, shape (n_rows,); NaN is missing.

    Of dates and times they are seconds.
    """
    return numbers_of(table.frame[column.name]) / (1 if column.kind.is_number else _SECOND)


def recurrence(values: pd.Series) -> float:
    """Probability that two rows of shape (n,) with a value have the same one, 0 to 1; 0 without any.

    Simpson's index (Nature 163, 1949).
    """
    shares = values.value_counts(normalize=True)
    return float((shares**2).sum())


def whole_numbers(found: Numbers) -> pd.Series:
    """Whole numbers as a column has them, missing where 64 bits cannot hold one."""
    held = np.abs(found) < 2.0**63
    return pd.Series(pd.arrays.IntegerArray(np.where(held, found, 0).astype(np.int64), ~held))


def with_column(table: Table, column: Column, values: pd.Series) -> Table:
    """The table with another column of the same name, in its place."""
    columns = tuple(column if one.name == column.name else one for one in table.schema)
    return Table(table.frame.assign(**{column.name: values}), Schema(columns), table.named_persons)


def no_row(table: Table) -> Mask:
    return np.zeros(len(table), dtype=bool)


def different_kinds(columns: Iterable[Column]) -> str:
    return ", ".join(f"{column.name!r} is {column.kind}" for column in columns)
