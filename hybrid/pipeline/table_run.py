"""Run of one table through all stages, each computed once, in order, from (config, seed) alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.arrays import Codes, Rows
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.rng import fresh_seed
from hybrid.constraints import Redrawn, Rules
from hybrid.evaluation.context import Parentage
from hybrid.evaluation.measure import AllRows, Evaluation, Subject
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import hierarchy_of_values
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.assessment import Assessment
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.pipeline.conditions import Selection, selection
from hybrid.pipeline.config import SINGLE
from hybrid.pipeline.constraint_rules import fitted_rules
from hybrid.pipeline.early_refusals import refuse_early
from hybrid.pipeline.filtering import control_halves, filtered
from hybrid.pipeline.generation import Filtered, Generated, Generation
from hybrid.pipeline.in_parts import DrawnInParts
from hybrid.pipeline.inputs import Inputs, SampledInputs
from hybrid.pipeline.links import naming
from hybrid.pipeline.private_generation import account_of_run, drawn_privately, paid
from hybrid.pipeline.promises import Promises
from hybrid.pipeline.protection import protected, static_columns, training_hierarchies
from hybrid.pipeline.released_rows import drawn_in_parts, with_identifiers
from hybrid.pipeline.risk import KnownLeak, leak_of, removal_of, with_known_leak, without_removed
from hybrid.pipeline.run import Run
from hybrid.pipeline.seeds import split_seed
from hybrid.pipeline.stages import BASELINE, FILTER, POWER, PROTECT, SYNTHESIZE, evaluation_of, stage_named, subject_of
from hybrid.privacy.accounting import Budget
from hybrid.protect import Protected
from hybrid.protect.below_labels import has_public_list
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import Power
from hybrid.sample import Sampled
from hybrid.table import Column, Table
from hybrid.table.split import Parts
from hybrid.table.surrogates import with_table_numbers
from hybrid.table.write import Layout
from hybrid.transition.disclosure import GiveAway
from hybrid.transition.protocol import Restored

T = TypeVar("T")


class TableRun(Run[Inputs]):
    """All stages of one table, computed on demand.

    Parameters and errors as for :class:`hybrid.pipeline.pipeline.Pipeline`, which judges all tables of a run together.
    """

    keeps_model = False
    """Whether the trained model stays in memory, for further rows; to be set before anything is drawn."""
    beside: tuple[Column, ...] = ()
    """Columns of all other linked tables about people, which nothing generalizes; of the person table."""
    decided = False
    """Whether the columns were decided on a larger table, of which this one's records are a sample."""
    name = SINGLE
    """Of the table; none of a single one."""
    is_one_of_several = False
    """Whether people have rows in other tables, too: then they are attacked with all of their rows."""
    below: Callable[[], Table] | None = None
    """Summary of people's rows in linked tables, which the transition of the person table reads."""
    behind = ""
    """Fingerprint of all linked tables, keys and references, on which results of every one may depend."""
    _filter_control: Table | None = None
    """Control records of the filter where there are none of this run's own."""

    @cached_property
    def recorder(self) -> Recorder:
        """Seconds and memory of the stages."""
        return Recorder()

    @cached_property
    def inputs(self) -> Inputs:
        """The table, its parts and its hierarchies."""
        about = self.config, self.recorder, self.progress
        if self.given is not None:
            return self.given
        return SampledInputs(*about, lambda: self.split_seed) if self.config.rows_stay else Inputs(*about)

    @cached_property
    def seed(self) -> int:
        """The source of all randomness.

        Where none was given, one is drawn that cannot be guessed. A kept store keeps it with the same data and
        config, so that an interrupted run continues with its own draws; publishing many draws of the same data
        would give more away than one.
        """
        if self.given_seed is not None:
            return self.given_seed
        return self.store.get_or_compute("seed", fingerprint(self.data_fingerprint, self.config), fresh_seed)

    @cached_property
    def split_seed(self) -> int:
        """Seed of the split; see :func:`hybrid.pipeline.seeds.split_seed`."""
        return split_seed(self)

    @cached_property
    def data_fingerprint(self) -> str:
        """Content hash of what was read: the table and its hierarchies."""
        return self.inputs.fingerprint

    @property
    def table(self) -> Table:
        """The whole input table."""
        return self.inputs.table

    @property
    def layout(self) -> Layout:
        """Layout of the file to write; of a private table the default."""
        return self.inputs.layout if self.config.privacy is None else Layout()

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier; none without anonymization."""
        inputs = self.inputs
        if inputs.whole is not None:
            frame, schema = self.labelled.frame, self.labelled.schema
            known = inputs.hierarchies.items()
            return {name: hierarchy_of_values(tree, schema[name], frame[name]) for name, tree in known}
        if self.protected is None or self.config.anonymize is None:
            return inputs.hierarchies
        return training_hierarchies(self.config, self.labelled, inputs.beside.population, inputs.hierarchies)

    @cached_property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return load_policy(self.config.policy_path)

    @property
    def judged_by(self) -> Policy | None:
        """Policy whose verdict the run is for, which asks for metrics; None of a run that is only compared."""
        return self.policy if self.judge_power else None

    @property
    def _has_power(self) -> bool:
        return self.judge_power and self.config.evaluate.power and self.policy.plants_leaks

    @cached_property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages; see :func:`hybrid.pipeline.cache_keys.stage_keys`."""
        must_detect = self.policy.detection if self._has_power else None
        about = self.config, self.seed, self.split_seed, self.data_fingerprint, must_detect
        found = stage_keys(*about, judged_by=self.judged_by, beside=self.inputs.beside)
        return {name: fingerprint(key, self.behind) for name, key in found.items()} if self.name else found

    def check(self) -> None:
        """Check the later stages before the first one is computed."""
        with naming(self.name):
            refuse_early(self)

    def compute(self, stage: str) -> None:
        """Compute a stage by its name, or load it if the store has it.

        ``evaluate-synthetic`` names the evaluation of one judged table.
        """
        judged = subject_of(stage)
        _ = getattr(self, stage_named(stage).result) if judged is None else self.evaluated(judged)

    @cached_property
    def parts(self) -> Parts:
        """Training, control and fresh records, without identifiers."""
        train, *others = self.inputs.split(self.split_seed)
        return Parts(train.without_identifiers(), *(part and part.without_identifiers() for part in others))

    @cached_property
    def _kept(self) -> Table:
        return without_removed(self.parts.train, removal_of(self.config.risk), self.seed)

    @property
    def train(self) -> Table:
        """The original training records, without identifiers: the people at risk."""
        removal = removal_of(self.config.risk)
        return self._kept if removal is not None and removal.measured == "kept" else self.parts.train

    @property
    def control(self) -> Table | None:
        """The records that no generator and no filter sees, without identifiers."""
        return self.control_halves[1]

    @cached_property
    def control_halves(self) -> tuple[Table | None, Table | None]:
        control = self.parts.control
        if self.config.synthesize.filter is None or control is None:
            return self._filter_control, control
        return control_halves(control, self.split_seed)

    @cached_property
    def rows(self) -> Rows:
        """Row of the source of each training record, of the person table."""
        return self.train.persons

    @cached_property
    def protected(self) -> Protected | None:
        """Training records without values that few people hold; None where protection is off."""
        if PROTECT.name not in self.keys:
            return None
        hierarchies, decided = self.inputs.hierarchies, self.decided
        found: Protected | None = self._stage(
            PROTECT.name,
            lambda: protected(
                self.config, self.train, hierarchies, self.seed, self.rules, self.static, decided=decided
            ),
        )
        return found

    @cached_property
    def static(self) -> tuple[str, ...] | None:
        """Columns with one value per person; None where the generator draws single rows."""
        return static_columns(self.config, self.train)

    @property
    def learned(self) -> Table:
        """Training records that are anonymized and learned from: protected, unless protection is off."""
        if removal_of(self.config.risk) is not None:
            return self._kept
        return self.train if self.protected is None else self.protected.table

    @property
    def labelled(self) -> Table:
        """Training records that are generalized: as :attr:`learned`, but with their true quasi-identifiers."""
        if removal_of(self.config.risk) is not None or self.protected is None:
            return self.learned
        return self.protected.labelled

    @cached_property
    def rules(self) -> Rules:
        """The constraints, fitted to the training records."""
        return fitted_rules(self.config, self.train, self.inputs.hierarchies if self.config.constraints else None)

    @cached_property
    def selection(self) -> Selection | None:
        """Condition on drawn rows, with the training records that meet it; None without one.

        A condition that would single out few persons is refused.
        """
        return selection(self.config, self.train, by_person=self.static is not None, decided=self.decided)

    @property
    def is_conditional(self) -> bool:
        """True if drawn rows, or the persons whose rows they are, meet a condition."""
        return self.selection is not None

    @property
    def compared(self) -> tuple[Table, Table | None]:
        """Training and control records that utility and fidelity compare with.

        All of them, or those that meet the condition.
        """
        if self.selection is None:
            return self.train, self.control
        return self.selection.train, None if self.control is None else self.selection.of(self.control)

    @property
    def compared_rows(self) -> tuple[Rows, Rows]:
        """Rows of the source of the training and control records that utility and fidelity compare with."""
        train, control = self.compared
        return train.persons, np.empty(0, dtype=np.int64) if control is None else control.persons

    @property
    def charted(self) -> tuple[Table, Table | None]:
        """Training and control records that charts compare with, since charts are published.

        As :attr:`compared`, but the training records as protection left them: no value that it took out is shown.
        """
        real, control = self.compared
        if self.protected is None:
            return real, control
        table = self.protected.table
        return table if self.selection is None else table.take(self.selection.met_by(self.train)), control

    @cached_property
    def anonymization(self) -> Anonymization | None:
        """The stages from training records to specific values again; None without anonymization."""
        if self.config.anonymize is None:
            return None
        return Anonymization(
            config=self.config,
            options=self.config.anonymize,
            transition=self.config.required_transition,
            hierarchies=self.hierarchies,
            population=self.inputs.beside.population,
            train=self.labelled,
            seed=self.seed,
            compute=self._stage,
            progress=self.progress,
            protection=None if self.protected is None else self.protected.result,
            static=self.static,
            rules=self.rules,
            public=self._public_lists,
            ties=self.rules.tied(self.labelled if self.protected is None else self.train, self.static),
            whole=self.inputs.whole,
            by_pycanon=not self.decided,
            below=self.below,
        )

    @property
    def _public_lists(self) -> frozenset[str]:
        """Quasi-identifiers with a public list of values, judged by the whole table."""
        frame = self.inputs.table.frame
        known = self.inputs.hierarchies.items()
        return frozenset(name for name, tree in known if has_public_list(tree, frame[name]))

    @property
    def anonymized(self) -> AnonymizedTable | None:
        """The k-anonymous training records; None without anonymization."""
        return None if self.anonymization is None else self.anonymization.anonymized

    @property
    def labelled_rows(self) -> tuple[Rows, Codes]:
        """Rows of the source that have labels, of the person table, and the class of each."""
        found = self.anonymized
        assert found is not None
        return found.originals.persons, found.class_ids

    @property
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the configured k; empty where it is not computed."""
        return [] if self.anonymization is None else self.anonymization.trade_off

    @property
    def sampled(self) -> Sampled | None:
        """The anonymized records that the transition gets; None without anonymization."""
        return None if self.anonymization is None else self.anonymization.sampled

    @property
    def restored(self) -> Restored | None:
        """The sampled records with specific values again; None without anonymization."""
        return None if self.anonymization is None else self.anonymization.restored

    @property
    def values(self) -> Table:
        """Records with specific values that a generator learns under ``transition.order: pre``."""
        return self.generation.sampled() if self.restored is None else self.restored.table

    @cached_property
    def kept(self) -> tuple[Table, Rows]:
        """Records that a generator learns, with their source rows."""
        return self.values, self.values.persons

    @property
    def learned_records(self) -> int | None:
        """Records that the generator learned from; None where none ran, or where their number is not published."""
        known = self.config.privacy is None and leak_of(self.config.risk) is None and not self.is_unsynthesized
        return len(self.values) if known else None

    @cached_property
    def drawn(self) -> Generated:
        """The drawn records, with specific values, without identifiers, in random order."""
        _ = self.selection
        if leak_of(self.config.risk) is not None:
            return self._stage(SYNTHESIZE.name, lambda: Generated(self.known_leak.table))
        if self.config.privacy is not None:
            return self._drawn_privately()
        if self.config.synthesize.part_rows is not None:
            return self._drawn_in_parts()
        return self._stage(SYNTHESIZE.name, self.generation.drawn)

    def _drawn_in_parts(self) -> DrawnInParts:
        self.progress(SYNTHESIZE.name, 0, None)
        with self.recorder.stage(SYNTHESIZE.name):
            return drawn_in_parts(self)

    def _drawn_privately(self) -> Generated:
        def draw() -> Generated:
            return drawn_privately(self.config, self.learned, self.inputs.domains, self.seed, self.progress)

        key, account = self.keys[SYNTHESIZE.name], account_of_run(self, self.data_fingerprint)
        return paid(account, key, lambda compute: self._stage(SYNTHESIZE.name, compute), draw)

    @cached_property
    def known_leak(self) -> KnownLeak:
        """The table with a known leak, and where its rows came from."""
        parts = self.parts
        return with_known_leak(parts.train, parts.release, leak_of(self.config.risk), self.seed)

    @cached_property
    def generated(self) -> Generated:
        """The drawn records that the filter keeps, in random order."""
        options = self.config.synthesize.filter
        if options is None:
            return self.drawn
        control, drawn = self.control_halves[0], self.drawn
        if control is None:
            raise ConfigError("synthesize.filter needs control records", hint="set split.control, such as 0.3")

        def again(rows: int, attempt: int) -> Table:
            return self.generation.again(rows, attempt).drawn().table

        train, seed = self.train, self.split_seed
        return self._stage(FILTER.name, lambda: filtered(drawn, train, control, options, seed, again))

    @property
    def redrawn(self) -> Redrawn | None:
        """Rows drawn again for constraints or a condition; None without."""
        return self.generated.redrawn

    @property
    def filtered(self) -> Filtered | None:
        """Rows that the filter left out; None without one."""
        return self.generated.filtered

    @property
    def budget(self) -> Budget | None:
        """Account of the synthetic table; None without a privacy budget."""
        return self.drawn.budget

    @property
    def all_rows(self) -> AllRows | None:
        """Counts on all rows; None where all rows are judged."""
        return self.drawn.all_rows if isinstance(self.drawn, DrawnInParts) else None

    @property
    def is_unsynthesized(self) -> bool:
        """True if no generator runs."""
        return self.config.synthesize.is_off

    @cached_property
    def drawn_owners(self) -> Rows:
        """Drawn parent row of each drawn row; a person's own."""
        return np.arange(len(self.generated.table))

    @cached_property
    def baseline(self) -> Table | None:
        """Table of the same generator without anonymization, for comparison; None where it is not asked for.

        It learns the protected records like the release: what anonymizing changes is compared, not protection.
        """
        return self._stage(BASELINE.name, self.generation.baseline) if self.config.has_baseline else None

    @cached_property
    def generation(self) -> Generation:
        once = self.config.synthesize.part_rows is None and not self.keeps_model
        only_kept = self.origin is not None
        return Generation(self, self.config, self.selection, only_kept=only_kept, models=None if once else {})

    def with_training(self, table: Table, seed: int, drawn: float | None = None) -> Self:
        """The same configuration for other training records; control records are those of the filter alone.

        Nothing is kept. ``drawn``: rows to draw, as a multiple of the records; None: as the configuration says.
        """
        config, options = self.config, self.config.synthesize
        rows = options.rows if options.part_rows is None else options.part_rows
        how = {"rows": rows, "part_rows": None}
        if drawn is not None:
            how |= {"rows": max(round(drawn * len(table)), 1), "tables": 1}
        config = config.model_copy(update={"synthesize": options.model_copy(update=how)})
        other = type(self)(config, seed, given=self.inputs.with_training(table), judge_power=False)
        other.decided = True
        if self.config.synthesize.filter is not None:
            other._filter_control = self.control_halves[0]
        return other

    @cached_property
    def synthetic(self) -> Table:
        """The table to release: the source's columns in the source's order.

        Of one that is drawn in parts, the sample that is judged. Of several, their rows one after the other, with the
        number of the table as the last column.
        """
        totals, options = self.inputs.beside.totals, self.config.margins
        if totals is not None and options is not None:
            totals.verify(self.generated.table, options.most)
        found, tables = with_identifiers(self, self.generated.table), self.config.synthesize.tables
        return found if tables == 1 else with_table_numbers(found, tables)

    @property
    def released_rows(self) -> int:
        """Rows of the table to release."""
        return len(self.generated.table) if self.all_rows is None else self.all_rows.rows

    @cached_property
    def promises(self) -> Promises:
        """Formal promises about this table."""
        return Promises(self)

    @property
    def is_private(self) -> bool:
        """True if differential privacy is claimed."""
        return self.promises.is_private

    @cached_property
    def give_away(self) -> GiveAway | None:
        """Disclosure of originals by the transition; None without one."""
        return None if self.anonymization is None else self.anonymization.give_away(self.generated.table)

    @property
    def parentage(self) -> Mapping[Subject, Parentage] | None:
        """Parents of each judged table's rows; None without a parent table."""
        return None

    @cached_property
    def assessment(self) -> Assessment:
        """Evaluation of the tables of this run."""
        return Assessment(self)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of every judged table."""
        return self.assessment.of_all

    def evaluated(self, subject: Subject) -> Evaluation:
        """Privacy, utility and fidelity of one table."""
        return self._stage(evaluation_of(subject), lambda: self.assessment.of(subject))

    @cached_property
    def power(self) -> Power | None:
        """Planted leaks that the verdict noticed; None where none are planted."""
        return self._stage(POWER.name, self.assessment.power) if self._has_power else None

    @cached_property
    def folds(self) -> tuple[Self, ...]:
        """Runs of the same configuration, each without the people who are its control.

        On them ``split.control: cross`` judges the procedure; none without it.
        """
        return tuple(
            type(self)(config, seed, self.store, told, self.inputs.of_fold(parts), judge_power=False)
            for config, seed, parts, told in self.assessment.runs_of_folds
        )

    def _stage(self, name: str, compute: Callable[[], T], /) -> T:
        self.progress(name, 0, None)
        with naming(self.name), self.recorder.stage(name):
            return self.store.get_or_compute(name, self.keys[name], compute)
