"""Categories with a declared order, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.errors import ConfigError
from hybrid.evaluation.context import Context
from hybrid.table import DTYPES, Kind, Schema, Table

Order = Mapping[str, tuple[str, ...]]
"""Values of columns, from the lowest to the highest."""


def with_places(table: Table, order: Order) -> Table:
    """Table whose ordered columns hold the places of their values.

    Raises
    ------
    ConfigError
        A column has values that its order does not list.
    """
    if not order:
        return table
    frame = table.frame.copy(deep=False)
    for name, values in order.items():
        places = pd.Index(values).get_indexer(pd.Index(table.frame[name].astype(object).map(str, na_action="ignore")))
        unlisted = (places < 0) & table.frame[name].notna().to_numpy()
        if unlisted.any():
            raise ConfigError(
                f"evaluate.retrain.ordinal.{name}: {int(unlisted.sum()):,} records have values that are not listed",
                hint="list every value of the column, from the lowest to the highest",
            )
        numbers = pd.Series(np.where(places < 0, np.nan, places), index=frame.index)
        frame[name] = numbers.astype(DTYPES[Kind.INTEGER])
    columns = (replace(column, kind=Kind.INTEGER) if column.name in order else column for column in table.schema)
    return Table(frame, Schema(tuple(columns)), table.persons)


def ordered(context: Context) -> Context:
    """Context in which columns with a declared order are numbers.

    The same one where no order is declared.
    """
    order = {} if context.options.retrain is None else context.options.retrain.ordinal
    if not order:
        return context

    def build() -> Context:
        control = None if context.control is None else with_places(context.control, order)
        train, table = (with_places(each, order) for each in (context.train, context.table))
        return Context(train, control, table, context.options, context.seed, context.stage)

    return context.once("ordered", build)
