"""Run of one table through all stages, each computed once, in order, from (config, seed) alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, get_args

import numpy as np

from hybrid.anonymize.search.problem import k_problem
from hybrid.base.arrays import Rows
from hybrid.base.errors import ConfigError, InfeasibleError
from hybrid.base.hashing import code_version, fingerprint, library_versions
from hybrid.base.progress import Progress, prefixed
from hybrid.base.rng import rng_for
from hybrid.constraints.checks import refuse_misfits
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import Context, FitAndSample, KeptModel, Making, Parentage, Share
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Crossed, Evaluation, Subject
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.pooled import compared_with_folds, is_measured_in_folds, pooled_evaluation
from hybrid.evaluation.run_metrics import check_options, remembering
from hybrid.pipeline.conditions import refuse_misfit
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import untried
from hybrid.pipeline.generation import learned_again
from hybrid.pipeline.guarantees import promise, promises
from hybrid.pipeline.identifying_texts import refuse_identifying
from hybrid.pipeline.people_tables import naming
from hybrid.pipeline.power import judged_table, measure_power_of
from hybrid.pipeline.privacy_statements import Explanation, combined_explanation
from hybrid.pipeline.private_mode import explain_private, refuse_undeclared
from hybrid.pipeline.refusals import TABLES, refusal
from hybrid.pipeline.risk import leak_of
from hybrid.pipeline.stages import EVALUATE, POWER, evaluation_of, libraries, stage_named, subject_of
from hybrid.pipeline.tables import DrawnTables
from hybrid.publication.asked import asked
from hybrid.publication.composition import Membership, membership
from hybrid.publication.gate import confidence_of_each
from hybrid.publication.power import Power
from hybrid.store import took
from hybrid.synthesize.registry import require
from hybrid.table import Column, Schema, Table
from hybrid.table.numbered import TABLE_NUMBER
from hybrid.table.persons import n_persons
from hybrid.table.split import Parts
from hybrid.transition.disclosure import GiveAway

ONLY_COMPARED = "configurations that are only compared are not attacked so"


class TableRun(DrawnTables):
    """All stages of one table, computed on demand.

    Parameters and errors as for :class:`hybrid.pipeline.pipeline.Pipeline`, which judges all tables of a run together.
    """

    attack: Callable[[], Evaluation] | None = None
    """Attacks that repeat the making of all linked tables, on people with all of their rows; of the person table."""
    beside: tuple[Column, ...] = ()
    """Columns of all other linked tables about people, which nothing generalizes; of the person table."""

    def check(self) -> None:
        """Check the later stages before the first one is computed.

        Raises
        ------
        HybridError
            The policy cannot be read, the evaluation names what does not exist, or a package is missing.
        """
        with naming(self.name):
            self._check()

    def _check(self) -> None:
        _ = self.policy
        if not self.config.synthesize.is_off:
            require(self.config.synthesize.engine)
        check_options(self.config.evaluate, self.table.schema.without_identifiers())
        if self.config.synthesize.tables > 1 and TABLE_NUMBER in self.table.schema:
            raise ConfigError([refusal(TABLES, f"column {TABLE_NUMBER}")])
        if self.config.privacy is None:
            refuse_identifying(self.config, self.table)
        refuse_misfits(self.config.constraints, self.table.schema)
        refuse_misfit(self.config, self.table.schema)
        refuse_undeclared(self.config, self.table.schema)
        self._refuse_k()
        _ = self.selection

    def _refuse_k(self) -> None:
        """Refuse a k that is greater than the number of training people, before anything is searched."""
        options = self.config.anonymize
        if options is None or not options.generalizes or self.config.privacy is not None or self.config.is_pushed_down:
            return
        problem = k_problem(options.k, n_persons(self.train), rows_are_persons=self.train.rows_are_persons)
        if problem is not None:
            raise InfeasibleError(problem)

    def compute(self, stage: str) -> None:
        """Compute a stage by its name, or load it if the store has it.

        ``evaluate-synthetic`` names the evaluation of one judged table.
        """
        judged = subject_of(stage)
        _ = getattr(self, stage_named(stage).result) if judged is None else self.evaluated(judged)

    @cached_property
    def rows(self) -> Rows:
        """Row of the source of each training record, of the person table."""
        return self.train.persons

    @property
    def compared_rows(self) -> tuple[Rows, Rows]:
        """Rows of the source of the training and control records that utility and fidelity compare with."""
        train, control = self.compared
        return train.persons, np.empty(0, dtype=np.int64) if control is None else control.persons

    @cached_property
    def kept(self) -> tuple[Table, Rows]:
        """Records that a generator learns, with their source rows."""
        return self.values, self.values.persons

    @cached_property
    def drawn_owners(self) -> Rows:
        """Drawn parent row of each drawn row; a person's own."""
        return np.arange(len(self.generated.table))

    people: int | None = None
    """Number of people in the data, where this table is about some of them; None: those of this table."""
    together: Evaluation | None = None
    """Evaluation of this and other tables that are released together, whose intervals hold together; None: of this."""

    @property
    def parentage(self) -> Mapping[Subject, Parentage] | None:
        """Parents of each judged table's rows; None without a parent table."""
        return None

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of every judged table."""
        found = self._evaluation_of(get_args(Subject))
        printed = with_printed(found) if self.config.evaluate.paper else found
        return replace(printed, all_rows=self.all_rows, crossed=self._crossed)

    def _evaluation_of(self, subjects: Collection[Subject]) -> Evaluation:
        """Evaluation of those of these tables that the run has."""
        judged = [subject for subject in subjects if evaluation_of(subject) in self.keys]
        self._measure_together(judged)
        return Evaluation(tuple(metric for subject in judged for metric in self.evaluated(subject).metrics))

    def evaluated(self, subject: Subject) -> Evaluation:
        """Privacy, utility and fidelity of one table.

        Raises
        ------
        ConfigError
            The configuration has no such table.
        """
        return self._stage(evaluation_of(subject), lambda: self._evaluated(subject))

    def evaluate_beside(self, table: Table) -> Evaluation:
        """Evaluation of a table that was made in another way, judged as the synthetic one.

        The original and the generator alone are judged beside it. No verdict comes of it, and nothing of it is kept.
        """
        others: tuple[Subject, ...] = ("original", "baseline")
        found = [self.evaluated(subject) for subject in others if evaluation_of(subject) in self.keys]
        return Evaluation(tuple(one for each in [*found, self._evaluate({"synthetic": table})] for one in each.metrics))

    @cached_property
    def explanation(self) -> Explanation:
        """Privacy statement of this configuration.

        Raises
        ------
        ConfigError
            Nothing is anonymized, and the generator has no privacy budget.
        """
        if not self.explanations:
            raise ConfigError("without anonymization there is no guarantee to explain", hint="add an anonymize section")
        return combined_explanation(self.explanations)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The promises of every mechanism of this configuration."""
        return self._explained(seeded=self.seeded)

    @property
    def promise(self) -> str:
        """Formal promises of this configuration, where a run has a secret seed."""
        return promise(self.config, self._explained(seeded=False))

    def _explained(self, *, seeded: bool) -> tuple[Explanation, ...]:
        if self.config.privacy is not None:
            return (explain_private(self.config, secret_seed=not seeded),)
        schema = self.explained
        known = self.hierarchies
        derived = [name for name in schema.quasi_identifiers if name in known and known[name].rule]
        nameless = bool((self.table.persons < 0).any())
        linked = schema != self.table.schema.without_identifiers()
        about = self.config, schema, self.inputs.domains, derived
        whole = self.inputs.whole
        drawn = 1.0 if whole is None else whole.result.drawn_share
        return promises(*about, nameless=nameless, seeded=seeded, linked=linked, drawn=drawn)

    @property
    def statement(self) -> str | None:
        """The explanation in words, with the account of a budget; None where there is nothing to explain."""
        if self.config.privacy is not None:
            return explain_private(self.config, secret_seed=not self.seeded, spent=self.budget).text
        return self.explanation.text if self.explanations else None

    @property
    def explained(self) -> Schema:
        """Columns that the privacy statement must cover; of the person table, those of all tables."""
        return Schema((*self.table.schema.without_identifiers(), *self.beside))

    @property
    def is_private(self) -> bool:
        """True if differential privacy is claimed."""
        return any(explanation.is_private for explanation in self.explanations)

    @cached_property
    def give_away(self) -> GiveAway | None:
        """Disclosure of originals by the transition; None without one."""
        return None if self.anonymization is None else self.anonymization.give_away(self.generated.table)

    def membership(self, secret: bytes) -> Membership:
        """Equivalence class of each training record, by keyed hashes that only the secret can repeat.

        Raises
        ------
        ConfigError
            Nothing is anonymized.
        """
        if self.anonymized is None:
            raise ConfigError("without anonymization there are no equivalence classes", hint="add an anonymize section")
        train, learned = self.inputs.split(self.split_seed).train, self.labelled
        if self.anonymization is not None and self.anonymization.drawn is not None:
            kept = self.anonymization.drawn.kept
            train, learned = train.take(kept), learned.take(kept)
        return membership(train, learned, self.anonymized, secret, self.config.record_key)

    @cached_property
    def power(self) -> Power | None:
        """Planted leaks that the verdict noticed; None where none are planted."""
        return self._stage(POWER.name, self._measure_power) if self._has_power else None

    def _measure_power(self) -> Power:
        confidence = None if self.together is None else confidence_of_each(self.policy, self.together)
        judged = [fold._judged_table for fold in self.folds or (self,)]
        found = self.evaluated("synthetic")
        return measure_power_of(judged, found, self.policy, self.seed, self.progress, confidence, self.people)

    @property
    def _judged_table(self) -> Context:
        tables = self.train, self.control, self.generated.table
        return judged_table(*tables, self.config.evaluate, self.seed, self._share)

    @cached_property
    def folds(self) -> tuple[Self, ...]:
        """Runs of the same configuration, each without the people who are its control.

        On them ``split.control: cross`` judges the procedure; none without it.
        """
        return tuple(
            type(self)(config, seed, self.store, told, self.inputs.of_fold(parts), judge_power=False)
            for config, seed, parts, told in self.runs_of_folds
        )

    @property
    def runs_of_folds(self) -> Iterator[tuple[RunConfig, int, Parts, Progress]]:
        """Configuration, seed, parts and progress of the run of every fold."""
        split = self.config.split
        if not split.is_crossed:
            return
        chosen = {"metrics": self._metrics_of_folds, "also": ()}
        evaluate = self.config.evaluate.model_copy(update=chosen)
        config = self.config.model_copy(update={"split": split.of_one_fold, "evaluate": evaluate})
        for number, parts in enumerate(self.inputs.folds(self.split_seed)):
            seed = int(rng_for(self.seed, "fold", number).integers(2**63))
            yield config, seed, parts, prefixed(f"fold {number + 1} of {split.folds}, ", self.progress)

    @cached_property
    def _crossed(self) -> tuple[Crossed, ...]:
        """Copies in the released table and in those of the folds; none without folds."""
        folds = [fold._judged_table for fold in self.folds]
        if not folds or evaluation_of("synthetic") not in self.keys:
            return ()
        tables = self.train, folds[0].control, self.generated.table
        return compared_with_folds(judged_table(*tables, self.config.evaluate, self.seed), folds)

    @property
    def _metrics_of_folds(self) -> tuple[str, ...]:
        return tuple(one.name for one in asked(self.judged_by, self.config.evaluate) if is_measured_in_folds(one))

    def _measure_together(self, subjects: Sequence[Subject]) -> None:
        names = {subject: evaluation_of(subject) for subject in subjects if subject not in self._measured}
        absent = [subject for subject, name in names.items() if self.store.entry(name, self.keys[name]) is None]
        tables = {subject: self._judged(subject) for subject in absent}
        if len(absent) < 2:
            return
        begun = time.perf_counter()
        with self.recorder.stage(EVALUATE.name):
            found = self._evaluate({subject: table for subject, table in tables.items() if table is not None})
        whole, known = time.perf_counter() - begun, sum(one.seconds for one in found.metrics)
        for subject in absent:
            metrics = tuple(one for one in found.metrics if one.stage == subject)
            share = sum(one.seconds for one in metrics) / known if known else 1 / len(absent)
            self._measured[subject] = Evaluation(metrics), share * whole

    @property
    def untried(self) -> str:
        """Reason to repeat the whole process only if ``evaluate.retrain`` asks for it; empty if there is none."""
        if self.name:
            return "people are attacked with the rows of all tables, not of this one alone: see the person table"
        return untried(self.config, self.train) if self.judge_power else ONLY_COMPARED

    @property
    def measured_alone(self) -> EvaluateOptions:
        """Options of this table alone; people with the rows of all linked tables are attacked elsewhere."""
        options = self.config.evaluate
        return options.model_copy(update={"retrain": None}) if self.name else options

    @property
    def _again(self) -> Mapping[Subject, FitAndSample]:
        """Ways to make the tables again from other records; linked ones are made again together."""
        if self.name:
            return {}
        retrain = self.config.evaluate.retrain
        drawn = None if retrain is None else retrain.drawn
        return {
            "synthetic": lambda table, seed: self.with_training(table, seed, drawn).generated.table,
            "baseline": lambda table, seed: learned_again(self.config, table, seed, drawn or 1.0),
        }

    def _evaluate(self, tables: Mapping[Subject, Table]) -> Evaluation:
        rng, options = rng_for(self.seed, "evaluate"), self.measured_alone
        metrics = asked(self.judged_by, options)
        compared = self.compared if self.is_conditional else None
        how = rng, self.progress, self._share, self._making(tables, metrics), compared, metrics
        found = evaluate(self.train, self.control, tables, options, *how)
        found = self._with_folds(found) if self.folds else found
        if self.attack is None or "synthetic" not in tables:
            return found
        attacked = {(one.name, one.stage): one for one in self.attack().metrics}
        return replace(found, metrics=tuple(attacked.get((one.name, one.stage), one) for one in found.metrics))

    def _making(self, tables: Collection[Subject], metrics: Sequence[Metric]) -> dict[Subject, Making]:
        """Making of each of the tables."""
        again, parentage = self._again, self.parentage or {}
        common = Making(untried=self.untried, rules=self.rules)
        found = {one: replace(common, again=again.get(one), parentage=parentage.get(one)) for one in tables}
        if "synthetic" in found:
            known = leak_of(self.config.risk) is not None and any("origin" in metric.needs for metric in metrics)
            found["synthetic"] = replace(
                found["synthetic"],
                origin=self._known_leak.provenance if known else None,
                redrawn=self.redrawn,
                model=self._kept_model,
                learned=self.learned_records or 0,
            )
        return found

    @property
    def _kept_model(self) -> KeptModel | None:
        """The model of the synthetic table, where the store keeps it."""
        if self.config.privacy is not None or leak_of(self.config.risk) is not None or not self._is_model_attacked:
            return None
        if self.name:
            several = KeptModel(self.config.synthesize.generator, None, "it is one of several, of linked tables")
            return None if self.store.place is None else several
        return self._generation.kept_model(self.anonymization)

    @property
    def _is_model_attacked(self) -> bool:
        """True if the model is attacked: where a verdict comes of it, or a metric that does so is named."""
        options = self.measured_alone
        attacks = [metric.name for metric in asked(self.judged_by, options) if "model" in metric.needs]
        return any(self.judge_power or name in options.named for name in attacks)

    def _with_folds(self, own: Evaluation) -> Evaluation:
        decisive = own.stages if self.judged_by is None else [one for one in own.stages if one in self.judged_by.stages]
        first, *others = self.folds
        found = [first._evaluation_of(own.stages), *(fold._evaluation_of(decisive) for fold in others)]
        return pooled_evaluation(own, found, self._metrics_of_folds)

    def _evaluated(self, subject: Subject) -> Evaluation:
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
                return self.compared[0]
            case "anonymized":
                return None if self.restored is None else self._selected(self.restored.table)
            case "synthetic":
                return self.generated.table
            case "baseline":
                return self.baseline

    def _selected(self, table: Table) -> Table:
        return table if self.selection is None else self.selection.of(table)

    @cached_property
    def _measured(self) -> dict[Subject, tuple[Evaluation, float]]:
        return {}

    @cached_property
    def _share(self) -> Share:
        code, once = (code_version(), library_versions(*libraries())), remembering({})

        def share(key: str, compute: Callable[[], Any]) -> Any:
            kept = fingerprint(key, code)
            return once(key, lambda: self.store.get_or_compute("evaluate-shared", kept, compute))

        return share
