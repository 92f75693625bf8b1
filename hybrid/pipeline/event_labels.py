"""Labels of rows below the person table, such as the date and the ward of an admission.

The search knows the class of the row above as a quasi-identifier that is not made coarser. So a class of rows has equal
labels in its own columns and in those of all rows above it, and holds rows of at least k persons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.anonymize.anonymize_table import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Codes
from hybrid.base.errors import InfeasibleError, Problem
from hybrid.base.progress import Progress
from hybrid.hierarchy import Hierarchy, flat_hierarchy
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.child_draw import with_columns_of
from hybrid.pipeline.stages import ANONYMIZE
from hybrid.sample import Sampled
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

ABOVE = "labels of the rows above"
"""Column of the search with the class of each row's parent."""


def anonymize_below(
    train: Table,
    above: Codes,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    progress: Progress,
) -> AnonymizedTable:
    """Generalize the quasi-identifiers of rows until k persons share them together with the labels above.

    ``above`` is the class of the parent of each row. Of the person table's options, k, known rows, suppression limit
    and loss are the same here; its models, its levels and its population are about its own columns.

    The result is verified together with ``above``, which is no column of it; ``class_ids`` are equal for equal labels
    and equal ``above``.
    """
    column = Column(ABOVE, Role.QUASI_IDENTIFIER, Kind.INTEGER)
    values = pd.Series(above, dtype=DTYPES[Kind.INTEGER])
    table = replace(train, frame=train.frame.assign(**{ABOVE: values}), schema=Schema((*train.schema, column)))
    trees = {**hierarchies, ABOVE: flat_hierarchy(column, [values])}
    return _without_above(anonymize(table, trees, _searched(options), progress))


def _searched(options: AnonymizeOptions) -> AnonymizeOptions:
    weights = {ABOVE: 0.0} if options.loss.name not in ("aecs", "discernibility") else {}
    loss = options.loss.model_copy(update={"use": (), "weights": weights})
    # Coarser labels of single rows would be labels that no row above has: such rows are left out.
    apart = {"models": (), "population": None, "beforehand": None, "suppressed": "leave_out"}
    return options.model_copy(update={**apart, "levels": {ABOVE: 0}, "loss": loss})


def _without_above(found: AnonymizedTable) -> AnonymizedTable:
    names = [name for name in found.labels.schema.names if name != ABOVE]
    own = [at for at, name in enumerate(found.quasi_identifiers) if name != ABOVE]
    result, labels = found.result, found.labels
    lost = {name: one for name, one in result.loss["per_attribute"].items() if name != ABOVE}
    loss = {name: one for name, one in result.loss.items() if name != "weights"} | {"per_attribute": lost}
    if "mean" in loss:  # The column that is not made coarser would count in the mean.
        loss |= {"mean": "arithmetic", "value": float(np.mean(list(lost.values())))}
    levels = None if result.levels is None else {name: one for name, one in result.levels.items() if name != ABOVE}
    return replace(
        found,
        labels=replace(
            labels,
            nodes=labels.nodes[:, own],
            schema=labels.schema.only(names),
            hierarchies={name: tree for name, tree in labels.hierarchies.items() if name != ABOVE},
        ),
        originals=found.originals.only(names),
        suppressed=found.suppressed.only(names),
        leaves=found.leaves[:, own],
        result=replace(result, loss=loss, levels=levels, with_above=True),
    )


def beside_persons(
    anonymized: AnonymizedTable, persons: Table, rows: Codes, names: Mapping[str, str]
) -> AnonymizedTable:
    """Rows with columns of their persons, which the transition reads and rules may name.

    ``persons`` are as a generator learns them, ``rows`` has the row of ``persons`` of each row, ``names`` their columns
    and what they are called.
    """
    known = replace(persons, schema=Schema(tuple(replace(one, role=Role.INSENSITIVE) for one in persons.schema)))
    labels = anonymized.labels
    originals, rest = (with_columns_of(one, known, rows, names) for one in (anonymized.originals, labels.rest))
    added = (rest.schema[name] for name in names.values())
    schema = Schema((*labels.schema, *added))
    return replace(anonymized, originals=originals, labels=replace(labels, rest=rest, schema=schema))


@dataclass(frozen=True, kw_only=True)
class EventAnonymization(Anonymization):
    """The stages from rows of a table below the person table over labels to specific values again."""

    name: str
    above: Codes
    """Class of the parent of each row of ``train``."""
    followed: Callable[[AnonymizedTable], AnonymizedTable]
    """Gives the rows whose parents are learned from, beside the columns of their persons."""

    @cached_property
    def anonymized(self) -> AnonymizedTable:
        known = self.train, self.above, self.hierarchies, self.options, self.progress
        try:
            return self.compute(ANONYMIZE.name, lambda: anonymize_below(*known))
        except InfeasibleError as error:
            coarser = "make the person table coarser (a larger k, or anonymize.levels)"
            raise InfeasibleError(
                Problem(f"{self.name}: {one.message}", one.hint.replace("free the fixed levels", coarser))
                for one in error.problems
            ) from None

    @cached_property
    def sampled(self) -> Sampled:
        found = self.followed(self.anonymized)
        whole, rows = len(self.anonymized), len(found)
        found = replace(found, labels=self.with_gaps(found))
        return Sampled(
            anonymized=found, method="none", beta=1.0, before=whole, actual=rows, expected=float(rows), strata=1
        )
