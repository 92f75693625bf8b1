"""Runs of the desk, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from hybrid.base.errors import ConfigError
from hybrid.jobs.run import new_folder

TRADE_OFF = "trade-off"
"""Name of the search of the trade-off among what was started; runs have a time in theirs."""
TUNE = "tune"
"""Name of the choice of settings among them."""
_LINES = 12
_SECONDS = 10


class Started:
    """One process of the desk, and the last lines it wrote."""

    def __init__(self, command: list[str]) -> None:
        self.cancelled = False
        self._began = time.monotonic()
        self._ended: float | None = None
        self.lines: deque[str] = deque(maxlen=_LINES)
        environment = os.environ | {"HYBRID_SHOW_VALUES": "0", "HYBRID_LOG_FORMAT": "text"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hybrid", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def code(self) -> int | None:
        return self._process.poll()

    @property
    def seconds(self) -> float:
        return (self._ended or time.monotonic()) - self._began

    def words(self, t: Callable[..., str]) -> str:
        seconds = f"{self.seconds:,.0f}"
        if self.code is None:
            return t("running", seconds=seconds)
        if self.cancelled:
            return t("was_cancelled", seconds=seconds)
        return t("finished", seconds=seconds) if self.code == 0 else t("stopped", code=self.code)

    def cancel(self) -> None:
        """Interrupt the run, as Ctrl-C does; nothing half-written stays."""
        if self.code is not None:
            return
        self.cancelled = True
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.rstrip())
        self._process.wait()
        self._ended = time.monotonic()


class Runner:
    """Runs of one desk, by the names of their folders."""

    def __init__(self, runs: Path, work: Path) -> None:
        self.runs, self.work = runs, work
        self.started: dict[str, Started] = {}
        self._lock = threading.Lock()

    def start(self, config: Path, name: str) -> tuple[str, list[str]]:
        """Start a run of a configuration.

        Returns
        -------
        tuple of str and list of str
            Name of its folder, and the arguments of the ``hybrid`` command.

        Raises
        ------
        ConfigError
            A run of this desk is under way.
        """
        folder = new_folder(name, self.runs)
        command = ["run", str(config), "--out", str(folder), "--work", str(self.work)]
        self.begin(folder.name, command)
        return folder.name, command

    def begin(self, name: str, command: list[str]) -> None:
        """Start a process under a name.

        Raises
        ------
        ConfigError
            Another one is under way.
        """
        with self._lock:
            busy = next((other for other, run in self.started.items() if run.code is None), None)
            if busy is not None:
                raise ConfigError(f"{busy} is under way", hint="wait for it, or cancel it")
            self.started[name] = Started(command)

    def cancel(self, name: str) -> None:
        """Cancel a run; nothing happens if there is none of this name."""
        if name in self.started:
            self.started[name].cancel()

    def close(self) -> None:
        for run in self.started.values():
            run.cancel()
