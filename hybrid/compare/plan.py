"""The plan of a comparison: which configurations, with which seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from hybrid.options import Options
from hybrid.yaml_files import read_yaml, validated


class ComparePlan(Options):
    """What to compare: a run configuration, and the values to try for some of its keys."""

    version: Literal[1] = 1
    """Version of this format."""
    name: str = "comparison"
    """Title of the report."""
    base: str
    """The run configuration that everything else is taken from, relative to this file."""
    factors: dict[str, list[Any]] = Field(min_length=1)
    """Dotted keys of the run configuration, each with the values to try; every combination is one configuration."""
    seeds: tuple[int, ...] = Field(default=(1, 2, 3), min_length=1)
    """Every configuration runs once with each seed."""


@dataclass(frozen=True)
class Trial:
    """One configuration with one seed: one row of the comparison."""

    configuration: str
    factors: Mapping[str, Any]
    seed: int

    @property
    def folder(self) -> str:
        """Name of the trial's run folder."""
        return f"{self.configuration}-seed{self.seed}"

    def shown_factors(self) -> dict[str, Any]:
        """Factor values as they stand in a table: mappings and lists as one line of YAML."""
        return {name: _shown(value) for name, value in self.factors.items()}


def load_plan(path: Path) -> ComparePlan:
    """Read a comparison plan.

    Raises
    ------
    ConfigError
        The file is missing, malformed, or has unknown keys; all problems at once.
    """
    return validated(ComparePlan, read_yaml(path), str(path))


def trials(plan: ComparePlan) -> list[Trial]:
    """Every combination of the factors' values with every seed, in the order of the plan."""
    combinations = list(itertools.product(*plan.factors.values()))
    width = len(str(len(combinations)))
    return [
        Trial(f"c{i:0{width}d}", dict(zip(plan.factors, values, strict=True)), seed)
        for i, values in enumerate(combinations, start=1)
        for seed in plan.seeds
    ]


def _shown(value: Any) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).strip()
