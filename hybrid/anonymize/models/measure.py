"""Privacy models as checks on any table: which k, l, t it reaches.

These look at nothing but the table: they are how a result is verified, and how tables from elsewhere are judged.
A missing quasi-identifier is a category of its own, so a record is never hidden by it; a missing sensitive value
counts as a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hybrid.anonymize.models import build
from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.options import KMap, LDiversity, ModelOptions
from hybrid.anonymize.search.distinct_rows import value_numbers
from hybrid.base.arrays import Array
from hybrid.base.keys import group_rows, pack_small
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table


@dataclass(frozen=True)
class ModelCheck:
    """What a table reaches of one privacy model."""

    name: str
    """Such as ``"distinct 2-diversity of 'occupation'"``."""
    reached: float
    """Of the least protected class."""
    threshold: float
    """What was asked for."""
    holds: bool


def equivalence_classes(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> tuple[Array, int]:
    """Records with equal quasi-identifiers.

    Parameters
    ----------
    table : Table or pandas.DataFrame, n records
        Any table.
    quasi_identifiers : sequence of str
        Columns that an attacker knows. None: all records are alike.

    Returns
    -------
    classes : numpy.ndarray, shape (n,), int64
        Class of each record, 0..n_classes-1.
    n_classes : int
        How many there are.
    """
    frame = _frame(table)
    factorized = (pd.factorize(frame[name], use_na_sentinel=False) for name in quasi_identifiers)
    columns = ((np.asarray(codes, dtype=np.int64), len(distinct)) for codes, distinct in factorized)
    code, size = pack_small(columns, len(frame))
    classes, rows = group_rows(code, size)
    return classes, len(rows)


def k_reached(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> int:
    """Size of the smallest class of records with equal quasi-identifiers; 0 for an empty table. Higher is safer."""
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    return int(np.bincount(classes, minlength=n_classes).min()) if n_classes else 0


def l_reached(
    table: Table | pd.DataFrame,
    quasi_identifiers: Sequence[str],
    attribute: str,
    kind: str = "distinct",
) -> float:
    """Least diversity of a sensitive column over all classes; 0 for an empty table. Higher is safer.

    Parameters
    ----------
    table : Table or pandas.DataFrame
        Any table.
    quasi_identifiers : sequence of str
        Columns that an attacker knows.
    attribute : str
        The sensitive column.
    kind : {"distinct", "entropy"}
        distinct: number of values. entropy: exp of their Shannon entropy.
    """
    if not len(_frame(table)):
        return 0.0
    options = LDiversity(model="l_diversity", kind="entropy" if kind == "entropy" else "distinct", attribute=attribute)
    return check(table, quasi_identifiers, options).reached


def k_map_reached(
    table: Table | pd.DataFrame, population: Table | pd.DataFrame, quasi_identifiers: Sequence[str]
) -> int:
    """Least number of people of the population that share a record's labels; 0 for an empty table.

    Parameters
    ----------
    table, population : Table or pandas.DataFrame
        Both generalized in the same way.
    quasi_identifiers : sequence of str
        Columns that an attacker knows.
    """
    released = _frame(table)[list(quasi_identifiers)].astype(object)
    people = _frame(population)[list(quasi_identifiers)].astype(object)
    classes, n_classes = equivalence_classes(pd.concat([released, people], ignore_index=True), quasi_identifiers)
    counts = np.bincount(classes[len(released) :], minlength=n_classes)
    return int(counts[classes[: len(released)]].min()) if len(released) else 0


@dataclass(frozen=True)
class CheckInputs:
    """What some models need beside the table.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy
        Of sensitive columns, for hierarchical t-closeness.
    reference : mapping of str to pandas.Series
        The values of sensitive columns in the whole table, for t-closeness and beta-likeness; where none is given,
        the checked table itself is the reference. It contains every value of the checked table.
    population : pandas.DataFrame or None
        People, generalized as the table is, for k-map.
    """

    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    reference: Mapping[str, pd.Series] = field(default_factory=dict)
    population: pd.DataFrame | None = None


def check(
    table: Table | pd.DataFrame,
    quasi_identifiers: Sequence[str],
    options: ModelOptions,
    context: CheckInputs | None = None,
) -> ModelCheck:
    """Whether a table meets a privacy model.

    Parameters
    ----------
    table : Table or pandas.DataFrame
        Any table; an empty one meets every model.
    quasi_identifiers : sequence of str
        Columns that an attacker knows.
    options : ModelOptions
        The model.
    context : CheckInputs, optional
        What some models need beside the table.

    Raises
    ------
    ConfigError
        Hierarchical t-closeness without a hierarchy.
    """
    context = context or CheckInputs()
    if isinstance(options, KMap):
        population = table if context.population is None else context.population
        people = k_map_reached(table, population, quasi_identifiers)
        return ModelCheck(f"{options.k}-map", people, options.k, people >= options.k or not len(_frame(table)))
    values = _frame(table)[options.attribute]
    reference = context.reference.get(options.attribute, values)
    numbers, known = value_numbers(pd.concat([values, reference], ignore_index=True))
    leaves = {}
    if options.attribute in context.hierarchies and len(known):
        leaves[options.attribute] = context.hierarchies[options.attribute].encode(known)
    model = build(options, context.hierarchies, leaves)
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    here, overall = numbers[: len(values)], numbers[len(values) :]
    frequencies = np.bincount(overall, minlength=len(known)) / max(len(overall), 1)
    histogram = Histogram.of(classes, here, np.ones(len(here), dtype=np.int64), n_classes, frequencies)
    return ModelCheck(model.name, model.worst(histogram), model.threshold, bool(model.holds(histogram).all()))


def _frame(table: Table | pd.DataFrame) -> pd.DataFrame:
    return table.frame if isinstance(table, Table) else table
