"""Kill a generator's worker, as the kernel does when memory runs out."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hybrid.base.progress import Progress
from hybrid.synthesize.isolation import worker


def kill_worker_at(step: str, done: int) -> Progress:
    """Progress that kills the worker behind it, and no other child of this process (joblib keeps one of its own)."""

    def progress(at: str, so_far: int, total: int | None = None, **values: float) -> None:
        if at == step and so_far >= done:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                if worker.__name__.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(int(child), signal.SIGKILL)

    return progress
