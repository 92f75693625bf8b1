"""YAML files of users: read strictly, checked against option models, every mistake a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from hybrid.base.errors import ConfigError, Problem

Model = TypeVar("Model", bound=BaseModel)


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error instead of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping.

    Raises
    ------
    ConfigError
        The file is missing, no YAML, no mapping, or has a key twice; the line is named.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: the file does not exist", hint="check the path")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise ConfigError(f"{path}:{line} this is not valid YAML: {error.problem}", hint="correct the line") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigError(f"{path}: this is not valid YAML", hint="save it as UTF-8 text") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a mapping of keys to values was expected", hint="write key: value lines")
    return content


def validated(model: type[Model], content: Mapping[str, Any], source: str) -> Model:
    """The content of a file as an option model.

    Raises
    ------
    ConfigError
        All unknown keys (with the near ones) and wrong values at once, each under ``source`` and its dotted key.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigError(_problem(model, source, detail, content) for detail in error.errors()) from None


def _problem(root: type[BaseModel], source: str, detail: Any, content: Mapping[str, Any]) -> Problem:
    """One pydantic error as a sentence: where, what, and what would be right."""
    location = detail["loc"]
    path = [part for part in location if _is_key(part, location, content)]
    if detail["type"] in ("missing", "extra_forbidden") and (not path or path[-1] is not location[-1]):
        path.append(location[-1])
    where = ".".join(map(str, path))
    if detail["type"] == "extra_forbidden":
        known = _siblings(root, path[:-1])
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known keys here: {', '.join(known)}"
        return Problem(f"{source}: {where}: unknown key", hint)
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "union_tag_invalid":
        message = f"unknown choice; one of {detail['ctx']['expected_tags']} was expected"
    given = detail.get("input")
    found = f" (found {given!r})" if isinstance(given, str | int | float | bool) else ""
    return Problem(f"{source}: {where or 'the file'}: {message}{found}", "" if where else "correct the file")


def _is_key(part: Any, location: tuple[Any, ...], content: Mapping[str, Any]) -> bool:
    """Whether a part of a pydantic location is a key of the file (and not the tag of a union)."""
    at: Any = content
    for step in location:
        if step is part:
            break
        if isinstance(at, Mapping | list) and step in (at if isinstance(at, Mapping) else range(len(at))):
            at = at[step]
    return (isinstance(at, Mapping) and part in at) or isinstance(at, list)


def _siblings(root: type[BaseModel], path: list[Any]) -> list[str]:
    """Names of the options at a place of the file."""
    model: type[BaseModel] | None = root
    for part in path:
        if model is not None and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation)
    return sorted(model.model_fields) if model is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first option model in a type such as ``Model | None`` or ``tuple[Model, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
