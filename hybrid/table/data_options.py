"""Options of the section ``data``, and the table that it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hybrid.base.options import Options, composed_options
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table
from hybrid.table.sources import SOURCES
from hybrid.table.sources.source import Source

EACH_ROW = "none"
"""Statement that each row is another person."""


class _SourceChoice(Options):
    """Choice of exactly one source; the keys are those of the registry."""

    @property
    def source(self) -> Source:
        return next(source for source in SOURCES.values() if getattr(self, source.key))

    @property
    def place(self) -> Any:
        return getattr(self, self.source.key)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        chosen = [source for source in SOURCES.values() if getattr(self, source.key)]
        if len(chosen) != 1:
            raise ValueError(f"set one of {', '.join(SOURCES)}, and only one")
        for source in chosen:
            source.validate(getattr(self, source.key))
        return self


class PersonOptions(Options):
    """Options of the persons behind the rows."""

    person: str | tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """The identifier column, or columns, that name the person of a row: k, control, attacks then count persons.
    none: each row is another person. null: nobody has said, which is refused where an identifier repeats."""
    max_rows: int | None = Field(default=None, ge=1)
    """Rows of one person that are used, at most, drawn at random; null: all."""
    household: str | tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """The identifier column, or columns, that name the household of a row: split and sample keep its members together,
    and the risk that one of them is recognized is reported. null: there are none."""
    order: str | None = Field(default=None, min_length=1)
    """The date, time or number by which the rows of a person are ordered. Synthetic persons have their rows in this
    order; the generator must be one that learns persons. null, and as long as the column is undecided: the order of the
    file."""

    @field_validator("person", "household")
    @classmethod
    def _some_column(cls, chosen: str | tuple[str, ...] | None, info: ValidationInfo) -> str | tuple[str, ...] | None:
        if chosen is not None and not chosen:
            raise ValueError(f"{info.field_name} needs a column, a list of columns, or none")
        return chosen

    @property
    def person_columns(self) -> tuple[str, ...]:
        """Columns that name the person of a row; empty where each row is another person."""
        if self.person is None or self.person == EACH_ROW:
            return ()
        return (self.person,) if isinstance(self.person, str) else self.person

    @property
    def household_columns(self) -> tuple[str, ...]:
        if self.household is None:
            return ()
        return (self.household,) if isinstance(self.household, str) else self.household

    @property
    def several_rows(self) -> bool:
        return bool(self.person_columns) and self.max_rows != 1


if TYPE_CHECKING:

    class SourceOptions(_SourceChoice):
        """Options that name the source of a table."""

        path: str = ""

else:
    _keys = {
        source.key: (source.type, Field(default=source.unset, description=source.description))
        for source in SOURCES.values()
    }
    SourceOptions = composed_options("SourceOptions", _SourceChoice, _keys, __name__)


class DataOptions(ReadOptions, PersonOptions, SourceOptions):
    """Options of the input table, one key per source."""


def load_table(options: DataOptions, folder: Path) -> Table:
    """Read the table that a configuration names; relative paths are relative to ``folder``."""
    return options.source.read(options.place, options, folder)
