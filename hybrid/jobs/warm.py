"""Compilation of the loops of searches and metrics ahead of use."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from hybrid.anonymize.search import branch_and_bound
from hybrid.anonymize.search.problem import prepare
from hybrid.base.progress import Progress, silent
from hybrid.base.scratch import scratch
from hybrid.demo import write_demo
from hybrid.evaluation.options import EVERY
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun

LOOPS = (
    "hybrid.anonymize.search.kernels",
    "hybrid.anonymize.search.box_kernels",
    "hybrid.evaluation.engine.kernels",
    "hybrid.evaluation.engine.block_kernels",
    "hybrid.evaluation.engine.digit_kernels",
    "hybrid.evaluation.engine.search_kernels",
)
"""Modules of compiled loops."""
_ROWS = 300
"""Simulated admissions: enough for every metric, and quick."""
_SECONDS = 3600.0
"""Most seconds that the search may take: compilation counts, and a busy machine is slow."""


def warm(progress: Progress = silent) -> list[Path]:
    """Compile the loops that searches and default metrics use, by using them on simulated records.

    Gives the folders with the machine code, none where no folder may be written. Another call finds the code there.
    """
    modules = [importlib.import_module(name) for name in LOOPS]
    with scratch("warm") as folder:
        config = load_config(write_demo(Path(folder), rows=_ROWS, seed=1))
        every = {"evaluate": config.evaluate.model_copy(update={"also": EVERY})}
        pipeline = TableRun(config.model_copy(update=every), progress=progress)
        stages = pipeline.anonymization
        assert stages is not None
        task = prepare(stages.coarsened, stages.hierarchies, stages.options, stages.population)
        branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, _SECONDS)
        _ = pipeline.evaluation
    return sorted(
        {Path(one.stats.cache_path) for module in modules for one in loops_of(module) if one.stats.cache_path}
    )


def loops_of(module: ModuleType) -> list[Any]:
    """Compiled functions that a module defines."""
    return [one for one in vars(module).values() if getattr(one, "py_func", None) and one.__module__ == module.__name__]
