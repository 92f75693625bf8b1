"""Runs of the desk: each is a process of its own, which outlives the desk and the browser.

What the desk knows of one lies in the private zone, under ``jobs/NAME``: ``job.json`` says what was started and which
process it is, ``log.jsonl`` is what that process says, one JSON object a line. A desk that starts later reads both.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from hybrid.base.atomic import make_private, write_json
from hybrid.base.errors import ConfigError
from hybrid.base.locks import locked
from hybrid.base.manifest import MANIFEST
from hybrid.base.regular_file import is_file, read_json
from hybrid.jobs.places import Places, new_folder

TRADE_OFF = "trade-off"
"""Name of the search of the trade-off among what was started; runs have a time in theirs."""
TUNE = "tune"
"""Name of the choice of settings among them."""
FOLDER = "jobs"
"""Folder of what was started, in the private zone."""
JOB, LOG, CANCELLED = "job.json", "log.jsonl", "cancelled"
_LINES, _LONGEST_LOG = 12, 4_000_000
_SECONDS = 10
_KEPT = 10
"""Ended processes whose log is kept, beside those that run."""
Told = Sequence[tuple[float, Mapping[str, Any]]]
"""Progress reports with their times, in seconds since 1970: ``step``, ``done`` and ``total``."""
_SLOWEST, _FASTEST = 20.0, 0.05
"""Bounds of the ratio of seconds to expected seconds that a stage hands on to later ones."""
_SOME = 0.05
"""Share of a stage from which its own pace says more than the forecast."""


@dataclass(frozen=True)
class Waiting:
    """Stage of a process, and seconds."""

    number: int
    of: int
    """The stage among all, from 1; 0 of 0 where they are not known."""
    stage: str
    """Its name; empty before the first."""
    seconds: float
    """So far."""
    left: float | None
    """Expected; None where nothing tells."""

    @property
    def share(self) -> float:
        """Share that is done, 0..1: of the time where that is known, else of the stages."""
        if self.left is not None and self.seconds + self.left > 0:
            return self.seconds / (self.seconds + self.left)
        return max(self.number - 1, 0) / self.of if self.of else 0.0


def waiting_of(told: Told, steps: Sequence[str], expected: Mapping[str, float], began: float, now: float) -> Waiting:
    """Progress of a process by its reports; times are seconds since 1970, and some stages have ``expected`` seconds.

    Its stage is the one that it named last. The seconds left of that are those so far times (1 - f) / f, where f is the
    mean share that its parts report, or else what the forecast leaves. Later stages take what was expected, times the
    pace of the present one.
    """
    at, since, parts = -1, {-1: began}, dict[str, float]()
    for when, one in told:
        found = _stage(str(one["step"]), steps)
        if found not in (at, None):
            at, parts = found, {}
        since.setdefault(at, when)
        if one.get("total"):
            parts[str(one["step"]).partition(": ")[0]] = min(one["done"] / one["total"], 1.0)
    stage, seconds = steps[at] if at >= 0 else "", max(now - began, 0.0)
    here, foreseen = max(now - since[at], 0.0), expected.get(stage, 0.0)
    share = sum(parts.values()) / len(parts) if parts else 0.0
    left = here * (1 - share) / share if share >= _SOME else max(foreseen - here, 0.0)
    pace = min(max((here + left) / foreseen, _FASTEST), _SLOWEST) if foreseen else 1.0
    later = pace * sum(expected.get(one, 0.0) for one in steps[at + 1 :])
    return Waiting(at + 1, len(steps), stage, seconds, left + later if expected else None)


def _stage(step: str, steps: Sequence[str]) -> int | None:
    """Place of the stage that a step belongs to; None for a part of one that does not name it."""
    found = [at for at, name in enumerate(steps) if step == name or step.startswith((f"{name} ", f"{name}-"))]
    return found[-1] if found else None


@dataclass(frozen=True)
class Plan:
    """Stages that a process goes through, in their order, and what is known of them before."""

    steps: Sequence[str] = ()
    """Names of the stages, as progress names them."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Expected seconds of some stages."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """Level of each quasi-identifier that the desk showed when the run was started."""


@dataclass(frozen=True)
class Started:
    """One process that a desk started, as its files and the kernel know it."""

    folder: Path
    """Of its two files."""
    command: Sequence[str]
    """Arguments of ``hybrid``."""
    pid: int
    """Of the process."""
    created: float
    """When the kernel started it; another process with its number has another time."""
    began: float
    """Seconds since 1970."""
    plan: Plan
    """What it will do."""
    place: str
    """Folder in which its relative paths start."""

    @classmethod
    def read(cls, folder: Path) -> Started | None:
        """Process that a folder describes; None if the folder holds something else, or a part."""
        try:
            found = read_json(folder / JOB)
            about = int(found["pid"]), float(found["created"]), float(found["began"])
            words = [str(word) for word in found["command"]]
            return cls(folder, words, *about, Plan(**found["plan"]), str(found["place"]))
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return None

    @cached_property
    def process(self) -> psutil.Process | None:
        """The process; None if it has ended."""
        with suppress(psutil.Error, ValueError, OverflowError):
            found = psutil.Process(self.pid)
            if abs(found.create_time() - self.created) < 1 and found.status() != psutil.STATUS_ZOMBIE:
                return found
        return None

    @property
    def is_running(self) -> bool:
        return self.process is not None

    @cached_property
    def entries(self) -> Sequence[Mapping[str, Any]]:
        """Lines of its log."""
        try:
            with (self.folder / LOG).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_LOG))
                text = file.read().decode(errors="replace")
        except OSError:
            return ()
        return [*_entries(text)]

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs, and if it was killed."""
        if self.is_running:
            return None
        last = self.entries[-1].get("exit_code") if self.entries else None
        return last if isinstance(last, int) else None

    @property
    def seconds(self) -> float:
        """Seconds that it has run."""
        if self.is_running or not self.entries:
            return max(time.time() - self.began, 0.0) if self.is_running else 0.0
        return max(_time(self.entries[-1]) - self.began, 0.0)

    @property
    def lines(self) -> list[str]:
        """Last lines that it wrote; of one that failed, its errors."""
        errors = [str(one["message"]) for one in self.entries if one.get("level") == "error"]
        return errors or [str(one["message"]) for one in self.entries if "exit_code" not in one][-_LINES:]

    @property
    def waiting(self) -> Waiting:
        """Stage and seconds of its progress."""
        told = [(_time(one), one) for one in self.entries if "step" in one]
        return waiting_of(told, self.plan.steps, self.plan.seconds, self.began, time.time())

    def words(self, t: Callable[..., str]) -> str:
        """State in one sentence."""
        seconds = f"{self.seconds:,.0f}"
        if self.is_running:
            return t("running", seconds=seconds)
        if (self.folder / CANCELLED).exists():
            return t("was_cancelled", seconds=seconds)
        if self.code is None:
            return t("was_killed", seconds=seconds)
        return t("finished", seconds=seconds) if self.code == 0 else t("stopped", code=self.code)

    def cancel(self) -> None:
        """Interrupt it, as Ctrl-C does; nothing half-written stays."""
        process = self.process
        if process is None:
            return
        (self.folder / CANCELLED).touch(mode=0o600)
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_SECONDS)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait()


def _entries(text: str) -> Iterator[Mapping[str, Any]]:
    """JSON lines of a log, without what other libraries wrote between them."""
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict) and {"time", "message"} <= found.keys():
                yield found


def _time(entry: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(entry["time"])).timestamp()
    except ValueError:
        return 0.0


class Runner:
    """Processes of all desks of one private zone, by their names; of runs, those of their folders."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.folder = places.work / FOLDER

    @property
    def started(self) -> dict[str, Started]:
        """All that is known, the newest first."""
        try:
            folders = [one for one in self.folder.iterdir() if one.is_dir() and not one.is_symlink()]
        except OSError:
            return {}
        found = [one for one in map(Started.read, folders) if one is not None]
        return {one.folder.name: one for one in sorted(found, key=lambda one: -one.began)}

    def is_finished(self, name: str) -> bool:
        """True if a run wrote its folder."""
        return is_file(self.places.runs / name / MANIFEST)

    def start(self, config: Path, name: str, plan: Plan) -> list[str]:
        """Start a run of a configuration under a name; stages that an earlier one kept are taken from the store."""
        words = self.words(config, name)
        self.begin(name, words, plan)
        return words

    def words(self, config: Path, name: str) -> list[str]:
        """Arguments of the command that runs a configuration and keeps its stages."""
        out, work = self.places.runs / name, self.places.work
        return ["run", str(config), "--out", str(out), "--work", str(work), "--store", str(work / "store")]

    def new_name(self, name: str) -> str:
        """Name of a run that starts now."""
        return new_folder(name, self.places.runs).name

    def begin(self, name: str, command: Sequence[str], plan: Plan | None = None, place: str | None = None) -> None:
        """Start a process under a name, in the place of an ended one."""
        make_private(self.folder)
        with locked(self.folder / "lock"):
            known = self.started
            busy = next((other for other, run in known.items() if run.is_running), None)
            if busy is not None:
                raise ConfigError(f"{busy} is under way", hint="wait for it, or cancel it")
            self._forget([name, *[*known][_KEPT:]])
            folder = self.folder / name
            make_private(folder)
            place = place or str(Path.cwd())
            began, process = time.time(), _process(command, folder / LOG, place)
            created = psutil.Process(process.pid).create_time()
            about = Started(folder, command, process.pid, created, began, plan or Plan(), place)
            write_json(folder / JOB, {key: one for key, one in asdict(about).items() if key != "folder"}, private=True)

    def _forget(self, names: Sequence[str]) -> None:
        for name in names:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def cancel(self, name: str) -> None:
        """Cancel a run; nothing happens if there is none of this name."""
        if name in self.started:
            self.started[name].cancel()


def _process(command: Sequence[str], log: Path, place: str) -> subprocess.Popen[bytes]:
    """A process in a session of its own, which neither Ctrl-C nor the end of the terminal reaches."""
    # Without the safe path, Python would run a json.py that somebody put beside the table.
    environment = os.environ | {"HYBRID_SHOW_VALUES": "0", "HYBRID_LOG_FORMAT": "json", "PYTHONSAFEPATH": "1"}
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "hybrid", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=handle,
            env=environment,
            cwd=place,
            start_new_session=True,
        )
    finally:
        os.close(handle)
