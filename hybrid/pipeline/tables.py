"""Tables of a run that are drawn: restored, synthetic, and the baseline."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

from hybrid.base.errors import ConfigError
from hybrid.constraints import Redrawn
from hybrid.evaluation.measure import AllRows
from hybrid.pipeline.conditions import refuse_misfit, selection
from hybrid.pipeline.filtering import Filtered, FilteredTable, filtered
from hybrid.pipeline.generation import Generated, Generation
from hybrid.pipeline.in_parts import DrawnInParts, draw_in_parts
from hybrid.pipeline.people_tables import PeopleTables
from hybrid.pipeline.private_generation import PrivateTable, account_of, drawn_privately, paid
from hybrid.pipeline.risk import KnownLeak, leak_of, with_known_leak
from hybrid.pipeline.stages import BASELINE, FILTER, SYNTHESIZE
from hybrid.privacy.accounting import Budget
from hybrid.publication.nature import made, nature
from hybrid.publication.privacy_account import Account
from hybrid.table import Table
from hybrid.table.numbered import with_table_numbers
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write import write_table
from hybrid.transition.protocol import Restored


class DrawnTables(PeopleTables):
    """Tables of one run: of the people, and drawn ones."""

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
        other = type(self)(config, seed, inputs=self.inputs.with_training(table), judge_power=False)
        other.decided = True
        if self.config.synthesize.filter is not None:
            other._filter_control = self._control_halves[0]
        return other

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

    keeps_model = False
    """Whether the trained model stays in memory, for :meth:`further`; to be set before anything is drawn."""

    def further(self, rows: int, number: int, where: str | None = None, before: int = 0) -> Table:
        """Rows of a further draw from the same model, which no evaluation is about.

        Parameters
        ----------
        rows : int
            Rows to draw, 1 or more; of persons with several rows, about so many.
        number : int
            Number of the draw, 1 or more: each has random numbers of its own.
        where : str, optional
            Condition that every row, or person, meets, beside that of the configuration.
        before : int
            Rows that were drawn before, whose surrogates are not used again.

        Raises
        ------
        ConfigError
            No generator runs, rows are filtered or drawn under a budget; the condition does not fit the columns, or
            would single out few persons.
        GeneratorError
            Too few draws meet the condition.
        """
        config, options, generation = self.config, self.config.synthesize, self._generation
        if options.is_off or options.filter is not None or config.privacy is not None:
            why = "no generator runs" if options.is_off else "rows are filtered, or each draw spends a privacy budget"
            raise ConfigError(f"no further rows can be drawn: {why}", hint="set synthesize.rows and run again")
        if where is not None:
            both = where if options.where is None else f"({options.where}) and ({where})"
            config = config.with_values({"synthesize.where": both})
            refuse_misfit(config, self.table.schema)
            chosen = selection(config, self.train, by_person=self.static is not None, decided=self.decided)
            generation = replace(generation, config=config, selection=chosen)
        again = generation.again(rows, number)
        drawn = again.from_originals() if self.anonymization is None else again.from_anonymized(self.anonymization)
        return self._with_identifiers(drawn.table, before, before)

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
            return draw_in_parts(rows, part_rows, draw, self._with_identifiers, known, self.progress, self._said)

    @property
    def all_rows(self) -> AllRows | None:
        """Counts on all rows; None where all rows are judged."""
        return self.drawn.all_rows if isinstance(self.drawn, DrawnInParts) else None

    @property
    def released_rows(self) -> int:
        """Rows of the table to release."""
        return len(self.synthetic) if self.all_rows is None else self.all_rows.rows

    def write_released(self, table: Table, target: Path) -> None:
        """Write the table to release, with its identifiers, into a file in the source's conventions."""
        data = self.config.data
        if isinstance(self.drawn, DrawnInParts):
            shutil.copyfile(self.drawn.file, target)
        else:
            drawn = not self.is_unsynthesized
            write_table(table, target, data.separator, data.encoding, self.layout, drawn, self._said)

    @property
    def _said(self) -> str:
        """Nature of the released rows, and how they were made."""
        config, result = self.config.model_dump(mode="json"), self.anonymized
        return " ".join((nature(config), *made(config, None if result is None else result.result)))

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
        parts = self._parts
        return with_known_leak(parts.train, parts.release, leak_of(self.config.risk), self.seed)

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
    def learned_records(self) -> int | None:
        """Records that the generator learned from; None where none ran, or where their number is not published."""
        known = self.config.privacy is None and leak_of(self.config.risk) is None and not self.is_unsynthesized
        return len(self.values) if known else None

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

        Of one that is drawn in parts, the sample that is judged. Of several, their rows one after the other, with the
        number of the table as the last column.
        """
        totals, options = self.inputs.totals, self.config.margins
        if totals is not None and options is not None:
            totals.verify(self.generated.table, options.most)
        found, tables = self._with_identifiers(self.generated.table), self.config.synthesize.tables
        return found if tables == 1 else with_table_numbers(found, tables)

    def _with_identifiers(self, table: Table, rows: int = 0, persons: int = 0) -> Table:
        """Drawn records with surrogates, after others of so many rows and persons."""
        source, whole = self.table, self.inputs.whole
        if self.config.output.identifiers == "drop":
            return table
        elsewhere = None if whole is None else whole.identifiers
        whose = self.config.data.person_columns
        return with_surrogates(table, source.schema, source, whose, elsewhere, (rows, persons))

    @cached_property
    def baseline(self) -> Table | None:
        """Table of the same generator without anonymization, for comparison; None where it is not asked for.

        It learns the protected records like the release: what anonymizing changes is compared, not protection.
        """
        return self._stage(BASELINE.name, self._generation.baseline) if self.config.has_baseline else None

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
            self.inputs.totals,
            only_kept=self.origin is not None,
            models=None if self.config.synthesize.part_rows is None and not self.keeps_model else {},
        )
