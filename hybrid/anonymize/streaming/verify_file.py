"""Checking labels that were written to a file against what was promised, by reading them back in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.measure import ModelCheck
from hybrid.anonymize.search.problem import SearchProblem
from hybrid.anonymize.search.recoding import Recoding
from hybrid.anonymize.search.row_counts import Combinations, add_up
from hybrid.anonymize.verify_table import covered
from hybrid.base.arrays import Array
from hybrid.base.errors import VerificationError
from hybrid.base.keys import pack


def verify_classes(
    task: SearchProblem, recoding: Recoding, written: Combinations, value_of: Sequence[Array]
) -> tuple[Array, dict[str, Any]]:
    """Measure what written labels reach.

    Parameters
    ----------
    task, recoding : SearchProblem, Recoding
        What was asked for and what was decided.
    written : Combinations
        The distinct rows of the file: the quasi-identifiers' labels, then ``task.options.attributes``.
    value_of : sequence of numpy.ndarray
        For each attribute, the position in ``task.records.sensitive[attribute].known`` of each value number.

    Returns
    -------
    sizes : numpy.ndarray, shape (n_classes,), int64
        Records of each class.
    verified : dict
        As :func:`hybrid.anonymize.verify_table.verify` gives it.

    Raises
    ------
    VerificationError
        As there; and the classes have other sizes than was decided.
    """
    n_qi = len(task.records.names)
    labels = written.columns[:n_qi]
    code, _ = pack(((column, int(column.max(initial=0)) + 1) for column in labels), len(written))
    distinct, sizes = add_up(code, written.counts)
    classes = np.searchsorted(distinct, code)
    reached = [_people(task, recoding)] if task.population_k else []
    for model in task.models:
        at = task.options.attributes.index(model.attribute)
        values = value_of[at][written.columns[n_qi + at]]
        reference = task.records.sensitive[model.attribute].reference
        histogram = Histogram.of(classes, values, written.counts, len(sizes), reference)
        holds = bool(model.holds(histogram).all())
        reached.append(ModelCheck(model.name, model.worst(histogram), model.threshold, holds))
    failures = [
        f"{one.name} is not met: {one.reached:g} instead of {one.threshold:g}" for one in reached if not one.holds
    ]
    failures += _shape_failures(task, recoding, sizes)
    if failures:
        raise VerificationError(
            f"the written labels do not keep what was promised: {'; '.join(failures)}",
            hint="do not release them; please report this",
        )
    pycanon = {"skipped": "streamed: our own check alone"}
    return sizes, {"k": int(sizes.min()), "models": [asdict(one) for one in reached], "pycanon": pycanon}


def _shape_failures(task: SearchProblem, recoding: Recoding, sizes: Array) -> list[str]:
    records, failures = task.records, []
    left_out = records.n_records - int(sizes.sum())
    if left_out != int(records.counts @ recoding.suppressed):
        failures.append("records were lost or added")
    if not np.array_equal(np.sort(sizes), np.sort(_decided_sizes(task, recoding))):
        failures.append("the classes are not those that were decided on")
    if left_out > task.allowed:
        failures.append(f"{left_out} records are left out, {task.allowed} were allowed")
    if sizes.min(initial=records.n_records) < task.options.k:
        failures.append(f"the smallest class has {sizes.min()} records, not {task.options.k}")
    for at, hierarchy in enumerate(records.hierarchies):
        if not covered(hierarchy, records.leaves[at], recoding.nodes[:, at]):
            failures.append(f"labels of {hierarchy.column!r} do not cover their values")
    return failures


def _codes(task: SearchProblem, recoding: Recoding) -> Array:
    """A code for the labels of each distinct row; shape (n_distinct,), int64."""
    columns = zip(recoding.nodes.T, (hierarchy.n_nodes for hierarchy in task.records.hierarchies), strict=True)
    return pack(columns, len(recoding.nodes))[0]


def _decided_sizes(task: SearchProblem, recoding: Recoding) -> Array:
    released = ~recoding.suppressed & (task.records.counts > 0)
    return add_up(_codes(task, recoding)[released], task.records.counts[released])[1]


def _people(task: SearchProblem, recoding: Recoding) -> ModelCheck:
    """k-map: people of the population whose quasi-identifiers were given the labels of each released class."""
    records = task.records
    assert records.population is not None
    code = _codes(task, recoding)
    distinct, people = add_up(code, records.population)
    released = code[~recoding.suppressed & (records.counts > 0)]
    least = int(people[np.searchsorted(distinct, released)].min())
    return ModelCheck(f"{task.population_k}-map", least, task.population_k, least >= task.population_k)
