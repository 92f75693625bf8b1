"""Policies: rules that release a table, review it or block it.

A policy is a YAML file with an owner and a version. Every rule has two limits: beyond ``review`` a person decides,
beyond ``block`` nothing is released.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from hybrid.base.config_files import read_yaml, validated
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options, composed_options
from hybrid.evaluation.planted_leaks import LeakName
from hybrid.evaluation.trust import TrustLeague, load_trust
from hybrid.publication.approvers import Approver, roster_problem
from hybrid.publication.power import MustDetect, PowerOptions, SmallTable
from hybrid.publication.rules import KINDS
from hybrid.publication.rules.rule import Rule, RuleKind
from hybrid.publication.yearly_budget import YearlyBudget

if TYPE_CHECKING:
    from hybrid.publication.rules.metric import MetricRule


DEFAULT_BUDGET = YearlyBudget(epsilon=10, delta=1e-5)
"""Yearly privacy budget of a policy that states none."""


class _PolicyHead(Options):
    """Name, owner and approvals of a policy.

    Its rule sections follow from the registry.
    """

    name: str = Field(min_length=1)
    """What the policy is called."""
    version: str = Field(min_length=1)
    """Changed by the owner with every change of a rule. In quotes, since 1.10 is not 1.1."""
    owner: str = Field(min_length=1)
    """Who answers for the limits."""
    description: str = ""
    """What the policy is for."""
    approvals: int = Field(default=1, ge=1, le=10)
    """How many people must accept a review."""
    approvers: tuple[Approver, ...] = ()
    """Roster of those who may accept a review, with their public keys: then only approvals signed by these count.
    Empty: anybody, by name, which proves nothing."""
    signed_approvals: bool = False
    """Whether only signed approvals count also while no approvers are named: then nobody can accept a review yet. The
    packaged policies that want two people say so, since two names from two accounts may be one person."""
    separate_duties: bool | None = None
    """Whether who ran it may not approve it (compared by account of the operating system and host), and two approvals
    come from two accounts. null: yes where the policy has a roster or wants more than one approval."""
    approval_days: float = Field(default=30, gt=0, le=365)
    """Days for which an approval counts."""
    yearly_budget: YearlyBudget | None = DEFAULT_BUDGET
    """Most that draws with privacy.mode dp about the same people may spend in any 365 days, refused and withdrawn ones
    included. null: they are counted, and never refused."""
    must_detect: MustDetect = Field(default_factory=dict)
    """Leaks that the verdict must notice to be a pass, each with its size: copy, near (numbers within 5 %, one category
    redrawn) and secrets (quasi-identifiers, secrets and targets) as shares of the released rows, exposed as a share of
    the most exposed 1 % of the people; group: true, everybody with one value of a quasi-identifier."""
    small_tables: tuple[SmallTable, ...] = ()
    """Leaks that need not be noticed in tables made from few people, which cannot show them. A pass then says in words
    what cannot be excluded. Empty: `must_detect` holds for every table."""
    power: PowerOptions = PowerOptions()
    """How it is tried whether the verdict would notice them."""
    league: TrustLeague | str | None = None
    """League of the laboratory that rules with `needs_trust` ask: path of a `league.json`, from the policy's folder. A
    run keeps its verdicts on their metrics with the policy."""

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """Every rule, in the order in which they are judged."""
        return tuple(rule for _, rule in self.by_kind())

    def by_kind(self) -> Iterator[tuple[RuleKind[Any], Rule]]:
        """Every rule with its kind, in the order of judging."""
        for kind in KINDS.values():
            for rule in getattr(self, kind.section):
                yield kind, rule

    def restricted(self, kinds: Collection[RuleKind[Any]]) -> Self:
        """The policy with the rules of some kinds only."""
        others = {kind.section: () for kind in KINDS.values() if kind not in kinds}
        return self.model_copy(update=others)

    @property
    def separates_duties(self) -> bool:
        """True where who ran it may not approve it."""
        default = bool(self.approvers) or self.approvals > 1
        return default if self.separate_duties is None else self.separate_duties

    @property
    def lacks_roster(self) -> bool:
        """True where approvals must be signed and no approver is named."""
        return self.signed_approvals and not self.approvers

    @property
    def plants_leaks(self) -> bool:
        """True where leaks are demanded and trials not skipped."""
        return bool(self.must_detect) and self.power.skip is None

    @property
    def detection(self) -> tuple[Any, ...]:
        """All that decides which planted leaks are noticed."""
        about = self.must_detect, self.power, self.trust, tuple(rule for rule in self.all_rules if rule.detects)
        return about if not self.small_tables else (*about, self.small_tables)

    def small_table(self, people: int | None) -> SmallTable | None:
        """Entry about tables made from so many people; None where there is none, or their number is not known."""
        found = [small for small in self.small_tables if people is not None and people < small.people]
        return min(found, key=lambda small: small.people, default=None)

    def demanded(self, people: int | None) -> dict[LeakName, float]:
        """Size of every leak that must be noticed in a table made from so many people."""
        small = self.small_table(people)
        sizes = self.must_detect | ({} if small is None else small.must_detect)
        return {kind: size for kind, size in sizes.items() if size is not None and kind in self.must_detect}

    @property
    def trust(self) -> TrustLeague | None:
        """The league, once it was read."""
        return self.league if isinstance(self.league, TrustLeague) else None

    def with_league(self, league: TrustLeague) -> Self:
        """The policy with a league's verdicts.

        On the metrics of rules that need trust alone.
        """
        asked = {name for rule in self.all_rules if (name := rule.metric_to_trust) is not None}
        return self.model_copy(update={"league": league.about(asked)})

    def without_detection(self) -> Self:
        """The policy without its demand that leaks be noticed."""
        return self.model_copy(update={"must_detect": {}})

    @property
    def sha256(self) -> str:
        """Of the policy's content.

        The same for the same rules, however the file is written; the default yearly budget is no part of it, nor are
        approvals that need no signature.
        """
        left_out = {"yearly_budget"} if self.yearly_budget == DEFAULT_BUDGET else set()
        left_out |= set() if self.small_tables else {"small_tables"}
        left_out |= set() if self.signed_approvals else {"signed_approvals"}
        text = json.dumps(self.model_dump(mode="json", exclude=left_out), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [rule.name for rule in self.all_rules]
        if not any(kind.judges_run for kind, _ in self.by_kind()):
            raise ValueError("a policy without rules about the run itself would let everything out")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"rules need different names; these are used twice: {', '.join(twice)}")
        problem = roster_problem(self.approvers, self.approvals)
        if problem:
            raise ValueError(problem)
        return self


if TYPE_CHECKING:

    class Policy(_PolicyHead):
        """All rules that a release must meet.

        One section per rule kind of the registry.
        """

        rules: tuple[MetricRule, ...] = ()

else:
    _sections = {
        kind.section: (tuple[kind.Options, ...], Field(default=(), description=kind.description))
        for kind in KINDS.values()
    }
    Policy = composed_options(
        "Policy", _PolicyHead, _sections, __name__, "All rules of a release, one section per rule kind."
    )


def packaged_policies() -> dict[str, Path]:
    """Files of the policies that come with the package, by name."""
    folder = Path(str(files("hybrid.publication").joinpath("policies")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def packaged_policy(name: str) -> Path | None:
    """Find a packaged policy by its name.

    None for a path, which has a folder or a suffix.

    Raises
    ------
    ConfigError
        A name, and no packaged policy has it.
    """
    if "/" in name or "\\" in name or Path(name).suffix:
        return None
    found = packaged_policies()
    if name not in found:
        raise ConfigError(
            f"policy: {name!r} is not a packaged policy",
            hint=f"use one of {', '.join(found)}, or write a file of your own as a path, such as policies/own.yaml",
        )
    return found[name]


def load_policy(path: Path | None = None) -> Policy:
    """Read a policy.

    Parameters
    ----------
    path : Path or None
        A YAML file. None: the packaged policy ``default``.

    Raises
    ------
    ConfigError
        The file is missing or not YAML, or holds unknown keys or limits that contradict each other; all problems
        at once. Its league is missing or none.
    """
    path = packaged_policies()["default"] if path is None else path
    policy = validated(Policy, read_yaml(path))
    if isinstance(policy.league, str):
        return policy.with_league(load_trust(path.parent / policy.league))
    return policy
