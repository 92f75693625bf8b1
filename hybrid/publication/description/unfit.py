"""Uses that a release is unfit for, by its unmet rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hybrid.publication.criteria import QUESTIONS, criterion_of
from hybrid.publication.rules.metric import THROWN_OUT
from hybrid.publication.verdict import Check

UNFIT = {
    "tstr": "Do not train models on this table that must be right about real people.",
    "gaps_between_dates": "Do not study lengths of stay, or other times between two dates of a row.",
    "group_exclusion": "Do not draw conclusions about small groups: some are missing or much too rare.",
    "lost_column": "Do not use the column named in the check: it is not distributed as in the real table.",
    "lost_link": "Do not study how the columns named in the check depend on each other: most of that is gone.",
    "lost_prediction": "Do not predict the column named in the check from the others: most of what they say is gone.",
    "discriminator": "Do not take single rows for realistic: a program tells them from real ones.",
    "constraint_violations": "Do not rely on rules between columns, such as a total that is the sum of its parts.",
    "weighted_margins": "Do not apply the sampling weights to estimate shares of the population.",
    THROWN_OUT: "Do not rely on shares of groups: many rows were thrown out to keep constraints between columns.",
    "orphans": "Do not join the tables by their keys: some keys lead to no row.",
}
"""By the metric of a rule that is not met or could not be judged, or else by the rule's name."""


def unfit(checks: Iterable[Check]) -> Iterator[str]:
    """Sentences on uses, each once.

    Parameters
    ----------
    checks : iterable of Check
        The rules that are not met or could not be judged.
    """
    open_ = list(checks)
    yield from dict.fromkeys(UNFIT[about] for check in open_ if (about := check.metric or check.rule) in UNFIT)
    asked = dict.fromkeys(criterion_of(check.metric) for check in open_)
    for question in (QUESTIONS[criterion] for criterion in asked if criterion is not None):
        yield (
            "Do not put the table on the internet, and do not pass it on without the publisher's consent: the question "
            f"“{question}” was not answered as the policy asks."
        )
