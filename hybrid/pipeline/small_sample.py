"""Samples of a warehouse that are too small for the demanded leaks."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hybrid.base.errors import Finding
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.publication.policy import Policy

LEAST_LEAKED = 10
"""Rows that a leak must have to be told from chance, at least."""


def small_sample(policy: Policy, rows: int) -> Iterator[Finding]:
    """Note on a sample too small to show the demanded leaks.

    Of ``rows`` rows, fewer than :data:`LEAST_LEAKED` would be leaked: chance copies as many.
    """
    sizes = [size for kind, size in policy.must_detect.items() if LEAKS[kind].of_rows and size * rows < LEAST_LEAKED]
    if sizes and policy.power.skip is None:
        yield Finding(
            "note",
            f"data.sql.sample_rows: of {rows:,} drawn rows, the smallest leak that the policy wants noticed would copy "
            f"fewer than {LEAST_LEAKED}; what cannot be noticed is not judged, so the verdict is likely a review",
            f"draw {math.ceil(LEAST_LEAKED / min(sizes)):,} rows or more (data.sql.sample_rows)",
        )
