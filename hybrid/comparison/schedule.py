"""Schedule of a comparison: configurations of its plan, and all their trials with their keys and expected costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from hybrid.base.config_files import read_yaml
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import code_version, fingerprint
from hybrid.base.sentence import sentence
from hybrid.base.yaml_document import value_at
from hybrid.comparison.plan import ComparePlan, ExcludedCombinations, Subset, named
from hybrid.comparison.trial import REST, Configuration, Trial, research_problem, shown, without_research_order
from hybrid.evaluation.measure import Subject
from hybrid.evaluation.price import price, training_price
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.evaluation_price import REPEATED, judged_sizes, retraining_seconds
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.pipeline import Pipeline, split_step, stage_of, step_of
from hybrid.pipeline.risk import leak_of
from hybrid.pipeline.stages import ANONYMIZE, BASELINE, SYNTHESIZE, TRADEOFF, evaluation_of, subject_of
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import asked
from hybrid.synthesize.estimate import estimate, slowness
from hybrid.synthesize.protocol import Cost

MOST = 100_000
"""More combinations than this are refused without a subset."""
ROUNDS = 50
"""A subset is given up as complete after so many rounds of draws without a new combination."""
COMPARISONS = {"at_least", "at_most", "not"}


@dataclass(frozen=True)
class LeftOut:
    """A combination that is not run, and why."""

    factors: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class Expansion:
    """All configurations of a plan, and what was left out."""

    configurations: tuple[Configuration, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Combination:
    """One level of every factor: their positions and names, and the keys that they set."""

    order: tuple[int, ...]
    factors: dict[str, Any]
    settings: dict[str, Any]


def expand(plan: ComparePlan, folder: Path) -> Expansion:
    """The configurations of a plan in its order; ``plan.base`` is relative to ``folder``.

    Left out, with the reason, are combinations that a constraint drops or that run the same as an earlier one.
    """
    base = folder / plan.base
    content = read_yaml(base)
    configured(content, plan.set, base)
    kept: list[tuple[Combination, RunConfig | None, str, tuple[str, ...]]] = []
    left_out: list[LeftOut] = []
    seen: dict[str, Combination] = {}
    for combination in combinations(plan):
        settings, order = without_research_order(plan, combination.settings)
        config, problem = _configured(content, settings, base, order)
        reason = _dropped(plan.constraints, combination, config, content)
        key = fingerprint(combination.settings) if config is None else fingerprint(identity(config), order)
        if not reason and key in seen:
            reason = _same(combination, seen[key])
        if reason:
            left_out.append(LeftOut(combination.factors, reason))
            continue
        seen[key] = combination
        kept.append((combination, config, problem, order))
        if plan.subset is not None and len(kept) == plan.subset.n:
            break
    kept.sort(key=lambda item: item[0].order)
    # Of configurations one by one, a key that one of them does not set is as in the base.
    names = named(
        [{key: each.factors[key] for key in each.factors if plan.factors or key in each.settings} for each, *_ in kept]
    )
    return Expansion(
        tuple(
            Configuration(name, each.factors, config, problem, order)
            for name, (each, config, problem, order) in zip(names, kept, strict=True)
        ),
        tuple(left_out),
    )


def combinations(plan: ComparePlan) -> Iterator[Combination]:
    """All combinations of a plan's levels in its order, or those of its subset, which come in random order."""
    if plan.configurations:
        for i, settings in enumerate(plan.configurations):
            factors = {name: settings.get(name) for name in plan.factor_names}
            yield Combination((i,), factors, plan.set | settings)
        return
    levels = {
        factor: list(values.items()) if isinstance(values, dict) else [(value, {factor: value}) for value in values]
        for factor, values in plan.factors.items()
    }
    sizes = [len(values) for values in levels.values()]
    if plan.subset is None and math.prod(sizes) > MOST:
        raise ConfigError(
            f"the factors have {math.prod(sizes):,} combinations", hint="subset: {n: 200} runs some of them"
        )
    orders = itertools.product(*map(range, sizes)) if plan.subset is None else _drawn(sizes, plan.subset)
    for order in orders:
        chosen = [values[i] for values, i in zip(levels.values(), order, strict=True)]
        settings = dict(plan.set)
        for _, changes in chosen:
            settings |= changes
        yield Combination(order, dict(zip(levels, (name for name, _ in chosen), strict=True)), settings)


def _drawn(sizes: Sequence[int], subset: Subset) -> Iterator[tuple[int, ...]]:
    """Distinct combinations in random order: balanced designs one after the other, or independent draws.

    In a Latin hypercube of n points (McKay, Beckman and Conover 1979) each value of a factor occurs about equally
    often.
    """
    rng = np.random.default_rng(subset.seed)
    seen: set[tuple[int, ...]] = set()
    idle = 0
    while len(seen) < math.prod(sizes) and idle < ROUNDS:
        if subset.method == "latin_hypercube":
            columns = [rng.permutation(subset.n) * size // subset.n for size in sizes]
            columns = [(column + rng.integers(size)) % size for column, size in zip(columns, sizes, strict=True)]
        else:
            columns = [rng.integers(size, size=subset.n) for size in sizes]
        new = [point for point in dict.fromkeys(zip(*(c.tolist() for c in columns), strict=True)) if point not in seen]
        idle = 0 if new else idle + 1
        seen.update(new)
        yield from new


def _configured(
    content: Mapping[str, Any], settings: Mapping[str, Any], base: Path, order: Sequence[str]
) -> tuple[RunConfig | None, str]:
    try:
        config = configured(content, settings, base)
    except ConfigError as error:
        return None, str(error)
    problem = research_problem(config, order) if order else ""
    return (None, problem) if problem else (config, "")


def _dropped(
    constraints: Sequence[ExcludedCombinations],
    combination: Combination,
    config: RunConfig | None,
    content: Mapping[str, Any],
) -> str:
    resolved = content if config is None else config.model_dump(mode="json")

    def value(key: str) -> Any:
        for known in (combination.factors, combination.settings):
            if key in known:
                return known[key]
        return value_at(resolved, key.split("."))

    for constraint in constraints:
        if all(_holds(value(key), wanted) for key, wanted in constraint.drop.items()):
            return constraint.because
    return ""


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and wanted and set(wanted) <= COMPARISONS:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (
            ("at_least" not in wanted or (number and value >= wanted["at_least"]))
            and ("at_most" not in wanted or (number and value <= wanted["at_most"]))
            and ("not" not in wanted or not _holds(value, wanted["not"]))
        )
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def identity(config: RunConfig) -> str:
    """The same for configurations that run the same."""
    return fingerprint(config.model_dump(mode="json") | {"sample": config.sample.effective})


def _same(combination: Combination, earlier: Combination) -> str:
    factors = earlier.factors
    differing = (name for name, value in combination.factors.items() if value != factors[name])
    like = tuple(f"{name} = {shown(factors[name])}" for name in differing)
    return sentence("compared.same", settings=like) if like else "listed twice"


JUDGED = evaluation_of("synthetic")
REST_SECONDS = 0.4
"""Seconds of one core for what is no kept stage of a trial: reading, verdict, report and files."""


@dataclass(frozen=True)
class TrialCost:
    """Estimated cost of one trial on one core."""

    seconds: Mapping[str, float]
    """By step, as in the keys of a run."""
    memory_bytes: int = 0
    """Most memory of one training; 0 without a generator."""
    repeats: str = ""
    """Step whose attacks train the generator again, so that its time is that of the generator; empty without such
    attacks."""


def trial_cost(run: Pipeline, steps: Iterable[str]) -> TrialCost:
    """Estimate the cost of a run that is only compared."""
    config = run.config
    learns = not (config.synthesize.is_off or leak_of(config.risk) is not None)
    trainings = {name: estimate(table.train, config.synthesize)[0] for name, table in run.tables.items() if learns}
    seconds: dict[str, float] = {}
    for step in steps:
        name, stage = split_step(step)
        table = run.tables[name]
        seconds[step] = _seconds(table, stage, trainings.get(name))
    repeats = step_of(run.config.links.person, JUDGED)
    again = retraining_seconds(config, run.person.train, _of_all(trainings)) if trainings else None
    if again is None or repeats not in seconds:
        repeats = ""
    else:
        seconds[repeats] += again
    seconds[REST] = REST_SECONDS * slowness()
    return TrialCost(seconds, max((cost.memory_bytes for cost in trainings.values()), default=0), repeats)


def _of_all(trainings: Mapping[str, Cost]) -> Cost:
    return Cost(sum(cost.seconds for cost in trainings.values()), max(cost.memory_bytes for cost in trainings.values()))


def _seconds(table: TableRun, stage: str, training: Cost | None) -> float:
    folds = table.config.split.folds if table.config.split.is_crossed else 0
    judged = subject_of(stage)
    if judged is not None:
        return _evaluation(table, judged, folds) * slowness()
    if stage in (SYNTHESIZE.name, BASELINE.name):
        return (folds + 1) * (0.0 if training is None else training.seconds)
    cells = len(table.train) * len(table.train.schema) if stage == ANONYMIZE.name else 0
    return (folds + 1) * (REPEATED[0] + REPEATED[1] * cells) * slowness()


def _evaluation(table: TableRun, judged: Subject, folds: int) -> float:
    options = table.assessment.measured_alone
    sizes, _ = judged_sizes(table.config.split, options, table.train, table.control)
    metrics = asked(None, options)
    first = next(subject for subject in get_args(Subject) if evaluation_of(subject) in table.keys)
    encoders = training_price(sizes, options) if any("encoder" in metric.needs for metric in metrics) else 0.0
    each = sum(price(metric, sizes, options, first=judged == first) for metric in metrics)
    return max(folds, 1) * (each + encoders)


@dataclass(frozen=True)
class Planned:
    """A trial before it runs."""

    trial: Trial
    key: str
    """Of its row: all that the row depends on."""
    stages: dict[str, str]
    """The keys of its stages; equal keys are computed once."""
    cost: TrialCost = field(default_factory=lambda: TrialCost({}))

    @property
    def generator(self) -> str:
        """The generator that learns the table; empty where the configuration is not valid."""
        return "" if self.trial.config is None else self.trial.config.synthesize.generator


@dataclass(frozen=True)
class Schedule:
    """Trials to run, as they were when the plan was expanded."""

    expansion: Expansion
    planned: tuple[Planned, ...]


def schedule(plan: ComparePlan, folder: Path) -> Schedule:
    """Every configuration with every seed, in the plan's order, with the keys of all stages."""
    expansion = expand(plan, folder)
    pairs = [(configuration, seed) for configuration in expansion.configurations for seed in plan.seeds]
    return Schedule(expansion, planned_trials(pairs, write=plan.runs == "all"))


def planned_trials(pairs: Iterable[tuple[Configuration, int]], *, write: bool) -> tuple[Planned, ...]:
    """Trials of configurations (those with a table already read share it) and seeds, with the keys of all stages."""
    read = _Read({}, {}, {}, {})
    return tuple(_planned(configuration, seed, read, write) for configuration, seed in pairs)


@dataclass(frozen=True)
class _Read:
    """Fingerprints, linked tables and costs of training, read once for all configurations that share them."""

    data: dict[str, str]
    policies: dict[Path | None, str]
    costs: dict[str, TrialCost]
    linked: dict[str, Sources]


def _planned(configuration: Configuration, seed: int, read: _Read, write: bool) -> Planned:
    trial, config = Trial.of(configuration, seed), configuration.config
    if config is None:
        return Planned(trial, fingerprint(trial.head, trial.problem), {})
    run = trial.run()
    source = _source(config)
    _share(run, source, read)
    if config.policy_path not in read.policies:
        read.policies[config.policy_path] = fingerprint(run.policy)
    stages = {name: key for name, key in run.keys.items() if write or stage_of(name) != TRADEOFF.name}
    policy = read.policies[config.policy_path]
    if trial.research_order:
        stages = {BASELINE.name: stages[BASELINE.name]}
    kept = write, sorted(stages.items()), trial.research_order
    key = fingerprint(code_version(), trial.head, config, policy, read.data[source], *kept)
    priced = fingerprint(source, config.split, config.evaluate, sorted(stages))
    if priced not in read.costs:
        read.costs[priced] = trial_cost(run, stages)
    return Planned(trial, key, stages, read.costs[priced])


def _share(run: Pipeline, source: str, read: _Read) -> None:
    """Let a run take what an earlier one has read of the same tables, or keep it for later ones."""
    if run.config.is_linked:
        if source in read.linked:
            run.sources = read.linked[source]
        read.linked[source] = run.sources
    if source in read.data:
        (run if run.config.is_linked else run.person).data_fingerprint = read.data[source]
    read.data[source] = run.data_fingerprint


def _source(config: RunConfig) -> str:
    """The same for configurations that read the same tables and hierarchies."""
    return fingerprint(config.sources, config.links, config.anonymize is None, config.synthesize)
