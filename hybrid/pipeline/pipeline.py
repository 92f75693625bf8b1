"""Run of a configuration: its tables through all stages, one evaluation, one verdict.

A single table is a run of one table. ``Pipeline`` is lazy: asking for a result computes it and what it needs, and keeps
it in the store. So the command line computes everything at once, while a flow computes one stage per task; both
compute the same things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from markupsafe import Markup

from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint
from hybrid.base.arrays import Rows
from hybrid.base.errors import ConfigError, DataError, Problem, refuse
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder, StageRecord
from hybrid.base.notebook import NotebookResult
from hybrid.base.progress import Progress, prefixed
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import Making
from hybrid.evaluation.measure import Evaluation, MetricResult
from hybrid.evaluation.people_in_tables import LinkedPeople
from hybrid.pipeline.assessment import ONLY_COMPARED
from hybrid.pipeline.child_draw import own_names
from hybrid.pipeline.child_run import ChildRun, DrawnRows, Link
from hybrid.pipeline.config import SINGLE, RunConfig
from hybrid.pipeline.decided_roles import decided_roles
from hybrid.pipeline.display import in_html, in_words, plotted
from hybrid.pipeline.evaluation_price import untried
from hybrid.pipeline.identifying_texts import identifying_problems, kept_columns
from hybrid.pipeline.inputs import Inputs, Sources
from hybrid.pipeline.links import in_table
from hybrid.pipeline.placement import placed
from hybrid.pipeline.private_generation import refuse_spent
from hybrid.pipeline.read_people import read_people, refuse_too_large
from hybrid.pipeline.released_keys import with_keys
from hybrid.pipeline.repetition import (
    control_people,
    drawn_people,
    learned_rows,
    real_people,
    some_people,
    trained_on_people,
)
from hybrid.pipeline.run import Run
from hybrid.pipeline.shared_sections import fitting, refuse_unknown
from hybrid.pipeline.sources import parent_keys, places_of, read_sources
from hybrid.pipeline.stages import ANONYMIZE, EVALUATE, POWER, PROTECT, READ, STAGES, SYNTHESIZE, TRANSITION
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import asked
from hybrid.publication.column_roles import DecidedRoles, with_roles
from hybrid.publication.gate import DrawNumber, judge
from hybrid.publication.policy import Policy
from hybrid.publication.power import Power, worst_power
from hybrid.publication.verdict import Verdict
from hybrid.report.charts.svg import Figure
from hybrid.table import Role, Schema, Table
from hybrid.table.split import Parts
from hybrid.transition.disclosure import GiveAway

BETWEEN = ": "
"""Text between the name of a table and that of its stage."""
_OF_VIEWS = (READ, PROTECT, SYNTHESIZE, EVALUATE, POWER)
"""Stages of a table below the person table."""
_OF_LABELS = (ANONYMIZE, TRANSITION)
"""Those that it has, too, if it has quasi-identifiers."""


class Pipeline(NotebookResult, Run[Sources]):
    """All stages of all tables of a run, computed on demand.

    Parameters
    ----------
    config : RunConfig
        What to do, with one table or linked tables.
    seed : int, optional
        The source of all randomness; the config's, or a fresh one that cannot be guessed.
    store : Store
        Where stage results are looked for and kept; by default nothing is kept.
    progress : Progress
        Called with the stage that is computed, and how far it is; of linked tables, with the table before it.
    given : Sources, optional
        Tables that were read already; by default those that the configuration names.
    judge_power : bool
        Whether the verdict says, too, which leaks it would have noticed. Runs that are only compared with each other
        do without: a policy's ``must_detect`` then does not count.
    origin : Origin, optional
        Seeds of an earlier run, whose kept model draws: nothing is trained.
    ledger_dir : Path, optional
        The private zone, whose ledger pays each draw under ``privacy.mode: dp``, and which keeps the split that
        settings were chosen by. Not given: the table holds no real record, or the draw is a part of an evaluation, and
        nothing is paid.

    Raises
    ------
    ConfigError
        The configuration contradicts itself; see :func:`hybrid.pipeline.contradictions.refuse_contradictions`.
    """

    LISTED = frozenset(
        {"anonymized", "check", "config", "evaluation", "plot", "released", "seed", "synthetic", "tables"}
        | {"trade_off", "verdict", "verdict_of"}
    )

    draw: DrawNumber | None = None
    """Number of this draw of the data under the policy, once it is counted; the verdict depends on it."""
    rows_there: Mapping[str, int] = MappingProxyType({})
    """Rows of each linked table in its source, where only those of some people were read."""
    _parts: Parts | None = None
    """Training and control persons of a fold; None where the split decides."""
    _whole: Pipeline | None = None
    """The run that this one repeats for some of its people."""

    def __repr__(self) -> str:
        """Verdict and counts, if they are computed already."""
        return in_words("Pipeline", self, self.config.name)

    def _repr_html_(self) -> str:
        return in_html(self, self.config.name)

    @cached_property
    def sources(self) -> Sources:
        """All tables as they were read."""
        if self.given is not None:
            return self.given
        if not self.config.is_linked:
            return Sources({SINGLE: self.person.table}, {}, {}, {})
        self.progress("read", 0, 1)
        if not refuse_too_large(self.config):
            return read_sources(self.config)
        key = fingerprint("people", self.config.name, self.config.split)
        seed = self.given_seed
        seed = self.store.get_or_compute("seed", key, fresh_seed) if seed is None else seed
        found, self.rows_there = read_people(self.config, seed)
        return found

    @cached_property
    def person(self) -> TableRun:
        """Run of the table whose rows, or persons, are generalized: the only one, or the person table."""
        if not self.config.is_linked:
            own = None
            if self.given is not None:
                own = Inputs(self.config, Recorder(), self.progress, self.given.tables[SINGLE])
            return self._run_of(placed(self.config) if own is None else self.config, self.progress, own)
        config, name = self.config, self.config.links.person
        refuse_unknown(config, self.sources)
        table = self.sources.tables[name]
        told = self._progress_of_table(name)
        given = Inputs(fitting(config, table.schema), Recorder(), told, table)
        inputs = given if self._parts is None else given.of_fold(self._parts)
        if self._whole is not None:
            inputs = self._whole.person.inputs.with_training(table)
        found = self._run_of(given.config, told, inputs)
        found.name, found.decided = name, self._whole is not None
        found.behind = fingerprint(self.sources, config.links, config.protection)
        if len(config.views) > 1:
            found.is_one_of_several = True
            found.assessment.attack, found.below = self._attacked, lambda: learned_rows(self.tables)
        found.beside = tuple(
            replace(column, name=f"{other}.{column.name}", order=None, role=_beside(column.role))
            for other in list(config.views)[1:]
            for column in self.sources.tables[other].schema.without_identifiers()
        )
        return found

    def _run_of(self, config: RunConfig, progress: Progress, given: Inputs | None) -> TableRun:
        about = config, self.asked_seed, self.store, progress, given
        return TableRun(*about, judge_power=self.judge_power, origin=self.origin, ledger_dir=self.ledger_dir)

    @cached_property
    def tables(self) -> Mapping[str, TableRun]:
        """Runs of all tables about people by their names, parents first."""
        first, *others = self.config.views
        found: dict[str, TableRun] = {first: self.person}
        for name in others:
            link, source = self._link(name, found), self.sources.tables[name]
            beside = (replace(self.person.table.schema[old], name=new) for old, new in link.static.items())
            config = fitting(self.config.views[name], Schema((*source.schema, *beside)))
            called = {f"{first}.{old}": new for old, new in link.static.items()}
            config = config.model_copy(update={"constraints": tuple(one.renamed(called) for one in config.constraints)})
            how = self.store, self._progress_of_table(name)
            found[name] = ChildRun(config, link, source, *how, judge_power=self.judge_power)
            found[name].decided = self._whole is not None
        if others:
            for name, table in found.items():
                table.folds = tuple(fold.tables[name] for fold in self.folds)
        return found

    @cached_property
    def folds(self) -> tuple[Pipeline, ...]:
        """Runs of all linked tables, each without the people who are its control.

        On them ``split.control: cross`` judges the procedure; none without it.
        """
        found = []
        for config, seed, parts, told in self.person.assessment.runs_of_folds:
            shared = {"split": config.split, "evaluate": config.evaluate}
            run = Pipeline(self.config.with_sections(shared), seed, self.store, told, self.sources, judge_power=False)
            run._parts = parts
            found.append(run)
        return tuple(found)

    def with_training(self, people: Rows, seed: int) -> Pipeline:
        """The same linked tables for some people of the source, who all are training people.

        Nothing is kept. The hierarchies are those of the whole source.

        Parameters
        ----------
        people : numpy.ndarray, shape (n,), int64
            Rows of the person table; one that comes again is another person with the same rows.
        seed : int
            The source of all randomness.
        """
        retrain, synthesize = self.config.evaluate.retrain, self.config.synthesize
        config = self.config
        if retrain is not None and retrain.drawn is not None:
            rows = max(round(retrain.drawn * len(people)), 1)
            config = config.with_sections({"synthesize": synthesize.model_copy(update={"rows": rows, "tables": 1})})
        run = Pipeline(config, seed, given=some_people(config.links, self.sources, people), judge_power=False)
        run._whole, run.folds = self, ()
        return run

    @property
    def untried(self) -> str:
        """Reason to repeat the whole process only if ``evaluate.retrain`` asks for it; empty if there is none."""
        if not self.judge_power:
            return ONLY_COMPARED
        return untried(self.config, *(table.train for table in self.tables.values()))

    def _attacked(self) -> Evaluation:
        options = self.person.config.evaluate
        chosen = asked(self.person.judged_by, options)
        halves = [one.name for one in chosen if "trainings" in one.needs]
        shadows = [one.name for one in chosen if trained_on_people(options, one)]
        found = self._repeated(halves, None, "evaluate people") if halves else ()
        found += self._repeated(shadows, control_people(self.tables), "evaluate people, shadows") if shadows else ()
        return Evaluation(found)

    def _repeated(self, names: Sequence[str], control: LinkedPeople | None, draws: str) -> tuple[MetricResult, ...]:
        """Metrics that repeat the making of all tables; ``draws`` names their random numbers."""
        alone = dict.fromkeys(("targets", "secrets", "linkability", "groups", "analyses", "strata", "clusters"))
        options = self.person.config.evaluate.model_copy(update={"metrics": tuple(names), "also": (), **alone})

        def again(table: Table, seed: int) -> Table:
            return drawn_people(self.with_training(table.persons, seed).tables)

        return evaluate(
            real_people(self.tables),
            control,
            {"synthetic": drawn_people(self.tables)},
            options,
            rng_for(self.seed, draws),
            self.person.progress,
            making={"synthetic": Making(again=again, untried=self.untried)},
        ).metrics

    @property
    def seed(self) -> int:
        """The source of all randomness."""
        return self.person.seed

    @property
    def policy(self) -> Policy:
        """The rules of the gate."""
        return self.person.policy

    @property
    def table(self) -> Table:
        """The whole input table; of linked ones, the person table."""
        return self.person.table

    @property
    def anonymized(self) -> AnonymizedTable | None:
        """The k-anonymous training records; None without anonymization."""
        return self.person.anonymized

    @cached_property
    def anonymization(self) -> AnonymizationResult | None:
        """Result of anonymizing the person table and those below it; None without anonymization."""
        if self.anonymized is None:
            return None
        others = {name: table.anonymized for name, table in self.tables.items() if table is not self.person}
        below = {name: one.result for name, one in others.items() if one is not None}
        return replace(self.anonymized.result, below=below)

    @property
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the configured k; empty where it is not computed."""
        return self.person.trade_off

    @property
    def synthetic(self) -> Table:
        """The table to release; of linked ones, the person table."""
        return self.released[self.config.links.person]

    def plot(self, *columns: str) -> Figure:
        """Draw columns, real beside synthetic, without small groups.

        Parameters
        ----------
        columns : str
            Names, of linked tables TABLE.COLUMN; by default every column that is learned.

        Returns
        -------
        Figure
            Shown by a notebook; ``figure.write("columns.html")`` keeps it. Aggregates only: it may leave the private
            zone.

        Raises
        ------
        ConfigError
            There is no such column.
        """
        if not self.config.is_linked:
            return plotted(self.person, columns)
        split = [column.partition(".") for column in columns]
        unknown = [".".join(one) for one in split if one[0] not in self.tables or not one[2]]
        if unknown:
            raise ConfigError(f"no such column: {', '.join(unknown)}", hint="name it TABLE.COLUMN")
        charts: list[tuple[str, Markup]] = []
        for name, table in self.tables.items():
            own = [column for of, _, column in split if of == name]
            if own or not columns:
                charts += [(f"{name}.{title}", chart) for title, chart in plotted(table, own).charts]
        return Figure(tuple(charts))

    @cached_property
    def data_fingerprint(self) -> str:
        """Content hash of what was read: all tables and the hierarchies."""
        if not self.config.is_linked:
            return self.person.data_fingerprint
        return fingerprint(self.person.data_fingerprint, self.sources)

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of all stages of all tables, in an order for :meth:`compute`."""
        return steps_of(self.config)

    @property
    def keys(self) -> dict[str, str]:
        """Keys of all kept stages of all tables, by their names as in :attr:`steps`."""
        return {step_of(name, stage): key for name, table in self.tables.items() for stage, key in table.keys.items()}

    def compute(self, step: str) -> None:
        """Compute a stage of a table by its name, or load it.

        ``evaluate-synthetic`` names the evaluation of one judged table.
        """
        name, stage = split_step(step)
        if stage == POWER.name:
            self._evaluate_together()
        self.tables[name].compute(stage)

    def check(self) -> None:
        """Check the later stages before the first one is computed.

        Raises
        ------
        HybridError
            As :meth:`hybrid.pipeline.table_run.TableRun.check`, of any table.
        """
        if self.config.is_linked:
            problems = [in_table(*found) for found in self.identifying]
            refuse(problems, DataError)
        for table in self.tables.values():
            table.check()

    @property
    def identifying(self) -> Iterator[tuple[str, Problem]]:
        """Columns that hold identifiers, of all tables, by the table's name."""
        return identifying_problems(self.sources.tables, kept_columns(self.config))

    @cached_property
    def evaluation(self) -> Evaluation:
        """Privacy, utility and fidelity of all tables and references."""
        found = [table.evaluation.of_table(name) for name, table in self.tables.items()]
        crossed = tuple(one for each in found for one in each.crossed)
        metrics = tuple(metric for each in found for metric in each.metrics)
        return Evaluation(metrics, self.person.evaluation.all_rows, crossed)

    @cached_property
    def power(self) -> Power | None:
        """Planted leaks that the verdict noticed; None where none are planted.

        Of each kind in the table where it noticed fewest.
        """
        self._evaluate_together()
        found = {name: table.power for name, table in self.tables.items()}
        return worst_power({name: power for name, power in found.items() if power is not None})

    def refuse_spent(self) -> None:
        """Refuse a draw beyond the yearly budget before anything is read.

        Raises
        ------
        GateRefused
            The budget is spent, and the store keeps no draw that is paid.
        """
        if self.config.privacy is not None:
            refuse_spent(self.person)

    @property
    def give_away(self) -> GiveAway | None:
        """Disclosure of originals by the transition; None without one."""
        return self.person.give_away

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict on all tables together: the worst of the tables and of the references.

        It is judged as a first draw until the draw is counted.
        """
        policy = self.policy if self.judge_power else self.policy.without_detection()
        draws = 1 if self.draw is None else self.draw.number
        result, config = self.anonymization, self.config.model_dump(mode="json")
        claims = self.config.privacy is not None and self.person.is_private
        found = judge(policy, self.evaluation, result, None, draws, self.power, config, claims_privacy=claims)
        return with_roles(found, self.roles)

    def verdict_of(self, name: str) -> Verdict:
        """Part of the verdict that is about one table."""
        return self.verdict.about(name)

    @cached_property
    def roles(self) -> DecidedRoles:
        """Decision about the roles of all columns: by whom, and the columns that it leaves as they are.

        Columns of other tables than the person table have the table's name.
        """
        person, config = decided_roles(self.person.config, self.person.table), self.config
        others = {
            name: decided_roles(view, self.sources.tables[name], config.generalized_below(name))
            for name, view in config.views.items()
            if name != config.links.person
        }

        def of_all(role: str) -> tuple[str, ...]:
            below = (f"{name}.{column}" for name, found in others.items() for column in getattr(found, role))
            return (*getattr(person, role), *below)

        return replace(
            person,
            undecided=of_all("undecided"),
            excluded=of_all("excluded"),
            as_they_are=of_all("as_they_are"),
            suspected=of_all("suspected"),
        )

    @cached_property
    def released(self) -> Mapping[str, Table]:
        """The tables to release, but for public ones: the sources' columns in order, with made-up keys.

        Of one table that is drawn in parts, the sample that is judged.
        """
        if not self.config.is_linked:
            return {SINGLE: self.person.synthetic}
        drawn = {name: DrawnRows.of(table) for name, table in self.tables.items()}
        return with_keys(self.config.links, self.sources, drawn, tables=self.config.synthesize.tables)

    @property
    def stages(self) -> list[StageRecord]:
        """Seconds and memory of every stage of every table."""
        return [
            replace(stage, name=step_of(name, stage.name))
            for name, table in self.tables.items()
            for stage in table.recorder.stages
        ]

    def _evaluate_together(self) -> None:
        if not self.config.is_linked:
            return
        for table in self.tables.values():
            table.assessment.together = self.evaluation
            table.assessment.people = len(self.person.table)

    def _link(self, name: str, found: Mapping[str, TableRun]) -> Link:
        links, person = self.config.links, self.config.links.person
        options = links.tables[name].parent
        assert options is not None
        siblings = {
            other: table
            for other, table in found.items()
            if isinstance(table, ChildRun) and table.link.parent_name == options.table
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


def step_of(name: str, stage: str) -> str:
    """Name of a stage of a table; of the only table, that of the stage alone."""
    return f"{name}{BETWEEN}{stage}" if name else stage


def split_step(step: str) -> tuple[str, str]:
    """Names of the table and of the stage of a step."""
    name, between, stage = step.partition(BETWEEN)
    return (name, stage) if between else (SINGLE, step)


def stage_of(step: str) -> str:
    """Name of the stage of a step, without that of its table."""
    return split_step(step)[1]


def _beside(role: Role) -> Role:
    """Role beside the person table, whose labels say nothing about quasi-identifiers of other tables."""
    return Role.INSENSITIVE if role is Role.QUASI_IDENTIFIER else role


def steps_of(config: RunConfig) -> tuple[str, ...]:
    """Names of all stages of all tables; each stage of every table comes before the next stage."""
    return tuple(
        step_of(name, stage.name)
        for stage in STAGES
        for name in config.views
        if name == config.links.person or stage in _OF_VIEWS or (stage in _OF_LABELS and config.generalized_below(name))
    )
