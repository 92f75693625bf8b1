"""Write a guessed configuration and its hierarchies.

The YAML explains itself; the hierarchies lie beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, Problem
from hybrid.constraints import Constraint
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.save import save_hierarchy, save_spec
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.pipeline.starter.hierarchies import is_list
from hybrid.pipeline.starter.roles import GuessedRole
from hybrid.table import Column, Role, Table
from hybrid.table.options import DataOptions
from hybrid.table.persons import constant_within, with_persons

_ADVICE = {
    "intervals": "widths are guessed from the data; labels that people know (10-year groups, legal ages) read better",
    "dates": "periods from fine to coarse: day, month, quarter, year, decade",
    "mask": "keep: how many leading characters each level shows",
}


@dataclass(frozen=True)
class GuessedColumn:
    """A column, its role and, for a quasi-identifier, its hierarchy."""

    column: Column
    role: GuessedRole
    hierarchy: HierarchySpec | None


@dataclass(frozen=True)
class GuessedConfig:
    """A configuration to start from. Holds the table: private.

    Parameters
    ----------
    data : Path
        The file.
    options : DataOptions
        How to read it.
    table : Table
        Its content.
    columns : tuple of GuessedColumn
        One per column of the table, in order.
    notes : tuple of str
        What to think about first; no cell values.
    person : str or None
        The identifier of persons with several rows; None where no identifier repeats.
    constraints : tuple of Constraint
        Constraints that no row breaks, for review.
    """

    data: Path
    options: DataOptions
    table: Table
    columns: tuple[GuessedColumn, ...]
    notes: tuple[str, ...]
    person: str | None = None
    constraints: tuple[Constraint, ...] = ()

    @property
    def order(self) -> str | None:
        """Date or time that differs between the rows of a person.

        The first of those with fewest gaps; None without such a column, or without persons.
        """
        if self.person is None:
            return None
        roles = (Role.IDENTIFIER, Role.UNDECIDED)
        dates = [g.column.name for g in self.columns if g.column.kind.is_temporal and g.role.role not in roles]
        fixed = constant_within(with_persons(self.table, [self.person]), dates)
        gaps = {name: int(self.table.frame[name].isna().sum()) for name in dates if name not in fixed}
        return min(gaps, key=gaps.__getitem__, default=None)

    def write(self, config: Path, force: bool = False) -> tuple[Path, ...]:
        """Write the config and a folder ``hierarchies`` beside it.

        Parameters
        ----------
        config : Path
            Where the config goes.
        force : bool
            Replace files that exist.

        Returns
        -------
        tuple of Path
            What was written; the config last.

        Raises
        ------
        ConfigError
            A file exists and ``force`` is not set; nothing was written.
        OutputError
            The folder is not writable or the disk is full.
        """
        targets = self._hierarchy_paths(config.parent)
        exist = [path for path in (*targets.values(), config) if path.exists()]
        if exist and not force:
            raise ConfigError(
                Problem(f"{path}: the file exists", "choose another --out, or replace it with --force")
                for path in exist
            )
        for guessed in self.columns:
            if guessed.hierarchy is not None:
                self._write_hierarchy(guessed.column, guessed.hierarchy, targets[guessed.column.name])
        write_text(config, self.to_yaml(config.parent))
        return (*targets.values(), config)

    def to_yaml(self, folder: Path) -> str:
        """The config's text, for a file in ``folder``."""
        return "\n".join(self._lines(folder)) + "\n"

    def _hierarchy_paths(self, folder: Path) -> dict[str, Path]:
        """File names made of column names.

        They are safe on every system, and different even where only case differs.
        """
        paths: dict[str, Path] = {}
        taken: set[str] = set()
        for guessed in self.columns:
            if guessed.hierarchy is None:
                continue
            stem = re.sub(r"[^\w.-]+", "_", guessed.column.name).strip("._") or "column"
            number = 1
            while (name := stem if number == 1 else f"{stem}_{number}").lower() in taken:
                number += 1
            taken.add(name.lower())
            suffix = ".csv" if is_list(guessed.hierarchy) else ".yaml"
            paths[guessed.column.name] = folder / "hierarchies" / f"{name}{suffix}"
        return paths

    def _write_hierarchy(self, column: Column, spec: HierarchySpec, path: Path) -> None:
        values = self.table.frame[column.name]
        if is_list(spec):
            save_hierarchy(build_hierarchy(spec, column, values), path)
        else:
            save_spec(spec, path, comment=f"review: {_ADVICE[spec.type]}")

    def _lines(self, folder: Path) -> Iterator[str]:
        quasi = [guessed for guessed in self.columns if guessed.role.role is Role.QUASI_IDENTIFIER]
        yield "# Guessed by `hybrid init`. Decide every line marked review, then run `hybrid check` on this file."
        yield "# `hybrid check --show` prints every option there is, with its default."
        yield "version: 1"
        yield f"name: {_scalar(re.sub(r'[^A-Za-z0-9._-]+', '-', self.data.stem).strip('-._') or 'run')}"
        yield "# seed: 7                 makes every draw repeatable; leave it out for a real release"
        yield ""
        yield from self._data_lines(folder)
        yield ""
        yield from self._roles_lines()
        yield from self._constraint_lines()
        yield ""
        yield "split:"
        yield "  control: 0.3              # records no generator sees; every attack is measured against them"
        yield "  stable: true              # a record keeps its side from release to release"
        if quasi:
            yield ""
            yield from self._anonymize_lines()
        yield ""
        yield "synthesize: {generator: cart, rows: same}"
        yield ""
        yield from self._evaluate_lines()
        yield "policy: default             # review: `hybrid policies` lists the others"
        yield ""
        yield from self._publish_lines()

    def _publish_lines(self) -> Iterator[str]:
        yield "# For the readers of a release (README.md, croissant.json, datapackage.json, dcat.jsonld):"
        yield "# publish:"
        yield "#   title: TITLE"
        yield "#   description: What the table is about."
        yield "#   license: CC-BY-4.0      # an SPDX identifier, or the address of the terms"
        yield "#   contact: {name: NAME, email: name@example.org}"
        yield "#   columns:"
        yield f"#     {_scalar(self.columns[0].column.name)}: {{description: MEANING, unit: UNIT}}"

    def _constraint_lines(self) -> Iterator[str]:
        if self.constraints:
            yield ""
            yield "# review: no row of the file breaks these. Remove the # of those that every released row must keep:"
            yield "# constraints:"
            yield from (f"#   - {constraint.text}" for constraint in self.constraints)

    def _roles_lines(self) -> Iterator[str]:
        yield "# A release needs a person who has decided every role above (none may be undecided) and signs here;"
        yield "# the certificate shows the name. Until then `hybrid run` works, for trying."
        yield "# roles: {decided_by: NAME, date: YYYY-MM-DD}"

    def _evaluate_lines(self) -> Iterator[str]:
        targets = [guessed.column.name for guessed in self.columns if guessed.role.target]
        secrets = [guessed.column.name for guessed in self.columns if guessed.role.role is Role.SENSITIVE]
        named = {key: names for key, names in (("targets", targets), ("secrets", secrets)) if names}
        if named:
            yield f"evaluate: {_scalar(named)}   # review: what users predict, what attackers want to learn"

    def _data_lines(self, folder: Path) -> Iterator[str]:
        options = self.options
        yield "data:"
        yield f"  path: {_scalar(os.path.relpath(self.data, folder))}"
        if self.data.suffix.lower() not in (".parquet", ".pq"):
            yield f"  separator: {_scalar(options.separator)}            # review"
            if options.decimal != ".":
                yield f"  decimal: {_scalar(options.decimal)}              # review"
            if options.encoding != "utf-8":
                yield f"  encoding: {options.encoding}          # review"
        yield f'  missing: {_scalar(list(options.missing))}   # review: texts that mean "missing"'
        yield "  unlisted: error           # a new column must be given a role before anything runs"
        if self.person is not None:
            yield "  # review: this identifier repeats; k, control and attacks count persons; none: each row is one"
            yield f"  person: {_scalar(self.person)}"
        order = self.order
        if order is not None:
            yield f"  order: {_scalar(order)}   # review: the rows of a person are ordered by it"
        yield "  columns:"
        paths = self._hierarchy_paths(folder)
        for guessed in self.columns:
            column = guessed.column
            what: dict[str, Any] = {"role": str(guessed.role.role), "kind": str(column.kind)}
            if column.kind.is_temporal and column.format.arrow_type is None:
                what["format"] = column.format.date_format
            if column.name in paths:
                what["hierarchy"] = paths[column.name].relative_to(folder).as_posix()
            if guessed.role.target:
                what["target"] = True
            yield f"    # review: {guessed.role.reason}"
            yield f"    {_scalar(column.name)}: {_scalar(what)}"

    def _anonymize_lines(self) -> Iterator[str]:
        yield "anonymize:"
        yield "  k: 5                      # every combination of labels is shared by at least 5 people"
        sensitive = next((guessed.column.name for guessed in self.columns if self._can_be_diverse(guessed)), None)
        if sensitive is not None:
            model = {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": sensitive}
            yield f"  models: [{_scalar(model)}]   # review"
        yield "  suppression_limit: 0.05   # review: share of records that may be left out to get there"
        yield ""
        yield "transition: {method: tree, order: pre}"

    def _can_be_diverse(self, guessed: GuessedColumn) -> bool:
        return guessed.role.role is Role.SENSITIVE and self.table.frame[guessed.column.name].nunique() >= 2


def _scalar(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")
