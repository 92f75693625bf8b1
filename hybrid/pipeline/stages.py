"""Stages of a pipeline.

The one list from which keys, flows, progress, manifests and reports are derived.
"""

from __future__ import annotations

from dataclasses import dataclass

from hybrid.base.hashing import LIBRARIES
from hybrid.base.manifest import StageName
from hybrid.evaluation.measure import Subject
from hybrid.synthesize.registry import ENGINES, REGISTRY, distributions


@dataclass(frozen=True)
class Stage:
    """One stage.

    Parameters
    ----------
    name : str
        In keys, kept results, progress, manifests and reports.
    result : str
        The property of :class:`hybrid.pipeline.pipeline.Pipeline` that computes it.
    needs : tuple of str
        Stages that it is computed from, if the configuration has them.
    section : str or None
        The section of the configuration that switches it on and gives it its place.
    judged : str or None
        As what the evaluation judges its table; None where it has none.
    kept : bool
        Whether its result is kept in the store under one key.
    libraries : tuple of str
        Distributions whose versions can change its result, beside :data:`hybrid.base.hashing.LIBRARIES` and those of
        the generator, which the configuration chooses.
    """

    name: str
    result: str
    needs: tuple[str, ...] = ()
    section: StageName | None = None
    judged: Subject | None = None
    kept: bool = True
    libraries: tuple[str, ...] = ()


_RECODING, _NETWORKS = ("anjana", "pycanon"), ("torch",)
READ = Stage("read", "table", judged="original", kept=False)
PROTECT = Stage("protect", "protected", ("read",))
ANONYMIZE = Stage("anonymize", "anonymized", ("protect", "read"), "anonymize", libraries=_RECODING)
TRADEOFF = Stage("tradeoff", "trade_off", ("protect", "read"), libraries=_RECODING)
SAMPLE = Stage("sample", "sampled", ("anonymize",), "sample")
TRANSITION = Stage("transition", "restored", ("sample",), "transition", "anonymized")
SYNTHESIZE = Stage("synthesize", "drawn", ("transition", "sample", "protect"), "synthesize", "synthetic")
FILTER = Stage("filter", "generated", ("synthesize", "read"), judged="synthetic", libraries=_NETWORKS)
BASELINE = Stage("baseline", "baseline", ("protect", "read"), judged="baseline")
EVALUATE = Stage(
    "evaluate",
    "evaluation",
    ("read", "transition", "synthesize", "filter", "baseline"),
    kept=False,
    libraries=_NETWORKS,
)
"""One result is kept per judged table, as ``evaluate-original``, ``evaluate-synthetic``, ..."""
POWER = Stage("power", "power", ("synthesize", "filter"), libraries=_NETWORKS)
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


def libraries() -> tuple[str, ...]:
    """Distributions whose versions can change a result, sorted.

    Of all stages and all generators.
    """
    generators = (*REGISTRY.values(), *ENGINES.values())
    named = (*(stage.libraries for stage in STAGES), *map(distributions, generators))
    return tuple(sorted({*LIBRARIES, *(name for names in named for name in names)}))
