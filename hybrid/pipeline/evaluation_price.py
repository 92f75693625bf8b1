"""Price of a configuration's evaluation, and seconds of its stages, before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hybrid.base.errors import Finding
from hybrid.base.resources import cores
from hybrid.base.rng import rng_for
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.attacks.retraining import most_rows, trainings
from hybrid.evaluation.context import most_asked
from hybrid.evaluation.options import EvaluateOptions, RetrainOptions
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.evaluation.price import Sizes, price, sizes_of, total_price
from hybrid.evaluation.registry import REGISTRY
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.power import trials_for
from hybrid.pipeline.stages import (
    ANONYMIZE,
    BASELINE,
    EVALUATE,
    FILTER,
    POWER,
    PROTECT,
    SAMPLE,
    STAGES,
    SYNTHESIZE,
    TRADEOFF,
    TRANSITION,
)
from hybrid.publication.asked import asked
from hybrid.publication.policy import Policy, load_policy
from hybrid.synthesize.estimate import SLOW_SECONDS, estimate, in_words, reference_cost, slowness
from hybrid.synthesize.protocol import Cost
from hybrid.table import Table
from hybrid.table.persons import n_persons
from hybrid.table.split import SplitOptions, split

MOST_SECONDS = 600.0
"""Seconds of one core that trainings of a generator may take for an attack that nobody asked for."""
REPEATED = 0.05, 5e-6
"""Seconds to protect, anonymize, restore and observe a table, and more of them per cell."""
STARTED = 4.0
"""Seconds to start the process of a generator of another package."""
_MANY_SECRETS = 50
"""Columns, all of which are attacked where no secret is named, that are many."""


class EvaluationSeconds(NamedTuple):
    """Forecast seconds of one core here: of the metrics, of planted leaks, and to repeat the whole process."""

    measured: float
    planted: float
    repeated: float

    @property
    def words(self) -> tuple[str, ...]:
        """Its parts, without leaks and repetitions that take no time."""
        measured = sentence("check.measuring.metrics", time=in_words(self.measured))
        seldom = {"check.measuring.leaks": self.planted, "check.measuring.repeats": self.repeated}
        return measured, *(sentence(name, time=in_words(seconds)) for name, seconds in seldom.items() if seconds)


def evaluation_seconds(config: RunConfig, policy: Policy, train: Table, sizes: Sizes) -> EvaluationSeconds:
    """Forecast of the evaluation's time, of all folds together."""
    options, folds = config.evaluate, config.split.folds if config.split.is_crossed else 1
    judged = _judged(config)
    decisive = sum(stage in policy.stages for stage in judged)
    metrics, people = asked(policy, options), train.without_identifiers()
    repeats = any("trainings" in metric.needs for metric in metrics) and not untried(config, people)
    measured = total_price(metrics, sizes, options, len(judged))
    measured += (folds - 1) * total_price(metrics, sizes, options, decisive)
    return EvaluationSeconds(
        measured * slowness(),
        folds * planted_price(policy, sizes, config) * slowness() if options.power and policy.plants_leaks else 0.0,
        repeated_seconds(config, RetrainOptions(), people) * slowness() if repeats else 0.0,
    )


def judged_sizes(
    split: SplitOptions, options: EvaluateOptions, train: Table, control: Table | None
) -> tuple[Sizes, tuple[int, int, int]]:
    """Sizes of the tables that are judged, of one fold where the control is crossed, and their numbers of rows."""
    rows = len(train), 0 if control is None else len(control), len(train)
    if split.is_crossed:
        apart = len(train) // split.folds
        rows = len(train) - apart, apart, len(train) - apart
    return sizes_of(train.schema.without_identifiers(), rows, options), rows


def _judged(config: RunConfig) -> list[str]:
    there = {"anonymized": config.transition is not None, "synthetic": True}
    return [*(stage for stage, judged in there.items() if judged), *_compared(config)]


def _compared(config: RunConfig) -> list[str]:
    there = {"original": config.evaluate.original, "baseline": config.has_baseline}
    return [stage for stage, judged in there.items() if judged]


def foreseen_evaluation(config: RunConfig, policy: Policy, train: Table, control: Table | None) -> Iterator[Finding]:
    """Forecast of the evaluation's time.

    The policy says what is measured, too, and which leaks are planted, and how often. Attacks that train the generator
    again are reported on their own.
    """
    options, compared = config.evaluate, _compared(config)
    folds = config.split.folds if config.split.is_crossed else 1
    sizes, rows = judged_sizes(config.split, options, train, control)
    foreseen = evaluation_seconds(config, policy, train, sizes)
    seconds = sum(foreseen)
    if config.split.is_crossed:
        yield Finding("note", sentence("check.crossed", n=folds, apart=rows[1]))
    everything = (
        len(train.schema.without_identifiers()) if options.secrets is None and not train.schema.sensitive else 0
    )
    ways = sentences(
        sentence("check.secrets", n=everything) if everything > _MANY_SECRETS else "",
        sentence("check.compared", keys=tuple(f"evaluate.{one}" for one in compared)) if compared else "",
        between="further",
    )
    yield Finding(
        "note",
        sentence("check.measuring", time=in_words(seconds), parts=foreseen.words, n=cores()),
        ways if seconds > SLOW_SECONDS else "",
    )
    limit = most_asked(options.max_records, *rows)
    if limit is not None and limit < max(rows):
        yield Finding(
            "note",
            sentence("check.asked", n=limit, rows=max(rows)),
            "evaluate.max_records: null makes them target all records",
        )


def retraining_seconds(config: RunConfig, train: Table, cost: Cost) -> float | None:
    """Least seconds of one core for attacks that retrain the generator, of a run that is only compared.

    None where none does. Protection, anonymization and transition, which every training repeats, come on top.
    """
    if not len(train):
        return None
    count, rows = trainings_of(config, None, train)
    return count * cost.seconds * min(rows / len(train), 1.0) if count else None


def trainings_of(config: RunConfig, policy: Policy | None, train: Table) -> tuple[int, int]:
    """Trainings of attacks that train the generator again, and most records of one; none without such attacks."""
    options = config.evaluate.retrain
    if options is None:
        return 0, 0
    schema, metrics = train.schema.without_identifiers(), asked(policy, config.evaluate)
    secrets = config.evaluate.secrets or schema.sensitive or schema.targets
    return trainings(options, metrics, len(secrets)) * len(options.stages), most_rows(options, metrics)


def untried(config: RunConfig, *tables: Table) -> str:
    """Reason to repeat the whole process only if ``evaluate.retrain`` asks for it; empty if there is none.

    The time is that of the machine that generators state their cost for, so that it is the same everywhere.
    ``tables``: the training records; of linked tables those of each, the person table first.
    """
    if config.privacy is not None:
        return "differential privacy bounds what one person changes"
    if config.risk is not None:
        return "risk says what the generator learns"
    seconds = repeated_seconds(config, RetrainOptions(), *tables)
    if seconds <= MOST_SECONDS:
        return ""
    count, generator = RetrainOptions().halves, config.synthesize.generator
    return f"{count} trainings of {generator} would take {in_words(seconds)} of one core or more"


def repeated_seconds(config: RunConfig, options: RetrainOptions, *tables: Table) -> float:
    """Seconds of one core to repeat the whole process on all halves of the pool, on the reference machine.

    ``tables`` as for :func:`untried`.
    """
    people, *below = tables
    share = min(options.pool // 2 / max(n_persons(people), 1), 0.5)
    summed_up = share * len(people) * sum(2 * len(table.schema) + 1 for table in below)
    once = sum(_repeated_once(config, table, share) for table in tables)
    return options.halves * (once + REPEATED[1] * summed_up)


def _repeated_once(config: RunConfig, train: Table, share: float) -> float:
    each = REPEATED[0] + REPEATED[1] * share * len(train) * len(train.schema)
    if config.synthesize.is_off or not len(train):
        return each
    sampled = share * config.sample.effective.beta
    learned = sampled * reference_cost(train, config.synthesize)[0].seconds
    return each + max(learned, STARTED if config.synthesize.engine.requires else 0.0)


def planted_price(policy: Policy, sizes: Sizes, config: RunConfig) -> float:
    """Most seconds of one core for the trials with planted leaks: all metrics that see a leak, in every trial."""
    trials = trials_for(policy.power.trials, sizes.table)
    judged = {rule.metric for rule in policy.rules if rule.detects}
    ways = (way for leak in policy.must_detect for way in LEAKS[leak].ways)
    seen = (name for way in ways for name in way.seen_by if name in judged)
    return trials * sum(price(REGISTRY[name], sizes, config.evaluate, first=False) for name in seen)


def configured_stages(config: RunConfig) -> tuple[str, ...]:
    """Names of the stages that a configuration has, in their order."""
    has = {
        PROTECT: config.protection is not None,
        ANONYMIZE: config.anonymize is not None,
        TRADEOFF: config.has_tradeoff,
        SAMPLE: config.anonymize is not None,
        TRANSITION: config.transition is not None,
        SYNTHESIZE: not config.synthesize.is_off,
        FILTER: config.synthesize.filter is not None,
        BASELINE: config.has_baseline,
        POWER: config.evaluate.power and load_policy(config.policy_path).plants_leaks,
    }
    return tuple(stage.name for stage in STAGES if has.get(stage, True))


def stage_seconds(config: RunConfig, whole: Table) -> Mapping[str, float]:
    """Forecast of the stages that take most of a run's time.

    Seconds here, by stage: to train the generator, also on the originals, to evaluate on all cores, and to plant leaks.
    The other stages are short beside them, and are left out.
    """
    table = whole.without_left_out()
    parts = split(table, config.split, rng_for(0, "split"), config.data.person_columns, config.data.household_columns)
    sizes, _ = judged_sizes(config.split, config.evaluate, parts.train, parts.control)
    found = evaluation_seconds(config, load_policy(config.policy_path), parts.train, sizes)
    seconds = {EVALUATE.name: (found.measured + found.repeated) / cores(), POWER.name: found.planted / cores()}
    if not config.synthesize.is_off:
        once = estimate(parts.train.without_identifiers(), config.synthesize)[0].seconds
        seconds |= {SYNTHESIZE.name: once} | ({BASELINE.name: once} if config.has_baseline else {})
    return {name: one for name, one in seconds.items() if name in configured_stages(config)}
