"""Under which key each stage's result is kept: everything it depends on, known before anything is computed."""

from __future__ import annotations

from functools import cache
from typing import Any

from hybrid.base.hashing import code_version, fingerprint, library_versions
from hybrid.base.manifest import LIBRARIES
from hybrid.pipeline.config import RunConfig
from hybrid.synthesize import SynthesizeOptions
from hybrid.synthesize.fitted import versions_of

SUPPRESSION_LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Where the trade-off curve is computed, beside the config's own limit."""
EVALUATE = "evaluate-"
"""Begins the names of the stages that judge a table: evaluate-original, evaluate-synthetic, ..."""
MODULES = {
    "anonymize": ("hybrid.anonymize", "hybrid.hierarchy"),
    "tradeoff": ("hybrid.anonymize", "hybrid.hierarchy"),
    "sample": ("hybrid.sample",),
    "transition": ("hybrid.transition",),
    "synthesize": ("hybrid.synthesize", "hybrid.transition"),
    "baseline": ("hybrid.synthesize",),
    "evaluate": ("hybrid.evaluation",),
}
"""The code that a stage's result depends on."""


def stage_keys(config: RunConfig, seed: int, split_seed: int, data: str, population: str = "") -> dict[str, str]:
    """The key of every stage that this configuration has, in the order of the walk.

    Parameters
    ----------
    config : RunConfig
        What is done.
    seed, split_seed : int
        The source of all randomness, and of that of the split.
    data, population : str
        Fingerprints of the table with its hierarchies, and of the population table.

    Returns
    -------
    dict
        anonymize, tradeoff, sample, transition, synthesize, baseline, and evaluate-original, -anonymized,
        -synthetic, -baseline, as far as they exist. Equal keys are equal results; an option that changes nothing,
        such as ``beta`` without sampling, does not count.
    """
    parts = fingerprint(data, config.split, split_seed)
    anonymize, transition, synthesize, sample = (
        *(config.anonymize, config.transition, config.synthesize),
        config.sample.effective,
    )
    keys: dict[str, str] = {}
    learned = fingerprint(parts, sample)
    if anonymize is not None:
        keys["anonymize"] = _key("anonymize", anonymize, parts, population)
        if anonymize.engine == "exact" and anonymize.recoding == "global":
            keys["tradeoff"] = _key("tradeoff", anonymize, suppression_limits(config), parts, population)
        learned = keys["sample"] = _key("sample", sample, keys["anonymize"], seed)
        if transition is not None:
            keys["transition"] = _key("transition", transition.model_dump(exclude={"order"}), learned, seed)
    keys["synthesize"] = _key("synthesize", synthesize, _trainer(synthesize), transition, learned, seed)
    if anonymize is not None and not synthesize.is_off and config.evaluate.baseline:
        keys["baseline"] = _key("baseline", synthesize, _trainer(synthesize), parts, seed)
    judged = {
        "original": parts,
        "anonymized": keys.get("transition"),
        "synthetic": keys["synthesize"],
        "baseline": keys.get("baseline"),
    }
    for stage, table in judged.items():
        if table is not None:
            keys[EVALUATE + stage] = _key("evaluate", config.evaluate, table, parts, seed)
    return keys


def suppression_limits(config: RunConfig) -> list[float]:
    """Where the trade-off curve of a configuration is computed."""
    assert config.anonymize is not None
    return sorted({*SUPPRESSION_LIMITS, config.anonymize.suppression_limit})


def _key(stage: str, *depends_on: Any) -> str:
    return fingerprint(stage, code_version(*MODULES[stage]), _versions(), depends_on)


def _trainer(synthesize: SynthesizeOptions) -> dict[str, str]:
    """The versions of what trains, which may be in an environment of its own."""
    return {} if synthesize.is_off else versions_of(synthesize.engine)


@cache
def _versions() -> dict[str, str]:
    return library_versions(*LIBRARIES)
