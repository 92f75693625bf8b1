"""Whether the rows of a run stay in a warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.table.sources.sql import SqlOptions

if TYPE_CHECKING:
    from hybrid.pipeline.config import RunConfig


def is_pushed_down(config: RunConfig) -> bool:
    """True if the rows stay in the warehouse."""
    place = config.data.place
    return config.frame is None and isinstance(place, SqlOptions) and place.push_down
