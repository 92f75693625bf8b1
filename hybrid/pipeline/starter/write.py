"""Write a guessed configuration, whose YAML explains itself, and its hierarchies beside it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.tradeoff import rule_costs
from hybrid.base.atomic import write_text
from hybrid.base.errors import HybridError
from hybrid.base.sentence import sentence
from hybrid.base.yaml_document import flow
from hybrid.constraints.discover import Suggestion
from hybrid.evaluation.options import COMPARED_ROWS
from hybrid.hierarchy.load import load_hierarchies
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.pipeline.level_costs import LevelWords, rule_sentences
from hybrid.pipeline.starter.column_names import ages_among
from hybrid.pipeline.starter.columns import GuessedColumn, hierarchy_paths, in_memory, order_column, write_hierarchies
from hybrid.pipeline.starter.comments import remark, review
from hybrid.pipeline.starter.config_text import (
    SUPPRESSION_LIMIT,
    UNLISTED,
    AskedTable,
    Extent,
    column_lines,
    constraint_lines,
    description_lines,
    drawing_lines,
    head_lines,
    labels_line,
    policy_lines,
    publish_lines,
    questions,
    reading_lines,
    refuse_existing,
    roles_lines,
    secrets_of,
    split_lines,
    targets_of,
)
from hybrid.table import Role, Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.file_formats import is_csv
from hybrid.table.holders import sharing
from hybrid.table.persons import n_persons, with_persons
from hybrid.table.typed_table import DATA_FRAME

K = 5
"""Class size that is proposed."""
_MOST_SEARCHED = 200_000
"""Combinations of levels up to which the cost of a rule is searched."""
_MOST_TRIED = 3
"""Sensitive columns, at most, whose rule is priced."""
NOTHING_ANONYMIZED = (
    "Nothing is anonymized without a quasi-identifier. Once a column above has that role, remove the #:"
)
COMPARED = "Only comparisons need a measured original and a second model: half of the time of a large table."
REPEATING = "this identifier repeats; k, control and attacks count persons; none: each row is one"
ORDERED = "the rows of a person are ordered by it"
ORDERED_LATER = "the rows of a person are ordered by it, once it is decided"


@dataclass(frozen=True)
class GuessedRule:
    """A privacy model beside k.

    ``model`` is as ``anonymize.models`` takes it; ``against`` says why it is not proposed, empty for a rule that is. No
    cell value.
    """

    model: dict[str, Any]
    against: str = ""


def guess_rules(table: Table, columns: Sequence[GuessedColumn]) -> tuple[GuessedRule, ...]:
    """Guess distinct 2-diversity of the first sensitive column that has it for little; those tried are named.

    The table has the persons of its rows, if several are of one. At most one that is proposed, the last. Not proposed
    are rules on a column whose commonest value more than 1 - 1 / k of the rows have, since a class of k people then
    has, on average, fewer than one with another value; rules that cost clearly more than k alone; and rules whose cost
    is not known.
    """
    if not any(one.role.role is Role.QUASI_IDENTIFIER for one in columns):
        return ()
    found: list[GuessedRule] = []
    sensitive = [
        one for one in columns if one.role.role is Role.SENSITIVE and table.frame[one.column.name].nunique() > 1
    ]
    for one in sensitive[:_MOST_TRIED]:
        model = {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": one.column.name}
        found.append(GuessedRule(model, _too_common(table, one) or _too_costly(table, columns, model)))
        if not found[-1].against:
            break
    return tuple(found)


def _too_common(table: Table, one: GuessedColumn) -> str:
    share = float(table.frame[one.column.name].value_counts(normalize=True, dropna=False).iloc[0])
    if share <= 1 - 1 / K:
        return ""
    return sentence("init.rule.common", n=round(100 * share), k=K)


def _too_costly(table: Table, columns: Sequence[GuessedColumn], model: dict[str, Any]) -> str:
    options = AnonymizeOptions.model_validate({"k": K, "suppression_limit": SUPPRESSION_LIMIT, "models": [model]})
    wanted = [one for one in columns if one.hierarchy is not None or one.column.name == model["attribute"]]
    names = [one.column.name for one in wanted]
    schema = Schema(tuple(replace(table.schema[one.column.name], role=one.role.role) for one in wanted))
    known = Table(table.frame[names], schema, table.named_persons)
    sources = {
        one.column.name: in_memory(one.hierarchy, table.schema[one.column.name], table.frame[one.column.name])
        for one in wanted
        if one.hierarchy is not None
    }
    try:
        hierarchies = load_hierarchies(known, sources)
        if (combinations := prod(one.n_levels for one in hierarchies.values())) > _MOST_SEARCHED:
            return sentence("init.rule.unknown", n=combinations)
        costs = rule_costs(known, hierarchies, options)
    except HybridError:
        return "its cost could not be searched: hybrid check says why"
    return next(rule_sentences(costs, LevelWords.named(hierarchies, ages_among(hierarchies))), "")


class Guess(ABC):
    """A configuration to start from, and the hierarchies that it names. Holds the tables: private."""

    @abstractmethod
    def _tables(self, folder: Path) -> Iterator[tuple[Table, Sequence[GuessedColumn], dict[str, Path]]]:
        """Tables with their columns, and the files of these columns' hierarchies below a folder."""

    @abstractmethod
    def _lines(self, folder: Path) -> Iterator[str]: ...

    def to_yaml(self, folder: Path) -> str:
        """The configuration's text, for a file in ``folder``; comments are in the language of ``HYBRID_LANGUAGE``."""
        return "\n".join(self._lines(folder)) + "\n"

    def write(self, config: Path, force: bool = False) -> tuple[Path, ...]:
        """Write the configuration and a folder ``hierarchies`` beside it; gives the files, the configuration last.

        Where a file exists and ``force`` is not set, nothing is written.
        """
        tables = list(self._tables(config.parent))
        targets = [path for *_, paths in tables for path in paths.values()]
        refuse_existing((*targets, config), force)
        for one in tables:
            write_hierarchies(*one)
        write_text(config, self.to_yaml(config.parent))
        return (*targets, config)


def anonymize_lines(extent: Extent, rules: Sequence[GuessedRule] = ()) -> Iterator[str]:
    """The sections ``anonymize`` and ``transition``."""
    yield "anonymize:"
    shared = remark("every combination of labels is shared by at least so many people")
    yield f"  k: {K}                      {shared}"
    for rule in rules:
        text = f"models: [{flow(rule.model)}]"
        if rule.against:
            yield f"  {review(sentence('init.rule.against', reason=rule.against))}"
        yield f"  # {text}" if rule.against else f"  {text}   # review"
    yield f"  {labels_line(extent)}"
    yield ""
    yield "transition: {method: tree, order: pre}"


@dataclass(frozen=True)
class GuessedConfig(Guess):
    """A configuration of one table.

    ``data`` is None for a table in memory; ``columns`` are in the order of the table; ``notes`` say what to think about
    first, without cell values; ``person`` is the identifier of persons with several rows, None where no identifier
    repeats; ``constraints`` no row breaks, or few; of the ``rules`` at most one is proposed, the others cost too much;
    ``descriptions`` are what the file says about its columns.
    """

    data: Path | None
    options: DataOptions
    table: Table
    columns: tuple[GuessedColumn, ...]
    notes: tuple[str, ...]
    person: str | None = None
    constraints: tuple[Suggestion, ...] = ()
    rules: tuple[GuessedRule, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def order(self) -> str | None:
        """Date or time that differs between the rows of a person; None without one, or without persons.

        The first of those with fewest gaps.
        """
        return None if self.person is None else order_column(with_persons(self.table, [self.person]), self.columns)

    @property
    def described(self) -> dict[str, HierarchySpec]:
        """Descriptions of the hierarchies, by the relative paths that the config names."""
        specs = {guessed.column.name: guessed.hierarchy for guessed in self.columns}
        found = {path.as_posix(): specs[name] for name, path in self._paths(Path()).items()}
        return {path: spec for path, spec in found.items() if spec is not None}

    def _paths(self, folder: Path) -> dict[str, Path]:
        return hierarchy_paths(self.columns, folder / "hierarchies")

    def _tables(self, folder: Path) -> Iterator[tuple[Table, Sequence[GuessedColumn], dict[str, Path]]]:
        yield self.table, self.columns, self._paths(folder)

    def _lines(self, folder: Path) -> Iterator[str]:
        quasi = [guessed for guessed in self.columns if guessed.role.role is Role.QUASI_IDENTIFIER]
        yield from head_lines("run" if self.data is None else self.data.stem)
        yield from self._data_lines(folder)
        yield ""
        yield from roles_lines()
        if self.constraints:
            yield ""
            yield from constraint_lines(self.constraints)
        extent = self.extent
        yield from split_lines("records", extent)
        yield ""
        if not quasi:
            yield remark(NOTHING_ANONYMIZED)
        yield from (line if quasi else f"# {line}".rstrip() for line in anonymize_lines(extent, self.rules))
        yield from drawing_lines(extent)
        yield from self._evaluate_lines()
        yield from policy_lines()
        yield from publish_lines()
        yield from description_lines(self.columns, self.descriptions)

    @property
    def extent(self) -> Extent:
        """Number of people that the table is about, and the share of those alike."""
        table = self.table if self.person is None else with_persons(self.table, [self.person])
        learned = [guessed.column.name for guessed in self.columns if guessed.role.role.is_learned]
        return Extent(n_persons(table), float(np.mean(sharing(table, learned) > 1)) if learned else 0.0)

    def _evaluate_lines(self) -> Iterator[str]:
        named = {"targets": targets_of(self.columns), "secrets": secrets_of(self.table, self.columns)}
        few = len(self.table) <= COMPARED_ROWS
        if not few:
            yield remark(COMPARED)
        yield from map(review, questions([AskedTable(self.table, self.columns, self.data)]))
        if not few:
            yield "evaluate: {original: false, baseline: false}"
        if perhaps := {key: names for key, names in named.items() if names}:
            once = f"# evaluate: {flow(perhaps)}   {remark('once you have decided')}"
            yield once if few else f"#   {flow(perhaps)}"

    def _data_lines(self, folder: Path) -> Iterator[str]:
        options = self.options
        yield "data:"
        if self.data is None:
            yield f"  {remark('A table in memory: every run is given it, as in hybrid.run(config, data=frame).')}"
        yield f"  path: {flow(DATA_FRAME if self.data is None else os.path.relpath(self.data, folder))}"
        text = self.data is not None and is_csv(self.data.name)
        yield from (f"  {line}" for line in reading_lines(options, is_csv=text))
        yield f"  unlisted: error           {remark(UNLISTED)}"
        if self.person is not None:
            yield f"  {review(REPEATING)}"
            yield f"  person: {flow(self.person)}"
        order = self.order
        if order is not None:
            yield f"  order: {flow(order)}   {review(ORDERED_LATER if self._is_undecided(order) else ORDERED)}"
        yield "  columns:"
        written = {name: path.relative_to(folder).as_posix() for name, path in self._paths(folder).items()}
        yield from (f"    {line}" for line in column_lines(self.columns, written))

    def _is_undecided(self, name: str) -> bool:
        return any(one.column.name == name and one.role.role is Role.UNDECIDED for one in self.columns)
