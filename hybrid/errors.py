"""Errors and warnings of this package, by what went wrong; all errors are a :class:`HybridError`."""

from hybrid.base.errors import (
    ApprovalNeeded,
    ConfigError,
    DataError,
    DriftError,
    Finding,
    GateRefused,
    GeneratorError,
    HierarchyError,
    HybridError,
    InfeasibleError,
    MissingExtraError,
    NotReleasableWarning,
    OutputError,
    Problem,
    UnreachableError,
    VerificationError,
)

__all__ = [
    "HybridError",
    "ConfigError",
    "DataError",
    "UnreachableError",
    "DriftError",
    "HierarchyError",
    "InfeasibleError",
    "MissingExtraError",
    "OutputError",
    "VerificationError",
    "GeneratorError",
    "GateRefused",
    "ApprovalNeeded",
    "NotReleasableWarning",
    "Problem",
    "Finding",
]
