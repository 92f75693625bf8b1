"""Statement of a release about itself, the same in every format.

It says whether the rows are synthetic, how and from what they were made, what they are for and not for, which rules
were not met, and who accepted that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.base.sentence import Sentence, sentence
from hybrid.publication.certificate import Acceptance
from hybrid.publication.description.description import Description
from hybrid.table.write import DIGITAL_SOURCE_TYPES

SINGLE_PEOPLE = "Do not draw conclusions about a single person from a row."
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
            limits_of_use=(SINGLE_PEOPLE, *(f"Not for: {use}" for use in said.not_for), *about.page.not_for),
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
            yield sentence("rule", rule=one["rule"], status=one["status"], found=one["found"])
        for one in self.accepted:
            yield sentence("accepted", words=accepted_words(one))


def accepted_words(one: dict[str, str]) -> Sentence:
    """Acceptance of a review in words: by whom, when, with which proof and reason."""
    who: str = one["by"]
    if one["on"]:
        who = sentence("accepted.on", who=who, day=one["on"])
    if one["proof"]:
        who = sentence("accepted.proof", who=who, proof=one["proof"])
    return sentence("accepted.reason", who=who, reason=one["reason"])


def _accepted(one: Acceptance) -> dict[str, str]:
    return {"by": one.by, "on": one.at[:10], "reason": one.reason, "proof": one.proof}
