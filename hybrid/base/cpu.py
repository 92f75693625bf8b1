"""Processor time of this process and the processes that it waited for."""

from __future__ import annotations

import os
import time


def cpu_seconds() -> float:
    """Processor seconds used so far, of all threads and ended child processes."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
