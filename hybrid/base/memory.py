"""How much memory this process may still take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Limit and use of a container, in either version of control groups."""


def available_bytes() -> int:
    """Memory that is free or can be freed without swapping, in bytes; within a container, of its share.

    Where the system does not say (not Linux): all memory of the machine.
    """
    return min(_free())


def _free() -> Iterator[int]:
    yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
    for limit, used in _CGROUPS:
        most, now = _text(limit).strip(), _text(used).strip()
        if most.isdigit() and now.isdigit():
            yield max(int(most) - int(now), 0)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
