"""Run of linked tables: pipelines, one evaluation, one verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from hybrid.base.arrays import Rows
from hybrid.base.errors import ConfigError, DataError, Problem
from hybrid.base.hashing import fingerprint
from hybrid.base.listed_names import ListedNames
from hybrid.base.manifest import StageRecord
from hybrid.base.progress import Progress, prefixed, silent
from hybrid.base.rng import rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.options import EvaluateOptions
from hybrid.linked.draw import own_names
from hybrid.linked.keys import with_keys
from hybrid.linked.repeat import drawn_people, real_people, some_people
from hybrid.linked.sources import parent_keys, places_of, read_sources
from hybrid.linked.view import GivenInputs, Link, LinkedTable, View
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.display import in_html, in_words
from hybrid.pipeline.evaluation_price import untried
from hybrid.pipeline.identifying_texts import identifying_problems, kept_columns
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import in_table
from hybrid.pipeline.people_tables import Origin
from hybrid.pipeline.pipeline import ONLY_COMPARED, Pipeline
from hybrid.pipeline.roles import decided_roles
from hybrid.pipeline.stages import EVALUATE, POWER, PROTECT, READ, STAGES, SYNTHESIZE
from hybrid.publication.asked import asked
from hybrid.publication.gate import DrawNumber, judge
from hybrid.publication.policy import Policy
from hybrid.publication.power import LeakTrials, Power
from hybrid.publication.roles import DecidedRoles, with_roles
from hybrid.publication.verdict import Verdict
from hybrid.store import Store
from hybrid.table import Schema, Table
from hybrid.table.split import Parts
from hybrid.transition.disclosure import GiveAway

BETWEEN = ": "
"""Text between the name of a table and that of its stage."""
_OF_VIEWS = (READ, PROTECT, SYNTHESIZE, EVALUATE, POWER)
"""Stages of a table below the person table."""


class LinkedRun(ListedNames):
    """All stages of all linked tables, computed on demand.

    Parameters
    ----------
    config : RunConfig
        What to do.
    seed : int, optional
        The source of all randomness; the config's, or a fresh one that cannot be guessed.
    store : Store
        Where stage results are looked for and kept; by default nothing is kept.
    progress : Progress
        Called with the table and the stage that is computed.
    judge_power, origin
        As for :class:`hybrid.pipeline.pipeline.Pipeline`.
    """

    LISTED = frozenset({"check", "config", "draw", "evaluation", "released", "seed", "tables", "verdict", "verdict_of"})

    def __init__(
        self,
        config: RunConfig,
        seed: int | None = None,
        store: Store | None = None,
        progress: Progress = silent,
        *,
        judge_power: bool = True,
        origin: Origin | None = None,
    ) -> None:
        self.config, self.origin = config, origin
        self.progress = progress
        self.judge_power = judge_power
        self.draw: DrawNumber | None = None
        """Number of this draw of the data under the policy, once it is counted; the verdict depends on it."""
        self._given_seed, self._store = seed, store or Store(None)
        self._parts: Parts | None = None
        """Training and control persons of a fold; None where the split decides."""
        self._whole: LinkedRun | None = None
        """The run that this one repeats for some of its people."""

    def __repr__(self) -> str:
        """Verdict and counts, if they are computed already."""
        return in_words("LinkedRun", self, self.config.name)

    def _repr_html_(self) -> str:
        return in_html(self, self.config.name)

    @cached_property
    def sources(self) -> Sources:
        """All tables as they were read."""
        self.progress("read", 0, 1)
        return read_sources(self.config)

    @cached_property
    def person(self) -> LinkedTable:
        """Pipeline of the person table."""
        config, name = self.config, self.config.links.person
        _refuse_unknown(config, self.sources)
        table = self.sources.tables[name]
        given = GivenInputs(fitting(config, table.schema), table, self._progress_of_table(name))
        inputs = given if self._parts is None else given.of_fold(self._parts)
        if self._whole is not None:
            inputs = self._whole.person.inputs.with_training(table)
        where = self._given_seed, self._store, self._progress_of_table(name), inputs
        found = LinkedTable(given.config, *where, judge_power=self.judge_power, origin=self.origin)
        found.name, found.decided = name, self._whole is not None
        found.behind = fingerprint(self.sources, config.links, config.protection)
        found.attack = self._attacked
        found.beside = tuple(
            replace(column, name=f"{other}.{column.name}", order=None)
            for other in list(config.views)[1:]
            for column in self.sources.tables[other].schema.without_identifiers()
        )
        return found

    @cached_property
    def tables(self) -> Mapping[str, LinkedTable]:
        """Pipelines of all tables about people, parents first."""
        first, *others = self.config.views
        found = {first: self.person}
        for name in others:
            link, source = self._link(name, found), self.sources.tables[name]
            beside = (replace(self.person.table.schema[old], name=new) for old, new in link.static.items())
            config = fitting(self.config.views[name], Schema((*source.schema, *beside)))
            called = {f"{first}.{old}": new for old, new in link.static.items()}
            config = config.model_copy(update={"constraints": tuple(one.renamed(called) for one in config.constraints)})
            how = self._store, self._progress_of_table(name)
            found[name] = View(config, link, source, *how, judge_power=self.judge_power)
            found[name].decided = self._whole is not None
        for name, table in found.items():
            table.folds = tuple(fold.tables[name] for fold in self.folds)
        return found

    @cached_property
    def folds(self) -> tuple[LinkedRun, ...]:
        """Runs of the same configuration, each without the people who are its control.

        On them ``split.control: cross`` judges the procedure; none without it.
        """
        found = []
        for config, seed, parts, told in self.person.runs_of_folds:
            shared = {"split": config.split, "evaluate": config.evaluate}
            run = LinkedRun(self.config.with_sections(shared), seed, self._store, told, judge_power=False)
            run.sources, run._parts = self.sources, parts
            found.append(run)
        return tuple(found)

    def with_training(self, people: Rows, seed: int) -> LinkedRun:
        """The same configuration for some people of the source, who all are training people.

        Nothing is kept. The hierarchies are those of the whole source.

        Parameters
        ----------
        people : numpy.ndarray, shape (n,), int64
            Different rows of the person table.
        seed : int
            The source of all randomness.
        """
        retrain, synthesize = self.config.evaluate.retrain, self.config.synthesize
        config = self.config
        if retrain is not None and retrain.drawn is not None:
            rows = max(round(retrain.drawn * len(people)), 1)
            config = config.with_sections({"synthesize": synthesize.model_copy(update={"rows": rows})})
        run = LinkedRun(config, seed, judge_power=False)
        run.sources, run._whole, run.folds = some_people(config.links, self.sources, people), self, ()
        return run

    @property
    def untried(self) -> str:
        """Reason to repeat the whole process only if ``evaluate.retrain`` asks for it; empty if there is none."""
        if not self.judge_power:
            return ONLY_COMPARED
        return untried(self.config, *(table.train for table in self.tables.values()))

    def _attacked(self) -> Evaluation:
        person = self.person
        chosen = asked(person.judged_by, person.config.evaluate)
        names = tuple(one.name for one in chosen if "trainings" in one.needs)
        if not names:
            return Evaluation(())
        alone = dict.fromkeys(("targets", "secrets", "linkability", "groups", "analyses", "strata", "clusters"))
        options = person.config.evaluate.model_copy(update={"metrics": names, "also": (), **alone})

        def again(table: Table, seed: int) -> Table:
            return drawn_people(self.with_training(table.persons, seed).tables)

        return evaluate(
            real_people(self.tables),
            None,
            {"synthetic": drawn_people(self.tables)},
            options,
            rng_for(self.seed, "evaluate people"),
            person.progress,
            retrain={"synthetic": again},
            untried=self.untried,
        )

    @property
    def seed(self) -> int:
        """The source of all randomness."""
        return self.person.seed

    @property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return self.person.policy

    @cached_property
    def data_fingerprint(self) -> str:
        """Content hash of what was read: all tables and the hierarchies."""
        return fingerprint(self.person.data_fingerprint, self.sources)

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """Names of all stages of all tables, in an order for :meth:`compute`."""
        return linked_steps(self.config)

    @property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages of all tables, by their names as in :attr:`steps`."""
        return {
            f"{name}{BETWEEN}{stage}": key for name, table in self.tables.items() for stage, key in table.keys.items()
        }

    def compute(self, step: str) -> None:
        """Compute a stage of a table by its name, or load it."""
        name, _, stage = step.partition(BETWEEN)
        if stage == POWER.name:
            self._evaluate_together()
        self.tables[name].compute(stage)

    def check(self) -> None:
        """Check the later stages before the first one is computed.

        Raises
        ------
        HybridError
            As :meth:`hybrid.pipeline.pipeline.Pipeline.check`, of any table.
        """
        problems = [in_table(*found) for found in self.identifying]
        if problems:
            raise DataError(problems)
        for table in self.tables.values():
            table.check()

    @property
    def identifying(self) -> Iterator[tuple[str, Problem]]:
        """Columns that hold identifiers, of all tables, by the table's name."""
        return identifying_problems(self.sources.tables, kept_columns(self.config))

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of all tables and references."""
        found = [one.of_table(name) for name, one in self._evaluations.items()]
        crossed = tuple(one for each in found for one in each.crossed)
        return Evaluation(tuple(metric for each in found for metric in each.metrics), crossed=crossed)

    @cached_property
    def power(self) -> Power | None:
        """Planted leaks that the verdict noticed; None where none are planted.

        Of each kind in the table where it noticed fewest.
        """
        self._evaluate_together()
        found = {name: table.power for name, table in self.tables.items()}
        return worst_power({name: power for name, power in found.items() if power is not None})

    def refuse_spent(self) -> None:
        """Refuse a draw beyond a yearly budget: linked tables have none."""

    @property
    def give_away(self) -> GiveAway | None:
        """Disclosure of originals by the transition; None without one."""
        return self.person.give_away

    @property
    def promise(self) -> str:
        """Formal promises of the configuration, where a run has a secret seed."""
        return self.person.promise

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict on all tables together: the worst of the tables and of the references."""
        anonymized = self.person.anonymized
        policy = self.policy if self.judge_power else self.policy.without_detection()
        draws = 1 if self.draw is None else self.draw.number
        result = None if anonymized is None else anonymized.result
        return with_roles(judge(policy, self.evaluation, result, draws=draws, power=self.power), self.roles)

    def verdict_of(self, name: str) -> Verdict:
        """Part of the verdict that is about one table."""
        return self.verdict.about(name)

    @cached_property
    def roles(self) -> DecidedRoles:
        """Decision about the roles of all columns.

        Columns of other tables than the person table have the table's name.
        """
        person = decided_roles(self.person.config, self.person.table)
        for name, table in self.sources.tables.items():
            if name == self.config.links.person:
                continue
            found = decided_roles(self.config.views[name], table)
            undecided, excluded, kept, suspected = (
                tuple(f"{name}.{column}" for column in columns)
                for columns in (found.undecided, found.excluded, found.as_they_are, found.suspected)
            )
            person = replace(
                person,
                undecided=(*person.undecided, *undecided),
                excluded=(*person.excluded, *excluded),
                as_they_are=(*person.as_they_are, *kept),
                suspected=(*person.suspected, *suspected),
            )
        return person

    @cached_property
    def released(self) -> Mapping[str, Table]:
        """The tables to release, but for public ones: the sources' columns in order, with made-up keys."""
        return with_keys(self.config.links, self.sources, self.tables)

    @property
    def stages(self) -> list[StageRecord]:
        """Seconds and memory of every stage of every table."""
        return [
            replace(stage, name=f"{name}{BETWEEN}{stage.name}")
            for name, table in self.tables.items()
            for stage in table.recorder.stages
        ]

    def _evaluate_together(self) -> None:
        """Let the trials of every table know the evaluation of all."""
        for table in self.tables.values():
            table.together = self.evaluation
            table.people = len(self.person.table)

    @cached_property
    def _evaluations(self) -> dict[str, Evaluation]:
        return {name: table.evaluation for name, table in self.tables.items()}

    def _link(self, name: str, found: Mapping[str, LinkedTable]) -> Link:
        links, person = self.config.links, self.config.links.person
        options = links.tables[name].parent
        assert options is not None
        siblings = {
            other: table
            for other, table in found.items()
            if isinstance(table, View) and table.link.parent_name == options.table
        }
        static = own_names(self.sources.tables[person], self.sources.tables[name], person)
        owners = self.sources.owners[name]
        parent = options.table
        return Link(
            name, parent, found[person], found[parent], siblings, owners, static, lambda: self._released_links(name)
        )

    def _released_links(self, name: str) -> tuple[Rows, int]:
        """Parent row of each released row; number of broken references."""
        tables, options = self.config.links.tables, self.config.links.tables[name]
        frame, parent = self.released[name].frame, options.parent
        assert parent is not None
        key = tables[parent.table].key
        keys = parent_keys(parent, self.released[name], self.released)
        owners = places_of(self.released[parent.table].frame[key], keys)
        broken = owners < 0
        for column, other in options.references.items():
            places = places_of(self.sources.public[other].frame[tables[other].key], frame[column])
            broken |= (places < 0) & frame[column].notna().to_numpy()
        return owners, int(broken.sum())

    def _progress_of_table(self, name: str) -> Progress:
        return prefixed(f"{name}{BETWEEN}", self.progress)


AnyRun: TypeAlias = Pipeline | LinkedRun
"""Run of one table, or of linked tables: both have ``tables``, ``released``, one ``evaluation`` and one ``verdict``."""


def run_of(
    config: RunConfig,
    seed: int | None = None,
    store: Store | None = None,
    progress: Progress = silent,
    *,
    judge_power: bool = True,
    origin: Origin | None = None,
    ledger_dir: Path | None = None,
) -> AnyRun:
    """Make the run of a configuration; nothing is computed yet.

    Parameters as for :class:`hybrid.pipeline.pipeline.Pipeline`.
    """
    if config.is_linked:
        return LinkedRun(config, seed, store, progress, judge_power=judge_power, origin=origin)
    return Pipeline(config, seed, store, progress, judge_power=judge_power, origin=origin, ledger_dir=ledger_dir)


def stage_of(step: str) -> str:
    """Name of the stage of a step, without that of its table."""
    return step.rpartition(BETWEEN)[2]


def linked_steps(config: RunConfig) -> tuple[str, ...]:
    """Names of all stages of all tables; each stage of every table comes before the next stage."""
    return tuple(
        f"{name}{BETWEEN}{stage.name}"
        for stage in STAGES
        for name in config.views
        if name == config.links.person or stage in _OF_VIEWS
    )


def worst_power(found: Mapping[str, Power]) -> Power | None:
    """Trials of the table that notices a leak least, by kind and way; None without trials.

    A table that lacks the columns of a leak counts only where all tables do.
    """
    if not found:
        return None
    of_kind: dict[tuple[str, str], list[LeakTrials]] = {}
    for leak in (leak for power in found.values() for leak in power.leaks):
        of_kind.setdefault((leak.kind, leak.way), []).append(leak)
    worst = [min(leaks, key=lambda leak: (leak.lacks is not None, leak.noticed)) for leaks in of_kind.values()]
    people = max((power.people or 0 for power in found.values()), default=0) or None
    return Power(tuple(worst), min(power.control for power in found.values()), people)


def fitting(config: RunConfig, schema: Schema) -> RunConfig:
    """The configuration with the columns that this table has."""
    evaluate, protection = config.evaluate, config.protection

    def there(names: Sequence[str] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(name for name in names if name in schema)

    sides = evaluate.linkability and tuple(there(side) or () for side in evaluate.linkability)
    changed = {
        "targets": there(evaluate.targets),
        "secrets": there(evaluate.secrets),
        "linkability": sides if sides and all(sides) else None,
    }
    update: dict[str, object] = {"evaluate": evaluate.model_copy(update=changed)}
    if protection is not None:
        update["protect"] = protection.only(schema.names)
    return config.model_copy(update=update)


def _refuse_unknown(config: RunConfig, sources: Sources) -> None:
    known = {name for table in sources.tables.values() for name in table.schema.names}
    options = config
    wanted = {**_named(options.evaluate), "publish.columns": tuple(options.publish.columns)}
    if options.protection is not None:
        wanted["protect.columns"] = tuple(options.protection.columns)
    problems = [
        Problem(f"{key}: no table has the column {name!r}", f"the tables are {', '.join(sources.tables)}")
        for key, names in wanted.items()
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)


def _named(options: EvaluateOptions) -> dict[str, tuple[str, ...]]:
    sides = options.linkability or ((), ())
    return {
        "evaluate.targets": tuple(options.targets or ()),
        "evaluate.secrets": tuple(options.secrets or ()),
        "evaluate.linkability": (*sides[0], *sides[1]),
    }
