"""The walk of a table through the rooms: each stage once, in order, from (config, seed) alone.

``Pipeline`` is lazy: asking for a stage computes it and what it needs, and keeps the result in the store. So the
command line walks to the end, while a flow asks for one stage per task; both compute the same things.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_args

import numpy as np

from hybrid import sample, transition
from hybrid.anonymize import anonymize
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff
from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.base.manifest import LIBRARIES, Recorder
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import FitAndSample
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Evaluation, Subject
from hybrid.evaluation.run_metrics import check_options
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.listed import listed_values
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.amplification import Explanation, together
from hybrid.pipeline.cache_keys import EVALUATE, stage_keys, suppression_limits
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.guarantees import promises
from hybrid.publication.composition import Membership, membership
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.verdict import Verdict
from hybrid.sample import Sampled
from hybrid.store import Store, code_version, fingerprint, library_versions
from hybrid.synthesize.fitted import LossPoint, fit
from hybrid.synthesize.registry import require
from hybrid.synthesize.reuse import fit_or_reuse
from hybrid.table import Table
from hybrid.table.read_file import PARQUET_SUFFIXES
from hybrid.table.split import split
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write_csv import Layout, layout_of
from hybrid.transition.disclosure import GiveAway, give_away
from hybrid.transition.protocol import FittedTransition, Restored

T = TypeVar("T")


@dataclass(frozen=True)
class Generated(Restored):
    """The synthetic records, and the loss curve of the generator that drew them."""

    losses: tuple[LossPoint, ...] = ()


class Pipeline:
    """All stages of one run, computed on demand.

    Parameters
    ----------
    config : RunConfig
        What to do.
    seed : int, optional
        The source of all randomness; the config's, or a fresh one nobody can guess.
    store : Store
        Where stage results are looked for and kept; by default nothing is kept.
    progress : Progress
        Told what is being done.
    """

    def __init__(
        self, config: RunConfig, seed: int | None = None, store: Store | None = None, progress: Progress = silent
    ) -> None:
        self.config = config
        self.store = store or Store(None)
        self._given_seed = config.seed if seed is None else seed
        self.progress = progress
        self.recorder = Recorder()
        self._shared: dict[str, Any] = {}

    @cached_property
    def seed(self) -> int:
        """The source of all randomness.

        Where none was given, one is drawn that nobody can guess. A kept store keeps it with the same data and
        config, so that an interrupted run goes on with its own draws; publishing many draws of the same data
        would give more away than one.
        """
        if self._given_seed is not None:
            return self._given_seed
        return self.store.get_or_compute("seed", fingerprint(self.data_fingerprint, self.config), fresh_seed)

    @cached_property
    def data_fingerprint(self) -> str:
        """Content hash of what was read: the table and its hierarchies."""
        return fingerprint(self.table, self.hierarchies, *([self.domains] if self.domains else []))

    @cached_property
    def table(self) -> Table:
        """The whole input table."""
        self.progress("read", 0, 1)
        with self.recorder.stage("read"):
            table = self.config.load_table()
            _ = self.layout
            return table

    @cached_property
    def layout(self) -> Layout:
        """How the input file is laid out; looked at while it is read, since it may be gone at the end."""
        file, data = self.config.data_file, self.config.data
        return Layout() if file is None else layout_of(file, data.separator, data.encoding)

    def check(self) -> None:
        """Find what is wrong with the later stages before the first one works.

        Raises
        ------
        HybridError
            The policy cannot be read, the evaluation names what does not exist, or a package is missing.
        """
        _ = self.policy
        if not self.config.synthesize.is_off:
            require(self.config.synthesize.engine)
        check_options(self.config.evaluate, self.table.schema.without_identifiers())

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier; none without anonymization."""
        if self.config.anonymize is None:
            return {}
        return load_hierarchies(self.table, self.config.hierarchy_paths)

    @cached_property
    def domains(self) -> dict[str, Array]:
        """Values that hierarchy files list, for generators that must not take them from the records; else none."""
        options = self.config.synthesize
        if options.is_off or not options.engine.encoding(options.resolve()).listed_domains:
            return {}
        return listed_values(self.table.schema.without_identifiers(), self.config.hierarchy_paths)

    @cached_property
    def parts(self) -> tuple[Table, Table | None]:
        """Training and control records, without identifiers."""
        train, control = self._split()
        return train.without_identifiers(), None if control is None else control.without_identifiers()

    def membership(self, secret: bytes) -> Membership:
        """Which training record is in which equivalence class, by hashes that nobody repeats without the secret.

        Raises
        ------
        ConfigError
            Nothing is anonymized.
        """
        if self.anonymized is None:
            raise ConfigError("without anonymization there are no equivalence classes", hint="add an anonymize section")
        return membership(self._split()[0], self.anonymized, secret, self.config.split.key)

    @property
    def train(self) -> Table:
        """The records that are anonymized and learned from, without identifiers."""
        return self.parts[0]

    @property
    def control(self) -> Table | None:
        """The records that no generator sees, without identifiers."""
        return self.parts[1]

    @cached_property
    def keys(self) -> dict[str, str]:
        """What every stage's result is kept under; see :func:`hybrid.pipeline.cache_keys.stage_keys`."""
        population = "" if self.population is None else fingerprint(self.population)
        return stage_keys(self.config, self.seed, self._split_seed, self.data_fingerprint, population)

    @cached_property
    def anonymized(self) -> AnonymizedTable | None:
        """The k-anonymous training records; None where the config skips anonymization."""
        options = self.config.anonymize
        if options is None:
            return None
        return self._stage(
            "anonymize", lambda: anonymize(self.train, self.hierarchies, options, self.progress, self.population)
        )

    @cached_property
    def population(self) -> Table | None:
        """The population table of k-map; None where the config names none."""
        return self.config.load_population()

    @cached_property
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the config's k; empty where the lattice is not searched."""
        options = self.config.anonymize
        if options is None or "tradeoff" not in self.keys:
            return []
        limits = suppression_limits(self.config)
        return self._stage(
            "tradeoff",
            lambda: tradeoff(
                self.train, self.hierarchies, options, [options.k], limits, self.progress, self.population
            ),
        )

    @cached_property
    def sampled(self) -> Sampled | None:
        """The anonymized records that go on; None without anonymization."""
        if self.config.anonymize is None:
            return None
        return self._stage("sample", self._sample)

    @cached_property
    def restored(self) -> Restored | None:
        """The sampled records with specific values again: what enters the generator under ``order: pre``."""
        if "transition" not in self.keys:
            return None
        return self._stage("transition", self._restore)

    @cached_property
    def generated(self) -> Generated:
        """The synthetic records, with specific values, without identifiers, in random order."""
        return self._stage("synthesize", self._generate)

    @cached_property
    def synthetic(self) -> Table:
        """The table to release: the source's columns in the source's order."""
        table, source = self.generated.table, self.table
        if self.config.output.identifiers == "drop":
            return table
        return with_surrogates(table, source.schema, source)

    @property
    def synthetic_name(self) -> str:
        """File name of the synthetic table."""
        file = self.config.data_file
        same = "parquet" if file is None or file.suffix in PARQUET_SUFFIXES else "csv"
        return f"synthetic.{same if self.config.output.format == 'same' else self.config.output.format}"

    @cached_property
    def baseline(self) -> Table | None:
        """The same generator trained on the original records: what anonymizing first is compared with."""
        if "baseline" not in self.keys:
            return None
        return self._stage("baseline", lambda: self._synthesize(self.train, "baseline", self.domains)[0])

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of every stage."""
        judged = (stage for stage in get_args(Subject) if EVALUATE + stage in self.keys)
        found = Evaluation(tuple(metric for stage in judged for metric in self.evaluated(stage).metrics))
        return with_printed(found) if self.config.evaluate.paper else found

    def evaluated(self, stage: Subject) -> Evaluation:
        """Privacy, utility and fidelity of one stage's table."""
        return self._stage(EVALUATE + stage, lambda: self._evaluate(stage))

    @cached_property
    def explanation(self) -> Explanation:
        """What may be said of the guarantee of this configuration.

        Raises
        ------
        ConfigError
            Nothing is anonymized, and the generator has no privacy budget.
        """
        if not self.explanations:
            raise ConfigError("without anonymization there is no guarantee to explain", hint="add an anonymize section")
        return together(self.explanations)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """What every mechanism of this configuration promises."""
        schema = self.table.schema.without_identifiers()
        derived = [name for name in schema.quasi_identifiers if self.hierarchies and self.hierarchies[name].rule]
        return promises(self.config, schema, self.domains, derived)

    @cached_property
    def give_away(self) -> GiveAway | None:
        """How much of the originals the transition repeats; None without one.

        Of the sampled records under ``order: pre``; of the synthetic table under ``order: post``, whose rows belong
        to nobody: there only what reappears is counted.
        """
        if self.sampled is None or self.restored is None or self.config.transition is None:
            return None
        if self.config.transition.order == "post":
            return give_away(self.sampled.anonymized, self.generated.table, same_records=False)
        return give_away(self.sampled.anonymized, self.restored.table, same_records=True)

    @cached_property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return load_policy(self.config.policy_path)

    @cached_property
    def verdict(self) -> Verdict:
        """What the gate says of the synthetic table."""
        result = None if self.anonymized is None else self.anonymized.result
        return judge(self.policy, self.evaluation, result)

    @cached_property
    def _fitted_transition(self) -> FittedTransition:
        assert self.sampled is not None and self.config.transition is not None
        options = self.config.transition
        strategy = transition.REGISTRY[options.method]
        learning = rng_for(self.seed, "transition", "fit")
        return transition.fit_transition(strategy, self.sampled.anonymized, options, learning)

    def _sample(self) -> Sampled:
        assert self.anonymized is not None
        return sample.sample(self.anonymized, self.config.sample, rng_for(self.seed, "sample"))

    def _restore(self) -> Restored:
        assert self.sampled is not None
        return self._fitted_transition.restore(self.sampled.anonymized.labels, rng_for(self.seed, "transition"))

    def _evaluate(self, stage: Subject) -> Evaluation:
        tables: dict[Subject, Callable[[], Table | None]] = {
            "original": lambda: self.train,
            "anonymized": lambda: None if self.restored is None else self.restored.table,
            "synthetic": lambda: self.generated.table,
            "baseline": lambda: self.baseline,
        }
        table = tables[stage]()
        assert table is not None
        rng, options = rng_for(self.seed, "evaluate"), self.config.evaluate
        again: dict[Subject, FitAndSample] = {"synthetic": self._walked, "baseline": self._learned}
        return evaluate(self.train, self.control, {stage: table}, options, rng, self.progress, self._share, again)

    def _walked(self, table: Table, seed: int) -> Table:
        """What the same walk makes of other training records."""
        walk = Pipeline(self.config, seed)
        given = {"table": table, "parts": (table, None), "hierarchies": self.hierarchies, "population": self.population}
        vars(walk).update(given)
        return walk.generated.table

    def _learned(self, table: Table, seed: int) -> Table:
        """What the generator alone makes of other training records."""
        learning, drawing = rng_for(seed, "baseline").integers(np.iinfo(np.int32).max, size=2)
        return fit(table, self.config.synthesize, int(learning)).sample(len(table), int(drawing))

    def _share(self, key: str, compute: Callable[[], Any]) -> Any:
        """What the evaluations of several tables have in common, computed once."""
        if key not in self._shared:
            kept = fingerprint(key, code_version("hybrid.evaluation"), library_versions(*LIBRARIES))
            self._shared[key] = self.store.get_or_compute("evaluate-shared", kept, compute)
        return self._shared[key]

    def _generate(self) -> Generated:
        options = self.config.synthesize
        post = self.config.transition is not None and self.config.transition.order == "post"
        if self.sampled is not None and post:
            labels = self.sampled.anonymized.labels
            drawn = labels
            losses: tuple[LossPoint, ...] = ()
            if not options.is_off:
                table, losses = self._synthesize(labels.to_table(), "synthesize")
                drawn = labels.from_table(table)
            restored = self._fitted_transition.restore(drawn, rng_for(self.seed, "transition", "post"))
            return self._shuffled(restored.table, restored, losses)
        if self.restored is not None:
            learned, restored = self.restored.table, self.restored
        else:
            chosen = sample.sample_table(self.train, self.config.sample, rng_for(self.seed, "sample"))
            learned, restored = chosen, Restored(chosen)
        if options.is_off:
            return self._shuffled(learned, restored)
        table, losses = self._synthesize(learned, "synthesize", self.domains)
        return self._shuffled(table, restored, losses)

    def _shuffled(self, table: Table, restored: Restored, losses: tuple[LossPoint, ...] = ()) -> Generated:
        """The table in an order that says nothing about the source's."""
        order = rng_for(self.seed, "order").permutation(len(table))
        return Generated(table.take(order), restored.fallbacks, losses)

    def _synthesize(
        self, learned: Table, stage: str, domains: Mapping[str, Array] | None = None
    ) -> tuple[Table, tuple[LossPoint, ...]]:
        """Train the generator and draw as many rows as there are training records, or as the config says."""
        options = self.config.synthesize
        n_rows = len(self.train) if options.rows == "same" else options.rows
        learning, drawing = rng_for(self.seed, stage).integers(np.iinfo(np.int32).max, size=2)
        fitted = fit_or_reuse(learned, options, int(learning), self.store, self.progress, domains)
        return fitted.sample(n_rows, int(drawing)), fitted.losses

    def _split(self) -> tuple[Table, Table | None]:
        return split(self.table, self.config.split, rng_for(self._split_seed, "split"))

    @cached_property
    def _split_seed(self) -> int:
        """Under ``split.stable`` without a seed: one that a kept store remembers for all runs of this name."""
        if self._given_seed is not None or not self.config.split.stable:
            return self.seed
        return self.store.get_or_compute("seed", fingerprint("split", self.config.name), fresh_seed)

    def _stage(self, name: str, compute: Callable[[], T]) -> T:
        """One stage's result, from the store if it is there."""
        self.progress(name, 0, None)
        with self.recorder.stage(name):
            return self.store.get_or_compute(name, self.keys[name], compute)


def run_pipeline(
    config: RunConfig, seed: int | None = None, store: Store | None = None, progress: Progress = silent
) -> Pipeline:
    """Walk a table through all rooms, up to the gate's verdict; arguments as for :class:`Pipeline`.

    Returns
    -------
    Pipeline
        Every stage computed: ``walk.synthetic`` is the table, ``walk.verdict`` what the gate says of it.
    """
    walk = Pipeline(config, seed, store, progress)
    walk.check()
    _ = walk.verdict
    return walk
