"""Findings about the steps of an anonymization before a run."""

from __future__ import annotations

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.techniques.registry import assigned, gives_k
from hybrid.base.errors import Finding
from hybrid.table import Schema


def technique_findings(options: AnonymizeOptions, schema: Schema) -> list[Finding]:
    """Steps of an anonymization with their columns, and whether they give k-anonymity.

    Raises
    ------
    ConfigError
        Steps and columns do not fit together.
    """
    steps = assigned(options, schema)
    said = "; ".join(f"{step.name} of {', '.join(columns)}" for step, columns in steps)
    if gives_k(steps, schema.quasi_identifiers):
        return [Finding("ok", f"{said}: k-anonymity with k={options.k}")]
    note = Finding(
        "note",
        "no k-anonymity is promised: no step makes groups that are equal in all quasi-identifiers",
        "mask all of them in one step of generalization, suppression or microaggregation",
    )
    return [Finding("ok", said), note]
