"""A policy: which numbers let a table out, which need a second look, which hold it back.

A policy is a YAML file with an owner and a version. Every rule has two limits: beyond ``review`` a person decides,
beyond ``block`` nothing is released.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from hybrid.base.config_files import read_yaml, validated
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options
from hybrid.evaluation.measure import Direction, Subject
from hybrid.publication.verdict import Status

Compare = Literal[
    "value",
    "low",
    "high",
    "difference_to_reference",
    "ratio_to_reference",
    "low_ratio_to_reference",
    "difference_to_stage",
]


class Rule(Options):
    """What every rule has: two limits, and the words around them."""

    name: str = Field(min_length=1)
    """What the rule is called in verdicts and certificates; unique in a policy."""
    review: float | None = Field(default=None, allow_inf_nan=False)
    """Beyond this a person decides. A number that equals a limit is within it."""
    block: float | None = Field(default=None, allow_inf_nan=False)
    """Beyond this nothing is released."""
    if_not_computable: Status = "block"
    """What follows where the number does not exist: pass (the rule does not apply then), review or block. A metric
    that failed or timed out is never passed: review at least."""
    reason: str = Field(min_length=1)
    """Why the rule exists, in one sentence."""
    hint: str = ""
    """What to try when the rule is not met."""

    @property
    def better(self) -> Direction:
        """Whether lower or higher numbers are better."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _limits_in_order(self) -> Self:
        if self.review is None and self.block is None:
            raise ValueError("a rule needs a limit: review, block or both")
        if self.review is not None and self.block is not None:
            stricter = self.review <= self.block if self.better == "lower" else self.review >= self.block
            if not stricter:
                side = "below" if self.better == "lower" else "above"
                raise ValueError(f"review must not be looser than block: {self.better} is better, so it lies {side}")
        return self


class MetricRule(Rule):
    """A limit on a metric of the evaluation."""

    metric: str
    """Name of the metric, as `hybrid metrics` lists it."""
    stage: Subject = "synthetic"
    """original | anonymized | synthetic | baseline."""
    column: str | None = None
    """The target or secret the metric is about. Not given: every one is checked."""
    direction: Direction
    """Whether lower or higher values of the metric are better; must be the metric's own."""
    compare: Compare = "value"
    """What the limits are about: the value; the low or high end of its interval; value - reference;
    value / reference; low end / reference; value - the same metric's value at the stage ``other``."""
    other: Subject | None = None
    """For difference_to_stage."""
    allowance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Values up to this pass whatever the reference is: a ratio of tiny numbers says little."""

    @property
    def better(self) -> Direction:
        """Whether lower or higher numbers are better."""
        return self.direction

    @property
    def is_ratio(self) -> bool:
        """Whether the limits are multiples of the reference."""
        return self.compare in ("ratio_to_reference", "low_ratio_to_reference")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if (self.compare == "difference_to_stage") != (self.other is not None):
            raise ValueError("other names the second stage of compare: difference_to_stage, and only of it")
        if self.allowance is not None and (not self.is_ratio or self.direction != "lower"):
            raise ValueError("allowance goes with a compare that is a ratio, and direction: lower")
        return self


class AnonymityRule(Rule):
    """A limit on the anonymized (intermediate) table."""

    quantity: Literal["k", "l", "suppressed_share"]
    """k: size of the smallest equivalence class; l: smallest l of the l-diversity models in force;
    suppressed_share: suppressed records / all records, 0..1."""
    if_not_computable: Status = "review"
    """What follows where nothing was anonymized, or (l) no l-diversity model was in force."""

    @property
    def better(self) -> Direction:
        """Whether lower or higher numbers are better."""
        return "lower" if self.quantity == "suppressed_share" else "higher"


class HistoryRule(Rule):
    """A limit on what a release gives away together with all earlier ones of its data set."""

    quantity: Literal["exposed_share", "smallest_joint_class"]
    """exposed_share: share (0..1) of the records whose joint class (:mod:`hybrid.publication.composition`) has fewer
    than k records; smallest_joint_class: records in the smallest."""
    if_not_computable: Status = "review"
    """What follows where an earlier release is not known record by record, or nothing was anonymized."""

    @property
    def better(self) -> Direction:
        """Whether lower or higher numbers are better."""
        return "lower" if self.quantity == "exposed_share" else "higher"


class Policy(Options):
    """All rules that a release must meet."""

    name: str = Field(min_length=1)
    """What the policy is called."""
    version: str = Field(min_length=1)
    """Changed by the owner with every change of a rule. In quotes, since 1.10 is not 1.1."""
    owner: str = Field(min_length=1)
    """Who answers for the limits."""
    description: str = ""
    """What the policy is for."""
    approvals: int = Field(default=1, ge=1, le=10)
    """How many people, by different names, must accept a review."""
    anonymity: tuple[AnonymityRule, ...] = ()
    """Rules about the anonymized table."""
    history: tuple[HistoryRule, ...] = ()
    """Rules about all releases together; applied when a run is published."""
    rules: tuple[MetricRule, ...] = ()
    """Rules about metrics."""

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """Every rule, those about the anonymized table first."""
        return (*self.anonymity, *self.history, *self.rules)

    @property
    def sha256(self) -> str:
        """Of the policy's content: the same for the same rules, however the file is written."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [rule.name for rule in self.all_rules]
        if not (self.anonymity or self.rules):
            raise ValueError("a policy without rules about the run itself would let everything out")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"rules need different names; these stand twice: {', '.join(twice)}")
        return self


def packaged_policies() -> dict[str, Path]:
    """Files of the policies that come with the package, by name."""
    folder = Path(str(files("hybrid.publication").joinpath("policies")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def packaged_policy(name: str) -> Path | None:
    """Find a packaged policy by its name; None for a path, which has a folder or a suffix.

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
        at once.
    """
    path = packaged_policies()["default"] if path is None else path
    return validated(Policy, read_yaml(path), str(path))
