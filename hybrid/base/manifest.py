"""Manifest of a run.

What is needed to repeat it and to detect changed files.

A manifest holds the seed and paths, so it belongs to the operator; a release gets a redacted one.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from hybrid.base.hashing import file_sha256, library_versions
from hybrid.base.resources import children_peak_bytes, peak_bytes, restart_peak

MANIFEST = "manifest.json"
PACKAGE = "hybrid-release"
StageName = Literal["anonymize", "sample", "transition", "synthesize"]
"""Stages that a section of the configuration switches on; a release may say how each of them was set."""


@dataclass(frozen=True)
class StageRecord:
    """Seconds and memory of one stage."""

    name: str
    seconds: float
    """Wall clock."""
    peak_memory_bytes: int
    """Most resident memory while the stage ran, of this process or of one worker process that it waited for.
    Where the kernel cannot start the count afresh (not Linux): since the process started."""


class Recorder:
    """Measurement of stages, consecutive or nested.

    The seconds of an inner stage do not count for the outer one; its peak memory does.
    """

    def __init__(self) -> None:
        self.stages: list[StageRecord] = []
        self._open: list[int] = []
        self._inner_seconds: list[float] = [0.0]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the seconds and peak memory of a block, also when it fails."""
        self._raise_peaks(peak_bytes())
        restart_peak()
        self._open.append(0)
        self._inner_seconds.append(0.0)
        children = children_peak_bytes()
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            workers = children_peak_bytes()
            self._raise_peaks(max(peak_bytes(), workers if workers > children else 0))
            own = seconds - self._inner_seconds.pop()
            self._inner_seconds[-1] += seconds
            self.stages.append(StageRecord(name, round(own, 4), self._open.pop()))

    def _raise_peaks(self, peak: int) -> None:
        self._open = [max(seen, peak) for seen in self._open]


def build_manifest(
    *,
    name: str,
    config: BaseModel | Mapping[str, Any],
    seed: int,
    data_fingerprint: str,
    folder: Path,
    libraries: Sequence[str] = (),
    stages: Sequence[StageRecord] = (),
    created: datetime | None = None,
    kind: str = "run",
) -> dict[str, Any]:
    """Content of ``manifest.json``, after all other files of a run are written.

    ``config`` has every default filled in; ``data_fingerprint`` is that of what was read, the table and its
    hierarchies. All files of the folder are hashed but the manifest and hidden ones. ``libraries`` are distributions
    whose versions can change a result. ``kind`` says what the folder holds: run, anonymization, audit or comparison.
    """
    content = {
        "name": name,
        "created": (created or datetime.now(UTC)).isoformat(timespec="microseconds"),
        "config": config.model_dump(mode="json") if isinstance(config, BaseModel) else dict(config),
        "seed": seed,
        "data_fingerprint": data_fingerprint,
        "packages": library_versions(PACKAGE, *libraries),
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "git": git_commit(Path(__file__).parents[2]),
        "stages": [asdict(stage) for stage in stages],
        "files": hash_files(folder, leave_out=(MANIFEST,)),
    }
    return marked(content, kind)


def marked(content: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"written_by": PACKAGE, "kind": kind, **content}


def hash_files(folder: Path, leave_out: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """SHA-256 and size of every regular file below a folder, by relative path; not of hidden files and links."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if (
            path.is_file()
            and not path.is_symlink()
            and name.as_posix() not in leave_out
            and not any(part[0] == "." for part in name.parts)
        ):
            files[name.as_posix()] = {"sha256": file_sha256(path), "bytes": path.stat().st_size}
    return files


def git_commit(folder: Path) -> dict[str, Any] | None:
    """Commit of a source folder and whether files differ from it; None without git."""
    if not (folder / ".git").exists():
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None or changes is None else {"commit": commit, "changed": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
