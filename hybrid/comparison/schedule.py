"""Schedule of a comparison: all trials of a plan with their keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hybrid.base.hashing import code_version, fingerprint
from hybrid.comparison.expand import Configuration, Expansion, expand, shown
from hybrid.comparison.plan import ComparePlan
from hybrid.comparison.trial import Trial
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import retraining_seconds
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.risk import leak_of
from hybrid.pipeline.stages import BASELINE, TRADEOFF
from hybrid.synthesize.estimate import estimate
from hybrid.synthesize.protocol import Cost


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
        The generator that learns the table; empty where the configuration is not valid.
    cost : Cost or None
        An estimate of what that takes; None without a generator.
    retraining : float or None
        Seconds of one core for attacks that train the generator again, at the least; None without such attacks.
    """

    trial: Trial
    key: str
    stages: dict[str, str]
    generator: str
    cost: Cost | None = None
    retraining: float | None = None


@dataclass(frozen=True)
class Schedule:
    """Trials to run, as they were when the plan was expanded."""

    expansion: Expansion
    planned: tuple[Planned, ...]


def schedule(plan: ComparePlan, folder: Path) -> Schedule:
    """Every configuration with every seed, in the plan's order.

    With the keys of all stages.

    Raises
    ------
    HybridError
        The base configuration is wrong by itself, or its data cannot be read.
    """
    expansion = expand(plan, folder)
    pairs = [(configuration, seed) for configuration in expansion.configurations for seed in plan.seeds]
    return Schedule(expansion, planned_trials(pairs, write=plan.runs == "all"))


def planned_trials(pairs: Iterable[tuple[Configuration, int]], *, write: bool) -> tuple[Planned, ...]:
    """Trials of configurations and seeds, with the keys of all stages.

    Configurations with a table already read must share it.

    Parameters
    ----------
    pairs : iterable of (Configuration, int)
        What runs with which seed.
    write : bool
        Whether every trial leaves its folder.

    Raises
    ------
    HybridError
        The data of a configuration cannot be read.
    """
    read = _Read({}, {}, {})
    return tuple(_planned(configuration, seed, read, write) for configuration, seed in pairs)


def trials(plan: ComparePlan, folder: Path) -> list[Trial]:
    """Every configuration with every seed, in the order of the plan."""
    return [_trial(each, seed) for each in expand(plan, folder).configurations for seed in plan.seeds]


def _trial(configuration: Configuration, seed: int) -> Trial:
    factors = {name: shown(value) for name, value in configuration.factors.items()}
    order = configuration.research_order
    return Trial(
        configuration.name, factors, seed, configuration.config, configuration.problem, order, configuration.people
    )


@dataclass(frozen=True)
class _Read:
    """Fingerprints of what was read once for all configurations that share it."""

    data: dict[str, str]
    policies: dict[Path | None, str]
    costs: dict[str, Cost]


def _planned(configuration: Configuration, seed: int, read: _Read, write: bool) -> Planned:
    trial, config = _trial(configuration, seed), configuration.config
    if config is None:
        return Planned(trial, fingerprint(trial.head, trial.problem), {}, "")
    pipeline = trial.pipeline()
    source = _source(config)
    if source in read.data:
        pipeline.data_fingerprint = read.data[source]
    read.data[source] = pipeline.data_fingerprint
    if config.policy_path not in read.policies:
        read.policies[config.policy_path] = fingerprint(pipeline.policy)
    stages = {name: key for name, key in pipeline.keys.items() if write or name != TRADEOFF.name}
    policy = read.policies[config.policy_path]
    if trial.research_order:
        stages = {BASELINE.name: stages[BASELINE.name]}
    kept = write, sorted(stages.items()), trial.research_order
    key = fingerprint(code_version(), trial.head, config, policy, read.data[source], *kept)
    cost = _cost(pipeline, source, read.costs)
    again = None if cost is None else retraining_seconds(config, pipeline.train, cost)
    return Planned(trial, key, stages, config.synthesize.generator, cost, again)


def _cost(pipeline: Pipeline, source: str, known: dict[str, Cost]) -> Cost | None:
    if pipeline.config.synthesize.is_off or leak_of(pipeline.config.risk) is not None:
        return None
    key = fingerprint(source, pipeline.config.split)
    if key not in known:
        known[key] = estimate(pipeline.train, pipeline.config.synthesize)[0]
    return known[key]


def _source(config: RunConfig) -> str:
    """The same for configurations that read the same tables and hierarchies."""
    return fingerprint(config.data, config.anonymize is None, config.synthesize)
