"""Processor time and processor cores of this process."""

from __future__ import annotations

import os
import time


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_seconds() -> float:
    """Processor seconds used so far, of all threads and ended child processes."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
