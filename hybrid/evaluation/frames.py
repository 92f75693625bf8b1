"""A metric of DataFrames."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import MetricResult
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.evaluation.run_metrics import check_options
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.persons import with_persons


def measure(
    name: str,
    train: pd.DataFrame,
    control: pd.DataFrame | None,
    table: pd.DataFrame,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    targets: Sequence[str] = (),
    person: Sequence[str] = (),
    options: EvaluateOptions | None = None,
    seed: int = 0,
) -> list[MetricResult]:
    """One metric of a table against the records it was made from; several results for a metric per column.

    Training rows, control rows that no generator has seen (or None), and the table to judge have the same columns, in
    any order: numbers, booleans and datetimes by dtype; everything else is categorical. ``person`` names the columns
    that say whose a row is; they are not compared.

    ValueError: the tables do not have the same columns. ConfigError: the options or roles name a column that does not
    exist. KeyError: there is no metric of this name.
    """
    metric = REGISTRY[name]
    frames = [frame for frame in (train, control, table) if frame is not None]
    if any(set(frame.columns) != set(train.columns) for frame in frames):
        raise ValueError("the tables must have the same columns")
    roles = dict.fromkeys(sensitive, Role.SENSITIVE) | dict.fromkeys(quasi_identifiers, Role.QUASI_IDENTIFIER)
    named = roles | dict.fromkeys(person, Role.IDENTIFIER)
    schema = Schema(
        tuple(
            Column(c, named.get(c, Role.INSENSITIVE), _kind([f[c] for f in frames]), target=c in targets)
            for c in train.columns
        )
    )
    chosen = options or EvaluateOptions()
    check_options(
        chosen.model_copy(update={"targets": tuple(targets), "secrets": tuple(roles)}), schema.without_identifiers()
    )
    parts = [None if frame is None else _of_people(_table(frame, schema), person) for frame in (train, control, table)]
    if parts[0] is None or parts[2] is None:
        raise ValueError("train and table are needed")
    context = Context(parts[0], parts[1], parts[2], chosen, seed)
    return [metric.measure(context, column) for column in metric.columns(context)]


def _of_people(table: Table, person: Sequence[str]) -> Table:
    return with_persons(table, person).without_identifiers() if person else table


def _kind(columns: list[pd.Series]) -> Kind:
    types = pd.api.types
    if all(types.is_bool_dtype(c.dtype) for c in columns):
        return Kind.BOOLEAN
    if all(types.is_datetime64_any_dtype(c.dtype) for c in columns):
        return Kind.DATETIME
    if any(not types.is_numeric_dtype(c.dtype) or types.is_bool_dtype(c.dtype) for c in columns):
        return Kind.CATEGORICAL
    return Kind.INTEGER if all(types.is_integer_dtype(c.dtype) for c in columns) else Kind.DECIMAL


def _table(frame: pd.DataFrame, schema: Schema) -> Table:
    converted = {}
    for column in schema:
        values = frame[column.name].reset_index(drop=True)
        if column.kind is Kind.CATEGORICAL:
            values = values.astype(object).where(values.notna(), None).map(str, na_action="ignore")
        elif column.kind is Kind.DATETIME and getattr(values.dtype, "tz", None) is not None:
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        converted[column.name] = values.astype(DTYPES[column.kind])
    return Table(pd.DataFrame(converted), schema)
