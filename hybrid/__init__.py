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
    from hybrid import errors as errors
    from hybrid import hierarchies as hierarchies
    from hybrid import metrics as metrics
    from hybrid import privacy_models as privacy_models
    from hybrid import techniques as techniques
    from hybrid import transitions as transitions
    from hybrid.comparison import compare as compare
    from hybrid.estimates import Estimates as Estimates
    from hybrid.estimates import combine as combine
    from hybrid.estimates import estimate as estimate
    from hybrid.hierarchy import Hierarchy as Hierarchy
    from hybrid.jobs.audit import Audit as Audit
    from hybrid.jobs.release import release as release
    from hybrid.jobs.start import run as run
    from hybrid.pipeline.config import RunConfig as RunConfig
    from hybrid.pipeline.config import load_config as load_config
    from hybrid.pipeline.draft import Draft as Draft
    from hybrid.pipeline.draft import guess as guess
    from hybrid.pipeline.pipeline import Pipeline as Pipeline
    from hybrid.publication.certificate import Acceptance as Acceptance
    from hybrid.python.anonymization import Anonymized as Anonymized
    from hybrid.python.anonymization import anonymize as anonymize
    from hybrid.python.anonymizer import Anonymizer as Anonymizer
    from hybrid.python.audits import audit as audit
    from hybrid.python.checks import check as check
    from hybrid.python.checks import trade_off as trade_off
    from hybrid.python.mocks import Mock as Mock
    from hybrid.python.mocks import mock as mock
    from hybrid.python.synthesis import Synthesis as Synthesis
    from hybrid.python.synthesis import synthesize as synthesize
    from hybrid.table import Schema as Schema
    from hybrid.table import Table as Table
    from hybrid.tuning import Tuned as Tuned
    from hybrid.tuning import tune as tune

_HOME = {
    "synthesize": "",
    "anonymize": "",
    "audit": "hybrid.python.audits",
    "check": "hybrid.python.checks",
    "trade_off": "hybrid.python.checks",
    "mock": "hybrid.python.mocks",
    "guess": "hybrid.pipeline.draft",
    "tune": "hybrid.tuning",
    "run": "hybrid.jobs.start",
    "release": "hybrid.jobs.release",
    "compare": "hybrid.comparison",
    "estimate": "hybrid.estimates",
    "combine": "hybrid.estimates",
    "metrics": "",
    "transitions": "",
    "techniques": "",
    "privacy_models": "",
    "hierarchies": "",
    "errors": "",
    "Anonymizer": "hybrid.python.anonymizer",
    "Synthesis": "hybrid.python.synthesis",
    "Anonymized": "hybrid.python.anonymization",
    "Audit": "hybrid.jobs.audit",
    "Mock": "hybrid.python.mocks",
    "Estimates": "hybrid.estimates",
    "load_config": "hybrid.pipeline.config",
    "RunConfig": "hybrid.pipeline.config",
    "Draft": "hybrid.pipeline.draft",
    "Pipeline": "hybrid.pipeline.pipeline",
    "Tuned": "hybrid.tuning",
    "Acceptance": "hybrid.publication.certificate",
    "Hierarchy": "hybrid.hierarchy",
    "Schema": "hybrid.table",
    "Table": "hybrid.table",
}
"""Module of every public name; empty for public modules, of which the first two can be called."""
__all__ = list(_HOME)


def __getattr__(name: str) -> _typing.Any:
    """Import a public name on first use.

    This keeps ``import hybrid`` cheap.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("hybrid-release")
    if name not in _HOME:
        raise AttributeError(f"module 'hybrid' has no attribute {name!r}")
    home = _HOME[name]
    return getattr(_importlib.import_module(home), name) if home else _importlib.import_module(f"hybrid.{name}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
