"""Stages of a pipeline.

The one list from which keys, flows, progress, manifests and reports are derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hybrid.base.manifest import StageName
from hybrid.base.source_code import Roots, libraries_behind
from hybrid.evaluation.measure import Subject
from hybrid.synthesize.fitted import model_roots
from hybrid.synthesize.registry import ENGINES, REGISTRY

WIRING = (
    "hybrid.pipeline.anonymization",
    "hybrid.pipeline.conditions",
    "hybrid.pipeline.config",
    "hybrid.pipeline.filtering",
    "hybrid.pipeline.generation",
    "hybrid.pipeline.holding",
    "hybrid.pipeline.in_parts",
    "hybrid.pipeline.inputs",
    "hybrid.pipeline.people_tables",
    "hybrid.pipeline.pipeline",
    "hybrid.pipeline.private_generation",
    "hybrid.pipeline.private_mode",
    "hybrid.pipeline.protection",
    "hybrid.pipeline.tables",
    "hybrid.pipeline.transition_section",
    "hybrid.pipeline.warehouse_inputs",
)
"""Modules that pass results from stage to stage: they count for every stage, and their imports are not followed."""


@dataclass(frozen=True)
class Stage:
    """One stage.

    Parameters
    ----------
    name : str
        In keys, kept results, progress, manifests and reports.
    result : str
        The property of :class:`hybrid.pipeline.pipeline.Pipeline` that computes it.
    modules : tuple of str
        Where the code that decides its result starts (see :mod:`hybrid.base.source_code`), but for that of the
        generator, which the configuration chooses.
    needs : tuple of str
        Stages that it is computed from, if the configuration has them.
    section : str or None
        The section of the configuration that switches it on and gives it its place.
    judged : str or None
        As what the evaluation judges its table; None where it has none.
    kept : bool
        Whether its result is kept in the store under one key.
    cuts : tuple of (str, str)
        Imports that are not followed, of code that the configuration switches on (see :data:`NETWORKS`).
    """

    name: str
    result: str
    modules: tuple[str, ...]
    needs: tuple[str, ...] = ()
    section: StageName | None = None
    judged: Subject | None = None
    kept: bool = True
    cuts: tuple[tuple[str, str], ...] = ()

    @property
    def roots(self) -> Roots:
        """The code behind the stage, without the generator's."""
        return Roots(self.modules, counted=WIRING, cuts=self.cuts)


NETWORKS = {
    "encoder": Roots(("hybrid.evaluation.encoder.train",)),
    "retrain": Roots(("hybrid.evaluation.attacks.attention_network",)),
    "membership_flow": Roots(("hybrid.evaluation.engine.flow",)),
}
"""Code that trains networks of an evaluation, by the section of ``evaluate`` or the metric that asks for it."""
_WITHOUT_NETWORKS = (
    ("hybrid.evaluation.encoder.embed", "hybrid.evaluation.encoder.train"),
    ("hybrid.evaluation.attacks.target_attention", "hybrid.evaluation.attacks.attention_network"),
    ("hybrid.evaluation.attacks.membership_flow", "hybrid.evaluation.engine.flow"),
)
READ = Stage(
    "read",
    "table",
    (
        *("hybrid.table.load", "hybrid.table.split", "hybrid.hierarchy.load", "hybrid.hierarchy.listed"),
        *("hybrid.base.rng", "hybrid.base.hashing"),
    ),
    judged="original",
    kept=False,
)
PROTECT = Stage("protect", "protected", ("hybrid.protect", "hybrid.hierarchy.load", "hybrid.constraints"), ("read",))
ANONYMIZE = Stage("anonymize", "anonymized", ("hybrid.anonymize.steps",), ("protect", "read"), "anonymize")
TRADEOFF = Stage("tradeoff", "trade_off", ("hybrid.anonymize.search.tradeoff",), ("protect", "read"))
SAMPLE = Stage("sample", "sampled", ("hybrid.sample",), ("anonymize",), "sample")
TRANSITION = Stage(
    "transition", "restored", ("hybrid.transition", "hybrid.constraints"), ("sample",), "transition", "anonymized"
)
SYNTHESIZE = Stage(
    "synthesize",
    "drawn",
    ("hybrid.sample", "hybrid.transition", "hybrid.leak", "hybrid.constraints", "hybrid.privacy.plan"),
    ("transition", "sample", "protect"),
    "synthesize",
    "synthetic",
)
FILTER = Stage(
    "filter", "generated", ("hybrid.evaluation.attacks.row_scores",), ("synthesize", "read"), judged="synthetic"
)
BASELINE = Stage("baseline", "baseline", ("hybrid.constraints",), ("protect", "read"), judged="baseline")
EVALUATE = Stage(
    "evaluate",
    "evaluation",
    ("hybrid.evaluation",),
    ("read", "transition", "synthesize", "filter", "baseline"),
    kept=False,
    cuts=_WITHOUT_NETWORKS,
)
"""One result is kept per judged table, as ``evaluate-original``, ``evaluate-synthetic``, ..."""
POWER = Stage(
    "power",
    "power",
    ("hybrid.evaluation", "hybrid.pipeline.power"),
    ("synthesize", "filter"),
    cuts=_WITHOUT_NETWORKS,
)
STAGES = (READ, PROTECT, ANONYMIZE, TRADEOFF, SAMPLE, TRANSITION, SYNTHESIZE, FILTER, BASELINE, EVALUATE, POWER)
"""All stages, in their order. A new one is an entry here and the property of the pipeline that computes it."""


def named(name: str) -> Stage:
    """The stage with this name.

    Of an evaluation, with or without the judged table.
    """
    return next(stage for stage in STAGES if stage.name == name.partition("-")[0])


def evaluation_of(judged: Subject) -> str:
    """The name under which the evaluation of one table is kept."""
    return f"{EVALUATE.name}-{judged}"


def subject_of(name: str) -> Subject | None:
    """The judged table in the name of a kept evaluation.

    None for any other stage.
    """
    return next((stage.judged for stage in STAGES if stage.judged and name == evaluation_of(stage.judged)), None)


def needed_by(name: str) -> tuple[str, ...]:
    """Kept stages that a kept stage depends on, if configured."""
    judged = subject_of(name)
    if judged is None:
        return tuple(need for need in named(name).needs if named(need).kept)
    return tuple(stage.name for stage in STAGES if stage.judged == judged and stage.kept)


def in_order(*, sample_first: bool) -> tuple[Stage, ...]:
    """All stages; sampling before anonymization, or after it."""
    if not sample_first:
        return STAGES
    at = STAGES.index(ANONYMIZE)
    return (*STAGES[:at], SAMPLE, *(stage for stage in STAGES[at:] if stage is not SAMPLE))


def section_order(*, transition_last: bool, sample_first: bool = False) -> tuple[StageName, ...]:
    """The sections of a configuration in the order of their stages.

    The transition last, or before the generator; sampling before anonymization, or after it.
    """
    order = tuple(stage.section for stage in in_order(sample_first=sample_first) if stage.section is not None)
    if not transition_last:
        return order
    return (*(section for section in order if section != TRANSITION.section), "transition")


@cache
def libraries() -> tuple[str, ...]:
    """Distributions whose versions can change a result, sorted.

    Of all stages and all generators.
    """
    engines = (*REGISTRY.values(), *ENGINES.values())
    roots = (*NETWORKS.values(), *(stage.roots for stage in STAGES), *map(model_roots, engines))
    return tuple(sorted({library for each in roots for library in libraries_behind(each)}))
