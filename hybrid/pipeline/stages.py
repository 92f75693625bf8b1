"""Stages of a pipeline: the one list from which keys, flows, progress, manifests and reports are derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hybrid.base.hashing import LIBRARIES
from hybrid.base.manifest import StageName
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.measure import Subject
from hybrid.privacy.accounting import at_most
from hybrid.publication.table_facts import few, rounded
from hybrid.synthesize.registry import ENGINES, REGISTRY, distributions
from hybrid.table.persons import n_persons

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun
    from hybrid.table import Table


@dataclass(frozen=True)
class Stage:
    """One stage."""

    name: str
    """In keys, kept results, progress, manifests and reports."""
    result: str
    """The property of :class:`hybrid.pipeline.table_run.TableRun` that computes it."""
    needs: tuple[str, ...] = ()
    """Stages that it is computed from, if the configuration has them."""
    section: StageName | None = None
    """The section of the configuration that switches it on and gives it its place."""
    judged: Subject | None = None
    """As what the evaluation judges its table; None where it has none."""
    kept: bool = True
    """Whether its result is kept in the store under one key."""
    libraries: tuple[str, ...] = ()
    """Distributions whose versions can change its result, beside :data:`hybrid.base.hashing.LIBRARIES` and those of the
    generator, which the configuration chooses."""


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


def stage_named(name: str) -> Stage:
    """The stage with this name; of an evaluation, with or without the judged table."""
    return next(stage for stage in STAGES if stage.name == name.partition("-")[0])


def evaluation_of(judged: Subject) -> str:
    """The name under which the evaluation of one table is kept."""
    return f"{EVALUATE.name}-{judged}"


def subject_of(name: str) -> Subject | None:
    """The judged table in the name of a kept evaluation; None for any other stage."""
    return next((stage.judged for stage in STAGES if stage.judged and name == evaluation_of(stage.judged)), None)


def needed_by(name: str) -> tuple[str, ...]:
    """Kept stages that a kept stage depends on, if configured."""
    judged = subject_of(name)
    if judged is None:
        return tuple(need for need in stage_named(name).needs if stage_named(need).kept)
    return tuple(stage.name for stage in STAGES if stage.judged == judged and stage.kept)


def in_order(*, sample_first: bool) -> tuple[Stage, ...]:
    """All stages; sampling before anonymization, or after it."""
    if not sample_first:
        return STAGES
    at = STAGES.index(ANONYMIZE)
    return (*STAGES[:at], SAMPLE, *(stage for stage in STAGES[at:] if stage is not SAMPLE))


def section_order(*, transition_last: bool, sample_first: bool = False) -> tuple[StageName, ...]:
    """Sections of a configuration in the order of their stages.

    The transition comes last, or before the generator; sampling before anonymization, or after it.
    """
    order = tuple(stage.section for stage in in_order(sample_first=sample_first) if stage.section is not None)
    if not transition_last:
        return order
    return (*(section for section in order if section != TRANSITION.section), "transition")


def libraries() -> tuple[str, ...]:
    """Distributions whose versions can change a result, of all stages and all generators, sorted."""
    generators = (*REGISTRY.values(), *ENGINES.values())
    named = (*(stage.libraries for stage in STAGES), *map(distributions, generators))
    return tuple(sorted({*LIBRARIES, *(name for names in named for name in names)}))


class StageRecords(NamedTuple):
    """Number of records after one stage; of the source to the nearest ten."""

    name: str
    rows: int
    seconds: float | None = None
    note: str = ""


Count = tuple[int, str]
"""Number of records, exact, and a note."""


def stage_records(pipeline: TableRun) -> Iterator[StageRecords]:
    """Row counts of the input, of the training records, and after each configured stage, in order."""
    seconds = {stage.name: stage.seconds for stage in pipeline.recorder.stages}
    yield from _read(pipeline, seconds.get(READ.name))
    apart = sentence("step.apart.none")
    if pipeline.folds:
        apart = sentence("step.apart.crossed", n=len(pipeline.folds))
    elif pipeline.control is not None:
        apart = sentence("step.apart", n=few(len(pipeline.control)))
    note = sentences(apart, *_people(pipeline), between="further")
    yield StageRecords("train", rounded(len(pipeline.train)), None, note)
    for stage in in_order(sample_first=pipeline.config.sample.effective.order == "pre"):
        found = _COUNTS[stage.name](pipeline) if stage.name in _COUNTS else None
        if found is not None:
            rows, note = found
            released = stage in (SYNTHESIZE, FILTER)
            yield StageRecords(stage.name, rows if released else rounded(rows), seconds.get(stage.name), note)


def _read(pipeline: TableRun, seconds: float | None) -> Iterator[StageRecords]:
    whole, note = pipeline.inputs.whole, ""
    if whole is not None:
        there = "stay there; labels were found and verified on all of them"
        yield StageRecords(sentence("step.engine", engine=whole.engine), rounded(whole.result.records), seconds, there)
        seconds, note = None, "drawn at random from the rows with labels"
    yield StageRecords("input", rounded(len(pipeline.table)), seconds, note)


def _people(pipeline: TableRun) -> Iterator[str]:
    """Number of persons and of records beyond ``data.max_rows``; nothing where each record is another person."""
    if not pipeline.train.rows_are_persons:
        yield sentence("step.persons", n=few(n_persons(pipeline.train)))
        if pipeline.config.data.max_rows is not None:
            used = len(pipeline.train) + (0 if pipeline.control is None else len(pipeline.control))
            yield sentence("step.beyond", n=few(len(pipeline.table) - used))


def _protected(pipeline: TableRun) -> Count | None:
    found = pipeline.protected
    if found is None:
        return None
    name = "step.protected" if found.table.rows_are_persons else "step.protected.persons"
    name = "step.protected.households" if found.table.has_households else name
    return len(found.table), sentence(name, n=found.result.min_count)


def _anonymized(pipeline: TableRun) -> Count | None:
    table = pipeline.anonymized
    if table is None:
        return None
    result = table.result
    k = sentence("guarantee.k.alone" if result.rows_are_persons else "step.k.persons", k=result.k)
    how = sentences(
        k if result.k_anonymous else sentence("step.no_k"),
        "" if result.rows_are_persons else sentence("step.lost", n=few(result.lost_people)),
        sentence("step.suppressed", n=few(result.suppressed)),
        between="listed",
    )
    if result.drawn is not None:
        changed = sentence("step.changed", n=few(len(table.suppressed)))
        how = sentences(sentence("step.of_source", found=how), changed, between="further")
    return len(table), how


def _sampled(pipeline: TableRun) -> Count | None:
    found = pipeline.sampled
    if found is None or pipeline.inputs.whole is not None:
        return None
    method, expected = pipeline.config.sample.method, few(round(found.expected))
    return found.actual, sentence("step.sampled", method=method, n=expected, unit=found.unit)


def _restored(pipeline: TableRun) -> Count | None:
    before = pipeline.anonymization
    if before is None:
        return None
    name = "step.restored.pre" if before.transition.order == "pre" else "step.restored.post"
    return len(before.restored.table), sentence(name, method=before.transition.method)


def _filtered(pipeline: TableRun) -> Count | None:
    found, options = pipeline.filtered, pipeline.config.synthesize.filter
    if found is None or options is None:
        return None
    each = zip(found.removed, found.drawn, strict=True)
    rounds = tuple(sentence("step.filtered.round", n=removed, of=drawn) for removed, drawn in each)
    note = sentence("step.filtered", score=options.score, limit=f"{options.limit:g}", rounds=rounds)
    return len(pipeline.generated.table), note


def _generated(pipeline: TableRun) -> Count:
    table, generator = pipeline.drawn.table, pipeline.config.synthesize.generator
    if pipeline.all_rows is not None:
        return pipeline.all_rows.rows, sentence("step.in_parts", generator=generator, n=len(table))
    persons = "" if table.rows_are_persons else sentence("step.synthetic", n=n_persons(table))
    parts = sentence("step.generator", generator=generator), persons, _accepted(pipeline), _raked(pipeline, table)
    return len(table), sentences(*parts, between="listed")


def _raked(pipeline: TableRun, table: Table) -> str:
    totals = pipeline.inputs.beside.totals
    if totals is None:
        return ""
    (name, gap), columns = totals.deviation(table), ", ".join(totals.of)
    if not gap:
        return sentence("step.raked.exactly", columns=columns)
    return sentence("step.raked", columns=columns, n=at_most(100 * gap, 2), column=name)


def _accepted(pipeline: TableRun) -> str:
    chosen, redrawn = pipeline.selection, pipeline.redrawn
    if chosen is None or redrawn is None:
        return ""
    share = chosen.rate(redrawn)
    if chosen.shares is not None:
        return sentence("step.balanced", share=share, column=chosen.shares.column)
    return sentence("step.condition", share=share)


_COUNTS: Mapping[str, Callable[[TableRun], Count | None]] = {
    PROTECT.name: _protected,
    ANONYMIZE.name: _anonymized,
    SAMPLE.name: _sampled,
    TRANSITION.name: _restored,
    SYNTHESIZE.name: _generated,
    FILTER.name: _filtered,
}
