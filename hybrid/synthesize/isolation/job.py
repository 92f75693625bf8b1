"""Generator in a process of its own, whose failure is contained.

A job is a folder that only its owner can read, removed when the job is done:

=================  ==============================================================================
``job.json``       task (learn, draw, log_odds), adapter, options, seed, features, those of parents, rows, memory limit,
                   folder of checkpoints
``path/hybrid``    a link to this package, the only thing on the path of a managed environment
``data.parquet``   the encoded columns to learn from: numbers, no labels, no names
``events.jsonl``   progress as it happens, one list per line: step, done, total, values
``model/``         what the generator saved
``drawn.parquet``  the encoded columns it drew
``odds.parquet``   what the model says of the records in ``data.parquet``, beside those in ``reference.parquet``
``*.parents``      what ``data.parquet`` and ``drawn.parquet`` have for rows; the last column counts rows
``log.txt``        what its libraries printed; their own temporary files lie beside it
``result.json``    written last; the problems, if any
=================  ==============================================================================
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hybrid.base.arrays import Array
from hybrid.base.atomic import write_json
from hybrid.base.errors import GeneratorError, Problem
from hybrid.base.options import Options
from hybrid.base.progress import Progress, silent
from hybrid.base.scratch import scratch
from hybrid.synthesize.isolation import environments
from hybrid.synthesize.isolation.worker import OUT_OF_MEMORY, read_columns, read_drawn, write_columns
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Generator
from hybrid.synthesize.registry import is_here

POLL_SECONDS = 0.1
PACKAGE = Path(__file__).parents[2]
GRACE_SECONDS = 5.0
"""How long a worker may take to end when asked to."""


@dataclass(frozen=True)
class WorkerLimits:
    """WorkerLimits of a worker's resources."""

    seconds: float | None = None
    """Wall time of one task."""
    memory_bytes: int | None = None
    """Resident memory of the worker at its peak."""


@dataclass(frozen=True)
class IsolatedModel:
    """Trained model in a folder, drawn from in another process. Private.

    The folder goes with this object (or with the process). Pickled with its files, so that a store can keep it.
    """

    generator: Generator
    limits: WorkerLimits
    folder: Path
    keeper: Any = None
    """Removes the folder when it is garbage."""

    def draw(self, n: int, seed: int) -> DrawnColumns:
        return self._drawn(None, n, seed)

    def draw_below(self, parents: Sequence[Array], n_parents: int, seed: int) -> DrawnColumns:
        return self._drawn(parents, n_parents, seed)

    def _drawn(self, parents: Sequence[Array] | None, n: int, seed: int) -> DrawnColumns:
        job = {"task": "draw", "n": n, "seed": seed, "model": str(self.folder.absolute())}
        with _folder() as folder:
            if parents is not None:
                write_columns(folder / "given.parents", parents)
            _run(folder, job, self.generator, self.limits, silent)
            return read_drawn(folder)

    def log_odds(self, people: Encoded, reference: Encoded, seed: int) -> Array:
        features = [asdict(feature) for feature in people.features]
        job = {"task": "log_odds", "features": features, "seed": seed, "model": str(self.folder.absolute())}
        with _folder() as folder:
            for name, data in (("data", people), ("reference", reference)):
                write_columns(folder / f"{name}.parquet", data.columns)
            _run(folder, job, self.generator, self.limits, silent)
            return read_columns(folder / "odds.parquet")[0]

    def at(self, level: str) -> IsolatedModel:
        return replace(self, folder=self.folder / level)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.generator, self.limits, _packed(self.folder))


def _packed(folder: Path) -> dict[str, bytes]:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _unpacked(generator: Generator, limits: WorkerLimits, files: dict[str, bytes]) -> IsolatedModel:
    keeper = scratch("model")
    folder = Path(keeper.name) / "model"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return IsolatedModel(generator, limits, folder, keeper)


def learn_isolated(
    generator: Generator,
    data: Encoded,
    options: Options,
    seed: int,
    progress: Progress,
    limits: WorkerLimits,
    unfinished: Path | None = None,
) -> IsolatedModel:
    """Train in a worker process; parameters as ``Generator.learn``."""
    job = {
        "task": "learn",
        "unfinished": None if unfinished is None else str(unfinished.absolute()),
        "options": options.model_dump(mode="json"),
        "seed": seed,
        "features": [asdict(feature) for feature in data.features],
    }
    with _folder() as folder:
        write_columns(folder / "data.parquet", data.columns)
        if isinstance(data, Children):
            job |= {
                "parents": [asdict(feature) for feature in data.parents.features],
                "order": data.order,
                "given": data.given,
            }
            write_columns(folder / "data.parents", [*data.parents.columns, data.counts])
        _run(folder, job, generator, limits, progress)
        return IsolatedModel(generator, limits, *_moved(folder))


def _moved(folder: Path) -> tuple[Path, Any]:
    """The model of a job in a folder that outlives the job, and what removes that folder."""
    keeper = scratch("model")
    return Path(shutil.copytree(folder / "model", Path(keeper.name) / "model")), keeper


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with scratch("job") as name:
        yield Path(name)


def _run(folder: Path, job: dict[str, Any], generator: Generator, limits: WorkerLimits, progress: Progress) -> None:
    adapter = f"{type(generator).__module__}:{type(generator).__qualname__}"
    write_json(folder / "job.json", {**job, "adapter": adapter, "memory_bytes": limits.memory_bytes})
    what = f"{generator.name} ({job['task']})"
    started = time.monotonic()
    python, path = _python_of(generator, folder)
    # Idle threads that spin make small networks several times slower on a busy machine.
    environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PYTHONPATH": path, "TMPDIR": str(folder)}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [python, "-m", "hybrid.synthesize.isolation.worker", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        events = _Events(folder / "events.jsonl")
        while _running(process):
            events.pass_on(progress)
            if limits.seconds is not None and time.monotonic() - started > limits.seconds:
                raise GeneratorError(f"{what} took longer than {limits.seconds:g} s", hint="raise time_limit")
        events.pass_on(progress)
    finally:
        _end(process)
    _check(folder, process.returncode, what, limits)


def _python_of(generator: Generator, folder: Path) -> tuple[str, str]:
    """Python with a generator's packages, and additions to its path."""
    found = None if generator.environment is None else environments.interpreter(generator.environment)
    if is_here(generator) or found is None:
        return sys.executable, os.pathsep.join(filter(None, sys.path))
    (folder / "path").mkdir()
    (folder / "path" / "hybrid").symlink_to(PACKAGE, target_is_directory=True)
    return str(found), str(folder / "path")


def _running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all it started, if it still runs."""
    if process.poll() is not None:
        return
    for how, wait in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
        return


def _check(folder: Path, status: int, what: str, limits: WorkerLimits) -> None:
    if status == OUT_OF_MEMORY:
        allowed = "" if limits.memory_bytes is None else f" of {limits.memory_bytes / 2**30:.2g} GiB"
        raise GeneratorError(
            f"{what} needed more memory than the limit{allowed}",
            hint="raise memory_limit, learn from fewer records or states, or use cart",
        )
    result = folder / "result.json"
    if status != 0 or not result.is_file():
        hint = "memory may have run out: free some, or learn from fewer records" if status == -signal.SIGKILL else ""
        said = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
        if status < 0:
            raise GeneratorError(
                f"the worker of {what} was killed by {signal.Signals(-status).name}", hint=hint, values=said
            )
        raise GeneratorError(f"the worker of {what} ended with status {status}", hint=hint, values=said)
    problems = json.loads(result.read_text(encoding="utf-8"))["problems"]
    if problems:
        raise GeneratorError([Problem(*problem) for problem in problems])


class _Events:
    """Reads the lines a worker adds to its events."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def pass_on(self, progress: Progress) -> None:
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            step, done, total, values = json.loads(line)
            progress(step, done, total, **values)
