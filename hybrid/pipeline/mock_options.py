"""Options of the section ``mock``: what is public about the columns of a table that is made without the records."""

from __future__ import annotations

from pydantic import Field

from hybrid.base.options import Options
from hybrid.privacy.domain import KnownColumn


class MockColumn(KnownColumn):
    """Public knowledge about one column, and how a mock table writes it."""

    missing: float = Field(default=0.0, ge=0, lt=1)
    """Share of empty cells, made up."""
    form: str | None = Field(default=None, min_length=1)
    """Form of an identifier, such as "P-######": # is a digit of a running number, all else is written as it is."""


class MockOptions(Options):
    """Options of a mock table, which is drawn from this section and never from the records."""

    from_records: bool = False
    """Whether values and bounds were proposed from the records: `hybrid mock --draft` writes true. Each value is then
    one that ten people hold. Noisy counts need values that no record decided, and refuse true."""
    lists: tuple[str, ...] = ()
    """Columns whose hierarchy file lists values that are public. `hybrid init` writes lists from the records, so that
    a file is not public by itself; hierarchies of `type: list` always are."""
    columns: dict[str, MockColumn] = Field(default_factory=dict)
    """What is public of each column: its values, or its bounds and decimals. Of a truth value, `values` are the texts
    for false and true."""
