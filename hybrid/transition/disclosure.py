"""Disclosure of a transition: shares of restored values that equal the originals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Leaves, Mask, Nodes
from hybrid.hierarchy import Hierarchy
from hybrid.table import Column, Kind, Table
from hybrid.table.holders import combination_numbers, holders, row_persons
from hybrid.transition.drawing.domain import domains_of
from hybrid.transition.fit import with_known_values


@dataclass(frozen=True)
class Hits:
    """Share of restored values that equal the original, beside chance."""

    share: float
    """Part of the records that got their original value back, in [0, 1]; a missing value equals a missing one."""
    chance: float
    """What Uniform hits in expectation with the same labels: 1 where a label is a single value."""


@dataclass(frozen=True)
class Seeds:
    """Numbers of persons whose records can have made a restored row.

    A transition restores a row from labels and other columns of one record. So each record that agrees in both makes
    the row with the same probability, given what the transition has learned: plausible deniability with factor 1
    (Bindschaedler, Shokri and Gunter 2017). Only columns that are not generalized can make them fewer than k.
    """

    least: int
    """Persons of the row that has fewest."""
    median: float
    """Of the rows."""
    below_k: int
    """Rows with fewer than k persons."""


@dataclass(frozen=True)
class GiveAway:
    """Counts of original values and records that a restored table repeats."""

    records: int
    """Rows of the restored table."""
    per_attribute: dict[str, Hits] | None
    """Per quasi-identifier; None where rows do not belong to records (``order: post`` after a generator)."""
    joint: Hits | None
    """All quasi-identifiers of a record together."""
    k: int
    """Rows in the smallest group with equal restored quasi-identifiers."""
    groups: int
    """Number of such groups."""
    known_combinations: int
    """Rows whose quasi-identifiers, all together, are those of some original record."""
    reappearing_rows: int
    """Rows that equal some original record in every column."""
    reappearing_records: int
    """Distinct original records (rows that differ somewhere) that occur among the restored ones."""
    seeds: Seeds | None
    """Persons that can have made each row, among those restored; None where rows do not belong to records."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def give_away(anonymized: AnonymizedTable, restored: Table, *, same_records: bool) -> GiveAway:
    """Compare a restored table with the originals that the transition learned from.

    ``same_records``: row i is record i restored (``order: pre``, or ``post`` without a generator, before rows are
    shuffled). Otherwise only groups and reappearing rows are counted.
    """
    originals, n = anonymized.originals, len(anonymized)
    if same_records and len(restored) != n:
        raise ValueError("the restored rows are not the anonymized records")
    names = anonymized.quasi_identifiers
    codes = {column.name: _codes(column, originals, restored) for column in originals.schema}
    tuples, rows = combination_numbers([codes[name] for name in names]), combination_numbers(list(codes.values()))
    sizes = np.unique(tuples[n:], return_counts=True)[1]
    whole = np.isin(rows[n:], rows[:n])
    per_attribute, joint, seeds = None, None, None
    if same_records and n:
        equal = np.column_stack([codes[name][:n] == codes[name][n:] for name in names])
        chance = _chances(anonymized)
        per_attribute = {
            name: Hits(float(equal[:, at].mean()), float(chance[:, at].mean())) for at, name in enumerate(names)
        }
        joint = Hits(float(equal.all(axis=1).mean()), float(chance.prod(axis=1).mean()))
        rest = anonymized.labels.rest
        read = [pd.factorize(rest.frame[name])[0] for name in rest.schema.names if name not in originals.schema]
        seeds = _seeds(anonymized, [*(code[:n] for name, code in codes.items() if name not in names), *read])
    return GiveAway(
        records=len(restored),
        per_attribute=per_attribute,
        joint=joint,
        k=int(sizes.min(initial=len(restored))),
        groups=len(sizes),
        known_combinations=int(np.isin(tuples[n:], tuples[:n]).sum()),
        reappearing_rows=int(whole.sum()),
        reappearing_records=len(np.unique(rows[n:][whole])),
        seeds=seeds,
    )


def _seeds(anonymized: AnonymizedTable, others: list[Array]) -> Seeds:
    """Persons that agree with each record in class and other columns; a record without a person adds none."""
    group = combination_numbers([anonymized.class_ids, *others])
    whose = row_persons(anonymized.originals)
    found = holders(group, int(group.max(initial=-1)) + 1, whose)[group]
    return Seeds(int(found.min()), float(np.median(found)), int((found < anonymized.result.k).sum()))


def _chances(anonymized: AnonymizedTable) -> Array:
    """Probability that Uniform draws each original value; shape (n, n_qi), float64."""
    chances = np.empty(anonymized.leaves.shape)
    known = with_known_values(anonymized)
    for at, domain in enumerate(domains_of(known).values()):
        nodes = known.labels.nodes[:, at]
        chances[:, at] = 1.0 / domain.n_possible(nodes)
        chances[~_below(domain.hierarchy, known.leaves[:, at], nodes), at] = 0.0  # A masked value is another one.
        lost = known.leaves[:, at] == domain.hierarchy.missing_leaf
        chances[lost & (domain.n_values[nodes] > 0), at] = 0.0  # Uniform never draws missing from a root label.
    return chances


def _below(hierarchy: Hierarchy, leaves: Leaves, nodes: Nodes) -> Mask:
    found = np.zeros(len(leaves), dtype=bool)
    for level in range(hierarchy.n_levels):
        found |= hierarchy.node_of[leaves, level] == nodes
    return found


def _codes(column: Column, originals: Table, restored: Table) -> Array:
    """Equal numbers for equal values of both tables, the originals' rows first; missing is -1."""
    parts = [table.frame[column.name] for table in (originals, restored)]
    if column.kind is Kind.CATEGORICAL:
        parts = [part.astype(object) for part in parts]
    elif column.kind.type.has_decimals and column.format.decimals is not None:
        parts = [part.round(column.format.decimals) for part in parts]
    return np.asarray(pd.factorize(pd.concat(parts, ignore_index=True))[0].astype(np.int64))
