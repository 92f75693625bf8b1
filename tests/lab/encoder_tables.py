"""Simulated people measured in the space of an encoder."""

from __future__ import annotations

import numpy as np

from hybrid.evaluation import REGISTRY, EvaluateOptions, Evaluation, evaluate
from hybrid.evaluation.context import Context
from hybrid.table import Table
from tests.evaluation.simulated_people import make_people

NAMES = tuple(name for name, metric in REGISTRY.items() if "encoder" in metric.needs)


def options(engine: str = "untrained", **encoder: object) -> EvaluateOptions:
    """All metrics of the encoder, small."""
    return EvaluateOptions.model_validate(
        {
            "metrics": NAMES,
            "encoder": {"engine": engine, "width": 32, **encoder},
            "attacks": 200,
            "singling_out_columns": (3, 5),
            "secrets": ("cost",),
        }
    )


def people(n: int = 300, seed: int = 1) -> tuple[Table, Table, Table]:
    """Training, control and fresh people."""
    rng = np.random.default_rng(seed)
    return make_people(n, rng), make_people(n, rng), make_people(n, rng)


def context_of(train: Table, control: Table, table: Table, chosen: EvaluateOptions | None = None) -> Context:
    """The metrics' context of a table."""
    return Context(train, control, table, options() if chosen is None else chosen)


def found(train: Table, control: Table, table: Table, chosen: EvaluateOptions | None = None) -> Evaluation:
    """All metrics of the encoder for a table."""
    return evaluate(
        train, control, {"synthetic": table}, options() if chosen is None else chosen, np.random.default_rng(1)
    )
