"""Pipeline of a table through all stages.

Each is computed once, in order, from (config, seed) alone.

``Pipeline`` is lazy: asking for a stage computes it and what it needs, and keeps the result in the store. So the
command line computes everything at once, while a flow computes one stage per task; both compute the same things.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, get_args

from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.base.source_code import code_behind
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import FitAndSample
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Evaluation, Subject
from hybrid.evaluation.run_metrics import check_options
from hybrid.hierarchy import Hierarchy
from hybrid.pipeline.amplification import Explanation, together
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.pipeline.config import RunConfig, refuse_contradictions
from hybrid.pipeline.generation import Generated, Generation, learned_again
from hybrid.pipeline.guarantees import promises
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.power import measure_power
from hybrid.pipeline.protection import protected, protected_hierarchies
from hybrid.pipeline.roles import decided_roles
from hybrid.pipeline.stages import BASELINE, EVALUATE, POWER, PROTECT, SYNTHESIZE, evaluation_of, named, subject_of
from hybrid.protect import Protected
from hybrid.publication.composition import Membership, membership
from hybrid.publication.draw import Draw
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import Power
from hybrid.publication.roles import DecidedRoles, with_roles
from hybrid.publication.verdict import Verdict
from hybrid.sample import Sampled
from hybrid.store import Store
from hybrid.synthesize.registry import require
from hybrid.table import Table
from hybrid.table.read_file import PARQUET_SUFFIXES
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write_csv import Layout
from hybrid.transition.disclosure import GiveAway
from hybrid.transition.protocol import Restored

T = TypeVar("T")


class Pipeline:
    """All stages of one run, computed on demand.

    Parameters
    ----------
    config : RunConfig
        What to do.
    seed : int, optional
        The source of all randomness; the config's, or a fresh one that cannot be guessed.
    store : Store
        Where stage results are looked for and kept; by default nothing is kept.
    progress : Progress
        Called with the stage that is computed, and how far it is.
    inputs : Inputs, optional
        Tables that were read already; by default those that the configuration names.

    judge_power : bool
        Whether the verdict says, too, which leaks it would have noticed. Runs that are only compared with each other
        do without: a policy's ``must_detect`` then does not count.

    Raises
    ------
    ConfigError
        The configuration contradicts itself; see :func:`hybrid.pipeline.config.refuse_contradictions`.
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
    ) -> None:
        refuse_contradictions(config)
        self.config = config
        self.judge_power = judge_power
        self.store = store or Store(None)
        self.progress = progress
        self.recorder = Recorder()
        self.inputs = inputs or Inputs(config, self.recorder, progress)
        self._given_seed = config.seed if seed is None else seed
        self.draw: Draw | None = None
        """Number of this draw of the data under the policy, once it is counted; the verdict depends on it."""
        self._decided = False
        """Whether the columns were decided on a larger table, of which this one's records are a sample."""
        self._shared: dict[str, Any] = {}

    def with_training(self, table: Table, seed: int) -> Pipeline:
        """The same configuration for other training records, without control records.

        Nothing is kept.
        """
        other = Pipeline(self.config, seed, inputs=self.inputs.with_training(table))
        other._decided = True
        return other

    def check(self) -> None:
        """Check the later stages before the first one is computed.

        Raises
        ------
        HybridError
            The policy cannot be read, the evaluation names what does not exist, or a package is missing.
        """
        _ = self.policy
        if not self.config.synthesize.is_off:
            require(self.config.synthesize.engine)
        check_options(self.config.evaluate, self.table.schema.without_identifiers())

    def compute(self, stage: str) -> None:
        """Compute a stage by its name, or load it.

        ``evaluate-synthetic`` names the stage of one judged table. It is loaded if the store has it.
        """
        judged = subject_of(stage)
        _ = getattr(self, named(stage).result) if judged is None else self.evaluated(judged)

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
        """Layout of the input file."""
        return self.inputs.layout

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier; none without anonymization."""
        inputs = self.inputs
        if self.protected is None or self.config.anonymize is None:
            return inputs.hierarchies
        return protected_hierarchies(self.config, self.protected.table, inputs.population)

    @property
    def train(self) -> Table:
        """The original training records, without identifiers: the people at risk."""
        return self._parts[0]

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
            PROTECT.name, lambda: protected(self.config, self.train, hierarchies, self.seed, decided=decided)
        )
        return found

    @property
    def learned(self) -> Table:
        """Training records that are anonymized and learned from.

        The protected records, or the training records as they are where protection is off.
        """
        return self.train if self.protected is None else self.protected.table

    @property
    def control(self) -> Table | None:
        """The records that no generator sees, without identifiers."""
        return self._parts[1]

    @cached_property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages; see :func:`hybrid.pipeline.cache_keys.stage_keys`."""
        population = "" if self.inputs.population is None else fingerprint(self.inputs.population)
        must_detect = self.policy.detection if self._has_power else None
        return stage_keys(self.config, self.seed, self._split_seed, self.data_fingerprint, population, must_detect)

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

    @cached_property
    def generated(self) -> Generated:
        """The synthetic records, with specific values, without identifiers, in random order."""
        before = self.anonymization
        if before is None:
            return self._stage(SYNTHESIZE.name, self._generation.from_originals)
        return self._stage(SYNTHESIZE.name, lambda: self._generation.from_anonymized(before))

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
        """The same generator without anonymization, for comparison.

        None where it is not asked for. It learns the protected records like the release: what anonymizing changes is
        compared, not protection.
        """
        return self._stage(BASELINE.name, self._generation.baseline) if self.config.has_baseline else None

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of every judged table."""
        judged = (subject for subject in get_args(Subject) if evaluation_of(subject) in self.keys)
        found = Evaluation(tuple(metric for subject in judged for metric in self.evaluated(subject).metrics))
        return with_printed(found) if self.config.evaluate.paper else found

    def evaluated(self, subject: Subject) -> Evaluation:
        """Privacy, utility and fidelity of one table.

        Raises
        ------
        ConfigError
            The configuration has no such table.
        """
        return self._stage(evaluation_of(subject), lambda: self._evaluate(subject))

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
        return together(self.explanations)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The promises of every mechanism of this configuration."""
        schema = self.table.schema.without_identifiers()
        derived = [name for name in schema.quasi_identifiers if self.hierarchies and self.hierarchies[name].rule]
        return promises(self.config, schema, self.inputs.domains, derived)

    @property
    def is_private(self) -> bool:
        """True if differential privacy is claimed."""
        return any(explanation.holds for explanation in self.explanations)

    @cached_property
    def give_away(self) -> GiveAway | None:
        """Disclosure of originals by the transition; None without one."""
        return None if self.anonymization is None else self.anonymization.give_away(self.generated.table)

    def membership(self, secret: bytes) -> Membership:
        """Equivalence class of each training record, by keyed hashes.

        The hashes cannot be repeated without the secret.

        Raises
        ------
        ConfigError
            Nothing is anonymized.
        """
        if self.anonymized is None:
            raise ConfigError("without anonymization there are no equivalence classes", hint="add an anonymize section")
        train, _ = self.inputs.split(self._split_seed)
        return membership(train, self.learned, self.anonymized, secret, self.config.split.key)

    @cached_property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return load_policy(self.config.policy_path)

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict on the synthetic table.

        It is judged as a first draw until the draw is counted.
        """
        result = None if self.anonymized is None else self.anonymized.result
        policy = self.policy if self.judge_power else self.policy.without_detection()
        draws = 1 if self.draw is None else self.draw.number
        return with_roles(judge(policy, self.evaluation, result, draws=draws, power=self.power), self.roles)

    @cached_property
    def roles(self) -> DecidedRoles:
        """Decision about the roles of the columns.

        It names the person who decided, and the columns that the decision leaves as they are.
        """
        return decided_roles(self.config, self.table)

    @cached_property
    def power(self) -> Power | None:
        """Planted leaks that the verdict noticed; None where none are planted."""
        return self._stage(POWER.name, self._measure_power) if self._has_power else None

    @property
    def _has_power(self) -> bool:
        return self.judge_power and self.config.evaluate.power and self.policy.plants_leaks

    def _measure_power(self) -> Power:
        tables = self.train, self.control, self.generated.table
        found, options = self.evaluated("synthetic"), self.config.evaluate
        return measure_power(*tables, found, self.policy, options, self.seed, self.progress, self._share)

    @cached_property
    def _parts(self) -> tuple[Table, Table | None]:
        """Training and control records, without identifiers."""
        train, control = self.inputs.split(self._split_seed)
        return train.without_identifiers(), None if control is None else control.without_identifiers()

    @cached_property
    def _split_seed(self) -> int:
        """Under ``split.stable`` without a seed.

        One that a kept store remembers for all runs of this name.
        """
        if self._given_seed is not None or not self.config.split.stable:
            return self.seed
        return self.store.get_or_compute("seed", fingerprint("split", self.config.name), fresh_seed)

    @cached_property
    def _generation(self) -> Generation:
        return Generation(self.config, self.learned, self.inputs.domains, self.seed, self.store, self.progress)

    def _evaluate(self, subject: Subject) -> Evaluation:
        table = self._judged(subject)
        if table is None:
            raise ConfigError(f"this configuration has no {subject} table to evaluate")
        rng, options = rng_for(self.seed, "evaluate"), self.config.evaluate
        again: dict[Subject, FitAndSample] = {
            "synthetic": lambda table, seed: self.with_training(table, seed).generated.table,
            "baseline": lambda table, seed: learned_again(self.config, table, seed),
        }
        return evaluate(self.train, self.control, {subject: table}, options, rng, self.progress, self._share, again)

    def _judged(self, subject: Subject) -> Table | None:
        match subject:
            case "original":
                return self.train
            case "anonymized":
                return None if self.restored is None else self.restored.table
            case "synthetic":
                return self.generated.table
            case "baseline":
                return self.baseline

    def _share(self, key: str, compute: Callable[[], Any]) -> Any:
        """A result that the evaluations of several tables share, computed once."""
        if key not in self._shared:
            kept = fingerprint(key, code_behind(EVALUATE.roots))
            self._shared[key] = self.store.get_or_compute("evaluate-shared", kept, compute)
        return self._shared[key]

    def _stage(self, name: str, compute: Callable[[], T], /) -> T:
        """One stage's result, from the store if it is there."""
        self.progress(name, 0, None)
        with self.recorder.stage(name):
            return self.store.get_or_compute(name, self.keys[name], compute)


def run_pipeline(
    config: RunConfig, seed: int | None = None, store: Store | None = None, progress: Progress = silent
) -> Pipeline:
    """Compute all stages, up to the gate's verdict; arguments as for :class:`Pipeline`.

    Returns
    -------
    Pipeline
        Every stage computed: ``pipeline.synthetic`` is the table, ``pipeline.verdict`` the gate's verdict on it.
    """
    pipeline = Pipeline(config, seed, store, progress)
    pipeline.check()
    _ = pipeline.verdict
    return pipeline
