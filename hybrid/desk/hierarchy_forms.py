"""Forms of the hierarchy screen as texts of hierarchy files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import yaml

from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import flow
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.doctor import labels_of, regrouped, with_level, without_level
from hybrid.hierarchy.files import parse_spec, text_of_rows, text_of_spec
from hybrid.hierarchy.from_data import by_frequency, calendar, equal_width, prefixes
from hybrid.hierarchy.spec import PERIODS, HierarchySpec
from hybrid.pipeline.starter.columns import starter_text
from hybrid.table import Column, Kind

MOST_LABELS = 200
"""Labels of one level that the screen has fields for."""
CSV, YAML = ".csv", ".yaml"
_KEPT = (8, 3)


@dataclass(frozen=True)
class Written:
    """Text of a form, and the command with the same effect.

    Parameters
    ----------
    text, suffix : str
        Of the hierarchy file.
    options : tuple of str
        ``KEY=VALUE`` for ``hybrid hierarchy set``. Empty where the text lists values, which no command may hold.
    """

    text: str
    suffix: str
    options: tuple[str, ...] = ()


def sorts_for(kind: Kind) -> tuple[str, ...]:
    """Sorts of hierarchy for a kind of column, the usual first."""
    if kind in (Kind.INTEGER, Kind.DECIMAL):
        return ("intervals", "groups")
    return ("dates", "groups") if kind.is_temporal else ("groups", "mask")


def rule_written(form: Mapping[str, str], sort: str) -> Written:
    """Description of intervals, dates or masks from the fields of their form.

    Raises
    ------
    HierarchyError
        The fields are no such description; all problems at once.
    ConfigError
        There is no form for this sort.
    """
    content = {"type": sort, **{key: value for key, value in _fields(form, sort).items() if value != ""}}
    spec = parse_spec(yaml.safe_dump(content, allow_unicode=True), "hierarchy")
    return _described(spec)


def restarted(sort: str, column: Column, values: pd.Series) -> Written:
    """Hierarchy of another sort to start from.

    Raises
    ------
    ConfigError
        The sort does not suit the column's kind.
    """
    if sort not in sorts_for(column.kind):
        raise ConfigError(
            f"{sort!r} does not suit {column.kind} columns", hint=f"one of: {', '.join(sorts_for(column.kind))}"
        )
    if sort == "groups":
        kept = tuple(n for n in _KEPT if n < values.nunique()) or (1,)
        return Written(starter_text(by_frequency(column, values, kept), column, values), CSV)
    if sort == "mask":
        return _described(prefixes(column, values))
    return _described(equal_width(column, values) if sort == "intervals" else calendar(values))


def groups_written(form: Mapping[str, str], rows: Rows, separator: str = ";") -> Written:
    """Labels after the action of the form.

    Other groups, one level more, one level less.

    Raises
    ------
    HierarchyError
        The level does not exist, or a label is empty.
    ConfigError
        The form is not of this hierarchy.
    """
    level = _number(form.get("level", ""))
    action = form.get("action", "")
    if action == "add_level":
        changed = with_level(rows, level)
    elif action == "remove_level":
        changed = without_level(rows, level)
    else:
        below = list(labels_of(rows, level - 1)) if 0 < level < len(rows[0]) else []
        given = [form.get(f"label-{at}") for at in range(len(below))]
        if not below or len(below) > MOST_LABELS or None in given:
            raise ConfigError("the form is not of this level", hint="open the page again")
        changed = regrouped(rows, level, {one: str(label) for one, label in zip(below, given, strict=True)})
    return Written(text_of_rows(changed, separator), CSV)


def _described(spec: HierarchySpec) -> Written:
    text = text_of_spec(spec)
    options = (f"{key}={flow(value)}" for key, value in yaml.safe_load(text).items())
    return Written(text, YAML, tuple(options))


def _fields(form: Mapping[str, str], sort: str) -> dict[str, Any]:
    if sort == "dates":
        return {"levels": [period for period in PERIODS if form.get(f"period-{period}")]}
    if sort == "mask":
        return {"keep": _numbers(form.get("keep", "")), "length": form.get("length", "")}
    if sort != "intervals":
        raise ConfigError(f"{sort!r} has no form", hint="open the page again")
    edges = [_numbers(line) for line in form.get("edges", "").splitlines() if line.strip()]
    if edges:
        return {"edges": edges}
    named = {"bottom": "bottom", "top": "top", "origin": "start"}
    ends = {key: form.get(field, "").strip() for key, field in named.items()}
    return {"widths": _numbers(form.get("widths", "")), **ends}


def _numbers(text: str) -> list[str]:
    """Numbers between commas, semicolons or spaces, as they were typed."""
    return [part for part in re.split(r"[,;\s]+", text) if part]


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text):
        raise ConfigError("the form names no level", hint="open the page again")
    return int(text)
