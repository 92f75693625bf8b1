"""Plan of a comparison: factors, constraints, subset, seeds, budgets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from hybrid.analysis.results import MARGIN, Concern
from hybrid.base.config_files import read_yaml, validated
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options

S = TypeVar("S")
Margin = Annotated[float, Field(gt=0, le=1)]
Levels = list[Any] | dict[str, dict[str, Any]]
"""Values of one key; or names, each for the keys that it sets."""


class ExcludedCombinations(Options):
    """Combinations that make no sense."""

    drop: dict[str, Any] = Field(min_length=1)
    """Conditions that all hold for the combinations to leave out: a factor or any key of the run configuration, and
    its value, a list of values, or one of {at_least: x}, {at_most: x}, {not: value or list}."""
    because: str = Field(min_length=1)
    """The reason, as it is shown."""


class Subset(Options):
    """Some of all combinations."""

    n: int = Field(ge=1)
    """How many."""
    method: Literal["latin_hypercube", "random"] = "latin_hypercube"
    """latin_hypercube: every value of every factor equally often, as far as constraints allow; random: all
    combinations equally likely."""
    seed: int = Field(default=0, ge=0)
    """Decides which."""


class Scale(Options):
    """Changes of one budget in the plan."""

    base: str | None = None
    """Another run configuration, relative to the plan's file."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Dotted keys of the run configuration, added to the plan's own ``set``."""
    factors: dict[str, Levels] = Field(default_factory=dict)
    """Factors with other values."""
    configurations: list[dict[str, Any]] = Field(default_factory=list)
    """Instead of all factors: the configurations one by one, as in the plan itself."""
    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Other seeds."""
    subset: Subset | None = None
    """Another subset."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.configurations and (self.factors or self.subset is not None):
            raise ValueError("configurations take the place of factors and subset: set only one of them")
        return self


class ComparePlan(Options):
    """Plan of a comparison: a run configuration, and values to try for some of its keys."""

    version: Literal[1] = 1
    """Version of this format."""
    name: str = "comparison"
    """Title of the report."""
    base: str
    """The run configuration that everything else is taken from, relative to this file."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Dotted keys of the run configuration with the value they have throughout."""
    factors: dict[str, Levels] = Field(default_factory=dict)
    """What is varied; every combination is one configuration. A dotted key with a list of values, or a name of your
    own with named levels, each a mapping of dotted keys to values."""
    configurations: list[dict[str, Any]] = Field(default_factory=list)
    """Instead of factors: the configurations one by one, each a mapping of dotted keys to values."""
    subset: Subset | None = None
    """Not all combinations, but so many of them."""
    constraints: tuple[ExcludedCombinations, ...] = ()
    """Combinations that are left out, with the reason."""
    seeds: tuple[int, ...] = Field(default=(1, 2, 3), min_length=1)
    """Every configuration runs once with each seed."""
    scale: str | None = None
    """Which of the scales applies; none: the plan without one."""
    scales: dict[str, Scale] = Field(default_factory=dict)
    """Budgets by name."""
    margin: float = Field(default=MARGIN, gt=0, le=1)
    """Largest difference of a metric that counts as none, in the metric's unit: shares and risks have a range of 1. For
    the verdict on the transition paradox, and for every concern without a margin of its own."""
    prefer: dict[Concern, Margin | None] = Field(default_factory=dict)
    """Your concerns in your order, the first one first, each with the largest lag behind the best that you accept:
    `{privacy: 0.01, usefulness: 0.05, closeness: 0.05}`. Without a number: `margin`. Concerns that you leave out follow
    in the order usefulness, privacy, closeness. What the gate says comes before all of them."""
    research: bool = False
    """Whether configurations may state an order of stages that no release may have: `stages: [synthesize, anonymize,
    transition]`, the generator first. They are measured, never released: needs `runs: none`, and recommends nothing."""
    runs: Literal["all", "none"] = "all"
    """Whether every run leaves its folder with the synthetic table and its report."""
    store: str | None = None
    """Where stage results are kept: a folder, an address such as s3://bucket/folder, or memory. Not given: a private
    folder beside the results, removed at the end."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.factors) == bool(self.configurations):
            raise ValueError("set factors or configurations, and not both")
        if self.configurations and self.subset is not None:
            raise ValueError("a subset is one of all combinations of factors: leave out subset, or configurations")
        empty = [name for name, levels in self.factors.items() if not levels]
        if empty:
            raise ValueError(f"factors without a value: {', '.join(empty)}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is listed twice")
        if self.research and self.runs != "none":
            raise ValueError("research: true measures tables that no release may have: set runs: none")
        return self

    @property
    def margins(self) -> dict[Concern, float]:
        """Concerns that the plan names in its order, with their margins."""
        return {concern: self.margin if own is None else own for concern, own in self.prefer.items()}

    @property
    def factor_names(self) -> list[str]:
        """The columns of the results that say what was varied."""
        return list(self.factors) or list(dict.fromkeys(key for settings in self.configurations for key in settings))


def load_plan(path: Path, scale: str | None = None) -> ComparePlan:
    """Read a comparison plan.

    ``scale`` is the budget, instead of the plan's own choice. All problems of the file are named at once.
    """
    plan = validated(ComparePlan, read_yaml(path))
    name = plan.scale if scale is None else scale
    if name is None:
        return plan
    return _scaled(plan, chosen_scale(path, plan.scales, name)).model_copy(update={"scale": name})


def chosen_scale(path: Path, scales: Mapping[str, S], name: str) -> S:
    """The budget of this name."""
    if name not in scales:
        known = ", ".join(scales) or "none is defined"
        raise ConfigError(f"{path}: there is no scale {name!r}", hint=f"one of: {known}")
    return scales[name]


def _scaled(plan: ComparePlan, scale: Scale) -> ComparePlan:
    listed = bool(scale.configurations)
    return plan.model_copy(
        update={
            "base": scale.base or plan.base,
            "set": plan.set | scale.set,
            "factors": {} if listed else plan.factors | scale.factors,
            "configurations": [] if scale.factors else scale.configurations or plan.configurations,
            "seeds": scale.seeds or plan.seeds,
            "subset": None if listed else scale.subset or plan.subset,
        }
    )


LONGEST_PART, LONGEST_FOLDER = 40, 80
"""Most characters of one level in a name, and of a name in a folder's."""
AS_THE_BASE = "as the base"
"""Name of a configuration where nothing differs."""
ITSELF = ("method", "generator", "model", "type")
"""Keys whose value says by itself what it is: tree, cart."""
SAID = {
    ("transition.order", "pre"): "before",
    ("transition.order", "post"): "after",
    ("sample.method", "none"): "no sample",
    ("synthesize.generator", "none"): "no generator",
}
"""Levels that are said otherwise than ``key value``; before and after are about the generator."""


def named(combinations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of combinations of a plan: the levels of the factors that differ, in the plan's order.

    Combinations have levels by factor, in the plan's order; a factor that is not there is as the base has it. A level
    is a value of the key that the factor is called after, or the name of a level.

    The names ("k 10, tree, cart, before") are all different, also as names of folders; where two were the same, the
    later one has a number.
    """
    factors = list(dict.fromkeys(factor for each in combinations for factor in each))
    levels = {factor: {repr(each[factor]) if factor in each else "" for each in combinations} for factor in factors}
    differing = [factor for factor in factors if len(levels[factor]) > 1]
    said = ([_part(factor, each[factor]) for factor in differing if factor in each] for each in combinations)
    return list(_unique([", ".join(parts) or AS_THE_BASE for parts in said]))


def folder_name(name: str) -> str:
    """A configuration's name as that of a folder: letters, digits and hyphens."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:LONGEST_FOLDER].strip("-.") or "configuration"


def _part(factor: str, level: Any) -> str:
    key = factor.rpartition(".")[2].replace("_", " ")
    if (factor, level) in ((known, value) for known, value in SAID):
        return SAID[factor, level]
    text = _text(level)
    if level is None:
        text = f"no {key}"
    elif not isinstance(level, str | Mapping) or (("." in factor) and key not in ITSELF):
        text = f"{key} {text}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_PART else f"{text[: LONGEST_PART - 1].rstrip()}…"


def _text(level: Any) -> str:
    """A level in a few words; of a mapping the keys with their values, the one that names it first and alone."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, Mapping):
        return " ".join(_text(value) if key in ITSELF else f"{key} {_text(value)}" for key, value in level.items())
    if isinstance(level, list | tuple):
        return " ".join(_text(value) for value in level)
    return f"{level:g}" if isinstance(level, float) else str(level)


def _unique(names: Sequence[str]) -> Iterator[str]:
    taken: set[str] = set()
    for name in names:
        found, again = name, 1
        while folder_name(found).lower() in taken:
            again += 1
            found = f"{again}: {name}"
        taken.add(folder_name(found).lower())
        yield found
