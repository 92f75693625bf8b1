"""Number of records that searches query."""

from __future__ import annotations

LEAST_ASKED = 10_000
"""Records that searches query of the largest tables: shares are then known to a hundredth (95 %)."""


def most_asked(limit: int | None, *sizes: int) -> int | None:
    """Records that searches query at most; None for all.

    ``limit``, as long as the largest table has no more records. Beyond, as many fewer as the table is larger, so that
    the pairs of records that are compared do not grow; :data:`LEAST_ASKED` if the limit allows it.
    """
    return None if limit is None else max(min(limit, limit**2 // max(*sizes, 1)), min(limit, LEAST_ASKED))
