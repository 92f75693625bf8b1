"""One trial: one configuration with one seed, from the data to a row of the comparison."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid.analysis.results import BESIDE, COUNTS, EXCESS, LOW_OF_PART, PART, STAGES, printed_column
from hybrid.anonymize.result import AnonymizationResult
from hybrid.base import atomic
from hybrid.base.errors import HybridError
from hybrid.base.scratch import scratch
from hybrid.base.yaml_document import flow
from hybrid.comparison.plan import ComparePlan, folder_name
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.jobs.run import write_run
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.pipeline import Pipeline, stage_of
from hybrid.pipeline.refusals import LINKED, refusal
from hybrid.pipeline.table_run import TableRun
from hybrid.store import Store, StorePlace, own_seconds
from hybrid.synthesize.options import SynthesizeOptions

REST = "rest"
"""Step of what is no kept stage: reading, verdict, report and files."""
STAGES_KEY = "stages"
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
    """Settings without their research order, and that; empty where the plan has none that anonymizes last."""
    stated = settings.get(STAGES_KEY)
    if not plan.research or not isinstance(stated, Sequence) or "synthesize" not in stated:
        return dict(settings), ()
    order = tuple(stated)
    if "anonymize" not in order[order.index("synthesize") :]:
        return dict(settings), ()
    return {key: value for key, value in settings.items() if key != STAGES_KEY}, order


def research_problem(config: RunConfig, order: Sequence[str]) -> str:
    """Reason why a configuration cannot run in a research order; empty if it can."""
    if config.is_linked:
        return refusal(LINKED, "a research order").message
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
    """Evaluation of a generator's table that is anonymized afterwards (:func:`research_problem` finds nothing).

    Stages are original, baseline (the generator alone, which the store keeps) and synthetic (what became of it).
    """
    pipeline = TableRun(config, seed=seed, store=store, judge_power=False)
    pipeline.check()
    invented = pipeline.baseline
    assert invented is not None, "research_problem asks for it"
    alone = config.model_copy(update={"synthesize": SynthesizeOptions(generator="none"), STAGES_KEY: None})
    later = TableRun(alone, seed=seed, given=pipeline.inputs, judge_power=False)
    return pipeline.assessment.evaluate_beside(later.with_training(invented, seed).generated.table)


@dataclass(frozen=True)
class Configuration:
    """One combination of a plan."""

    name: str
    """What differs from the others of the plan, such as "k 10, tree, cart, before"; no other has it."""
    factors: Mapping[str, Any]
    """The varied keys, with the value or the level's name."""
    config: RunConfig | None
    """As it was when the plan was expanded, whatever happens to the files afterwards; None where it is not valid."""
    problem: str = ""
    """Then, why."""
    research_order: tuple[str, ...] = ()
    """Order of stages that no release may have; empty: that of ``config``."""
    people: Sources | None = None
    """Tables in the place of the configuration's own, already read; None: those are read."""


def shown(value: Any) -> Any:
    """A value as shown in a table; mappings and lists as one line of YAML."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return flow(value)


@dataclass(frozen=True)
class Trial(Configuration):
    """One configuration with one seed: one row of the comparison."""

    seed: int = field(kw_only=True)

    @classmethod
    def of(cls, configuration: Configuration, seed: int) -> Trial:
        return cls(**vars(configuration), seed=seed)

    def run(self, store: Store | None = None) -> Pipeline:
        """The run of this configuration, which is valid."""
        assert self.config is not None
        return Pipeline(self.config, self.seed, store, given=self.people, judge_power=False)

    @property
    def folder(self) -> str:
        """Name of the trial's run folder."""
        return f"{folder_name(self.name)}-seed{self.seed}"

    @property
    def head(self) -> dict[str, Any]:
        """The first columns of its row."""
        factors = {name: shown(value) for name, value in self.factors.items()}
        return {"configuration": self.name, **factors, "seed": self.seed}


@dataclass(frozen=True)
class Workplace:
    """Places where a process that runs trials keeps its results."""

    store: StorePlace
    out: Path | None
    """Gets the run folders; None: they are not kept."""
    pack: bool = False
    """Give the run folder back as bytes instead: this machine need not see ``out``."""


@dataclass(frozen=True)
class EndedTrial:
    """A trial that ended, well or not."""

    row: dict[str, Any]
    peak_bytes: int = 0
    packed: bytes | None = None
    """The run folder as a tar file."""


def run_trial(place: Workplace, trial: Trial) -> EndedTrial:
    """Run one configuration with one seed; a failure is a row with its reason."""
    if trial.config is None:
        return EndedTrial(failed(trial, trial.problem))
    store = place.store.open()
    try:
        if trial.research_order:
            return _anonymized_last(trial, trial.config, store)
        return _judged(place, trial, store)
    except HybridError as error:
        return EndedTrial(failed(trial, str(error)))
    except Exception as error:  # noqa: BLE001 - one configuration must not stop the others; its text may hold a record
        return EndedTrial(
            failed(trial, f"{type(error).__name__} (run this configuration alone with --debug to see more)")
        )


def _judged(place: Workplace, trial: Trial, store: Store) -> EndedTrial:
    with own_seconds() as rest:
        run = trial.run(store)
        run.check()
        metrics = metric_columns(run.evaluation)
        verdict, promise = run.verdict.status, run.person.promises.names
        person = run.person
        losses = loss_columns(None if person.anonymized is None else person.anonymized.result)
        packed = _write(run, place, trial)
    entries = {step: store.entry(stage_of(step), key) for step, key in run.keys.items()}
    seconds = {f"seconds.{step}": entry.seconds for step, entry in entries.items() if entry is not None}
    seconds[f"seconds.{REST}"] = rest()
    sizes = dict(zip(COUNTS, (len(person.table), len(person.control or ())), strict=True))
    said = {"status": "ok", "reason": "", "verdict": verdict, "promise": promise}
    row = trial.head | said | sizes | metrics | losses | seconds
    return EndedTrial(row, max(stage.peak_memory_bytes for stage in run.stages), packed)


def _anonymized_last(trial: Trial, config: RunConfig, store: Store) -> EndedTrial:
    metrics = metric_columns(evaluate_anonymized_last(config, trial.seed, store))
    said = {"status": "ok", "reason": "", "verdict": REFUSED, "promise": PROMISE}
    return EndedTrial(trial.head | said | metrics)


def failed(trial: Trial, reason: str) -> dict[str, Any]:
    """The row of a trial that failed."""
    return trial.head | {"status": "failed", "reason": reason, "verdict": None, "promise": None}


def loss_columns(result: AnonymizationResult | None) -> dict[str, float]:
    """Information loss of masked tables as columns of the results."""
    measures = (None if result is None else result.information_loss) or {}
    return {f"information_loss.{name}": value for name, value in measures.items()}


WITH_PARTS = ("lost_prediction",)
"""Metrics that are the worst of several numbers, each of which is a column, too: a mean over seeds is that of each one,
while the worst of every seed is mostly chance where many are alike."""


def metric_columns(evaluation: Evaluation) -> dict[str, float]:
    """The metrics of an evaluation as columns of the results.

    Of linked tables each has its table's name, as ``synthetic.singling_out.visits``; the number without a name is that
    of the table where it is worst.
    """
    row: dict[str, float] = {}
    for metric in (*_worst(evaluation), *evaluation.metrics):
        if metric.stage in STAGES:
            row |= _numbers(metric)
    for metric in evaluation.metrics:
        row |= _parts(metric)
    return row


def _worst(evaluation: Evaluation) -> Iterator[MetricResult]:
    """Of metrics about whole linked tables, that of the table where it is worst."""
    of_tables: dict[tuple[str, str], list[tuple[float, MetricResult]]] = {}
    for metric in evaluation.metrics:
        if metric.table is not None and metric.column is None and isinstance(metric.outcome, Measure):
            excess = metric.outcome.excess
            number = metric.outcome.value if excess is None else excess[0]
            badness = -number if metric.direction == "higher" else number
            of_tables.setdefault((metric.name, metric.stage), []).append((badness, metric))
    for each in of_tables.values():
        yield replace(max(each, key=lambda found: found[0])[1], table=None)


def _numbers(metric: MetricResult) -> dict[str, float]:
    if not isinstance(metric.outcome, Measure):
        return {}
    name = ".".join(filter(None, (metric.stage, metric.name, metric.table, metric.column)))
    row = {name: float(metric.outcome.value)}
    beside = {f"{name}_{what}": getattr(metric.outcome, what) for what in BESIDE}
    if metric.outcome.excess is not None:
        excess = zip(EXCESS, metric.outcome.excess, strict=True)
        beside |= {f"{name}_{what}": value for what, value in excess}
    row |= {key: float(value) for key, value in beside.items() if value is not None}
    known = REGISTRY.get(metric.name)
    printed = {} if known is None else known.printed_numbers(metric.outcome)
    row |= {printed_column(form, name): value for form, value in printed.items()}
    return row | {f"cpu.{name}": metric.cpu_seconds}


def _parts(metric: MetricResult) -> dict[str, float]:
    if not isinstance(metric.outcome, Measure) or metric.name not in WITH_PARTS:
        return {}
    name = ".".join(filter(None, (metric.stage, metric.name, metric.table)))
    parts = metric.outcome.parts or {}
    lows = {f"{LOW_OF_PART}{name}.{of}": part.low for of, part in parts.items() if part.low is not None}
    return {f"{PART}{name}.{of}": part.value for of, part in parts.items()} | lows


def unpack(packed: bytes, out: Path) -> None:
    """Write a packed run folder into the results, whole."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive, atomic.workplace(out) as hidden:
        archive.extractall(hidden / "runs", filter="data")
        for folder in (hidden / "runs").iterdir():
            atomic.place(folder, out / folder.name, hidden)


def _write(run: Pipeline, place: Workplace, trial: Trial) -> bytes | None:
    if place.out is None:
        return None
    if not place.pack:
        write_run(run, place.out / trial.folder)
        return None
    with scratch("trial") as temporary:
        write_run(run, Path(temporary) / trial.folder)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(Path(temporary) / trial.folder, trial.folder)
    return packed.getvalue()
