"""The trials of a plan, and what each of them depends on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybrid.compare.configurations import Configuration, Expansion, expand, shown
from hybrid.compare.plan import ComparePlan
from hybrid.compare.trial import Trial
from hybrid.config import RunConfig
from hybrid.fingerprint import code_version, fingerprint
from hybrid.pipeline import Walk


@dataclass(frozen=True)
class Planned:
    """A trial before it runs.

    Parameters
    ----------
    trial : Trial
    key : str
        Of its row: all that the row depends on.
    stages : dict
        The keys of its stages; equal keys are computed once.
    generator : str
        Who learns the table.
    problem : str
        Why it cannot run; empty if it can.
    """

    trial: Trial
    key: str
    stages: dict[str, str]
    generator: str
    problem: str = ""


@dataclass(frozen=True)
class Schedule:
    """Everything that is to be run."""

    expansion: Expansion
    planned: tuple[Planned, ...]


def schedule(plan: ComparePlan, folder: Path) -> Schedule:
    """Every configuration with every seed, in the order of the plan, and the keys of all stages.

    Raises
    ------
    HybridError
        The base configuration is wrong by itself, or its data cannot be read.
    """
    expansion = expand(plan, folder)
    data: dict[str, str] = {}
    planned = [
        _planned(configuration, seed, data, write=plan.runs == "all")
        for configuration in expansion.configurations
        for seed in plan.seeds
    ]
    return Schedule(expansion, tuple(planned))


def trials(plan: ComparePlan, folder: Path) -> list[Trial]:
    """Every configuration with every seed, in the order of the plan."""
    return [_trial(each, seed) for each in expand(plan, folder).configurations for seed in plan.seeds]


def _trial(configuration: Configuration, seed: int) -> Trial:
    factors = {name: shown(value) for name, value in configuration.factors.items()}
    return Trial(configuration.name, factors, seed, configuration.settings)


def _planned(configuration: Configuration, seed: int, data: dict[str, str], write: bool) -> Planned:
    trial, config = _trial(configuration, seed), configuration.config
    if config is None:
        key = fingerprint(trial.head, configuration.problem)
        return Planned(trial, key, {}, "", configuration.problem)
    walk = Walk(config, seed)
    source = _source(config)
    if source in data:
        walk.data_fingerprint = data[source]
    data[source] = walk.data_fingerprint
    stages = {name: key for name, key in walk.keys.items() if write or name != "tradeoff"}
    key = fingerprint(code_version(), trial.head, config, walk.policy, write, sorted(stages.items()))
    return Planned(trial, key, stages, config.synthesize.generator)


def _source(config: RunConfig) -> str:
    """The same for configurations that read the same tables and hierarchies."""
    return fingerprint(config.data, config.anonymize is None, config.synthesize)
