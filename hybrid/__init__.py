"""Anonymize, then synthesize: release tables about people with the evidence beside them.

Examples
--------
>>> import hybrid
>>> result = hybrid.synthesize(frame)  # doctest: +SKIP
>>> result.table, result.verdict, result.report()  # doctest: +SKIP
>>> hybrid.anonymize(frame, quasi_identifiers=["age", "sex"], k=5).table  # doctest: +SKIP
>>> hybrid.audit(train=real, synthetic=made, control=held_out).verdict  # doctest: +SKIP
>>> hybrid.metrics.dcr_share(train=real, synthetic=made, control=held_out)  # doctest: +SKIP
>>> hybrid.estimate("died ~ age + sex", synthetic, n=7000).to_frame()  # doctest: +SKIP
>>> hybrid.release("config.yaml", data=frame).folder  # doctest: +SKIP
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from hybrid import errors, hierarchies, metrics, privacy_models, techniques, transitions
    from hybrid.comparison import compare
    from hybrid.estimates import Estimates, combine, estimate
    from hybrid.hierarchy import Hierarchy
    from hybrid.jobs.audit import Audit
    from hybrid.jobs.release import release
    from hybrid.jobs.start import run
    from hybrid.pipeline.config import RunConfig, load_config
    from hybrid.pipeline.draft import Draft, guess
    from hybrid.pipeline.pipeline import Pipeline
    from hybrid.publication.certificate import Acceptance
    from hybrid.python.anonymization import Anonymized, anonymize
    from hybrid.python.anonymizer import Anonymizer
    from hybrid.python.audits import audit
    from hybrid.python.checks import check, trade_off
    from hybrid.python.mocks import Mock, mock
    from hybrid.python.synthesis import Synthesis, synthesize
    from hybrid.table import Schema, Table
    from hybrid.tuning import Tuned, tune

_HOME = {
    "audit": "hybrid.python.audits",
    "check": "hybrid.python.checks",
    "trade_off": "hybrid.python.checks",
    "mock": "hybrid.python.mocks",
    "Mock": "hybrid.python.mocks",
    "guess": "hybrid.pipeline.draft",
    "run": "hybrid.jobs.start",
    "release": "hybrid.jobs.release",
    "compare": "hybrid.comparison",
    "tune": "hybrid.tuning",
    "combine": "hybrid.estimates",
    "estimate": "hybrid.estimates",
    "Estimates": "hybrid.estimates",
    "load_config": "hybrid.pipeline.config",
    "Synthesis": "hybrid.python.synthesis",
    "Anonymized": "hybrid.python.anonymization",
    "Anonymizer": "hybrid.python.anonymizer",
    "Audit": "hybrid.jobs.audit",
    "Draft": "hybrid.pipeline.draft",
    "RunConfig": "hybrid.pipeline.config",
    "Pipeline": "hybrid.pipeline.pipeline",
    "Tuned": "hybrid.tuning",
    "Acceptance": "hybrid.publication.certificate",
    "Hierarchy": "hybrid.hierarchy",
    "Schema": "hybrid.table",
    "Table": "hybrid.table",
}
"""Module of every public name."""
_MODULES = (
    "synthesize",
    "anonymize",
    "metrics",
    "transitions",
    "techniques",
    "privacy_models",
    "hierarchies",
    "errors",
)
"""Public modules; the first two can be called."""

__all__ = [
    "synthesize",
    "anonymize",
    "audit",
    "check",
    "trade_off",
    "mock",
    "guess",
    "tune",
    "run",
    "release",
    "compare",
    "estimate",
    "combine",
    "metrics",
    "transitions",
    "techniques",
    "privacy_models",
    "hierarchies",
    "errors",
    "Anonymizer",
    "Synthesis",
    "Anonymized",
    "Audit",
    "Mock",
    "Estimates",
    "load_config",
    "RunConfig",
    "Draft",
    "Pipeline",
    "Tuned",
    "Acceptance",
    "Hierarchy",
    "Schema",
    "Table",
]


def __getattr__(name: str) -> _typing.Any:
    """Import a public name on first use.

    This keeps ``import hybrid`` cheap.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("hybrid-release")
    if name in _MODULES:
        return _importlib.import_module(f"hybrid.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid' has no attribute {name!r}")
    return getattr(_importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
