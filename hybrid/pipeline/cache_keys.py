"""Keys of stage results.

Everything a result depends on, known before anything is computed. The code counts as a whole: a list of the modules
behind each stage would one day lack one, and records that were trained on would stand in a new control set.
"""

from __future__ import annotations

from typing import Any

from hybrid.base.hashing import LIBRARIES, code_version, fingerprint, library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.evaluation.measure import Subject
from hybrid.evaluation.registry import foreign_packages
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import rule_inputs
from hybrid.pipeline.risk import RemovalOptions, leak_of, removal_of
from hybrid.pipeline.side_tables import Beside
from hybrid.pipeline.stages import (
    ANONYMIZE,
    BASELINE,
    EVALUATE,
    FILTER,
    POWER,
    PROTECT,
    READ,
    SAMPLE,
    STAGES,
    SYNTHESIZE,
    TRADEOFF,
    TRANSITION,
    Stage,
    evaluation_of,
)
from hybrid.publication.asked import asked
from hybrid.publication.policy import Policy
from hybrid.synthesize import SynthesizeOptions
from hybrid.synthesize.fitted import model_version


def stage_keys(
    config: RunConfig,
    seed: int,
    split_seed: int,
    data: str,
    must_detect: Any = None,
    *,
    judged_by: Policy | None = None,
    beside: Beside | None = None,
) -> dict[str, str]:
    """Keys of a configuration's kept stages, in order of the stages.

    ``data`` is the fingerprint of the table with its hierarchies, ``must_detect`` the rules about excesses and leaks
    that the policy must detect (None where no leaks are planted), ``judged_by`` the policy that asks for metrics (None:
    no verdict comes of it, so that no attacker repeats the process unless asked for).

    The stages are protect, anonymize, tradeoff, sample, transition, synthesize, filter, baseline, and
    evaluate-original, -anonymized, -synthetic, -baseline, and power, as far as they exist. Equal keys are equal
    results: a key covers the options, the keys of the stages before, the version and the source code of the package and
    the versions of the libraries that can change a result. An option that changes nothing, such as ``beta`` without
    sampling, does not count.
    """
    anonymize, transition, sample = config.anonymize, config.transition, config.sample.effective
    population, totals, register = (
        (None, None, None) if beside is None else (beside.population, beside.totals, beside.register)
    )
    rules = rule_inputs(config)
    whose: list[Any] = [config.data.person_columns, config.data.max_rows] if config.data.person_columns else []
    if config.data.household_columns:
        whose.append({"household": config.data.household_columns})
    if config.draws_persons:
        whose.append(("persons are drawn", config.data.order))
    if config.rows_stay:
        whose += [config.sample_size, anonymize]
    tables: dict[Stage, str] = {READ: _key(READ, data, config.split, split_seed, *whose)}
    parts = people = tables[READ]
    keys: dict[str, str] = {}
    if config.protection is not None:
        people = keys[PROTECT.name] = _key(PROTECT, config.protection, config.k, parts, seed, *rules)
    removal = removal_of(config.risk)
    kept = parts if removal is None else _removed(removal, parts, seed)
    learned = fingerprint(people if removal is None else kept, sample)
    if anonymize is not None:
        coarsened, first = people, sample.order == "pre"
        if first:
            coarsened = keys[SAMPLE.name] = _key(SAMPLE, sample, people, seed)
        drawn = [seed] if any(step.random for step in anonymize.technique) else []
        learned = keys[ANONYMIZE.name] = _key(ANONYMIZE, anonymize, coarsened, population, *drawn)
        if config.has_tradeoff:
            keys[TRADEOFF.name] = _key(TRADEOFF, anonymize, config.suppression_limits, coarsened, population)
        if not first:
            learned = keys[SAMPLE.name] = _key(SAMPLE, sample, learned, seed)
    if transition is not None:
        learned = tables[TRANSITION] = _key(TRANSITION, transition.model_dump(exclude={"order"}), learned, seed, *rules)
        keys[TRANSITION.name] = learned
    if (leak := leak_of(config.risk)) is not None:
        tables[SYNTHESIZE] = _key(SYNTHESIZE, leak, parts, seed)
    else:
        private = [] if config.privacy is None else [config.privacy]
        raked = [] if totals is None else [totals.of]
        how = *_generator(config.synthesize), transition, learned, seed, *rules, *private, *raked
        tables[SYNTHESIZE] = _key(SYNTHESIZE, *how)
    keys[SYNTHESIZE.name] = tables[SYNTHESIZE]
    chosen = config.synthesize.filter
    if chosen is not None:
        keys[FILTER.name] = tables[FILTER] = _key(FILTER, chosen, tables[SYNTHESIZE], parts, split_seed)
    if config.has_baseline:
        keys[BASELINE.name] = tables[BASELINE] = _key(BASELINE, *_generator(config.synthesize), people, seed, *rules)
    judged: dict[Subject, str] = {stage.judged: tables[stage] for stage in STAGES if stage.judged and stage in tables}
    if not config.evaluate.original:
        del judged["original"]
    options = config.evaluate.model_dump(exclude={"power", "baseline", "original"})
    halved = ["half of control"] if chosen is not None else []
    condition = [config.synthesize.choice_text] if config.synthesize.chooses else []
    records = kept if removal is not None and removal.measured == "kept" else parts
    attacked = {"model"} if config.evaluate.retrain is not None else {"model", "trainings"}
    metrics = asked(judged_by, config.evaluate)
    left_out = any(attacked & set(metric.needs) for metric in metrics)
    untried = ["only compared"] if judged_by is None and left_out else []
    measured = [metric.name for metric in metrics]
    judging = (measured, records, seed, *rules, *condition, *halved, register, *_foreign_versions())
    in_folds = judged if judged_by is None or not config.split.is_crossed else judged_by.stages
    for subject, table in judged.items():
        own = untried if subject == "synthetic" else []
        if subject not in in_folds:
            own = ["of one fold"]
        keys[evaluation_of(subject)] = _key(EVALUATE, options, table, *judging, *own)
    if must_detect is not None:
        keys[POWER.name] = _key(POWER, must_detect, keys[evaluation_of("synthetic")])
    return keys


def _key(stage: Stage, *depends_on: Any) -> str:
    versions = library_versions(PACKAGE, *LIBRARIES, *stage.libraries)
    return fingerprint(stage.name, code_version(), versions, depends_on)


def _foreign_versions() -> list[dict[str, str]]:
    found = library_versions(*foreign_packages())
    return [found] if found else []


def _removed(removal: RemovalOptions, parts: str, seed: int) -> str:
    return fingerprint("removal", removal.model_dump(exclude={"measured"}), parts, seed)


def _generator(options: SynthesizeOptions) -> tuple[Any, ...]:
    options = options.model_copy(update={"filter": None})
    return (options,) if options.is_off else (options, model_version(options.engine))
