"""Anonymize, then synthesize: release tables about people with the evidence beside them.

Example
-------
>>> import hybrid
>>> config = hybrid.load_config(Path("config.yaml"))  # doctest: +SKIP
>>> walk = hybrid.run_pipeline(config)  # doctest: +SKIP
>>> walk.verdict.status, walk.synthetic.frame.shape  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid.comparison import compare
    from hybrid.evaluation import evaluate
    from hybrid.hierarchy import Hierarchy
    from hybrid.jobs.audit import audit_files
    from hybrid.jobs.run import write_run
    from hybrid.pipeline.config import RunConfig, load_config
    from hybrid.pipeline.pipeline import Pipeline, run_pipeline
    from hybrid.table import Schema, Table

_HOME = {
    "audit_files": "hybrid.jobs.audit",
    "compare": "hybrid.comparison",
    "RunConfig": "hybrid.pipeline.config",
    "load_config": "hybrid.pipeline.config",
    "evaluate": "hybrid.evaluation",
    "Hierarchy": "hybrid.hierarchy",
    "Pipeline": "hybrid.pipeline.pipeline",
    "run_pipeline": "hybrid.pipeline.pipeline",
    "write_run": "hybrid.jobs.run",
    "Schema": "hybrid.table",
    "Table": "hybrid.table",
}

__all__ = [
    "Hierarchy",
    "RunConfig",
    "Schema",
    "Table",
    "Pipeline",
    "audit_files",
    "compare",
    "evaluate",
    "load_config",
    "run_pipeline",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import hybrid`` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
