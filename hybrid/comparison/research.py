"""Research order: the generator learns the originals, and its table is anonymized.

Releases refuse this order: the generator has seen the records as they were, and labels of invented people protect no
person. A comparison measures what it would give. Nothing of it is kept but numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid.comparison.plan import ComparePlan
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import Store
from hybrid.synthesize.options import SynthesizeOptions

STAGES = "stages"
"""Key of a run configuration whose value states the order."""
REFUSED = "block"
"""Verdict of the gate on every table of this order, whatever its numbers are."""
PROMISE = "none: research only, anonymized after synthesis"
NOTE = (
    "For research only: configurations whose generator runs before the anonymization learn the original records, and "
    "the labels of invented people protect no person. Their verdict is block whatever was measured; this comparison "
    "keeps no table and recommends no configuration."
)


def without_research_order(plan: ComparePlan, settings: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Settings without a research order, and that order.

    Empty where the settings state no order that anonymizes last, or the plan is not for research.
    """
    stated = settings.get(STAGES)
    if not plan.research or not isinstance(stated, Sequence) or "synthesize" not in stated:
        return dict(settings), ()
    order = tuple(stated)
    if "anonymize" not in order[order.index("synthesize") :]:
        return dict(settings), ()
    return {key: value for key, value in settings.items() if key != STAGES}, order


def research_problem(config: RunConfig, order: Sequence[str]) -> str:
    """Reason why a configuration cannot run in a research order.

    Empty if it can.
    """
    known = ("synthesize", *(stage for stage in config.described_stages if stage != "synthesize"))
    if tuple(order) != known:
        return f"stages: the research order of these sections is [{', '.join(known)}]"
    if config.split.is_crossed:
        return "stages: a research order compares with people kept apart: set split.control to a share, such as 0.3"
    if config.privacy is not None:
        return "stages: privacy.mode is dp, and no budget covers a generator that learns first"
    if not config.has_baseline:
        return "stages: the research order anonymizes what the generator alone draws: set evaluate.baseline: true"
    if config.evaluate.retrain is not None:
        return "stages: evaluate.retrain trains the usual order again: leave it out of a research order"
    if config.synthesize.filter is not None:
        return "stages: synthesize.filter is not applied in a research order: leave it out"
    return ""


def evaluate_anonymized_last(config: RunConfig, seed: int, store: Store) -> Evaluation:
    """Evaluation of a generator's table that is anonymized, sampled and restored afterwards.

    Parameters
    ----------
    config : RunConfig
        The same sections in the usual order, for which :func:`research_problem` finds nothing.
    seed : int
        The source of all randomness.
    store : Store
        Keeps the results of the generator alone, which the usual order shares; nothing else.

    Returns
    -------
    Evaluation
        Of the stages original, baseline (the generator alone) and synthetic (what became of it).
    """
    pipeline = Pipeline(config, seed=seed, store=store, judge_power=False)
    pipeline.check()
    invented = pipeline.baseline
    assert invented is not None, "research_problem asks for it"
    alone = config.model_copy(update={"synthesize": SynthesizeOptions(generator="none"), STAGES: None})
    later = Pipeline(alone, seed=seed, inputs=pipeline.inputs, judge_power=False)
    return pipeline.evaluate_beside(later.with_training(invented, seed).generated.table)
