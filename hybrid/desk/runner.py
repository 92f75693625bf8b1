"""Runs of the desk, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

from hybrid.base.errors import ConfigError
from hybrid.jobs.run import new_folder

_LINES = 12
_SECONDS = 10


class Started:
    """One run: its folder and the last lines it wrote."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.folder = folder
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
        """Exit code; None while it runs."""
        return self._process.poll()

    def cancel(self) -> None:
        """Interrupt the run, as Ctrl-C does; nothing half-written stays."""
        if self.code is not None:
            return
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
        with self._lock:
            if any(run.code is None for run in self.started.values()):
                raise ConfigError("a run is under way", hint="wait for it, or cancel it")
            folder = new_folder(name, self.runs)
            command = ["run", str(config), "--out", str(folder), "--work", str(self.work)]
            self.started[folder.name] = Started(command, folder)
            return folder.name, command

    def cancel(self, name: str) -> None:
        """Cancel a run; nothing happens if there is none of this name."""
        if name in self.started:
            self.started[name].cancel()

    def close(self) -> None:
        """Cancel every run that is under way."""
        for run in self.started.values():
            run.cancel()
