"""Statement of a release about itself, the same in every format.

It says whether the rows are synthetic, how and from what they were made, what they are for and not for, which rules
were not met, and who accepted that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.publication.certificate import Acceptance
from hybrid.publication.criteria import QUESTIONS, criterion_of
from hybrid.publication.description.description import Description
from hybrid.publication.rules.metric import THROWN_OUT
from hybrid.publication.verdict import Check
from hybrid.table.write import DIGITAL_SOURCE_TYPES

SINGLE_PEOPLE = "Do not draw conclusions about a single person from a row."
UNFIT = {
    "tstr": "Do not train models on this table that must be right about real people.",
    "gaps_between_dates": "Do not study lengths of stay, or other times between two dates of a row.",
    "group_exclusion": "Do not draw conclusions about small groups: some are missing or much too rare.",
    "lost_column": "Do not use the column named in the check: it is not distributed as in the real table.",
    "lost_link": "Do not study how the columns named in the check depend on each other: most of that is gone.",
    "lost_prediction": "Do not predict the column named in the check from the others: most of what they say is gone.",
    "conclusions_kept": "Do not rely on coefficients of models: too few were shown to agree with real people.",
    "interval_overlap": "Do not publish estimates as they are: they were not shown to agree with real people.",
    "discriminator": "Do not take single rows for realistic: a program tells them from real ones.",
    "constraint_violations": "Do not rely on rules between columns, such as a total that is the sum of its parts.",
    "weighted_margins": "Do not apply the sampling weights to estimate shares of the population.",
    THROWN_OUT: "Do not rely on shares of groups: many rows were thrown out to keep constraints between columns.",
    "orphans": "Do not join the tables by their keys: some keys lead to no row.",
}
"""By the metric of a rule that is not met or could not be judged, or else by the rule's name."""


def unfit(checks: Iterable[Check]) -> Iterator[str]:
    """Sentences on uses that unmet or unjudged rules speak against, each once."""
    open_ = list(checks)
    yield from dict.fromkeys(UNFIT[about] for check in open_ if (about := check.metric or check.rule) in UNFIT)
    asked = dict.fromkeys(criterion_of(check.metric) for check in open_)
    questions = [QUESTIONS[criterion] for criterion in asked if criterion is not None]
    if questions:
        several = f"these questions were not answered as the policy asks: {' '.join(questions)}"
        one = f"the question “{questions[0]}” was not answered as the policy asks."
        yield (
            "Do not put the table on the internet, and do not pass it on without the publisher's consent: "
            f"{several if len(questions) > 1 else one}"
        )


_GROUPS = "Results about groups, where the measured utility in the report allows them."
_LARGE_GROUPS = "Results about large groups, checked on the source by its owner where they matter."
_UNKNOWN_SOURCE = "Records of people. The publisher has not stated who they are, from where, and of which time."


@dataclass(frozen=True)
class Statement:
    """Statement of a release about itself; no value of a record."""

    synthetic: bool
    """Whether a generator drew the rows."""
    digital_source_type: tuple[str, ...]
    """Terms that mark synthetic rows for programs; none where the rows are not synthetic."""
    rows: str
    """What a row is."""
    made: tuple[str, ...]
    """How the rows were made: anonymization, transition, generator, budget."""
    made_on: str
    """Day of the release (ISO 8601)."""
    source: str
    """The real records behind the table."""
    uses: tuple[str, ...]
    limits_of_use: tuple[str, ...]
    """What the table is for; sentences on what not to do with it."""
    decision: str
    """What the policy says."""
    rules: tuple[dict[str, str], ...]
    """Rules that are not met or could not be judged: ``rule``, ``status``, ``found``."""
    accepted: tuple[dict[str, str], ...]
    """Who accepted that: ``by``, ``on``, ``reason``, ``proof``."""

    @classmethod
    def of(cls, about: Description) -> Statement:
        """The statement of a described release."""
        said = about.said
        return cls(
            synthetic=about.synthetic,
            digital_source_type=DIGITAL_SOURCE_TYPES if about.synthetic else (),
            rows=about.nature,
            made=about.made,
            made_on=about.date,
            source=said.source or _UNKNOWN_SOURCE,
            uses=said.uses or ((_LARGE_GROUPS if about.private else _GROUPS),),
            limits_of_use=(SINGLE_PEOPLE, *(f"Not for: {use}" for use in said.not_for), *unfit(about.unmet)),
            decision=about.page.answer,
            rules=tuple({"rule": one.rule, "status": one.status, "found": one.message} for one in about.unmet),
            accepted=tuple(_accepted(one) for one in about.acceptances),
        )

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @property
    def open_rules(self) -> Iterator[str]:
        """Sentences on rules that are not met or could not be judged, and on who accepted that."""
        for one in self.rules:
            yield f"Rule “{one['rule']}”, {one['status']}: {one['found']}"
        for one in self.accepted:
            yield f"Accepted by {accepted_words(one)}"


def accepted_words(one: dict[str, str]) -> str:
    """Acceptance of a review in words: by whom, when, with which proof and reason."""
    day = f" on {one['on']}" if one["on"] else ""
    proof = f" ({one['proof']})" if one["proof"] else ""
    return f"{one['by']}{day}{proof}. Reason: {one['reason']}"


def _accepted(one: Acceptance) -> dict[str, str]:
    return {"by": one.by, "on": one.at[:10], "reason": one.reason, "proof": one.proof}
