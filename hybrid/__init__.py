"""Anonymize, then synthesize: release tables about people with the evidence beside them.

Examples
--------
>>> import hybrid
>>> draft = hybrid.guess(frame)  # doctest: +SKIP
>>> result = hybrid.run(draft, data=frame)  # doctest: +SKIP
>>> result.verdict, result.synthetic.frame  # doctest: +SKIP
>>> hybrid.release("config.yaml", data=frame).folder  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid.comparison import compare
    from hybrid.evaluation import evaluate
    from hybrid.hierarchy import Hierarchy
    from hybrid.jobs.audit import audit_files
    from hybrid.jobs.release import release
    from hybrid.jobs.start import run
    from hybrid.linked.config import LinkedConfig
    from hybrid.linked.run import LinkedRun
    from hybrid.pipeline.config import RunConfig, load_config
    from hybrid.pipeline.draft import Draft, guess
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.publication.certificate import Acceptance
    from hybrid.table import Schema, Table
    from hybrid.tuning import Tuned, tune

_HOME = {
    "guess": "hybrid.pipeline.draft",
    "run": "hybrid.jobs.start",
    "release": "hybrid.jobs.release",
    "audit_files": "hybrid.jobs.audit",
    "compare": "hybrid.comparison",
    "tune": "hybrid.tuning",
    "evaluate": "hybrid.evaluation",
    "load_config": "hybrid.pipeline.config",
    "RunConfig": "hybrid.pipeline.config",
    "Draft": "hybrid.pipeline.draft",
    "LinkedConfig": "hybrid.linked.config",
    "Pipeline": "hybrid.pipeline.pipeline",
    "LinkedRun": "hybrid.linked.run",
    "Tuned": "hybrid.tuning",
    "Acceptance": "hybrid.publication.certificate",
    "Hierarchy": "hybrid.hierarchy",
    "Schema": "hybrid.table",
    "Table": "hybrid.table",
}
"""Module of every public name."""

__all__ = [
    "guess",
    "run",
    "release",
    "audit_files",
    "compare",
    "tune",
    "evaluate",
    "load_config",
    "RunConfig",
    "Draft",
    "LinkedConfig",
    "Pipeline",
    "LinkedRun",
    "Tuned",
    "Acceptance",
    "Hierarchy",
    "Schema",
    "Table",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    This keeps ``import hybrid`` cheap.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})
