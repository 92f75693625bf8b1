"""Proposal of the section ``mock`` from the records, for a person to decide what of it is public.

Nothing in it is decided by a single person: a value is held by ten people at least, and at least ten people lie at or
beyond the value that a bound is rounded outward from.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask
from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import flow
from hybrid.pipeline.draft import Draft
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.holders import holders, row_holders
from hybrid.table.weights import HOLDERS

_MOST_DECIMALS = 6
_MISSING = 0.1
"""Share of empty cells that is proposed where at least ten people have one; how many have is not looked at."""


def draft_mock(path: Path) -> tuple[str, ...]:
    """Write a proposed section ``mock`` into a configuration.

    It is the configuration of a single table, without this section.
    """
    draft = Draft.read(path)
    config = draft.config
    if config.mock is not None:
        raise ConfigError(f"{path}: the section mock is there, and is your decision", hint="remove it, or edit it")
    table = config.load_table()
    found = {column.name: one for column in table.schema if (one := proposal(table, column))}
    lines = ["", "# Proposed from the records by `hybrid mock --draft`: keep of it what is public anyway.", "mock:"]
    lines += [
        "  from_records: true",
        "  columns:",
        *(f"    {flow(name)}: {flow(one)}   # review" for name, one in found.items()),
    ]
    if not found:
        raise ConfigError(f"{path}: no column has a value that ten people hold", hint="write the section mock by hand")
    write_text(path, "\n".join([draft.text.rstrip("\n"), *lines]) + "\n")
    return tuple(found)


def proposal(table: Table, column: Column) -> dict[str, Any]:
    """Proposed knowledge about a column (JSON types and dates); empty where too few people have the same."""
    values, kind = table.frame[column.name], column.kind
    if column.role is Role.IDENTIFIER:
        forms = _held(_masks(values), table) if kind in (Kind.INTEGER, Kind.CATEGORICAL) else []
        return {"form": forms[0]} if len(forms) == 1 else {}
    found: dict[str, Any] = {}
    if kind is Kind.CATEGORICAL:
        known = _held(values.astype(object), table)
        found = {"values": known} if known else {}
    elif kind is Kind.BOOLEAN:
        found = {"values": [column.format.false, column.format.true]}
    elif kind is not Kind.TIME:
        found = _bounds(table, column)
    empty = values.isna().to_numpy()
    if found and min(_people(table, empty), _people(table, ~empty)) >= HOLDERS:
        found["missing"] = _MISSING
    return found


def _people(table: Table, rows: Mask) -> int:
    return int(len(np.unique(of := row_holders(table)[rows])) - (of < 0).any())


def _masks(values: pd.Series) -> pd.Series:
    """Identifiers with each digit as #, where they have one."""
    texts = values.astype("string").str.replace(r"[0-9]", "#", regex=True)
    return texts.where(texts.str.contains("#", regex=False)).astype(object)


def _held(values: pd.Series, table: Table) -> list[str]:
    codes, distinct = pd.factorize(values)
    counts = holders(codes, len(distinct), row_holders(table))
    return sorted(str(distinct[at]) for at in np.flatnonzero(counts >= HOLDERS))


def _bounds(table: Table, column: Column) -> dict[str, Any]:
    values = table.frame[column.name]
    known = values.notna().to_numpy() & (row_holders(table) >= 0)
    if not known.any():
        return {}
    of_people = pd.DataFrame({"person": row_holders(table)[known], "value": values[known].to_numpy()})
    ends = of_people.groupby("person")["value"].agg(["min", "max"])
    if len(ends) < 2 * HOLDERS:
        return {}
    low = ends["min"].sort_values().iloc[HOLDERS - 1]
    high = ends["max"].sort_values().iloc[-HOLDERS]
    if column.kind.is_temporal:
        return {"bounds": _years(low, high, column.kind)}
    if low > high:
        low, high = high, low
    bounds = rounded_outward(float(low), float(high))
    if not column.kind.type.has_decimals:
        return {"bounds": [int(one) for one in bounds]}
    return {"bounds": list(bounds), "decimals": _decimals(of_people)}


def _years(low: pd.Timestamp, high: pd.Timestamp, kind: Kind) -> list[Any]:
    first, last = sorted((low.year, high.year))
    if kind is Kind.DATE:
        return [date(first, 1, 1), date(last, 12, 31)]
    return [datetime(first, 1, 1), datetime(last, 12, 31, 23, 59)]


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Multiples of a power of ten around two numbers: the largest power that is at most their distance.

    Of equal numbers, the power is 1, or that of their size where this is larger.
    """
    span = high - low or max(abs(high), 1.0)
    power = math.floor(math.log10(span))
    scale = 10.0**-power
    ends = math.floor(low * scale + 1e-9), math.ceil(high * scale - 1e-9)
    first, last = (float(f"{end}e{power}") for end in ends)
    return (first, last) if first < last else (first, float(f"{ends[0] + 1}e{power}"))


def _decimals(of_people: pd.DataFrame) -> int:
    """Digits after the point that all values but those of a few people need no more than."""
    for digits in range(_MOST_DECIMALS):
        wide = of_people[(of_people["value"] - of_people["value"].round(digits)).abs() > 10.0 ** -(digits + 6)]
        if wide["person"].nunique() < HOLDERS:
            return digits
    return _MOST_DECIMALS
