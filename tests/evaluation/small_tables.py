"""Small tables written out, and one metric measured on them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.evaluation import EvaluateOptions, Measure, evaluate
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table


def small(rows: list[tuple[object, ...]], *columns: tuple[str, Kind, Role]) -> Table:
    schema = Schema(tuple(Column(name, role, kind) for name, kind, role in columns))
    frame = pd.DataFrame(rows, columns=schema.names)
    return Table(frame.astype({name: DTYPES[kind] for name, kind, _ in columns}), schema)


def measured(name: str, train: Table, control: Table | None, table: Table, **options: object) -> Measure:
    chosen = EvaluateOptions.model_validate({"metrics": (name,), **options})
    found = evaluate(train, control, {"synthetic": table}, chosen, np.random.default_rng(1)).metrics[0].outcome
    assert isinstance(found, Measure), found
    return found
