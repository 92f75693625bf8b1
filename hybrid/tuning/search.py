"""Choice of settings: try many by successive halving, and keep the most useful one expected to pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.errors import ConfigError, DataError, InfeasibleError
from hybrid.base.ownership import seal
from hybrid.base.progress import Progress, silent
from hybrid.base.resources import cpu_seconds
from hybrid.base.rng import rng_for
from hybrid.comparison.results import ROWS, TrialRows, collect, filled_alone, kept_store
from hybrid.comparison.schedule import planned_trials
from hybrid.comparison.trial import Configuration, Workplace
from hybrid.jobs.start import Frames, configuration
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.placement import placed
from hybrid.pipeline.risk import leak_of
from hybrid.publication.policy import Policy
from hybrid.report.charts.svg import Figure
from hybrid.store import StorePlace
from hybrid.synthesize import SynthesizeOptions
from hybrid.synthesize.estimate import estimate
from hybrid.tuning.measured import HELD_OUT, Measured, attacked_config, has_rule, predicted, used_config
from hybrid.tuning.page import applied, picture, reason, write_results
from hybrid.tuning.people import TuningPeople
from hybrid.tuning.settings import CONFIGURED, Setting, is_searched, largest_k, settings

AS_USEFUL = 0.01
"""Settings whose usefulness differs by no more are as useful as each other: the one farthest within is taken."""
AS_NEAR = 0.005
"""Settings that are farther from passing by no more are as near to it: the most useful is taken."""


class HalvingRound(NamedTuple):
    """One round of halving."""

    settings: int
    """Settings, at most."""
    trainings: int
    """Trainings of the attacker of each."""
    draws: int
    """Tables of each whose usefulness is measured, each of other training people."""


HALVING_ROUNDS = (HalvingRound(20, 20, 1), HalvingRound(8, 32, 2), HalvingRound(5, 64, 4))
"""Rounds of a tune, with about as much work in each (Jamieson and Talwalkar 2016, arXiv 1502.07943)."""
SLOW_ROUND = HalvingRound(3, 20, 1)
"""The only round with a generator that takes more than ten times as long as ``cart``."""


def halving_rounds(pace: float) -> tuple[HalvingRound, ...]:
    """Rounds for a generator: fewer settings where ``cart`` takes only a share ``pace`` of its time."""
    if pace < 0.1:
        return (SLOW_ROUND,)
    share = min(pace, 1.0)
    return tuple(
        planned._replace(settings=max(int(planned.settings * share), SLOW_ROUND.settings)) for planned in HALVING_ROUNDS
    )


def survivors(found: Sequence[Measured], keep: int) -> list[str]:
    """Settings of the next round, in the order of ``found``.

    First those that are expected to pass, the most useful before all; then those that are the nearest to passing. Of
    settings with the same numbers, which run the same, the first alone goes on.
    """
    different: dict[Any, Measured] = {}
    for each in found:
        different.setdefault((each.attack, each.falls), each)
    ranked = sorted(
        different.values(),
        key=lambda each: (not each.passes, -each.usefulness if each.passes else each.from_passing),
    )
    staying = {each.name for each in ranked[:keep]}
    return [each.name for each in found if each.name in staying]


@dataclass(frozen=True)
class Choice:
    """The chosen setting."""

    chosen: Measured
    passing: tuple[str, ...]
    """Settings of the last round that are expected to pass."""
    alike: tuple[str, ...]
    """Others of the last round that cannot be told from the chosen one, neither by disclosure nor by usefulness."""


def choose(found: Sequence[Measured]) -> Choice:
    """The most useful setting that is expected to pass; if there is none, the one that is nearest to passing.

    Of settings that are as useful as the most useful one (:data:`AS_USEFUL`) the one that stays farthest within what is
    allowed. Of those that are as near to passing as the nearest one (:data:`AS_NEAR`) the most useful.
    """
    passing = [each for each in found if each.passes]
    if passing:
        best = max(each.usefulness for each in passing)
        passing_well = [each for each in passing if each.usefulness >= best - AS_USEFUL]
        chosen = min(passing_well, key=lambda each: each.beyond)
    else:
        least = min(each.from_passing for each in found)
        chosen = max((each for each in found if each.from_passing <= least + AS_NEAR), key=lambda each: each.usefulness)
    alike = tuple(each.name for each in found if each is not chosen and _alike(each, chosen))
    return Choice(chosen, tuple(each.name for each in passing), alike)


def _alike(one: Measured, other: Measured) -> bool:
    """True if all intervals of both overlap: those of the attack, and twice the standard error of usefulness."""
    apart = abs(one.usefulness - other.usefulness) > 2 * float(np.hypot(one.error, other.error))
    pairs = zip(one.attack, other.attack, strict=True)
    return not apart and all(a.low <= b.high and b.low <= a.high for a, b in pairs)


KIND = "tune"
_DRAW = 3
"""Trainings that take about as long as one measurement of usefulness."""


@dataclass(frozen=True)
class Tuned:
    """Outcome of a tune."""

    settings: tuple[Setting, ...]
    """All that were tried, the configured one first."""
    rounds: tuple[tuple[Measured, ...], ...]
    """Numbers of each round, the last one decides. Settings that failed are left out."""
    failed: tuple[str, ...]
    """Names of those."""
    choice: Choice
    targets: tuple[str, ...]
    """Columns whose prediction was measured."""
    people: int
    has_control: bool
    """Whether control people were set apart."""
    has_rule: bool
    """Whether the policy says what the attack may find out."""
    cpu_seconds: float

    def setting(self, name: str) -> Setting:
        """A setting by its name."""
        return next(one for one in self.settings if one.name == name)

    @property
    def chosen(self) -> Setting:
        """The chosen setting."""
        return self.setting(self.choice.chosen.name)

    @property
    def config(self) -> RunConfig:
        """The configuration with the chosen setting."""
        return self.chosen.config

    @property
    def reason(self) -> str:
        """Ground of the choice, in one line."""
        return reason(self)

    @property
    def picture(self) -> Figure:
        """Disclosure against usefulness of every setting; ``.write(FILE)`` keeps it."""
        return picture(self)

    def apply(self, draft: Draft) -> None:
        """Set the chosen values in a draft, with the reason as a comment; it can be undone."""
        draft.keep(applied(draft.document, self.chosen.values, self.reason))

    def __repr__(self) -> str:
        return f"Tuned: {self.chosen.words}; .config runs it"


def tune(
    config: RunConfig | Draft | Mapping[str, Any] | Path | str,
    data: Frames | None = None,
    *,
    out: Path | str | None = None,
    seed: int | None = None,
    work: Path | str = "work",
    jobs: int = 1,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Tuned:
    """Choose settings by use and by attack.

    k, suppression limit, recoding, transition, sampling and the leaves of trees are tried on the training people. The
    control people are never looked at, so that the verdict of a later run is a first one.

    Parameters
    ----------
    config, data, overrides
        As for :func:`hybrid.jobs.start.run`.
    out : Path or str, optional
        Folder of the results; by default ``tune/NAME`` in the private zone. Interrupted, the same call continues there.
    seed : int, optional
        Repeats the choice, and is the seed of the run whose control people are left alone; by default the
        configuration's. Without one the split is drawn once and kept in the private zone, where later runs find it.
    work : Path or str
        The private zone.
    jobs : int
        Trials at a time, each in its own process.
    progress : Progress
        Called after every trial, in trainings.

    Raises
    ------
    ConfigError
        The rows stay in their source, or are to be differentially private.
    DataError
        No setting could be measured.
    """
    began = cpu_seconds()
    loaded = configuration(config, data, overrides)
    asked = _refused(placed(loaded))
    folder, zone = Path(work) / KIND / asked.name if out is None else Path(out), Path(work)
    people = TuningPeople.of(asked, asked.seed if seed is None else seed, zone, progress)
    run = people.run(asked, progress)
    run.check()
    mine = int(rng_for(people.split_seed, "tune").integers(2**31))
    halves = people.halves(HELD_OUT, rng_for(mine, "targets"))
    targets = predicted(halves, asked, rng_for(mine, "predicted"))
    planned_rounds = halving_rounds(_pace(asked, people))
    generalizes = _generalizes(people, largest_k(run.policy, len(people)), progress)
    tried = settings(asked, run.policy, len(people), planned_rounds[0].settings, mine, generalizes)
    with filled_alone(folder, asked.name, KIND, None, None), kept_store(None, folder) as store:
        trials = _Trials(people, targets, run.policy, store, folder, jobs, mine)
        rounds = tuple(trials.rounds(tried, planned_rounds, progress))
        names = {each.name for each in rounds[0]}
        done = Tuned(
            tuple(tried),
            rounds,
            tuple(one.name for one in tried if one.name not in names),
            choose(rounds[-1]),
            tuple(targets),
            len(people),
            people.has_control,
            has_rule(run.policy),
            cpu_seconds() - began,
        )
        write_results(done, folder)
    seal(folder, asked.name, KIND)
    return done


@dataclass(frozen=True)
class _Trials:
    """The trials of a tune, and where they are kept."""

    people: TuningPeople
    targets: Mapping[str, float]
    policy: Policy
    store: StorePlace
    folder: Path
    jobs: int
    seed: int

    def rounds(
        self, tried: Sequence[Setting], planned_rounds: Sequence[HalvingRound], progress: Progress
    ) -> Iterable[tuple[Measured, ...]]:
        """Numbers of each round; survivors and the configured setting are in the next."""
        going, units = list(tried), 0
        whole = sum(_units(planned, min(planned.settings, len(tried))) for planned in planned_rounds)
        for at, planned in enumerate(planned_rounds):
            found = self.measured(going, at, planned, lambda done, start=units: progress("tune", start + done, whole))
            if not found:
                raise DataError(
                    f"none of {len(going)} settings could be measured on {len(self.people):,} training people: "
                    f"{self._why() or 'they are too few for the attack'}",
                    hint=f"hybrid check finds what stops a run; {self.folder / ROWS} has the reason of each setting",
                )
            yield found
            units += _units(planned, planned.settings)
            if at + 1 < len(planned_rounds):
                others = [each for each in found if each.name != CONFIGURED]
                staying = {each.name for each in found} & {
                    CONFIGURED,
                    *survivors(others, planned_rounds[at + 1].settings - 1),
                }
                going = [one for one in going if one.name in staying]
        progress("tune", whole, whole)

    def measured(self, going: Sequence[Setting], at: int, planned: HalvingRound, told: Any) -> tuple[Measured, ...]:
        """Numbers of the settings of a round; without those that failed."""
        count, draws = len(self.people), range(planned.draws)
        seeds = [self.seed + 100 * (at + 1) + draw for draw in draws]
        attacked = [self._about(one, "attack", attacked_config(one.config, count, planned.trainings)) for one in going]
        used = [self._about(one, "use", used_config(one.config, tuple(self.targets))) for one in going]
        first = self._rows([(one, seeds[0]) for one in attacked], lambda done: told(done * planned.trainings))
        rest = self._rows(
            [(one, seed) for one in used for seed in seeds],
            lambda done: told(len(going) * planned.trainings + done * _DRAW),
        )
        found = [
            Measured.of(
                one.name, first[i], rest[i * planned.draws : (i + 1) * planned.draws], self.targets, self.policy
            )
            for i, one in enumerate(going)
        ]
        return tuple(one for one in found if one is not None)

    def _why(self) -> str:
        rows = TrialRows(self.folder / ROWS).read().values()
        return next((str(row["reason"]) for row in rows if row["status"] == "failed"), "")

    def _about(self, one: Setting, what: str, config: RunConfig) -> Configuration:
        return Configuration(f"{one.name}-{what}", one.values, config, people=self.people.sources)

    def _rows(self, pairs: Sequence[tuple[Configuration, int]], told: Any) -> list[dict[str, Any]]:
        def report(step: str, done: int, total: int | None = None, **values: float) -> None:  # noqa: ARG001
            told(done)

        planned = planned_trials(pairs, write=False)
        return collect(planned, Workplace(self.store, None), self.folder, self.jobs, report)


def _generalizes(people: TuningPeople, k: int, progress: Progress) -> bool:
    """True if the anonymization changes a record at the largest k that is tried."""
    config = people.config
    if config.anonymize is None or not is_searched(config):
        return False
    asked = config.with_values({"anonymize.k": max(config.anonymize.k, k)})
    try:
        found = people.run(asked, progress).anonymized
    except InfeasibleError:
        return True
    if found is None:
        return False
    levels = found.result.levels
    return len(found.suppressed) > 0 or levels is None or any(levels.values())


def _units(planned: HalvingRound, count: int) -> int:
    return count * (planned.trainings + planned.draws * _DRAW)


def _refused(config: RunConfig) -> RunConfig:
    if config.privacy is not None:
        raise ConfigError(
            "settings under privacy.mode dp are not tuned: every trial would spend privacy budget of the same people",
            hint="try settings on public or made-up records with hybrid compare",
        )
    if config.rows_stay:
        raise ConfigError("rows that stay in their source are not tuned", hint="tune a file with a sample of them")
    if config.synthesize.is_off or leak_of(config.risk) is not None:
        raise ConfigError(
            "without a generator there is nothing to train again", hint="set synthesize.generator, such as cart"
        )
    return config


def _pace(config: RunConfig, people: TuningPeople) -> float:
    """Expected time of ``cart`` on one table as a share of that of the generator on all tables."""
    table = people.table.without_identifiers()
    cart, own = (estimate(table, options)[0].seconds for options in (SynthesizeOptions(), config.synthesize))
    return cart / own / len(people.sources.tables)
