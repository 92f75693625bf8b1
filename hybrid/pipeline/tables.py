"""Tables of a run, from the training records to the synthetic table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed
from hybrid.constraints import Redrawn, Rules
from hybrid.evaluation.measure import AllRows
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import hierarchy_of_values
from hybrid.leak import KnownLeak, leak_of, removal_of
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.pipeline.conditions import Selection, selection
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.contradictions import refuse_contradictions
from hybrid.pipeline.filtering import Filtered, FilteredTable, control_halves, filtered
from hybrid.pipeline.generation import Generated, Generation, with_known_leak
from hybrid.pipeline.holding import fitted_rules
from hybrid.pipeline.in_parts import DrawnInParts, draw_in_parts
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.private_account import account_of, paid
from hybrid.pipeline.private_generation import PrivateTable, drawn_privately
from hybrid.pipeline.protection import protected, protected_hierarchies, static_columns
from hybrid.pipeline.removal import without_unusual
from hybrid.pipeline.stages import BASELINE, FILTER, PROTECT, SYNTHESIZE
from hybrid.pipeline.warehouse_inputs import WarehouseInputs
from hybrid.pipeline.warehouse_problems import is_pushed_down
from hybrid.privacy.accounting import Budget
from hybrid.protect import Protected
from hybrid.publication.draw import Draw
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.privacy_account import Account
from hybrid.sample import Sampled
from hybrid.store import Store
from hybrid.table import Table
from hybrid.table.read_file import PARQUET_SUFFIXES
from hybrid.table.split import Parts
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write import write_table
from hybrid.table.write_csv import Layout
from hybrid.transition.protocol import Restored

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Seeds of an earlier run whose kept model draws again."""

    seed: int
    split_seed: int


class Tables:
    """Tables of one run, computed on demand.

    Parameters as for :class:`hybrid.pipeline.pipeline.Pipeline`, which judges them.
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
        self.draw: Draw | None = None
        """Number of this draw of the data under the policy, once it is counted; the verdict depends on it."""
        self._filter_control: Table | None = None
        """Control records of the filter where there are none of this run's own."""
        self._decided = False
        """Whether the columns were decided on a larger table, of which this one's records are a sample."""

    def _inputs(self) -> Inputs:
        """Tables of the configuration, or the sample of one in a warehouse."""
        about = self.config, self.recorder, self.progress
        return WarehouseInputs(*about, lambda: self.split_seed) if is_pushed_down(self.config) else Inputs(*about)

    def with_training(self, table: Table, seed: int, drawn: float | None = None) -> Self:
        """The same configuration for other training records, without control records.

        But for those of the filter.

        Nothing is kept. ``drawn``: rows to draw, as a multiple of the records; None: as the configuration says.
        """
        config, options = self.config, self.config.synthesize
        rows = options.rows if options.part_rows is None else options.part_rows
        rows = rows if drawn is None else max(round(drawn * len(table)), 1)
        config = config.model_copy(update={"synthesize": options.model_copy(update={"rows": rows, "part_rows": None})})
        other = type(self)(config, seed, inputs=self.inputs.with_training(table), judge_power=False)
        other._decided = True
        if self.config.synthesize.filter is not None:
            other._filter_control = self._control_halves[0]
        return other

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
            frame, schema = self.learned.frame, self.learned.schema
            known = inputs.hierarchies.items()
            return {name: hierarchy_of_values(tree, schema[name], frame[name]) for name, tree in known}
        if self.protected is None or self.config.anonymize is None:
            return inputs.hierarchies
        return protected_hierarchies(self.config, self.protected.table, inputs.population)

    @property
    def train(self) -> Table:
        """The original training records, without identifiers: the people at risk."""
        removal = removal_of(self.config.risk)
        return self._kept if removal is not None and removal.measured == "kept" else self._parts.train

    @cached_property
    def protected(self) -> Protected | None:
        """Training records without rare values; None where protection is off.

        Rare values are those that few people hold.

        Raises
        ------
        DataError
            Columns need a decision.
        """
        if PROTECT.name not in self.keys:
            return None
        hierarchies, decided = self.inputs.hierarchies, self._decided
        found: Protected | None = self._stage(
            PROTECT.name,
            lambda: protected(
                self.config, self.train, hierarchies, self.seed, self.rules, self.static, decided=decided
            ),
        )
        return found

    @cached_property
    def static(self) -> tuple[str, ...] | None:
        """Columns with one value per person.

        None where the generator draws single rows.
        """
        return static_columns(self.config, self.train)

    @property
    def learned(self) -> Table:
        """Training records that are anonymized and learned from.

        The protected records, or the training records as they are where protection is off.
        """
        if removal_of(self.config.risk) is not None:
            return self._kept
        return self.train if self.protected is None else self.protected.table

    @cached_property
    def rules(self) -> Rules:
        """The constraints, fitted to the training records."""
        return fitted_rules(self.config, self.train)

    @cached_property
    def selection(self) -> Selection | None:
        """Condition on drawn rows; None without one.

        With the training records that meet it.

        Raises
        ------
        ConfigError
            The condition would single out few persons.
        """
        return selection(self.config, self.train, by_person=self.static is not None, decided=self._decided)

    @property
    def compared(self) -> tuple[Table, Table | None]:
        """Training and control records that utility and fidelity compare with.

        All of them, or those that meet the condition.
        """
        if self.selection is None:
            return self.train, self.control
        return self.selection.train, None if self.control is None else self.selection.of(self.control)

    @property
    def control(self) -> Table | None:
        """The records that no generator and no filter sees, without identifiers."""
        return self._control_halves[1]

    @cached_property
    def _control_halves(self) -> tuple[Table | None, Table | None]:
        """Control records of the filter, and of the evaluation."""
        control = self._parts.control
        if self.config.synthesize.filter is None or control is None:
            return self._filter_control, control
        return control_halves(control, self.split_seed)

    @cached_property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages; see :func:`hybrid.pipeline.cache_keys.stage_keys`."""
        population = "" if self.inputs.population is None else fingerprint(self.inputs.population)
        must_detect = self.policy.detection if self._has_power else None
        return stage_keys(self.config, self.seed, self.split_seed, self.data_fingerprint, population, must_detect)

    @cached_property
    def anonymization(self) -> Anonymization | None:
        """The stages from training records to specific values again.

        None where the config does not anonymize.
        """
        if self.config.anonymize is None:
            return None
        return Anonymization(
            config=self.config,
            options=self.config.anonymize,
            transition=self.config.required_transition,
            hierarchies=self.hierarchies,
            population=self.inputs.population,
            train=self.learned,
            seed=self.seed,
            compute=self._stage,
            progress=self.progress,
            protection=None if self.protected is None else self.protected.result,
            static=self.static,
            rules=self.rules,
            whole=self.inputs.whole,
        )

    @property
    def anonymized(self) -> AnonymizedTable | None:
        """The k-anonymous training records; None without anonymization."""
        return None if self.anonymization is None else self.anonymization.anonymized

    @property
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the configured k.

        Empty where it is not computed.
        """
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
        return self._generation.sampled() if self.restored is None else self.restored.table

    @cached_property
    def drawn(self) -> Generated:
        """The drawn records, with specific values, without identifiers, in random order."""
        _ = self.selection
        if leak_of(self.config.risk) is not None:
            return self._stage(SYNTHESIZE.name, lambda: Generated(self._known_leak.table))
        if self.config.privacy is not None:
            return self._drawn_privately()
        if self.config.synthesize.part_rows is not None:
            return self._drawn_in_parts(self.config.synthesize.part_rows)
        before = self.anonymization
        if before is None:
            return self._stage(SYNTHESIZE.name, self._generation.from_originals)
        return self._stage(SYNTHESIZE.name, lambda: self._generation.from_anonymized(before))

    def _drawn_in_parts(self, part_rows: int) -> DrawnInParts:
        """Sample of the rows of all parts, which no store keeps."""
        before, generation, rows = self.anonymization, self._generation, self.config.synthesize.rows
        assert rows != "same"

        def draw(rows: int, number: int) -> Generated:
            further = generation.again(rows, number)
            return further.from_originals() if before is None else further.from_anonymized(before)

        known = {"train": self.train, "control": self.control}
        self.progress(SYNTHESIZE.name, 0, None)
        with self.recorder.stage(SYNTHESIZE.name):
            return draw_in_parts(rows, part_rows, draw, self._with_identifiers, known, self.progress)

    @property
    def all_rows(self) -> AllRows | None:
        """Counts on all rows; None where all rows are judged."""
        return self.drawn.all_rows if isinstance(self.drawn, DrawnInParts) else None

    @property
    def released_rows(self) -> int:
        """Rows of the table to release."""
        return len(self.synthetic) if self.all_rows is None else self.all_rows.rows

    def write_synthetic(self, folder: Path) -> Path:
        """Write the table to release into a folder; returns the file."""
        target, data = folder / self.synthetic_name, self.config.data
        if isinstance(self.drawn, DrawnInParts):
            shutil.copyfile(self.drawn.file, target)
        else:
            write_table(self.synthetic, target, data.separator, data.encoding, self.layout)
        return target

    def _drawn_privately(self) -> Generated:
        def draw() -> Generated:
            return drawn_privately(self.config, self.learned, self.inputs.domains, self.seed, self.progress)

        key, account = self.keys[SYNTHESIZE.name], self.account(self.data_fingerprint)
        return paid(account, key, lambda compute: self._stage(SYNTHESIZE.name, compute), draw)

    def account(self, content: str | None = None) -> Account | None:
        """Account that pays the draw; None without budget or ledger.

        Parameters
        ----------
        content : str, optional
            Fingerprint of the records, once they were read.
        """
        if self.config.privacy is None or self.ledger_dir is None:
            return None
        return account_of(self.config, self.policy, self.ledger_dir, content)

    def refuse_spent(self) -> None:
        """Refuse a draw beyond the yearly budget before anything is read.

        Raises
        ------
        GateRefused
            The budget is spent, and the store keeps no draw that is paid.
        """
        account = self.account()
        if account is not None:
            account.refuse_spent(lambda draw: self.store.entry(SYNTHESIZE.name, draw) is not None)

    @cached_property
    def _known_leak(self) -> KnownLeak:
        """The table with a known leak, and where its rows came from."""
        return with_known_leak(self.config, self._parts, self.seed)

    @cached_property
    def generated(self) -> Generated:
        """The drawn records that the filter keeps, in random order."""
        options = self.config.synthesize.filter
        if options is None:
            return self.drawn
        control, before, drawn = self._control_halves[0], self.anonymization, self.drawn
        if control is None:
            raise ConfigError("synthesize.filter needs control records", hint="set split.control, such as 0.3")

        def again(rows: int, attempt: int) -> Table:
            further = self._generation.again(rows, attempt)
            return (further.from_originals() if before is None else further.from_anonymized(before)).table

        train, seed = self.train, self.split_seed
        return self._stage(FILTER.name, lambda: filtered(drawn, train, control, options, seed, again))

    @property
    def budget(self) -> Budget | None:
        """Account of the synthetic table; None without a privacy budget."""
        return self.drawn.budget if isinstance(self.drawn, PrivateTable) else None

    @property
    def filtered(self) -> Filtered | None:
        """Rows that the filter left out; None without one."""
        return self.generated.filtered if isinstance(self.generated, FilteredTable) else None

    @property
    def redrawn(self) -> Redrawn | None:
        """Rows drawn again for constraints or a condition; None without."""
        return self.generated.redrawn

    @property
    def is_unsynthesized(self) -> bool:
        """True if no generator runs."""
        return self.config.synthesize.is_off

    @cached_property
    def synthetic(self) -> Table:
        """The table to release: the source's columns in the source's order.

        Of one that is drawn in parts, the sample that is judged.
        """
        return self._with_identifiers(self.generated.table)

    def _with_identifiers(self, table: Table, rows: int = 0, persons: int = 0) -> Table:
        """Drawn records with surrogates, after others of so many rows and persons."""
        source, whole = self.table, self.inputs.whole
        if self.config.output.identifiers == "drop":
            return table
        elsewhere = None if whole is None else whole.identifiers
        whose = self.config.data.person_columns
        return with_surrogates(table, source.schema, source, whose, elsewhere, (rows, persons))

    @property
    def synthetic_name(self) -> str:
        """File name of the synthetic table."""
        file = self.config.data_file
        same = "parquet" if file is None or file.suffix in PARQUET_SUFFIXES else "csv"
        return f"synthetic.{same if self.config.output.format == 'same' else self.config.output.format}"

    @cached_property
    def baseline(self) -> Table | None:
        """The same generator without anonymization, for comparison.

        None where it is not asked for. It learns the protected records like the release: what anonymizing changes is
        compared, not protection.
        """
        return self._stage(BASELINE.name, self._generation.baseline) if self.config.has_baseline else None

    @cached_property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return load_policy(self.config.policy_path)

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
        removal, train = removal_of(self.config.risk), self._parts.train
        return train if removal is None else without_unusual(train, removal, self.seed)

    @cached_property
    def split_seed(self) -> int:
        """Under ``split.stable`` without a seed.

        One that a kept store remembers for all runs of this name.
        """
        if self.origin is not None:
            return self.origin.split_seed
        if self._given_seed is not None or not self.config.split.stable:
            return self.seed
        return self.store.get_or_compute("seed", fingerprint("split", self.config.name), fresh_seed)

    @cached_property
    def _generation(self) -> Generation:
        return Generation(
            self.config,
            self.learned,
            self.inputs.domains,
            self.seed,
            self.store,
            self.progress,
            self.static,
            self.rules,
            self.selection,
            only_kept=self.origin is not None,
            models=None if self.config.synthesize.part_rows is None else {},
        )

    def _stage(self, name: str, compute: Callable[[], T], /) -> T:
        """One stage's result, from the store if it is there."""
        self.progress(name, 0, None)
        with self.recorder.stage(name):
            return self.store.get_or_compute(name, self.keys[name], compute)
