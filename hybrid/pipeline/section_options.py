"""Options of sections of a configuration that no room below has: ``output``, ``mock`` and ``nightly``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid.base.options import Options
from hybrid.operations.deliver import DeliverOptions
from hybrid.operations.drift import DriftOptions
from hybrid.privacy.domain import KnownColumn


class OutputOptions(Options):
    """Options of writing the synthetic table."""

    format: Literal["same", "csv", "parquet"] = "same"
    """File format; same: that of the input (of a database: parquet)."""
    identifiers: Literal["surrogate", "drop"] = "surrogate"
    """Identifier columns hold fresh values that no source record has, or are left out."""


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


class ReuseOptions(Options):
    """Limits below which a night keeps the latest release.

    It is kept although the data changed, if all limits are met.
    """

    psi: float = Field(default=0.01, ge=0)
    """Population stability index of the column that changed most; no column and not the rows may be at a warning."""
    days: float = Field(default=7, gt=0)
    """Age of the latest release."""


class NightlyOptions(Options):
    """Releases night after night.

    What is set here does not change what a release holds.
    """

    drift: DriftOptions = DriftOptions()
    """How much the data may change."""
    reuse: ReuseOptions | None = None
    """When the latest release stays although the data changed; null: never."""
    deliver: DeliverOptions = DeliverOptions()
    """Where releases go besides the folder of all releases."""
    webhook_env: str | None = None
    """The environment variable with a URL that gets the outcome of each night as JSON."""
    keep_days: float = Field(default=7, ge=0)
    """Stage results in the private zone that were not used for so long are removed."""
