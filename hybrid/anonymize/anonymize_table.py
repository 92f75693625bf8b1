"""Anonymization of a table in memory, verified."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult, AnonymizedTable
from hybrid.anonymize.risk import household_summary, population_risk_summary
from hybrid.anonymize.search import anjana, global_recoding, local_recoding
from hybrid.anonymize.search.known_rows import hide_pairs
from hybrid.anonymize.search.local_recoding import coarsen
from hybrid.anonymize.search.losses import LossScore
from hybrid.anonymize.search.problem import Recoding, SearchProblem, prepare, refuse_impossible
from hybrid.anonymize.techniques.loss import published_loss
from hybrid.anonymize.verify_table import lost_persons, verify
from hybrid.base.arrays import Counts
from hybrid.base.keys import group_rows, pack_small
from hybrid.base.progress import Progress, silent
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.table import Table


def anonymize(
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    progress: Progress = silent,
    population: Table | None = None,
    by_pycanon: bool = True,
) -> AnonymizedTable:
    """Generalize quasi-identifiers until every class of equal records meets the privacy models.

    Parameters
    ----------
    train : Table, n records
        The records, without identifier columns. A missing quasi-identifier is a category of its own.
    hierarchies : mapping of str to Hierarchy
        One per quasi-identifier, and one of each sensitive column with hierarchical t-closeness.
    population : Table, optional
        The population table of k-map, with the quasi-identifiers' columns.
    by_pycanon : bool
        Whether pycanon measures the classes, too, beside our own check.

    Returns
    -------
    AnonymizedTable
        Verified: every label covers its value, every class meets every model.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        Options, table and hierarchies do not fit together.
    InfeasibleError
        No generalization meets the models within the suppression limit; says what came nearest.
    VerificationError
        The result does not keep its promise. Nothing may be released.
    MissingExtraError
        The engine anjana is asked for and not installed.
    """
    started = time.perf_counter()
    task = prepare(train, hierarchies, options, population)
    recoding = recode(task, progress)
    if not train.rows_are_persons and options.known_rows > 1:
        task, recoding = hide_pairs(task, recoding)
    seconds = time.perf_counter() - started
    anonymized = _assemble(task, recoding, seconds)
    verified = verify(anonymized, task, by_pycanon)
    result = replace(
        anonymized.result,
        verified=verified,
        min_class_persons=verified["k"],
        suppressed_persons=lost_persons(anonymized),
        population_risk=population_risk_summary(anonymized),
        household=household_summary(anonymized),
    )
    return replace(anonymized, result=result)


def recode(task: SearchProblem, progress: Progress) -> Recoding:
    """Choose the node of every cell, by the configured engine and recoding.

    Raises as :func:`anonymize`.
    """
    refuse_impossible(task)
    if task.options.engine == "anjana":
        return anjana.recode(task)
    if task.options.recoding == "local":
        return local_recoding.recode(task, progress)
    found = global_recoding.recode(task, progress)
    return coarsen(task, found) if task.options.suppressed == "coarsen" else found


def _assemble(task: SearchProblem, recoding: Recoding, seconds: float) -> AnonymizedTable:
    train, row_of = task.train, task.records.row_of
    kept = ~recoding.suppressed[row_of]
    nodes = recoding.nodes[row_of[kept]]
    names = train.schema.quasi_identifiers
    originals = train.take(kept)
    used = {name: task.hierarchies[name] for name in names}
    labels = LabelTable(nodes, originals.only([n for n in train.schema.names if n not in names]), train.schema, used)
    columns = ((nodes[:, at], task.hierarchies[name].n_nodes) for at, name in enumerate(names))
    class_ids, _ = group_rows(*pack_small(columns, len(nodes)))
    return AnonymizedTable(
        labels=labels,
        originals=originals,
        leaves=task.leaves[kept],
        class_ids=class_ids,
        suppressed=train.take(~kept),
        result=summarize(task, recoding, np.bincount(class_ids), seconds),
        coarsened=coarsened[row_of[kept]] if (coarsened := recoding.coarsened) is not None else None,
        rows=np.flatnonzero(kept),
    )


def summarize(task: SearchProblem, recoding: Recoding, class_sizes: Counts, seconds: float) -> AnonymizationResult:
    """Aggregates of an anonymization; ``class_sizes`` are the records of each class of the result."""
    suppressed, alone = int(task.records.counts @ recoding.suppressed), task.records.rows_are_persons
    return AnonymizationResult(
        engine=task.options.engine,
        k=task.options.k,
        models=tuple(model.model_dump(exclude_none=True) for model in task.options.models),
        levels=recoding.levels,
        loss=_loss(task, recoding.score),
        suppressed=suppressed,
        records=len(task.train),
        classes=len(class_sizes),
        min_class_size=int(class_sizes.min()),
        optimal=recoding.gap == 0.0,
        gap=recoding.gap,
        seconds=seconds,
        coarsened=None if recoding.coarsened is None else int(task.records.counts @ recoding.coarsened),
        rows_are_persons=alone,
        persons=task.records.n_persons,
        suppressed_persons=suppressed if alone else task.records.persons.gone(recoding.suppressed),
        known_rows=task.options.known_rows,
    )


def _loss(task: SearchProblem, score: LossScore) -> dict[str, Any]:
    """Loss as published: what is measured on more than the labels has few digits (:func:`published_loss`)."""
    options, known = task.options.loss, task.associations
    said = options.model_dump(exclude_none=True, exclude={"use"})
    per_attribute = dict(zip(task.records.names, score.per_attribute, strict=False))
    if known is not None:
        said["use"] = list(known.declared)
        per_attribute = {name: published_loss(value) for name, value in per_attribute.items()}
    return {**said, "value": task.published(score.value), "per_attribute": per_attribute}
