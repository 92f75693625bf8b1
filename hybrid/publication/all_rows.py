"""Checks of a table of which only a random sample was judged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hybrid.evaluation.engine.intervals import quantile
from hybrid.evaluation.measure import AllRows
from hybrid.publication.rules.rule import text_of
from hybrid.publication.verdict import Check

if TYPE_CHECKING:
    from hybrid.publication.policy import Policy

ALL_ROWS = "all rows"
"""Start of the names of the checks."""
COPIES = "identical_match"
"""Metric whose rule limits the excess of exact copies."""
_HINT = "release no more rows than are judged (synthesize.rows up to part_rows), or let a person decide"
_CONFIDENCE = 0.95


def all_rows_checks(policy: Policy, found: AllRows | None) -> Iterator[Check]:
    """Checks about all rows; none where all rows were judged.

    Exact copies are counted on all rows: the share of training records that equal one of them, above that of control
    records, is limited as the policy limits the excess of exact copies; its low end is judged (normal approximation
    of the difference of two shares). All other attacks are run on the sample, and what more rows disclose is not
    judged: that is a review, whatever they find.
    """
    if found is None:
        return
    yield _copies(policy, found)
    message = (
        f"attacks, usefulness and likeness were judged on {found.judged:,} of {found.rows:,} rows, drawn at random; "
        "what someone learns who has all of them was not measured"
    )
    yield Check(f"{ALL_ROWS}: attacks", "not judged", message, _HINT)


def _copies(policy: Policy, found: AllRows) -> Check:
    name = f"{ALL_ROWS}: exact copies"
    rule = next((rule for rule in policy.rules if rule.metric == COPIES and rule.compare == "excess"), None)
    if not found.control or rule is None:
        lacks = "there are no control records" if rule is not None else f"the policy has no rule about {COPIES}"
        return Check(name, "not judged", f"copies among all rows are not judged: {lacks}", _HINT)
    shares = found.train_found / found.train, found.control_found / found.control
    errors = (share * (1 - share) / n for share, n in zip(shares, (found.train, found.control), strict=True))
    low = shares[0] - shares[1] - quantile(_CONFIDENCE) * math.sqrt(sum(errors))
    message = (
        f"{_percent(shares[0])} % of the training records equal one of all {found.rows:,} rows, and "
        f"{_percent(shares[1])} % of people never seen; the excess is at least {_percent(max(low, 0))} %"
    )
    if rule.block is not None and low > rule.block:
        return Check(name, "block", message, rule.hint, metric=COPIES)
    if rule.review is not None and low > rule.review:
        return Check(name, "review", message, rule.hint, metric=COPIES)
    return Check(name, "pass", message, metric=COPIES)


def _percent(share: float) -> str:
    """A share in per cent, with two significant digits."""
    return text_of(float(f"{100 * share:.2g}"))
