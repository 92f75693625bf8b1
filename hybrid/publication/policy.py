"""Policies: rules that release a table, review it or block it.

A policy is a YAML file with an owner and a version. Every rule has two limits: beyond ``review`` a person decides,
beyond ``block`` nothing is released.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from hybrid.base.config_files import MergedSource, Origins, YamlMapping, read_yaml, validated
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options, composed_options
from hybrid.evaluation.measure import Subject
from hybrid.evaluation.planted_leaks import LeakName
from hybrid.evaluation.trust import TrustLeague, load_trust
from hybrid.privacy.accounting import delta_of, rho_for
from hybrid.publication.approvers import Approver, check_roster
from hybrid.publication.criteria import QUESTIONS
from hybrid.publication.power import MustDetect, PowerOptions, SmallTable
from hybrid.publication.rules import KINDS
from hybrid.publication.rules.rule import PolicyRule, RuleKind

if TYPE_CHECKING:
    from hybrid.publication.rules.metric import MetricRule


YEAR = timedelta(days=365)
"""Time after which a draw no longer counts."""


NO_OWNER = "nobody yet"
"""Begin of the owner of a policy that has none: of every packaged one."""


class YearlyBudget(Options):
    """Most that private draws about the same people may spend yearly.

    Those of any 365 days count together.
    """

    epsilon: float | None = Field(default=None, gt=0)
    """Epsilon of all draws together, by zero-concentrated differential privacy; or set rho."""
    rho: float | None = Field(default=None, gt=0)
    """Sum of rho of all draws; or set epsilon."""
    delta: float = Field(default=1e-5, gt=0, lt=0.01)
    """Probability that the bound may fail, of all draws together. Beside rho: sum of the deltas that the search for
    categories spends."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("set epsilon or rho, one of both")
        return self

    def allows(self, rho: float, delta: float) -> bool:
        """True if draws that spend so much together stay within the budget.

        ``rho`` is their sum, ``delta`` the sum of the deltas that are spent beside it; 0 or more.
        """
        if self.rho is not None:
            return rho <= self.rho * (1 + 1e-9) and delta <= self.delta * (1 + 1e-9)
        assert self.epsilon is not None
        return delta + delta_of(rho, self.epsilon) <= self.delta * (1 + 1e-9)

    def left(self, rho: float, delta: float) -> float:
        """Largest rho that a further draw may spend, 0 or more.

        ``rho`` is the sum of the draws so far, ``delta`` that of the deltas beside it, the further draw's included.
        """
        if delta >= self.delta:
            return 0.0
        if self.rho is not None:
            return max(self.rho - rho, 0.0)
        assert self.epsilon is not None
        return max(rho_for(self.epsilon, self.delta - delta) - rho, 0.0)

    @property
    def words(self) -> str:
        limit = f"rho = {self.rho:g}" if self.rho is not None else f"epsilon = {self.epsilon:g}"
        return f"{limit} at delta = {self.delta:g} in 365 days"


DEFAULT_BUDGET = YearlyBudget(epsilon=10, delta=1e-5)
"""Yearly privacy budget of a policy that states none."""


class MockLimits(Options):
    """Mock tables that may leave without a review: those of `hybrid mock`, made without the records."""

    release: bool = True
    """Whether they may. false: a person decides about each."""
    epsilon: float = Field(default=0.1, ge=0)
    """Largest epsilon of their noisy histograms; 0: none with histograms may."""


class ProvenLeaks(Options):
    """Leaks that forbid a release together, though each of them alone is for a person to decide.

    A leak is proven where the low end of its interval, which holds for all rules of its kind together, is beyond what
    is allowed.
    """

    questions: int = Field(default=2, ge=1, le=len(QUESTIONS))
    """Of the questions about people (singling out, linkability, inference, membership, copies), on how many such a leak
    must be proven: one attack may have a quirk, attacks of several kinds have none in common."""
    times: float = Field(default=1.5, ge=1)
    """Times the limit for review that must be proven: in a large table the smallest excess is."""


class _PolicyHead(Options):
    """Name, owner and approvals of a policy.

    Its rule sections follow from the registry.
    """

    name: str = Field(min_length=1)
    """What the policy is called."""
    version: str = Field(min_length=1)
    """Changed by the owner with every change of a rule. In quotes, since 1.10 is not 1.1."""
    owner: str = Field(min_length=1)
    """Who answers for the limits. The packaged policies name no one, and the first page then asks for a name."""
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
    mock: MockLimits = MockLimits()
    """Which mock tables may leave without a review."""
    must_detect: MustDetect = Field(default_factory=dict)
    """Leaks that the verdict must notice to be a pass, each with its size: copy, near (numbers within 5 %, one category
    redrawn) and secrets (quasi-identifiers, secrets and targets) as shares of the released rows, exposed as a share of
    the most exposed 1 % of the people; group: true, everybody with one value of a quasi-identifier."""
    small_tables: tuple[SmallTable, ...] = ()
    """Leaks that need not be noticed in tables made from few people, which cannot show them. A pass then says in words
    what cannot be excluded. Empty: `must_detect` holds for every table."""
    proven_leaks: ProvenLeaks | None = None
    """When leaks forbid a release together: where it is proven on so many questions about people that attacks find so
    many times what the rules' limits for review allow. null: only a rule's own limit for block forbids."""
    power: PowerOptions = PowerOptions()
    """How it is tried whether the verdict would notice them."""
    league: TrustLeague | str | None = None
    """League of the laboratory that rules with `needs_trust` ask: path of a `league.json`, from the policy's folder. A
    run keeps its verdicts on their metrics with the policy."""

    @property
    def all_rules(self) -> tuple[PolicyRule, ...]:
        return tuple(rule for _, rule in self.by_kind())

    def by_kind(self) -> Iterator[tuple[RuleKind[Any], PolicyRule]]:
        for kind in KINDS.values():
            for rule in getattr(self, kind.section):
                yield kind, rule

    @property
    def stages(self) -> frozenset[Subject]:
        """Stages whose tables rules judge, or compare with: the released one, and those that rules name."""
        named = (getattr(rule, at, None) for rule in self.all_rules for at in ("stage", "other"))
        return frozenset(("synthetic", *(stage for stage in named if stage)))

    def restricted(self, kinds: Collection[RuleKind[Any]]) -> Self:
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
        return bool(self.must_detect) and self.power.skip is None

    @property
    def detection(self) -> tuple[Any, ...]:
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
        return self.league if isinstance(self.league, TrustLeague) else None

    def with_league(self, league: TrustLeague) -> Self:
        """The policy with a league's verdicts on the metrics of rules that need trust alone."""
        asked = {name for rule in self.all_rules if (name := rule.metric_to_trust) is not None}
        return self.model_copy(update={"league": league.about(asked)})

    def without_detection(self) -> Self:
        return self.model_copy(update={"must_detect": {}})

    @property
    def sha256(self) -> str:
        """SHA-256 of the policy's content: the same for the same rules, however the file is written.

        The default yearly budget is no part of it, nor are the default limits of mock tables, approvals that need no
        signature, and leaks that forbid nothing together.
        """
        left_out = {"yearly_budget"} if self.yearly_budget == DEFAULT_BUDGET else set()
        left_out |= set() if self.small_tables else {"small_tables"}
        left_out |= {"mock"} if self.mock == MockLimits() else set()
        left_out |= set() if self.proven_leaks else {"proven_leaks"}
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
        check_roster(self.approvers, self.approvals)
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
    """Find a packaged policy by its name; None for a path, which has a folder or a suffix."""
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
    """Read a policy, with the rules of those that it extends.

    Parameters
    ----------
    path : Path or None
        A YAML file. None: the packaged policy ``default``.

    Raises
    ------
    ConfigError
        The file, or one that it extends, is missing or not YAML, or holds unknown keys or limits that contradict each
        other; all problems at once. Policies extend each other in a circle. Its league is missing or none.
    """
    path = packaged_policies()["default"] if path is None else path
    policy = validated(Policy, read_policy(path))
    if isinstance(policy.league, str):
        return policy.with_league(load_trust(path.parent / policy.league))
    return policy


def read_policy(path: Path) -> YamlMapping:
    """Content of a policy file, in which ``extends`` was resolved.

    A file with ``extends: NAME`` (a packaged policy) or ``extends: PATH`` (from its own folder) states differences
    only: rules are merged by their names and mappings by their keys, null removes a rule or a section, and every other
    value replaces that of the parent. The keys of :data:`OWN_KEYS` are never inherited.

    Raises
    ------
    ConfigError
        A file is missing or not YAML, a name is unknown, policies extend each other, a rule that is removed or changed
        does not exist; with file and line.
    """
    return _resolved(path, ())


OWN_KEYS = ("name", "version", "owner", "description")
"""What a policy states for itself: whoever changes limits answers for them, under a name of their own."""
_SECTIONS = {kind.section for kind in KINDS.values()}


def _resolved(path: Path, children: tuple[Path, ...]) -> YamlMapping:
    content = read_yaml(path)
    if "extends" not in content:
        return content
    source, named = content.source, content["extends"]
    where = f"{source.at(('extends',))}: extends"
    if not isinstance(named, str):
        raise ConfigError(f"{where}: a name or a path was expected", hint="write extends: default")
    try:
        parent_path = packaged_policy(named) or path.parent / named
    except ConfigError as unknown:
        raise ConfigError(f"{where}: {named!r} is not a packaged policy", hint=unknown.problems[0].hint) from None
    children = (*children, path.resolve())
    if parent_path.resolve() in children:
        raise ConfigError(f"{where}: {named!r} extends this policy itself", hint="remove one of the two extends")
    if not parent_path.is_file():
        raise ConfigError(f"{where}: the file {named!r} does not exist", hint="write a path from this file's folder")
    parent = _resolved(parent_path, children)
    validated(Policy, parent)
    if isinstance(parent.get("league"), str):
        parent["league"] = str(parent_path.parent / parent["league"])
    return _merged(parent, content)


def _merged(parent: YamlMapping, content: YamlMapping) -> YamlMapping:
    """A parent's content with the differences that a file states; each value knows the file that it comes from."""
    inherited = {key: value for key, value in parent.items() if key not in OWN_KEYS}
    merged = {key: content[key] for key in OWN_KEYS if key in content} | inherited
    origins: Origins = {(key,): (parent.source, (key,)) for key in inherited}
    for key, value in content.items():
        if key == "extends":
            continue
        if key in _SECTIONS and value is not None:
            merged[key] = _merged_rules(key, parent, content, origins)
            continue
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            origins |= {(key, str(name)): (content.source, (key, str(name))) for name in value}
            value = merged[key] | value
        else:
            origins[key,] = content.source, (key,)
        merged[key] = () if key in _SECTIONS else value
    return YamlMapping(merged, MergedSource(content.source.name, content.source.lines, origins=origins))


def _merged_rules(section: str, parent: YamlMapping, content: YamlMapping, origins: Origins) -> list[Any]:
    """Rules of a section: those of the parent by name, changed, removed, and new ones after them."""
    rules = {}
    for place, rule in enumerate(parent.get(section, ())):
        rules[rule["name"]] = rule, _origins(parent, (section, str(place)), rule)
    for name, key, change in _changes(section, content):
        own = section, key
        where = f"{content.source.at(own)}: {section}"
        if name not in rules and (change is None or "reason" not in change):
            close = difflib.get_close_matches(name, rules, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "a new rule needs all its keys, a reason among them"
            raise ConfigError(f"{where}: the policy that this one extends has no rule {name!r}", hint=hint)
        if change is None:
            del rules[name]
        elif name in rules:
            rule, known = rules[name]
            rules[name] = rule | change, known | _origins(content, own, change)
        else:
            rules[name] = {"name": name} | change, _origins(content, own, change)
    for place, (_, known) in enumerate(rules.values()):
        origins |= {(section, str(place), *path): origin for path, origin in known.items()}
    return [rule for rule, _ in rules.values()]


def _origins(content: YamlMapping, path: tuple[str, ...], keys: Iterable[str]) -> Origins:
    return {tail: (content.source, (*path, *tail)) for tail in ((), *((key,) for key in keys))}


def _changes(section: str, content: YamlMapping) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Name, key and content of each rule of a section, a list or a mapping by name; None: it is removed."""
    rules, seen = content[section], set()
    items = rules.items() if isinstance(rules, dict) else enumerate(rules if isinstance(rules, list) else [rules])
    for key, change in items:
        name = str(key) if isinstance(rules, dict) else change.get("name") if isinstance(change, dict) else None
        where = f"{content.source.at((section, str(key)))}: {section}"
        if not isinstance(name, str) or not isinstance(change, dict | None):
            raise ConfigError(f"{where}: a rule was expected", hint="write the rule's name: {review: ..., block: ...}")
        if name in seen:
            raise ConfigError(f"{where}: the rule {name!r} is given twice", hint="remove one of the two")
        seen.add(name)
        yield name, str(key), change
