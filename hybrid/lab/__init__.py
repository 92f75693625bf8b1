"""Laboratory: what only research uses. Trials of privacy metrics on tables with a known leak, attacks that train again.

Nothing below imports it. Its metrics and its tables come in by the entry points in ``pyproject.toml``, as those of any
other package could. Names are imported when they are first used: a metric needs no league.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid.lab.plan import LabPlan, demo_plan, load_plan
    from hybrid.lab.run import Laboratory, foresee, run_lab

_HOME = {
    "LabPlan": "plan",
    "Laboratory": "run",
    "demo_plan": "plan",
    "foresee": "run",
    "load_plan": "plan",
    "run_lab": "run",
}

__all__ = ["LabPlan", "Laboratory", "demo_plan", "foresee", "load_plan", "run_lab"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid.lab' has no attribute {name!r}")
    return getattr(import_module(f"hybrid.lab.{_HOME[name]}"), name)
