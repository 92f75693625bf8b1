"""Memory and processor cores of the machine, and what this process has used of them."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_seconds() -> float:
    """Processor seconds used so far, of all threads and ended child processes."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Limit and use of a container, in either version of control groups."""
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
"""Of prctl(2), Linux."""


def available_bytes() -> int:
    """Memory in bytes that is free or can be freed without swapping.

    Within a container, of its share; under a limit of address space (``ulimit -v``), of that.
    """
    import psutil  # not in every managed environment, whose workers measure their peak with this module

    return min(int(psutil.virtual_memory().available), _left_to_process(), *_left_to_container())


def peak_bytes() -> int:
    """Peak resident memory of this process in bytes since it started, or since :func:`restart_peak`.

    ``getrusage`` carries the figure of the parent process over on Linux, and psutil has no peak there: the kernel's own
    high-water mark is read.
    """
    status = _text("/proc/self/status")
    kibibytes = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return _maxrss(resource.RUSAGE_SELF) if kibibytes is None else int(kibibytes) * 1024


def restart_peak() -> None:
    """Let :func:`peak_bytes` count from now, where the kernel can (Linux)."""
    try:
        with _own_files():
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def forbid_dumps() -> None:
    """Forbid core files and reading of this process, whose memory holds records, by others.

    Core files of it and of the processes that it starts have no size (RLIMIT_CORE, every POSIX system). On Linux,
    moreover, nothing is handed to a collector of crashes, and no other process of the same user reads the memory
    (PR_SET_DUMPABLE of prctl(2)); each program that a process starts must ask for that again.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _prctl(_SET_DUMPABLE, 0)


@contextmanager
def _own_files() -> Iterator[None]:
    """Own files below ``/proc/self`` for the block, which are those of root where dumps are forbidden."""
    before = _prctl(_GET_DUMPABLE) if sys.platform == "linux" else 1
    if before != 0:
        yield
        return
    _prctl(_SET_DUMPABLE, 1)
    try:
        yield
    finally:
        _prctl(_SET_DUMPABLE, 0)


def _prctl(option: int, value: int = 0) -> int:
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))


def children_peak_bytes() -> int:
    """Peak resident memory in bytes of the largest ended child process."""
    return _maxrss(resource.RUSAGE_CHILDREN)


def _maxrss(who: int) -> int:
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _left_to_process() -> int:
    most, pages = resource.getrlimit(resource.RLIMIT_AS)[0], _text("/proc/self/statm").split()
    taken = int(pages[0]) * resource.getpagesize() if pages else 0
    return sys.maxsize if most == resource.RLIM_INFINITY else max(most - taken, 0)


def _left_to_container() -> Iterator[int]:
    yield sys.maxsize
    for limit, used in _CGROUPS:
        most, now = _text(limit).strip(), _text(used).strip()
        if most.isdigit() and now.isdigit():
            yield max(int(most) - int(now), 0)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
