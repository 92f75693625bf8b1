"""Results of a comparison: rows on disk as trials end, and the table of them all, one row per trial.

Columns of the table, in this order:

- ``configuration``, one per factor (its dotted key; mappings and lists as one line of YAML), ``seed``;
- ``status`` (``ok`` or ``failed``), ``reason`` (of a failure), ``verdict`` (of the gate), ``promise`` (what a run
  of the configuration with a secret seed promises);
- ``records`` (of the whole table), ``control_records`` (of the run's control set; 0: none);
- per stage and metric ``<stage>.<metric>[.<column>]`` and, where it has them, the same name with ``_low``, ``_high``
  (interval), ``_reference``, and ``_excess``, ``_excess_low``, ``_excess_high`` (above people never seen); stages are
  original, anonymized, synthetic and baseline. Missing: not computable;
- ``printed.<form>.<stage>.<metric>[.<column>]``: with ``evaluate.paper``, the number as a paper prints it;
- ``information_loss.<measure>``: of the masked table, where a technique other than generalization alone was used
  (:func:`hybrid.anonymize.techniques.loss.masking_measures`);
- ``cpu.<stage>.<metric>[.<column>]``: processor seconds of the metric, where one table is measured at a time;
- ``seconds.<stage>``: wall-clock seconds of computing that stage, in this trial or the one that computed it;
  ``seconds.rest``: of all else of this trial (reading, verdict, report and files).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.analysis.results import LOW_OF_PART, PART, PRINTED
from hybrid.base.atomic import atomic_file
from hybrid.base.errors import ConfigError, OutputError
from hybrid.base.locks import locked_if_free
from hybrid.base.ownership import claim, seal
from hybrid.base.progress import Progress, silent
from hybrid.comparison.cluster import run_on_cluster
from hybrid.comparison.local import Result, run_here, run_processes
from hybrid.comparison.plan import ComparePlan
from hybrid.comparison.private_draws import pay_draws, spent_together
from hybrid.comparison.schedule import Expansion, Planned, Schedule, schedule
from hybrid.comparison.trial import EndedTrial, Workplace, failed, shown, unpack
from hybrid.comparison.write import write_report
from hybrid.store import MEMORY, StorePlace, memory_store

TABLE = "comparison.csv"
LEFT_OUT = "left_out.csv"
ROWS = "rows.jsonl"


class TrialRows:
    """The rows that are done; what a killed process left of a line is cut off before the next."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Rows by the key they were appended with; of several with one key, the last."""
        if not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_bytes().split(b"\n")[:-1]:
            try:
                content = json.loads(line)
                found[content["key"]] = content["row"]
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def append(self, key: str, row: dict[str, Any]) -> None:
        """Add one row; it is on the disk when this returns."""
        line = json.dumps({"key": key, "row": row}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as stream:
                _cut_unfinished(stream.fileno())
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror})", hint="free some space") from None


def _cut_unfinished(handle: int) -> None:
    end = os.fstat(handle).st_size
    while end and os.pread(handle, 1, end - 1) != b"\n":
        step = min(end, 65536)
        block = os.pread(handle, step, end - step)
        end = end - step + block.rfind(b"\n") + 1 if b"\n" in block else end - step
    os.ftruncate(handle, end)


def results_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table: what every row has, then the metrics, then the seconds."""
    columns = dict.fromkeys(name for row in rows for name in row)
    last = [
        name
        for name in columns
        if name.startswith((PRINTED, PART, LOW_OF_PART, "information_loss.", "cpu.", "seconds."))
    ]
    return pd.DataFrame(rows, columns=[name for name in columns if name not in last] + last)


def left_out_table(expansion: Expansion) -> pd.DataFrame:
    """Combinations that were not run: a column per factor, and ``reason``."""
    rows = [
        {name: shown(value) for name, value in each.factors.items()} | {"reason": each.reason}
        for each in expansion.left_out
    ]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["reason"])


STORE = ".store"
KIND = "comparison"
WORK = Path("work")
"""Private zone whose ledger pays private draws."""


def compare(
    plan: ComparePlan,
    folder: Path,
    out: Path,
    jobs: int = 1,
    progress: Progress = silent,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
    work: Path = WORK,
) -> pd.DataFrame:
    """Run every trial and collect one row each.

    Parameters
    ----------
    plan : ComparePlan
        What to run.
    folder : Path
        Where ``plan.base`` is relative to.
    out : Path
        Gets one run folder per trial, ``rows.jsonl`` with every row as soon as it is there, and once all have ended
        ``comparison.csv``, ``left_out.csv``, the report ``comparison.html`` with ``comparison.json``, and
        ``recommended.yaml`` if there is a configuration to recommend. Interrupted, the same call continues there.
        Configurations are expanded once, at the beginning: files edited later change neither trials nor report.
    jobs : int
        Trials at a time, each in its own process.
    progress : Progress
        Called after every trial.
    scheduler : str, optional
        Address of a Dask scheduler on whose workers the trials run instead.
    retry_failed : bool
        Whether rows that failed earlier are run again.
    work : Path
        The private zone, whose ledger pays every draw under ``privacy.mode: dp`` before it starts. A trial that the
        policy's yearly budget does not allow is a failed row.

    Returns
    -------
    pandas.DataFrame
        One row per trial; for the columns see :mod:`hybrid.comparison.results`.

    Raises
    ------
    ConfigError
        The base configuration is wrong by itself; a combination that makes no sense is a failed row instead. Or
        ``out`` holds anything but a comparison, another process fills it, or a cluster is to share a store in this
        machine's memory.
    """
    with filled_alone(out, plan.name, KIND, plan.store, scheduler):
        planned = schedule(plan, folder)
        with kept_store(plan.store, out) as store:
            place = Workplace(store, out.resolve() if plan.runs == "all" else None)
            todo = planned.planned, place, out, jobs, progress
            rows = collect(*todo, scheduler=scheduler, retry_failed=retry_failed, work=work)
        return _written(plan, planned, rows, out)


@contextmanager
def filled_alone(out: Path, name: str, kind: str, store: str | None, scheduler: str | None) -> Iterator[None]:
    """Claim a folder of results, for one process at a time."""
    if scheduler is not None and store == MEMORY:
        raise ConfigError("a cluster cannot reach a store in memory", hint="--store s3://bucket/folder, or a folder")
    claim(out, name, kind)
    with locked_if_free(out / ".lock") as free:
        if not free:
            raise ConfigError(f"{out}: another {kind} is writing here", hint="wait for it, or choose another --out")
        yield


def collect(
    planned: Sequence[Planned],
    place: Workplace,
    out: Path,
    jobs: int = 1,
    progress: Progress = silent,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
    work: Path = WORK,
) -> list[dict[str, Any]]:
    """Run the open trials, and give the row of each."""

    def run(todo: Sequence[Planned]) -> Iterator[tuple[Planned, dict[str, Any]]]:
        refused = pay_draws(todo, place.store, work)
        yield from ((each, failed(each.trial, refused[each.key])) for each in todo if each.key in refused)
        allowed = [each for each in todo if each.key not in refused]
        for each, ended in _results(place, allowed, jobs, scheduler):
            if ended.packed is not None:
                unpack(ended.packed, out)
            yield each, ended.row

    return filled(planned, run, out, "compare", progress, retry_failed=retry_failed)


def filled(
    planned: Sequence[Planned],
    run: Callable[[Sequence[Planned]], Iterator[tuple[Planned, dict[str, Any]]]],
    out: Path,
    step: str,
    progress: Progress,
    *,
    retry_failed: bool,
) -> list[dict[str, Any]]:
    """Row of each trial: of those that ended earlier, and of those that ``run`` is given, written as they end."""
    rows = TrialRows(out / ROWS)
    done = {key: row for key, row in rows.read().items() if row["status"] == "ok" or not retry_failed}
    todo = [each for each in planned if each.key not in done]
    progress(step, len(planned) - len(todo), len(planned))
    for each, row in run(todo):
        rows.append(each.key, row)
        done[each.key] = row
        progress(step, sum(one.key in done for one in planned), len(planned))
    return [done[each.key] for each in planned]


def _results(place: Workplace, todo: Sequence[Planned], jobs: int, scheduler: str | None) -> Iterator[Result]:
    yield from ((each, EndedTrial(failed(each.trial, each.trial.problem))) for each in todo if each.trial.problem)
    # One seed after the other: what is there when time runs out is the whole design.
    order = list(dict.fromkeys(each.trial.seed for each in todo))
    sound = sorted((each for each in todo if not each.trial.problem), key=lambda each: order.index(each.trial.seed))
    if not sound:
        return
    if scheduler is not None:
        yield from run_on_cluster(replace(place, pack=place.out is not None), sound, scheduler)
    elif jobs == 1:
        yield from run_here(place, sound)
    else:
        yield from run_processes(place, sound, jobs)


@contextmanager
def kept_store(store: str | None, out: Path) -> Iterator[StorePlace]:
    """The store of a plan, or a private folder in ``out`` that is removed unless the block fails."""
    if store == MEMORY:
        with memory_store() as place:
            yield place
    elif store is not None:
        yield StorePlace(store if "://" in store else str(Path(store).expanduser().resolve()))
    else:
        own = (out / STORE).resolve()
        yield StorePlace(str(own))
        shutil.rmtree(own, ignore_errors=True)


def _written(plan: ComparePlan, planned: Schedule, rows: list[dict[str, Any]], out: Path) -> pd.DataFrame:
    result = results_table(rows)
    with atomic_file(out / TABLE) as temporary:
        result.to_csv(temporary, index=False)
    with atomic_file(out / LEFT_OUT) as temporary:
        left_out_table(planned.expansion).to_csv(temporary, index=False)
    write_report(plan, planned.expansion, result, out, spent_together(planned.planned))
    seal(out, plan.name, KIND)
    return result
