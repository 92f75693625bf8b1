"""Roster of the people who may accept a review, with their keys."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from pydantic import Field, field_validator

from hybrid.base.errors import ConfigError, Problem
from hybrid.base.options import Options
from hybrid.publication.names import clean_name, person_of
from hybrid.publication.ssh_signature import SignatureProblem, parse_public_key

NO_ROSTER = "the policy wants signed approvals, and names no approvers"
"""Reason why nobody can accept a review under a policy."""
ROSTER_HINT = (
    "copy the policy into a file, list under approvers who decides, with the line of each ~/.ssh/id_ed25519.pub, name "
    "the file as policy, and run again; or set approvals: 1 and signed_approvals: false there"
)


class Approver(Options):
    """One person who may accept reviews."""

    name: str
    """Name as in --by."""
    key: str
    """Public Ed25519 key, the line of a .pub file of OpenSSH: "ssh-ed25519 AAAA... comment"."""
    accounts: tuple[str, ...] = ()
    """Accounts of the operating system of this person, such as "ada@ward7": what they ran, this person does not
    approve."""
    until: datetime.date | None = Field(default=None)
    """The last day on which approvals of this person count; null: no end."""

    @property
    def public_key(self) -> bytes:
        """The key in its encoded form."""
        return parse_public_key(self.key)

    @field_validator("name")
    @classmethod
    def _name_of_a_person(cls, name: str) -> str:
        try:
            return clean_name(name, "name")
        except ConfigError as error:
            raise ValueError(error.problems[0].message) from None

    @field_validator("key")
    @classmethod
    def _key_of_openssh(cls, key: str) -> str:
        try:
            parse_public_key(key)
        except SignatureProblem as problem:
            raise ValueError(f"{problem}: ssh-keygen -t ed25519 makes one") from None
        return " ".join(key.split())


def unproven_problem(approvers: Sequence[Approver], approvals: int, signed_approvals: bool) -> Problem | None:
    """Promise of a policy's approvals without proof; None without one."""
    if approvers:
        return None
    if signed_approvals:
        return Problem(f"{NO_ROSTER}: nobody can accept a review of this run", ROSTER_HINT)
    if approvals < 2:
        return None
    said = f"the policy wants {approvals} approvals, and one person with {approvals} accounts can give them all"
    return Problem(said, "list under approvers who decides, with the line of each ~/.ssh/id_ed25519.pub")


def roster_problem(approvers: Sequence[Approver], approvals: int) -> str:
    """Reason why a roster cannot be used; empty if it can."""
    if not approvers:
        return ""
    people = {person_of(approver.name) for approver in approvers}
    keys = {approver.public_key for approver in approvers}
    if len(people) < len(approvers) or len(keys) < len(approvers):
        return "approvers: every person is named once, with a key that nobody else has"
    if approvals > len(approvers):
        return f"approvals is {approvals}, and approvers names {len(approvers)}"
    return ""
