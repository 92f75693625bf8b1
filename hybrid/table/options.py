"""Options of the sections ``data`` and ``split``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hybrid.base.options import Options, composed_options
from hybrid.table.read_options import ReadOptions
from hybrid.table.sources import SOURCES
from hybrid.table.sources.source import Source

EACH_ROW = "none"
"""Statement that each row is another person."""


class _SourceChoice(Options):
    """Choice of exactly one source; the keys are those of the registry."""

    @property
    def source(self) -> Source:
        """The source whose key is set."""
        return next(source for source in SOURCES.values() if getattr(self, source.key))

    @property
    def place(self) -> Any:
        """The value of the source's key."""
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
        """Columns that name the person of a row.

        None where each row is another person.
        """
        if self.person is None or self.person == EACH_ROW:
            return ()
        return (self.person,) if isinstance(self.person, str) else self.person

    @property
    def household_columns(self) -> tuple[str, ...]:
        """Columns that name the household of a row."""
        if self.household is None:
            return ()
        return (self.household,) if isinstance(self.household, str) else self.household

    @property
    def several_rows(self) -> bool:
        """True if several rows of a person may be used."""
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


CROSS = "cross"


class SplitOptions(Options):
    """Control set: records that no generator sees, the yardstick of every attack."""

    control: Annotated[float, Field(ge=0, lt=1)] | Literal["cross"] = 0.3
    """Share of records (0..1) kept as control. 0: none; metrics that need one are "not computable". cross: the table
    is made from all records, and the verdict is about ``folds`` further tables made the same way, each without the
    people who then are control. For small tables: nobody is kept away from the table, and everybody is control once."""
    folds: int = Field(default=4, ge=2, le=20)
    """Tables on which ``control: cross`` judges the procedure. Each is made without 1/folds of the people; a run costs
    about folds + 1 runs."""
    release: float = Field(default=0.0, ge=0, lt=1)
    """Share of records (0..1) set aside as fresh people for tables with a known leak (``risk``), and used for nothing
    else."""
    rows: int | None = Field(default=None, ge=2)
    """Use no more than so many records, drawn at random: a budget for trying things out."""
    key: str | None = None
    """A column whose equal values stay on one side, such as a ward. With `data.person` or `data.household` it
    follows from them: all rows of a person, and all members of a household, are on one side."""
    stable: bool = False
    """Whether a record keeps its side when others come and go: for releases night after night, whose sum would
    give more away if everybody changed sides. Records are distinguished by ``key`` (or person), else by the
    identifiers, else by all columns."""

    independent: bool = False
    """Whether each person's side is drawn on its own, so that one person more or less moves no other; the shares are
    then kept on average only. `privacy.mode: dp` needs it, and sets it."""

    @model_validator(mode="after")
    def _room_for_training(self) -> Self:
        if self.independent and self.stable:
            raise ValueError("independent: a stable share is exact, and moves a few; leave one of them out")
        if self.is_crossed and self.release:
            raise ValueError("control: cross keeps nobody apart, and release does; leave one of them out")
        if self.is_crossed and self.rows is not None:
            raise ValueError("control: cross uses everybody, and rows leaves some out; leave one of them out")
        if self.is_crossed and self.independent:
            raise ValueError("independent: control: cross judges further tables made from the same people")
        if self.share_apart >= 1:
            raise ValueError("control and release together leave nothing to train on")
        return self

    @property
    def is_crossed(self) -> bool:
        """True if the procedure is judged on folds, and no record is kept apart."""
        return self.control == CROSS

    @property
    def control_share(self) -> float:
        """Share of records, 0..1, that the released table is made without, as control."""
        return self.control if isinstance(self.control, float | int) else 0.0

    @property
    def share_apart(self) -> float:
        """Share of records, 0..1, that the released table is made without."""
        return self.control_share + self.release

    @property
    def of_one_fold(self) -> SplitOptions:
        """The split of one fold of ``control: cross``."""
        return self.model_copy(update={"control": 1 / self.folds})
