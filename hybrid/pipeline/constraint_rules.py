"""Constraints of a configuration in the stages of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from hybrid.base.arrays import Rows
from hybrid.constraints import Rules, restore_held
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.pipeline.config import RunConfig
from hybrid.protect import ProtectOptions
from hybrid.protect.group_values import possible_names
from hybrid.table import Kind, Table
from hybrid.table.persons import person_groups
from hybrid.transition.protocol import FittedTransition, Restored


def least_persons(config: RunConfig) -> int:
    """Persons who must hold a combination that may come out: as many as must hold a single value."""
    return (config.protection or ProtectOptions()).least_holders(config.k)


def rule_inputs(config: RunConfig) -> tuple[Any, ...]:
    """Everything that decides the rules beside the training records; nothing without constraints."""
    return (config.constraints, least_persons(config)) if config.constraints else ()


def fitted_rules(config: RunConfig, train: Table, hierarchies: Mapping[str, Hierarchy] | None = None) -> Rules:
    """The rules of a configuration, fitted to its original training records.

    They accept the names of groups of the hierarchies of quasi-identifiers.
    """
    groups = {name: possible_names(tree) for name, tree in (hierarchies or {}).items() if tree.kind is Kind.CATEGORICAL}
    return Rules.fit(config.constraints, train, least_persons(config), groups)


def restored_by(
    fitted: FittedTransition,
    labels: LabelTable,
    rules: Rules,
    rng: np.random.Generator,
    finish: Callable[[Table, LabelTable], Table] = lambda table, labels: table,  # noqa: ARG005
    follows: Mapping[str, str] = MappingProxyType({}),
) -> Restored:
    """Restore labels, again where a row breaks a rule.

    Without rules, the labels are restored once. ``finish`` makes all rows of persons true per person, once they are
    restored from these labels; ``follows`` has columns without labels whose values ``finish`` counts from another one,
    and that one.
    """
    if not rules:
        restored = fitted.restore(labels, rng)
        return replace(restored, table=finish(restored.table, labels))
    counts: Counter[str] = Counter()

    def restore(rows: Rows, copies: int) -> Table:
        part = _copied(labels.take(rows), copies)
        found = fitted.restore(part, rng)
        counts.update(found.fallbacks)
        return finish(found.table, part)

    table, redrawn = restore_held(restore, rules, len(labels), labels.quasi_identifiers, follows)
    return Restored(table, dict(counts), redrawn)


def _copied(labels: LabelTable, copies: int) -> LabelTable:
    if copies == 1:
        return labels
    copied = labels.take(np.tile(np.arange(len(labels)), copies))
    if labels.rest.rows_are_persons:
        return copied
    groups = person_groups(labels.rest.persons)
    persons = (groups + (groups.max() + 1) * np.arange(copies)[:, None]).ravel()
    return replace(copied, rest=replace(copied.rest, named_persons=persons))
