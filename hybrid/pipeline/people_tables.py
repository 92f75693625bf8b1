"""Tables of a run before a generator: of the people, protected, anonymized."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.errors import HybridError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed
from hybrid.constraints import Rules
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import hierarchy_of_values
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.pipeline.conditions import Selection, selection
from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.constraint_rules import fitted_rules
from hybrid.pipeline.contradictions import refuse_contradictions
from hybrid.pipeline.filtering import control_halves
from hybrid.pipeline.inputs import Inputs, WarehouseInputs
from hybrid.pipeline.kept_split import kept_split
from hybrid.pipeline.links import in_table
from hybrid.pipeline.protection import protected, static_columns, training_hierarchies
from hybrid.pipeline.risk import removal_of, without_removed
from hybrid.pipeline.stages import PROTECT
from hybrid.protect import Protected
from hybrid.protect.below_labels import has_public_list
from hybrid.publication.policy import Policy, load_policy
from hybrid.sample import Sampled
from hybrid.store import Store
from hybrid.table import Table
from hybrid.table.split import Parts
from hybrid.table.write import Layout

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Seeds of an earlier run whose kept model draws again."""

    seed: int
    split_seed: int


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Name the table in errors of the block, if it is one of several."""
    try:
        yield
    except HybridError as error:
        if not table:
            raise
        raise type(error)(in_table(table, problem) for problem in error.problems) from None


class PeopleTables:
    """Tables that a generator learns from, computed on demand.

    Parameters as for :class:`hybrid.pipeline.pipeline.Pipeline`.
    """

    def __init__(
        self,
        config: RunConfig,
        seed: int | None = None,
        store: Store | None = None,
        progress: Progress = silent,
        inputs: Inputs | None = None,
        *,
        judge_power: bool = True,
        origin: Origin | None = None,
        ledger_dir: Path | None = None,
    ) -> None:
        refuse_contradictions(config)
        self.config = config
        self.judge_power = judge_power
        self.store = store or Store(None)
        self.progress = progress
        self.recorder = Recorder()
        self.inputs = inputs or self._inputs()
        self.origin = origin
        self.ledger_dir = ledger_dir
        self._given_seed = config.seed if seed is None else seed
        self.seeded = self._given_seed is not None
        """Whether somebody chose the seed."""
        if origin is not None:
            self._given_seed = origin.seed
        self._filter_control: Table | None = None
        """Control records of the filter where there are none of this run's own."""
        self.decided = False
        """Whether the columns were decided on a larger table, of which this one's records are a sample."""
        self.name = SINGLE
        """Of the table; none of a single one."""
        self.below: Callable[[], Table] | None = None
        """Summary of people's rows in linked tables, which the transition of the person table reads."""
        self.behind = ""
        """Fingerprint of all linked tables, keys and references, on which results of every one may depend."""

    def _inputs(self) -> Inputs:
        about = self.config, self.recorder, self.progress
        return WarehouseInputs(*about, lambda: self.split_seed) if self.config.is_pushed_down else Inputs(*about)

    @cached_property
    def seed(self) -> int:
        """The source of all randomness.

        Where none was given, one is drawn that cannot be guessed. A kept store keeps it with the same data and
        config, so that an interrupted run continues with its own draws; publishing many draws of the same data
        would give more away than one.
        """
        if self._given_seed is not None:
            return self._given_seed
        return self.store.get_or_compute("seed", fingerprint(self.data_fingerprint, self.config), fresh_seed)

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
        return training_hierarchies(self.config, self.labelled, inputs.population)

    @property
    def train(self) -> Table:
        """The original training records, without identifiers: the people at risk."""
        removal = removal_of(self.config.risk)
        return self._kept if removal is not None and removal.measured == "kept" else self._parts.train

    @cached_property
    def protected(self) -> Protected | None:
        """Training records without values that few people hold; None where protection is off.

        Raises
        ------
        DataError
            Columns need a decision.
        """
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

        Raises
        ------
        ConfigError
            The condition would single out few persons.
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
    def charted(self) -> tuple[Table, Table | None]:
        """Training and control records that charts compare with, since charts are published.

        As :attr:`compared`, but the training records as protection left them: no value that it took out is shown.
        """
        real, control = self.compared
        if self.protected is None:
            return real, control
        table = self.protected.table
        return table if self.selection is None else table.take(self.selection.met_by(self.train)), control

    @property
    def control(self) -> Table | None:
        """The records that no generator and no filter sees, without identifiers."""
        return self._control_halves[1]

    @cached_property
    def _control_halves(self) -> tuple[Table | None, Table | None]:
        control = self._parts.control
        if self.config.synthesize.filter is None or control is None:
            return self._filter_control, control
        return control_halves(control, self.split_seed)

    @cached_property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages; see :func:`hybrid.pipeline.cache_keys.stage_keys`."""
        population = "" if self.inputs.population is None else fingerprint(self.inputs.population)
        must_detect = self.policy.detection if self._has_power else None
        data = self.data_fingerprint, population, must_detect
        found = stage_keys(
            self.config, self.seed, self.split_seed, *data, judged_by=self.judged_by, totals=self.inputs.totals
        )
        return {name: fingerprint(key, self.behind) for name, key in found.items()} if self.name else found

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
            population=self.inputs.population,
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
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the configured k; empty where it is not computed."""
        return [] if self.anonymization is None else self.anonymization.trade_off

    @property
    def sampled(self) -> Sampled | None:
        """The anonymized records that the transition gets; None without anonymization."""
        return None if self.anonymization is None else self.anonymization.sampled

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
    def _parts(self) -> Parts:
        """Training, control and fresh records, without identifiers."""
        train, *others = self.inputs.split(self.split_seed)
        return Parts(train.without_identifiers(), *(part and part.without_identifiers() for part in others))

    @cached_property
    def _kept(self) -> Table:
        """The training records that a removal leaves."""
        return without_removed(self._parts.train, removal_of(self.config.risk), self.seed)

    @cached_property
    def split_seed(self) -> int:
        """Seed of the split: the given one, or that which ``hybrid tune`` kept for this table.

        Without these, under ``split.stable``, one that a kept store remembers for all runs of this name.
        """
        if self.origin is not None:
            return self.origin.split_seed
        if self._given_seed is not None:
            return self.seed
        if self.ledger_dir is not None and not self.config.is_pushed_down:
            tuned = kept_split(self.ledger_dir, self.config, self.inputs.table)
            if tuned is not None:
                return tuned
        if not self.config.split.stable:
            return self.seed
        return self.store.get_or_compute("seed", fingerprint("split", self.config.name), fresh_seed)

    def _stage(self, name: str, compute: Callable[[], T], /) -> T:
        self.progress(name, 0, None)
        with naming(self.name), self.recorder.stage(name):
            return self.store.get_or_compute(name, self.keys[name], compute)
