"""Stages of a configuration, and a forecast of their seconds before a run."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid.base.resources import cores
from hybrid.base.rng import rng_for
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import evaluation_seconds, judged_sizes
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
from hybrid.publication.policy import load_policy
from hybrid.synthesize.estimate import estimate
from hybrid.table import Table
from hybrid.table.split import split


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
