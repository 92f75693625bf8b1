"""The laboratory on simulated hospital admissions."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from hybrid.demo import write_demo
from hybrid.lab.plan import LabPlan, load_plan

SEED = 20240501


def demo_plan(scale: str | None = None) -> LabPlan:
    """The packaged plan.

    Raises
    ------
    ConfigError
        There is no such scale.
    """
    return load_plan(Path(str(resources.files("hybrid.lab") / "demo.yaml")), scale)


def write_table(plan: LabPlan, folder: Path) -> None:
    """Write as many simulated admissions as the plan uses, and their configuration."""
    rows = max(choice.rows or 0 for choice in plan.data.values())
    write_demo(folder, rows=rows, seed=SEED, several=False)
