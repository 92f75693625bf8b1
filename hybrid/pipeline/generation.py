"""Generation of synthetic records, in random order.

From the records that a generator may learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hybrid import sample
from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.leak import known_leak
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.protection import protected, same_rows, static_columns
from hybrid.store import Store
from hybrid.synthesize.fitted import LossPoint, fit
from hybrid.synthesize.reuse import fit_or_reuse
from hybrid.synthesize.sequences import fit_sequences
from hybrid.table import Table
from hybrid.table.persons import constant_within, n_persons, person_groups
from hybrid.table.split import Parts
from hybrid.transition.protocol import Restored

Drawn = tuple[Table, tuple[LossPoint, ...]]
"""Synthetic records, and the loss curve of the generator that drew them."""


@dataclass(frozen=True)
class Generated(Restored):
    """Synthetic records, and the loss curve of their generator."""

    losses: tuple[LossPoint, ...] = ()


@dataclass(frozen=True)
class Generation:
    """The generator of a configuration, and what it learns and draws.

    Parameters
    ----------
    config : RunConfig
        Generator, number of records to draw, and sampling where nothing is anonymized.
    train : Table
        The training records, protected unless protection is off, without identifiers.
    domains : mapping of str to array
        Values that hierarchy files list, for generators that must not take them from the records.
    seed : int
        The source of all randomness.
    store : Store
        Keeps trained models and checkpoints.
    progress : Progress
        Called while the generator learns.
    static : tuple of str or None
        Columns with one value per person, where the generator draws persons; None where it draws single rows.
    """

    config: RunConfig
    train: Table
    domains: Mapping[str, Array]
    seed: int
    store: Store
    progress: Progress
    static: tuple[str, ...] | None = None

    def from_originals(self) -> Generated:
        """Learn a sample of the training records as they are.

        For configurations that do not anonymize.
        """
        return self._from_values(
            Restored(sample.sample_table(self.train, self.config.sample, rng_for(self.seed, "sample")))
        )

    def from_anonymized(self, anonymization: Anonymization) -> Generated:
        """Learn restored values, or learn labels and restore drawn ones.

        The former with ``order: pre``, the latter with ``order: post``.
        """
        if anonymization.transition.order == "pre":
            return self._from_values(anonymization.restored)
        drawn = labels = anonymization.sampled.anonymized.labels
        losses: tuple[LossPoint, ...] = ()
        if not self.config.synthesize.is_off:
            table, losses = self.synthesize(labels.to_table(), "synthesize")
            drawn = labels.from_table(table)
        restored = anonymization.restore(drawn, rng_for(self.seed, "transition", "post"))
        return self._shuffled(restored.table, restored, losses)

    def baseline(self) -> Table:
        """Table of the same generator without anonymization.

        It is trained on the protected records, or on the originals where protection is off.
        """
        return self.synthesize(self.train, "baseline", self.domains)[0]

    def synthesize(self, learned: Table, stage: str, domains: Mapping[str, Array] | None = None) -> Drawn:
        """Train the generator and draw rows, or persons with all their rows.

        As many as there are training records or persons, or as the config says.
        """
        options = self.config.synthesize
        learning, drawing = _two_seeds(self.seed, stage)
        if self.static is not None:
            people = fit_sequences(learned, constant_within(learned, self.static), options, learning, self.progress)
            persons = same_rows(self.config, n_persons(self.train))
            if options.rows != "same":
                persons = max(round(options.rows * n_persons(learned) / len(learned)), 1)
            return people.sample(persons, drawing), people.losses
        n_rows = options.rows if options.rows != "same" else same_rows(self.config, len(self.train))
        fitted = fit_or_reuse(learned, options, learning, self.store, self.progress, domains)
        return fitted.sample(n_rows, drawing), fitted.losses

    def _from_values(self, restored: Restored) -> Generated:
        if self.config.synthesize.is_off:
            return self._shuffled(restored.table, restored)
        table, losses = self.synthesize(restored.table, "synthesize", self.domains)
        return self._shuffled(table, restored, losses)

    def _shuffled(self, table: Table, restored: Restored, losses: tuple[LossPoint, ...] = ()) -> Generated:
        """The table in an order that is independent of the source's.

        Rows of a synthetic person stay together, in their order. Rows of real persons, where no generator runs, are not
        linked.
        """
        rng = rng_for(self.seed, "order")
        if table.persons is None or self.config.synthesize.is_off:
            return Generated(replace(table, persons=None).take(rng.permutation(len(table))), restored.fallbacks, losses)
        rank = rng.permutation(n_persons(table))
        groups = rank[person_groups(table.persons)]
        order = np.argsort(groups, kind="stable")
        return Generated(replace(table, persons=groups).take(order), restored.fallbacks, losses)


def learned_again(config: RunConfig, table: Table, seed: int) -> Table:
    """Synthetic records of a generator trained on this table alone.

    As many as the table has (as many persons, where persons are drawn); values are protected first, unless that is off.
    """
    learning, drawing = _two_seeds(seed, "baseline")
    learned = protected(config, table, {}, seed, decided=True)
    people, static = table if learned is None else learned.table, static_columns(config, table)
    if static is not None:
        return fit_sequences(people, static, config.synthesize, learning).sample(n_persons(table), drawing)
    return fit(people, config.synthesize, learning).sample(len(table), drawing)


def with_known_leak(config: RunConfig, parts: Parts, seed: int) -> Generated:
    """Training records among fresh ones, in the place of a generator's table."""
    if config.risk is None or parts.release is None:
        raise ConfigError("risk needs fresh records", hint="set split.release")
    return Generated(known_leak(parts.train, parts.release, config.risk, seed).table)


def _two_seeds(seed: int, stage: str) -> tuple[int, int]:
    """Seeds for learning and for drawing."""
    learning, drawing = rng_for(seed, stage).integers(np.iinfo(np.int32).max, size=2)
    return int(learning), int(drawing)
