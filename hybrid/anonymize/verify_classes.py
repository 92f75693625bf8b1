"""Verification of a file of labels, read back in batches.

Independent of the search, as :mod:`hybrid.anonymize.verify_table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.models.protocol import PopulationModel, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, equivalence_classes
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.search.problem import Recoding, SearchProblem
from hybrid.anonymize.verify_table import broken_models, covered
from hybrid.base.arrays import Codes, Counts, Numbers
from hybrid.base.errors import VerificationError
from hybrid.base.sentence import sentence


@dataclass(frozen=True)
class SourcePersons:
    """Persons of the source, of whom the written file says nothing."""

    members: Members
    """Persons of the rows that ``task.records`` was collected from."""
    values: Mapping[str, Codes]
    """Position in ``task.records.sensitive[attribute].known`` of each of these rows."""


def verify_classes(
    task: SearchProblem,
    recoding: Recoding,
    written: DistinctRowCounts,
    value_of: Sequence[Codes],
    origin: SourcePersons | None = None,
) -> tuple[Counts, dict[str, Any]]:
    """Measure what written labels reach; gives the records of each class, and what is reached.

    ``written`` are the distinct rows of the file: the quasi-identifiers' labels, then ``task.options.attributes``;
    ``value_of`` is the position in ``task.records.sensitive[attribute].known`` of each value number. Persons of
    ``origin`` are counted in the classes that were decided on, which are compared with those of the file.
    """
    names = task.records.names
    labels = pd.DataFrame(dict(zip(names, written.columns, strict=False)))
    rows = pd.DataFrame({"class": equivalence_classes(labels, names)[0], "records": written.counts})
    held = None if origin is None else _held(task, recoding, origin)
    sizes = rows.groupby("class")["records"].sum().to_numpy()
    values = dict(zip(task.options.attributes, zip(value_of, written.columns[len(names) :], strict=True), strict=True))
    reached = []
    for model in task.options.models:
        if isinstance(model, PopulationModel):
            reached.append(model.verify(_people(task, recoding)))
        elif isinstance(model, SensitiveModel):
            numbers, column = values[model.attribute]
            records = rows.assign(value=numbers[column]) if held is None else held.assign(value=held[model.attribute])
            reached.append(model.verify(_counts(task, model.attribute, records)))
    failures = [*broken_models(reached), *_shape_failures(task, recoding, sizes)]
    k, unit = int(sizes.min()), "records"
    if held is not None:
        people = held[held["person"] >= 0].groupby("class")["person"].nunique()
        k, unit = int(people.reindex(held["class"].unique(), fill_value=0).min()), "persons"
    if k < task.options.k:
        failures.append(sentence("broken.class", n=k, unit=unit, k=task.options.k))
    if failures:
        raise VerificationError(
            sentence("broken.labels", found=tuple(failures)),
            hint="do not release them; please report this",
        )
    pycanon = {"skipped": "the records are not in memory: our own check alone"}
    return sizes, {"k": k, "models": [asdict(one) for one in reached], "pycanon": pycanon}


def _shape_failures(task: SearchProblem, recoding: Recoding, sizes: Numbers) -> list[str]:
    records, failures = task.records, []
    left_out = records.n_records - int(sizes.sum())
    if left_out != int(records.counts @ recoding.suppressed):
        failures.append("records were lost or added")
    if not np.array_equal(np.sort(sizes), np.sort(_decided_sizes(task, recoding))):
        failures.append("the classes are not those that were decided on")
    if left_out > task.allowed:
        failures.append(sentence("broken.left_out", n=left_out, allowed=task.allowed, unit="records"))
    for at, hierarchy in enumerate(records.hierarchies):
        if not covered(hierarchy, records.leaves[at], recoding.nodes[:, at]):
            failures.append(sentence("broken.cover", column=hierarchy.column))
    return failures


def _counts(task: SearchProblem, attribute: str, records: pd.DataFrame) -> ClassCounts:
    column = task.records.sensitive[attribute]
    hierarchy = task.hierarchies.get(attribute)
    leaves = None if hierarchy is None else hierarchy.encode(column.known)
    return ClassCounts.of(records, pd.Series(column.reference), hierarchy, leaves)


def _decided(task: SearchProblem, recoding: Recoding, counts: Counts) -> pd.DataFrame:
    """Labels of distinct rows (``class``), counts (``n``) and the mask ``released``."""
    nodes = pd.DataFrame(recoding.nodes)
    released = ~recoding.suppressed & (task.records.counts > 0)
    return pd.DataFrame(
        {"class": equivalence_classes(nodes, list(nodes.columns))[0], "n": counts, "released": released}
    )


def _held(task: SearchProblem, recoding: Recoding, origin: SourcePersons) -> pd.DataFrame:
    """Released entries of the source, with class, person, records and sensitive values."""
    decided, members = _decided(task, recoding, task.records.counts), origin.members
    at = task.records.row_of[members.rows]
    entries = pd.DataFrame({"class": decided["class"].to_numpy()[at], "person": members.persons})
    entries["records"] = 1 if members.counts is None else members.counts
    values = {attribute: column[members.rows] for attribute, column in origin.values.items()}
    return entries.assign(**values)[decided["released"].to_numpy()[at]]


def _decided_sizes(task: SearchProblem, recoding: Recoding) -> Counts:
    decided = _decided(task, recoding, task.records.counts)
    sizes: Counts = decided[decided["released"]].groupby("class")["n"].sum().to_numpy()
    return sizes


def _people(task: SearchProblem, recoding: Recoding) -> pd.Series:
    """People of the population in each released class, whose quasi-identifiers were given its labels."""
    assert task.records.population is not None
    people = _decided(task, recoding, task.records.population)
    return people.groupby("class")["n"].sum()[people.loc[people["released"], "class"].unique()]
