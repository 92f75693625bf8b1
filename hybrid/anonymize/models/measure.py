"""Privacy models as checks of any table: which k, l, t it reaches.

They look at nothing but the table: so a result is verified, and tables from elsewhere are judged. A missing
quasi-identifier is a category of its own, so a record is never hidden by it; a missing sensitive value counts as a
value.

k-anonymity (every class has at least k persons: Sweeney 2002, doi 10.1142/S0218488502001648) is always asked for, as
``anonymize.k``; all other models come besides. A person with several records in a class is one of them; where each
record is another person, records are counted. It is record-monotone: under a finer generalization a class only loses
members, so a record whose class is too small stays in one that is too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hybrid.anonymize.models.k_map import people_per_class
from hybrid.anonymize.models.protocol import PopulationModel, PrivacyModel, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, equivalence_classes, frame_of
from hybrid.base.arrays import Codes
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table
from hybrid.table.holders import all_differ


def k_reached(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> int:
    """Size of the smallest class of records with equal quasi-identifiers; 0 for an empty table."""
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    return int(np.bincount(classes, minlength=n_classes).min()) if n_classes else 0


def persons_per_class(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str], persons: Codes) -> pd.Series:
    """Number of different persons with a key (not negative) in each class; 0 for classes without any."""
    classes, n_classes = equivalence_classes(table, quasi_identifiers)
    if all_differ(persons):
        return pd.Series(np.bincount(classes, minlength=n_classes))
    members = pd.DataFrame({"class": classes, "person": persons})
    counted = members[members["person"] >= 0].groupby("class")["person"].nunique()
    return counted.reindex(range(n_classes), fill_value=0)


def fewest_persons(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str], persons: Codes) -> int:
    """Persons of the class that has fewest; 0 for an empty table. Arguments as for :func:`persons_per_class`."""
    found = persons_per_class(table, quasi_identifiers, persons)
    return int(found.min()) if len(found) else 0


def _each_another() -> Codes:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class CheckInputs:
    """Inputs that some models need beside the table."""

    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Of sensitive columns, for hierarchical t-closeness."""
    reference: Mapping[str, pd.Series] = field(default_factory=dict)
    """The values of sensitive columns in the whole table, for t-closeness and beta-likeness; where none is given, the
    checked table itself is the reference. It contains every value of the checked table."""
    population: pd.DataFrame | None = None
    """People, generalized as the table is, for k-map."""
    persons: Codes = field(default_factory=_each_another)
    reference_persons: Codes = field(default_factory=_each_another)
    """Person of each record of the checked table, and of the whole one; by default each record is another person."""


def check(
    table: Table | pd.DataFrame,
    quasi_identifiers: Sequence[str],
    options: PrivacyModel,
    context: CheckInputs | None = None,
) -> ModelCheck:
    """Check a table against a privacy model.

    Parameters
    ----------
    table : Table or pandas.DataFrame
        Any table; an empty one meets every model.
    context : CheckInputs, optional
        What some models need beside the table.

    Raises
    ------
    ConfigError
        Hierarchical t-closeness without a hierarchy.
    """
    context = context or CheckInputs()
    if isinstance(options, PopulationModel):
        population = table if context.population is None else context.population
        return options.verify(people_per_class(table, population, quasi_identifiers))
    if isinstance(options, SensitiveModel):
        return options.verify(class_counts(frame_of(table), quasi_identifiers, options.attribute, context))
    raise TypeError(f"a privacy model of an unknown sort: {options.model}")


def class_counts(
    frame: pd.DataFrame, quasi_identifiers: Sequence[str], attribute: str, context: CheckInputs
) -> ClassCounts:
    """Count the values of a sensitive column in every class."""
    values = frame[attribute]
    reference = context.reference.get(attribute, values)
    codes, known = pd.factorize(pd.concat([values, reference], ignore_index=True), sort=True)
    numbers = np.where(codes < 0, len(known), codes)
    overall = _shares(numbers[len(values) :], context.reference_persons)
    n_values = len(known) + bool((codes < 0).any())
    hierarchy = context.hierarchies.get(attribute)
    leaves = None
    if hierarchy is not None and n_values:
        leaves = hierarchy.encode(pd.Series(known).reindex(range(n_values)))
    records = pd.DataFrame(
        {"class": equivalence_classes(frame, quasi_identifiers)[0], "value": numbers[: len(values)], "records": 1}
    )
    if not all_differ(context.persons):
        records["person"] = context.persons
    return ClassCounts.of(records, overall.reindex(range(n_values), fill_value=0.0), hierarchy, leaves)


def _shares(numbers: Codes, persons: Codes) -> pd.Series:
    """Share of each value in a table, where a record of a person weighs 1 / (records of the person)."""
    found = pd.Series(numbers)
    if all_differ(persons):
        return found.value_counts(normalize=True, sort=False)
    weights = 1 / pd.Series(persons).groupby(persons).transform("size")
    return weights.groupby(found).sum() / max(weights.sum(), 1)
