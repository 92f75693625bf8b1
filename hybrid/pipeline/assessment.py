"""Evaluation of the tables of a run: at once, in folds, beside other linked tables, with planted leaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from hybrid.base.errors import ConfigError
from hybrid.base.hashing import code_version, fingerprint, library_versions
from hybrid.base.progress import Progress, prefixed
from hybrid.base.rng import rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import Context, FitAndSample, KeptModel, Making, Share
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Crossed, Evaluation, Subject
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.pooled import compared_with_folds, is_measured_in_folds, pooled_evaluation
from hybrid.evaluation.run_metrics import remembering
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import untried
from hybrid.pipeline.generation import learned_again
from hybrid.pipeline.power import judged_table, measure_power
from hybrid.pipeline.risk import leak_of
from hybrid.pipeline.stages import EVALUATE, evaluation_of, libraries
from hybrid.publication.asked import asked
from hybrid.publication.gate import confidence_of_each
from hybrid.publication.power import Power
from hybrid.store import took
from hybrid.table import Table
from hybrid.table.split import Parts

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun

ONLY_COMPARED = "configurations that are only compared are not attacked so"


class Assessment:
    """Evaluation of the tables of one table's run.

    ``run`` makes the tables, and keeps what is found here.
    """

    attack: Callable[[], Evaluation] | None = None
    """Attacks that repeat the making of all linked tables, on people with all of their rows; of the person table."""
    people: int | None = None
    """Number of people in the data, where this table is about some of them; None: those of this table."""
    together: Evaluation | None = None
    """Evaluation of this and other tables that are released together, whose intervals hold together; None: of this."""

    def __init__(self, run: TableRun) -> None:
        self.run = run

    @property
    def of_all(self) -> Evaluation:
        """Evaluation of every judged table."""
        found = self._evaluation_of(get_args(Subject))
        printed = with_printed(found) if self.run.config.evaluate.paper else found
        return replace(printed, all_rows=self.run.all_rows, crossed=self._crossed)

    @property
    def runs_of_folds(self) -> Iterator[tuple[RunConfig, int, Parts, Progress]]:
        """Configuration, seed, parts and progress of the run of every fold."""
        split = self.run.config.split
        if not split.is_crossed:
            return
        chosen = {"metrics": self._metrics_of_folds, "also": ()}
        evaluate = self.run.config.evaluate.model_copy(update=chosen)
        config = self.run.config.model_copy(update={"split": split.of_one_fold, "evaluate": evaluate})
        for number, parts in enumerate(self.run.inputs.folds(self.run.split_seed)):
            seed = int(rng_for(self.run.seed, "fold", number).integers(2**63))
            yield config, seed, parts, prefixed(f"fold {number + 1} of {split.folds}, ", self.run.progress)

    def _evaluation_of(self, subjects: Collection[Subject]) -> Evaluation:
        judged = [subject for subject in subjects if evaluation_of(subject) in self.run.keys]
        self._measure_together(judged)
        return Evaluation(tuple(metric for subject in judged for metric in self.run.evaluated(subject).metrics))

    def evaluate_beside(self, table: Table) -> Evaluation:
        """Evaluation of a table that was made in another way, judged as the synthetic one.

        The original and the generator alone are judged beside it. No verdict comes of it, and nothing of it is kept.
        """
        others: tuple[Subject, ...] = ("original", "baseline")
        found = [self.run.evaluated(subject) for subject in others if evaluation_of(subject) in self.run.keys]
        return Evaluation(tuple(one for each in [*found, self._evaluate({"synthetic": table})] for one in each.metrics))

    def power(self) -> Power:
        """Planted leaks that the verdict noticed."""
        confidence = None if self.together is None else confidence_of_each(self.run.policy, self.together)
        run = self.run
        judged = [fold.assessment._judged_table for fold in run.folds or (run,)]
        found = run.evaluated("synthetic")
        return measure_power(judged, found, run.policy, run.seed, run.progress, confidence, self.people)

    @property
    def _judged_table(self) -> Context:
        tables = self.run.train, self.run.control, self.run.generated.table
        return judged_table(*tables, self.run.config.evaluate, self.run.seed, self._share)

    @cached_property
    def _crossed(self) -> tuple[Crossed, ...]:
        """Copies in the released table and in those of the folds; none without folds."""
        folds = [fold.assessment._judged_table for fold in self.run.folds]
        if not folds or evaluation_of("synthetic") not in self.run.keys:
            return ()
        tables = self.run.train, folds[0].control, self.run.generated.table
        return compared_with_folds(judged_table(*tables, self.run.config.evaluate, self.run.seed), folds)

    @property
    def _metrics_of_folds(self) -> tuple[str, ...]:
        found = asked(self.run.judged_by, self.run.config.evaluate)
        return tuple(one.name for one in found if is_measured_in_folds(one))

    def _measure_together(self, subjects: Sequence[Subject]) -> None:
        names = {subject: evaluation_of(subject) for subject in subjects if subject not in self._measured}
        absent = [subject for subject, name in names.items() if self.run.store.entry(name, self.run.keys[name]) is None]
        tables = {subject: self._judged(subject) for subject in absent}
        if len(absent) < 2:
            return
        begun = time.perf_counter()
        with self.run.recorder.stage(EVALUATE.name):
            found = self._evaluate({subject: table for subject, table in tables.items() if table is not None})
        whole, known = time.perf_counter() - begun, sum(one.seconds for one in found.metrics)
        for subject in absent:
            metrics = tuple(one for one in found.metrics if one.stage == subject)
            share = sum(one.seconds for one in metrics) / known if known else 1 / len(absent)
            self._measured[subject] = Evaluation(metrics), share * whole

    @property
    def untried(self) -> str:
        """Reason to repeat the whole process only if ``evaluate.retrain`` asks for it; empty if there is none."""
        if self.run.is_one_of_several:
            return "people are attacked with the rows of all tables, not of this one alone: see the person table"
        return untried(self.run.config, self.run.train) if self.run.judge_power else ONLY_COMPARED

    @property
    def measured_alone(self) -> EvaluateOptions:
        """Options of this table alone; people with the rows of all linked tables are attacked elsewhere."""
        options = self.run.config.evaluate
        return options.model_copy(update={"retrain": None}) if self.run.is_one_of_several else options

    @property
    def _again(self) -> Mapping[Subject, FitAndSample]:
        """Ways to make the tables again from other records; linked ones are made again together."""
        if self.run.is_one_of_several:
            return {}
        retrain = self.run.config.evaluate.retrain
        drawn = None if retrain is None else retrain.drawn
        return {
            "synthetic": lambda table, seed: self.run.with_training(table, seed, drawn).generated.table,
            "baseline": lambda table, seed: learned_again(self.run.config, table, seed, drawn or 1.0),
        }

    def _evaluate(self, tables: Mapping[Subject, Table]) -> Evaluation:
        run, options = self.run, self.measured_alone
        rng, metrics = rng_for(run.seed, "evaluate"), asked(run.judged_by, options)
        compared = run.compared if run.is_conditional else None
        how = rng, run.progress, self._share, self._making(tables, metrics), compared, metrics
        found = evaluate(run.train, run.control, tables, options, *how)
        found = self._with_folds(found) if run.folds else found
        if self.attack is None or "synthetic" not in tables:
            return found
        attacked = {(one.name, one.stage): one for one in self.attack().metrics}
        return replace(found, metrics=tuple(attacked.get((one.name, one.stage), one) for one in found.metrics))

    def _making(self, tables: Collection[Subject], metrics: Sequence[Metric]) -> dict[Subject, Making]:
        again, parentage = self._again, self.run.parentage or {}
        common = Making(untried=self.untried, rules=self.run.rules, register=self.run.inputs.beside.register)
        found = {one: replace(common, again=again.get(one), parentage=parentage.get(one)) for one in tables}
        if "synthetic" in found:
            known = leak_of(self.run.config.risk) is not None and any("origin" in metric.needs for metric in metrics)
            found["synthetic"] = replace(
                found["synthetic"],
                origin=self.run.known_leak.provenance if known else None,
                redrawn=self.run.redrawn,
                model=self._kept_model,
                learned=self.run.learned_records or 0,
            )
        return found

    @property
    def _kept_model(self) -> KeptModel | None:
        """The model of the synthetic table, where the store keeps it."""
        run, config = self.run, self.run.config
        if config.privacy is not None or leak_of(config.risk) is not None or not self._is_model_attacked:
            return None
        if run.is_one_of_several:
            several = KeptModel(config.synthesize.generator, None, "it is one of several, of linked tables")
            return None if run.store.place is None else several
        return run.generation.kept_model()

    @property
    def _is_model_attacked(self) -> bool:
        """True if the model is attacked: where a verdict comes of it, or a metric that does so is named."""
        options = self.measured_alone
        attacks = [metric.name for metric in asked(self.run.judged_by, options) if "model" in metric.needs]
        return any(self.run.judge_power or name in options.named for name in attacks)

    def _with_folds(self, own: Evaluation) -> Evaluation:
        policy = self.run.judged_by
        decisive = own.stages if policy is None else [one for one in own.stages if one in policy.stages]
        first, *others = (fold.assessment for fold in self.run.folds)
        found = [first._evaluation_of(own.stages), *(fold._evaluation_of(decisive) for fold in others)]
        return pooled_evaluation(own, found, self._metrics_of_folds)

    def of(self, subject: Subject) -> Evaluation:
        """Evaluation of one judged table."""
        if subject in self._measured:
            found, seconds = self._measured[subject]
            took(seconds)
            return found
        table = self._judged(subject)
        if table is None:
            raise ConfigError(f"this configuration has no {subject} table to evaluate")
        return self._evaluate({subject: table})

    def _judged(self, subject: Subject) -> Table | None:
        match subject:
            case "original":
                return self.run.compared[0]
            case "anonymized":
                return None if self.run.restored is None else self._selected(self.run.restored.table)
            case "synthetic":
                return self.run.generated.table
            case "baseline":
                return self.run.baseline

    def _selected(self, table: Table) -> Table:
        return table if self.run.selection is None else self.run.selection.of(table)

    @cached_property
    def _measured(self) -> dict[Subject, tuple[Evaluation, float]]:
        return {}

    @cached_property
    def _share(self) -> Share:
        code, once = (code_version(), library_versions(*libraries())), remembering({})

        def share(key: str, compute: Callable[[], Any]) -> Any:
            kept = fingerprint(key, code)
            return once(key, lambda: self.run.store.get_or_compute("evaluate-shared", kept, compute))

        return share
