"""Anonymization by one technique or several, verified."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.anonymize_table import anonymize
from hybrid.anonymize.models.measure import fewest_persons, k_reached
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import K_ANONYMITY, NO_PROMISE, AnonymizationResult, AnonymizedTable
from hybrid.anonymize.risk import household_summary, population_risk_summary
from hybrid.anonymize.techniques.loss import column_loss, masking_measures, published_loss
from hybrid.anonymize.techniques.protocol import LabelTechnique, Masked, MaskingTask, ValueTechnique
from hybrid.anonymize.techniques.registry import Assigned, assigned, generalizes, gives_k
from hybrid.anonymize.verify_table import broken_models, lost_persons, models_reached
from hybrid.base.arrays import Leaves, Nodes
from hybrid.base.errors import DataError, VerificationError
from hybrid.base.keys import group_rows, pack_small
from hybrid.base.progress import Progress, silent
from hybrid.base.sentence import sentence
from hybrid.hierarchy import Hierarchy, LabelTable, flat_hierarchy
from hybrid.table import Role, Schema, Table
from hybrid.table.holders import n_with_key


def anonymize_in_steps(
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    rng: np.random.Generator,
    progress: Progress = silent,
    population: Table | None = None,
    by_pycanon: bool = True,
) -> AnonymizedTable:
    """Anonymize a table by the techniques of its options, verified; arguments as of :func:`hybrid.anonymize.anonymize`.

    A quasi-identifier with masked values has the "labels" of a flat hierarchy: each value is a label of its own, so
    that ``single`` restores it as it is.
    """
    if generalizes(options):
        return anonymize(train, hierarchies, options, progress, population, by_pycanon)
    started = time.perf_counter()
    steps = assigned(options, train.schema)
    if not len(train):
        raise DataError("there are no records to anonymize", hint="check the input file and the split")
    run = _StepRun(train, hierarchies, options, steps)
    labelled = run.labelled(progress)
    kept = train if labelled is None else labelled.originals
    masked: list[Masked] = []
    for (technique, columns), stream in zip(steps, rng.spawn(len(steps)), strict=True):
        if isinstance(technique, ValueTechnique):
            task = MaskingTask(kept, columns, options.k, options.models if run.gives_k else (), hierarchies)
            found = technique.mask(task, stream)
            _verify_values(technique, task, found)
            masked.append(found)
        else:
            masked.append(Masked({}))
    return run.assembled(kept, labelled, masked, time.perf_counter() - started)


def _verify_values(technique: ValueTechnique, task: MaskingTask, found: Masked) -> None:
    """Refuse masked values of other rows or columns, or with broken properties."""
    failures: list[str] = [] if set(found.values) == set(task.columns) else ["other columns were masked"]
    for name, values in found.values.items():
        if len(values) != len(task.table):
            failures.append(sentence("broken.rows", column=name))
    failures += [] if failures else technique.failures(task, found)
    if failures:
        raise VerificationError(
            sentence("broken.technique", technique=technique.name, found=tuple(failures)),
            hint="do not release it; please report this",
        )


@dataclass(frozen=True)
class _StepRun:
    train: Table
    hierarchies: Mapping[str, Hierarchy]
    options: AnonymizeOptions
    steps: Assigned

    @property
    def gives_k(self) -> bool:
        return gives_k(self.steps, self.train.schema.quasi_identifiers)

    def labelled(self, progress: Progress) -> AnonymizedTable | None:
        """Result of the search on its columns; None without such a step."""
        technique, columns = self.steps[0]
        if not isinstance(technique, LabelTechnique):
            return None
        part = replace(self.train, schema=_known_only(self.train.schema, columns))
        options = technique.search(self.options, columns)
        return anonymize(part, self.hierarchies, options, progress)

    def assembled(
        self, kept: Table, labelled: AnonymizedTable | None, masked: Sequence[Masked], seconds: float
    ) -> AnonymizedTable:
        schema, values = self.train.schema, {name: one for part in masked for name, one in part.values.items()}
        originals = replace(kept, schema=schema)
        used: dict[str, Hierarchy] = {}
        nodes: list[Nodes] = []
        leaves: list[Leaves] = []
        for name in schema.quasi_identifiers:
            if labelled is not None and name in labelled.quasi_identifiers:
                at = labelled.quasi_identifiers.index(name)
                used[name] = labelled.hierarchies[name]
                nodes.append(labelled.labels.nodes[:, at])
                leaves.append(labelled.leaves[:, at])
            else:
                used[name] = flat = flat_hierarchy(schema[name], [originals.frame[name], values[name]])
                nodes.append(flat.node_of[flat.encode(values[name]), 0])
                leaves.append(flat.encode(originals.frame[name]))
        rest = originals.only([name for name in schema.names if name not in used])
        labels = LabelTable(np.column_stack(nodes).astype(np.int32), rest, schema, used)
        packed = ((column, used[name].n_nodes) for name, column in zip(used, nodes, strict=True))
        class_ids, _ = group_rows(*pack_small(packed, len(originals)))
        suppressed = self.train.take(np.zeros(0, dtype=np.int64)) if labelled is None else labelled.suppressed
        found = AnonymizedTable(
            labels=labels,
            originals=originals,
            leaves=np.column_stack(leaves).astype(np.int32),
            class_ids=class_ids,
            suppressed=replace(suppressed, schema=schema),
            result=self._result(kept, labelled, masked, values, seconds),
        )
        return self._verified(found, values)

    def _result(
        self,
        kept: Table,
        labelled: AnonymizedTable | None,
        masked: Sequence[Masked],
        values: dict[str, pd.Series],
        seconds: float,
    ) -> AnonymizationResult:
        """Aggregates without class sizes, which the verification fills in."""
        options, train = self.options, self.train
        losses = {} if labelled is None else dict(labelled.result.loss["per_attribute"])
        losses |= {name: published_loss(column_loss(kept, one, name)) for name, one in values.items()}
        searched = None if labelled is None or values else labelled.result
        loss = {
            "name": "masking",
            "value": published_loss(float(np.mean(list(losses.values())))),
            "per_attribute": losses,
        }
        return AnonymizationResult(
            engine=options.engine if labelled is not None else "none",
            k=options.k if self.gives_k else 1,
            models=tuple(model.model_dump(exclude_none=True) for model in options.models),
            levels=None if labelled is None else labelled.result.levels,
            loss=loss if searched is None else searched.loss,
            suppressed=0 if labelled is None else len(labelled.suppressed),
            records=len(train),
            classes=0,
            min_class_size=0,
            optimal=False if searched is None else searched.optimal,
            gap=0.0 if searched is None else searched.gap,
            seconds=seconds,
            rows_are_persons=train.rows_are_persons,
            persons=n_with_key(train.persons),
            steps=tuple(self._step(at, one) for at, one in enumerate(masked)),
        )

    def _step(self, at: int, masked: Masked) -> dict[str, Any]:
        technique, columns = self.steps[at]
        covers = technique.k_anonymous and set(self.train.schema.quasi_identifiers) <= set(columns)
        return {
            "options": technique.model_dump(mode="json"),
            "columns": list(columns),
            "promise": K_ANONYMITY if covers else NO_PROMISE,
            "facts": dict(masked.facts),
        }

    def _verified(self, found: AnonymizedTable, values: Mapping[str, pd.Series]) -> AnonymizedTable:
        """Measure groups and models again, by pandas, on masked values and labels."""
        names, persons, options = found.quasi_identifiers, found.originals.persons, self.options
        columns = {
            name: values[name].astype(object) if name in values else found.labels.nodes[:, at]
            for at, name in enumerate(names)
        }
        frame = pd.concat([pd.DataFrame(columns), found.labels.rest.frame], axis=1)
        frame = options.with_households(frame, found.originals)
        failures: list[str] = []
        if len(found) + len(found.suppressed) != len(self.train):
            failures.append("records were lost or added")
        smallest = k_reached(frame, names)
        fewest = fewest_persons(frame, names, persons)
        checked: dict[str, Any] = {}
        if self.gives_k:
            k = fewest
            reached = models_reached(frame, names, options, self.hierarchies, self.train, persons)
            failures += [] if k >= options.k else [sentence("broken.group", n=k, k=options.k)]
            failures += broken_models(reached)
            checked = {"k": k, "models": [{"name": one.name, "reached": one.reached} for one in reached]}
        if failures:
            raise VerificationError(
                sentence("broken.table", found=tuple(failures)),
                hint="do not release it; please report this",
            )
        result = replace(
            found.result,
            classes=int(found.class_ids.max(initial=-1)) + 1,
            min_class_size=smallest,
            min_class_persons=fewest,
            suppressed_persons=lost_persons(found),
            known_rows=options.known_rows,
            verified=checked,
            information_loss=masking_measures(found.originals, values, found.class_ids, len(found.suppressed)),
            population_risk=population_risk_summary(found) if self.gives_k and not values else None,
            household=household_summary(found) if self.gives_k else None,
        )
        return replace(found, result=result)


def _known_only(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema with these quasi-identifiers alone; others become insensitive."""
    return Schema(
        tuple(
            replace(column, role=Role.INSENSITIVE)
            if column.role is Role.QUASI_IDENTIFIER and column.name not in columns
            else column
            for column in schema
        )
    )
