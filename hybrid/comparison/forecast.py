"""Forecast of a comparison: stages and seconds, differences that it can find, and what cannot run here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from hybrid.analysis.lags import expected_half
from hybrid.base.errors import HybridError
from hybrid.comparison.plan import ComparePlan
from hybrid.comparison.private_draws import SpentTogether, spent_together
from hybrid.comparison.results import ROWS, STORE, TrialRows
from hybrid.comparison.schedule import LeftOut, Planned, schedule
from hybrid.comparison.trial import REST
from hybrid.pipeline.pipeline import stage_of
from hybrid.pipeline.stages import BASELINE, SYNTHESIZE
from hybrid.store import MEMORY, StorePlace
from hybrid.table.persons import n_persons

BY_GENERATOR = (SYNTHESIZE.name, BASELINE.name)
"""Stages whose time depends on the generator most of all."""


@dataclass(frozen=True)
class StageForecast:
    """One stage over all trials."""

    stage: str
    asked: int
    """Trials that need it."""
    distinct: int
    """Different results among these: how often it is computed."""
    kept: int
    """Those of them that the store has already."""
    seconds: float
    """Expected for what is left to compute, of one core where it is estimated."""
    is_measured: bool
    """Whether results like all that are left were measured; else they are estimated."""


@dataclass(frozen=True)
class DetectableDifference:
    """Rough differences between two configurations that a comparison can find, in shares of people (TSTR)."""

    seeds: int
    people: int
    """Control people of a run."""
    one: float
    """Smallest difference between two configurations named beforehand; 1 with one seed."""
    every: float
    """The same for all pairs of configurations together."""


@dataclass(frozen=True)
class Refused:
    """Configurations that cannot run here, and why."""

    reason: str
    configurations: tuple[str, ...]


@dataclass(frozen=True)
class Forecast:
    """Stages to compute and seconds of a plan."""

    configurations: int
    left_out: tuple[LeftOut, ...]
    trials: int
    done: int
    """Trials whose row is there already."""
    stages: tuple[StageForecast, ...]
    rest: float = 0.0
    """Expected seconds of what is no stage of the open trials: reading, verdict, report and files."""
    budget: SpentTogether | None = None
    """Of all private tables; None where there is none."""
    refused: tuple[Refused, ...] = ()
    reach: DetectableDifference | None = None
    """None without a control set."""

    @property
    def executions(self) -> int:
        """Distinct stage executions in all."""
        return sum(stage.distinct for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Expected seconds one after the other."""
        return sum(stage.seconds for stage in self.stages) + self.rest

    @property
    def is_measured(self) -> bool:
        """True if measured times alone are behind it."""
        return all(stage.is_measured for stage in self.stages)


def forecast(plan: ComparePlan, folder: Path, out: Path) -> Forecast:
    """Count what a plan computes, without computing anything.

    Seconds are those of finished rows of ``out`` with the same stage and generator, or else estimates.
    """
    found = schedule(plan, folder)
    return foreseen(found.planned, out, plan.store, len(found.expansion.configurations), found.expansion.left_out)


def foreseen(
    planned: Sequence[Planned], out: Path, store_at: str | None, configurations: int, left_out: tuple[LeftOut, ...] = ()
) -> Forecast:
    """Count what trials compute, with the plan's store, without computing anything."""
    rows = TrialRows(out / ROWS).read()
    open_ = [each for each in planned if each.key not in rows]
    measured = _measured(planned, rows)
    own = str(out / STORE)
    place = None if store_at == MEMORY else StorePlace(store_at or own)
    store = None if place is None else place.open()

    def is_kept(stage: str, key: str) -> bool:
        return store is not None and store.entry(stage_of(stage), key) is not None

    stages = []
    for stage in dict.fromkeys(name for each in planned for name in each.stages):
        asked = [each.stages[stage] for each in planned if stage in each.stages]
        todo = {each.stages[stage]: each for each in open_ if stage in each.stages}
        left = [each for key, each in todo.items() if not is_kept(stage, key)]
        known = all(_like(stage, each) in measured for each in left)
        seconds = sum(_seconds(stage, each, measured) for each in left)
        stages.append(
            StageForecast(
                stage,
                len(asked),
                len(set(asked)),
                sum(is_kept(stage, key) for key in set(asked)),
                seconds,
                known,
            )
        )
    return Forecast(
        configurations=configurations,
        left_out=left_out,
        trials=len(planned),
        done=len(planned) - len(open_),
        stages=tuple(stages),
        rest=sum(_seconds(REST, each, measured) for each in open_),
        budget=spent_together(planned),
        refused=_refused(planned),
        reach=_reach(planned, configurations),
    )


def _refused(planned: Sequence[Planned]) -> tuple[Refused, ...]:
    """Configurations that a run would refuse before its first stage, for packages, names of metrics or columns."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    first = {each.trial.name: each.trial for each in reversed(planned)}
    for trial in reversed(first.values()):
        reason = trial.problem
        if trial.config is not None:
            try:
                trial.run().check()
            except HybridError as error:
                reason = "; ".join(f"{problem.message} ({problem.hint})" for problem in error.problems)
        if reason:
            found[reason].append(trial.name)
    return tuple(Refused(reason, tuple(names)) for reason, names in found.items())


def _reach(planned: Sequence[Planned], configurations: int) -> DetectableDifference | None:
    """Reach by the first valid configuration; the split of the others is mostly the same."""
    trial = next((each.trial for each in planned if each.trial.config is not None), None)
    if trial is None or trial.config is None:
        return None
    person = trial.run().person
    control = person.control
    if control is None or not len(control):
        return None
    people = n_persons(control)
    seeds, pairs = len({each.trial.seed for each in planned}), max(1, configurations * (configurations - 1) // 2)
    if seeds < 2:
        return DetectableDifference(seeds, people, 1.0, 1.0)
    overlap = len(control) / len(person.table)
    one, every = (min(1.0, expected_half(seeds, people, overlap, family)) for family in (1, pairs))
    return DetectableDifference(seeds, people, one, every)


def _seconds(step: str, planned: Planned, measured: Mapping[tuple[str, str], float]) -> float:
    return measured.get(_like(step, planned), planned.cost.seconds.get(step, 0.0))


def _like(step: str, planned: Planned) -> tuple[str, str]:
    """Step and, where its time is mostly that of the generator, the generator."""
    return step, planned.generator if stage_of(step) in BY_GENERATOR or step == planned.cost.repeats else ""


def _measured(planned: Sequence[Planned], rows: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for each in planned:
        for name, value in rows.get(each.key, {}).items():
            if name.startswith("seconds."):
                found[_like(name.removeprefix("seconds."), each)].append(value)
    return {like: mean(values) for like, values in found.items()}
