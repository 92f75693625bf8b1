"""Sentences and checks of ``split.control: cross``: what the verdict is about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybrid.evaluation.measure import Crossed
from hybrid.publication.rules.rule import text_of
from hybrid.publication.verdict import Check
from hybrid.table.split import CROSS, SplitOptions

LIKE_FOLDS = "like the judged tables"
"""Start of the names of the checks."""
_COUNTED = {"identical_match": "exact copies of people", "hitting_rate": "people with a near copy"}
_HINT = "run it again: the released table is one draw; where it happens again, look for what depends on single people"


def folds_of(config: Mapping[str, Any]) -> int | None:
    """Number of folds of a configuration (JSON types); None without ``split.control: cross``."""
    split = SplitOptions.model_validate(config.get("split") or {})
    return split.folds if split.control == CROSS else None


def first_page_sentences(folds: int, *, sampled: bool) -> Iterator[str]:
    """State on the first page what the verdict is about, and who is in the data."""
    yield "Nobody was kept apart: everybody is in the data from which this table was made."
    yield (
        f"The verdict is about {folds} further tables that were made the same way. Each was made without some of the "
        "people, who then served to test attacks. Everybody did so once."
    )
    if sampled:
        yield "Only the random choice of records hides whether somebody in the data was used for this table."
    else:
        yield "So whoever is known to be in the data is known to be among those this table was made from."


def measured_sentence(folds: int) -> str:
    """State in the technical guarantee what was measured."""
    return (
        f"Attacks were measured on {folds} further tables made the same way, each without the records that then served "
        "as control, and pooled; the published table was learned from all records, and what needs no control was "
        "measured on it."
    )


def crossed_checks(found: Sequence[Crossed]) -> Iterator[Check]:
    """Check that the released table holds no more copies of people than those by which it was judged.

    A table from F / (F - 1) times as many people has by chance up to so many times the share. Beyond that the
    difference must lie within the intervals of both (Zou and Donner 2008).
    """
    for one in found:
        expected, most = (one.folds / (one.folds - 1) * share for share in (one.of_folds, one.high))
        chance = math.hypot(one.released - one.low, most - expected)
        message = (
            f"{_COUNTED[one.metric]}: {_per_thousand(one.released)} of 1,000 in this table; "
            f"{_per_thousand(one.of_folds)} in the one with most of the {one.folds} tables that were judged."
        )
        name = f"{LIKE_FOLDS}: {_COUNTED[one.metric]}"
        message = message if one.table is None else f"About {one.table}: {message}"
        if one.released - expected > chance:
            more = " That is more than chance explains, so the verdict about those tables may not hold for this one."
            yield Check(name, "review", message + more, _HINT, table=one.table)
        else:
            yield Check(name, "pass", message, table=one.table)


def _per_thousand(share: float) -> str:
    return text_of(float(f"{1000 * share:.2g}"))
