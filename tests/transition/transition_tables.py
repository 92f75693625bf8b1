"""Small anonymized tables, made by hand and at random."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.hierarchy import LabelTable, from_levels
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table

QI = Role.QUASI_IDENTIFIER


def result(records: int, k: int = 1) -> AnonymizationResult:
    loss = {"name": "loss", "value": 0.0, "per_attribute": {}}
    return AnonymizationResult("test", k, (), None, loss, 0, records, 1, k, True, 0.0, 0.0)


def anonymized_table(frame, columns, hierarchies, levels) -> AnonymizedTable:
    """``levels``: one number per quasi-identifier (global recoding) or one per record (local recoding)."""
    schema = Schema(tuple(columns))
    frame = pd.DataFrame(
        {c.name: pd.Series(frame[c.name]).astype(DTYPES[c.kind]).reset_index(drop=True) for c in columns}
    )
    table = Table(frame, schema)
    names = schema.quasi_identifiers
    leaves = np.column_stack([hierarchies[name].encode(frame[name]) for name in names])
    at = {name: np.broadcast_to(levels[name], len(frame)) for name in names}
    nodes = np.column_stack([hierarchies[n].node_of[leaves[:, i], at[n]] for i, n in enumerate(names)])
    rest = table.only([name for name in schema.names if name not in names])
    labels = LabelTable(nodes.astype(np.int32), rest, schema, {name: hierarchies[name] for name in names})
    _, class_ids = np.unique(nodes, axis=0, return_inverse=True)
    class_ids = class_ids.reshape(-1).astype(np.int64)
    k = int(np.bincount(class_ids).min()) if len(frame) else 0
    return AnonymizedTable(
        labels, table, leaves.astype(np.int32), class_ids, table.take(np.arange(0)), result(len(frame), k)
    )


def integer_hierarchy(name="age", low=0, high=99, widths=(10, 50), missing=False):
    values = np.arange(low, high + 1)
    levels = []
    for width in widths:
        start = values // width * width
        levels.append([f"{a}-{a + width - 1}" for a in start])
    return from_levels(name, Kind.INTEGER, values, [*levels, ["*"] * len(values)], missing=missing)


def category_hierarchy(name, groups, missing=False):
    """``groups``: {"Healthcare": ["Nurse", ...], ...}; a two-level tree below the root."""
    leaves = np.array([leaf for group in groups.values() for leaf in group], dtype=object)
    level = [name for name, group in groups.items() for _ in group]
    return from_levels(name, Kind.CATEGORICAL, leaves, [level, ["*"] * len(leaves)], missing=missing)


def decimal_hierarchy(name, leaves, width, digits=1, missing=False):
    """Half-open intervals of a decimal column written with so many digits, and a root."""
    leaves = np.unique(np.asarray(leaves, dtype=np.float64))
    start = np.floor(leaves / width) * width
    end = np.round(start + width - 10.0**-digits, digits)
    texts = [f"[{a:g}, {a + width:g})" for a in start]
    root = np.full(len(leaves), start.min(initial=np.inf)), np.full(len(leaves), end.max(initial=-np.inf))
    bounds = [(start, end), root]
    step = 10.0**-digits
    return from_levels(
        name, Kind.DECIMAL, leaves, [texts, ["*"] * len(leaves)], bounds=bounds, step=step, missing=missing
    )


def date_hierarchy(name, leaves, missing=False):
    """Months, years, and a root over whole years."""
    days = np.unique(np.asarray(leaves, dtype="datetime64[us]"))
    bounds, texts = [], []
    for unit in "MY":
        start = days.astype(f"datetime64[{unit}]")
        bounds.append((start.astype("datetime64[D]"), (start + 1).astype("datetime64[D]") - np.timedelta64(1, "D")))
        texts.append([str(s) for s in start])
    first, last = (bounds[-1][0][:1], bounds[-1][1][-1:])
    bounds.append((np.repeat(first, len(days)), np.repeat(last, len(days))))
    bounds = [(a.astype("datetime64[us]"), b.astype("datetime64[us]")) for a, b in bounds]
    step = 24 * 3600 * 1e6
    kind = Kind.DATE
    return from_levels(name, kind, days, [*texts, ["*"] * len(days)], bounds=bounds, step=step, missing=missing)


# Hierarchies of a mixed table that do not depend on its values: thousands of tables share them.
@cache
def _ages(missing):
    return _never_changed(integer_hierarchy("age", missing=missing))


@cache
def _jobs(missing):
    groups = {"Health": ["Nurse", "Doctor", "Surgeon"], "Food": ["Cook", "Waiter"]}
    return _never_changed(category_hierarchy("job", groups, missing))


@cache
def _smokers(missing):
    values = np.array([False, True])
    return _never_changed(from_levels("smoker", Kind.BOOLEAN, values, [["*", "*"]], missing=missing))


def _never_changed(hierarchy):
    """Whoever writes into an array of a shared hierarchy fails at once, and not in another test."""
    for field in fields(hierarchy):
        value = getattr(hierarchy, field.name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return hierarchy


def mixed_table(n=300, seed=0, local=False, missing=0.1, levels=None) -> AnonymizedTable:
    """Every kind as quasi-identifier, missing values, a sensitive column, a target and an untouched number."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    job = rng.choice(["Nurse", "Doctor", "Cook", "Waiter"], n, p=[0.5, 0.2, 0.2, 0.1])
    pay = np.round(np.where(job == "Doctor", 60, 20) + age / 10 + rng.exponential(5, n), 1)
    born = np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]")
    smoker = rng.random(n) < 0.3
    frame = pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64"),
            "ill": pd.Categorical(np.where(age + rng.integers(0, 30, n) > 60, "yes", "no")),
            "job": pd.Categorical(job),
            "pay": pay,
            "born": born.astype("datetime64[us]"),
            "smoker": pd.array(smoker, dtype="boolean"),
            "visits": pd.array(rng.poisson(3, n), dtype="Int64"),
        }
    )
    columns = (
        Column("age", QI, Kind.INTEGER),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL, target=True),
        Column("job", QI, Kind.CATEGORICAL),
        Column("pay", QI, Kind.DECIMAL, format=ColumnFormat(decimals=1)),
        Column("born", QI, Kind.DATE),
        Column("smoker", QI, Kind.BOOLEAN),
        Column("visits", Role.INSENSITIVE, Kind.INTEGER),
    )
    has_missing = missing > 0
    for name in frame.columns:
        frame.loc[rng.random(n) < missing, name] = pd.NA if name in ("age", "smoker", "visits") else None
    hierarchies = {
        "age": _ages(has_missing),
        "job": _jobs(has_missing),
        "pay": decimal_hierarchy("pay", frame["pay"].dropna(), 20, missing=has_missing),
        "born": date_hierarchy("born", frame["born"].dropna(), missing=has_missing),
        "smoker": _smokers(has_missing),
    }
    if levels is None:
        levels = {"age": 1, "job": 1, "pay": 1, "born": 2, "smoker": 0}
    if local:
        levels = {name: rng.integers(0, hierarchies[name].n_levels, n) for name in hierarchies}
    return anonymized_table(frame, columns, hierarchies, levels)


@st.composite
def random_tables(draw) -> AnonymizedTable:
    """Global, local and fully suppressed recodings of mixed tables, with and without missing values."""
    levels = {"age": 3, "job": 2, "pay": 2, "born": 3, "smoker": 1}
    chosen = {name: draw(st.integers(0, top)) for name, top in levels.items()}
    return mixed_table(
        n=draw(st.integers(1, 60)),
        seed=draw(st.integers(0, 10**6)),
        local=draw(st.booleans()),
        missing=draw(st.sampled_from([0.0, 0.2, 1.0])) if draw(st.booleans()) else 0.0,
        levels=chosen,
    )


def with_other_originals(anonymized: AnonymizedTable, seed=0) -> AnonymizedTable:
    """The same labels over other original values: each drawn from the leaves below its label, missing stays missing."""
    rng = np.random.default_rng(seed)
    frame, leaves = anonymized.originals.frame.copy(), anonymized.leaves.copy()
    for at, name in enumerate(anonymized.quasi_identifiers):
        hierarchy = anonymized.hierarchies[name]
        below = hierarchy.covers()[anonymized.labels.nodes[:, at]]
        if hierarchy.missing_leaf is not None:
            below[:, hierarchy.missing_leaf] = False
        present = (leaves[:, at] != hierarchy.missing_leaf) & below.any(axis=1)
        drawn = (rng.random(below.shape) * below).argmax(axis=1)
        leaves[present, at] = drawn[present]
        if hierarchy.kind is Kind.CATEGORICAL:
            known = anonymized.originals.frame[name].cat.categories
            values = hierarchy.decode(leaves[:, at]).astype(object)
            frame[name] = pd.Categorical(values, categories=known.union(pd.Index(values.dropna().unique()), sort=False))
        else:
            frame[name] = hierarchy.decode(leaves[:, at])
    return replace(anonymized, originals=Table(frame, anonymized.originals.schema), leaves=leaves)


JOBS = {"Healthcare": ["Doctor", "Nurse"], "Food": ["Cook"]}


def thesis_table(repeat=1):
    """One class: age [20-29], occupation Healthcare."""
    ages = [21, 21, 23, 28, 22]
    frame = pd.DataFrame({"age": ages * repeat, "job": ["Nurse", "Nurse", "Doctor", "Nurse", "Doctor"] * repeat})
    columns = [Column("age", QI, Kind.INTEGER), Column("job", QI, Kind.CATEGORICAL)]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    return anonymized_table(frame, columns, hierarchies, {"age": 1, "job": 1})


def one_column(values, kind, hierarchy, level, decimals=None, date_format="%Y-%m-%d"):
    column = Column("x", QI, kind, format=ColumnFormat(decimals=decimals, date_format=date_format))
    return anonymized_table(pd.DataFrame({"x": values}), [column], {"x": hierarchy}, {"x": level})
