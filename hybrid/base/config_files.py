"""YAML files of users.

Strict reading, validation against option models, messages with line numbers.

Files are read as YAML 1.1 (``off`` and ``no`` are false, ``010`` is 8), in which ``y`` and ``n`` stay text.
"""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.resolver import VersionedResolver

from hybrid.base.errors import ConfigError, HybridError, Problem
from hybrid.base.sentence import Fact, sentence

Model = TypeVar("Model", bound=BaseModel)

DEEPEST = 64
"""Mappings and lists within each other, beyond which a file is refused."""
LARGEST = 1_000_000
"""Values of a file, with aliases expanded, beyond which it is refused."""
_UNREADABLE = (YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)
"""What the parser raises on texts that are no YAML, beside its own errors with a line."""
_LEADING_KEY = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True)
class ConfigSource:
    """Origin of options: name of a file, and line of each key."""

    name: str
    """As it is shown in messages."""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict, repr=False)
    """Line, from 1, of each key and list item, by its path."""
    changed: tuple[tuple[str, ...], ...] = ()
    """Paths of values that do not come from the file."""

    def at(self, path: Sequence[object]) -> str:
        """Name and line of a key, or of the nearest section around it that has a line, else the name alone."""
        keys = tuple(map(str, path))
        if any(keys[: len(other)] == other for other in self.changed):
            return self.name
        line = next((self.lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in self.lines), None)
        return self.name if line is None else f"{self.name}, line {line}"

    def at_key_of(self, message: str) -> str:
        """Name and line of the dotted key with which a message begins."""
        found = _LEADING_KEY.match(message)
        return self.at(found.group().split(".")) if found else self.name

    def with_changes(self, keys: Iterable[str]) -> ConfigSource:
        """Source with overridden dotted keys, which have no line."""
        return replace(self, changed=(*self.changed, *(tuple(key.split(".")) for key in keys)))


Origins: TypeAlias = dict[tuple[str, ...], tuple[ConfigSource, tuple[str, ...]]]
"""For paths of merged options: the source of the value there, and its path in it."""


@dataclass(frozen=True)
class MergedSource(ConfigSource):
    """Origin of options that were merged from several files."""

    origins: Origins = field(default_factory=dict, repr=False)

    def at(self, path: Sequence[object]) -> str:
        keys = tuple(map(str, path))
        for n in range(len(keys), 0, -1):
            if keys[:n] in self.origins:
                source, own = self.origins[keys[:n]]
                return source.at((*own, *keys[n:]))
        return super().at(path)


class YamlMapping(dict[str, Any]):
    """The mapping that a file holds, with its source."""

    def __init__(self, content: Mapping[str, Any], source: ConfigSource) -> None:
        super().__init__(content)
        self.source = source


class _Resolver(VersionedResolver):
    """YAML 1.1 as most programs read it: ``y``, ``n``, ``1e5`` and ``14:30`` are texts."""

    processing_version = (1, 1)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        name = str(tag).rpartition(":")[2]
        text = (name == "bool" and len(value) == 1) or (name == "float" and "." not in value)
        text = text or (name in ("int", "float") and ":" in value)
        return self.DEFAULT_SCALAR_TAG if kind is ScalarNode and implicit[0] and text else tag


class _TextResolver(VersionedResolver):
    """Every scalar is text: ``no`` is Norway, ``01`` keeps its zero."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        return self.DEFAULT_SCALAR_TAG if kind is ScalarNode else super().resolve(kind, value, implicit)


def read_yaml(path: Path) -> YamlMapping:
    """Read a YAML file that holds a mapping."""
    if not path.is_file():
        raise ConfigError(f"{path}: the file does not exist", hint="check the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: this is not valid YAML: not text in UTF-8", hint="save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})", hint="check the file") from None
    content, source = parse_yaml(text, str(path))
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a mapping of keys to values was expected", hint="write key: value lines")
    return YamlMapping(content, source)


def parse_yaml(
    text: str, name: str, *, as_text: bool = False, error: type[HybridError] = ConfigError
) -> tuple[Any, ConfigSource]:
    """Content of one YAML document, and the line of each key.

    ``as_text``: every scalar stays text, and keys may be cell values, so that messages do not name them. A text that is
    no YAML, too deep or too large, or that gives keys twice is an ``error``.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Resolver = _TextResolver if as_text else _Resolver
    yaml.allow_duplicate_keys = True  # found by _Lines, all at once
    try:
        constructor, _ = yaml.get_constructor_parser(io.StringIO(text))
        node = constructor.composer.get_single_node()
        lines = _Lines(node)
        if not lines.too_large and not lines.twice:
            return (None if node is None else constructor.construct_document(node)), ConfigSource(name, lines.of)
    except MarkedYAMLError as problem:
        where = f"{name}, line {problem.problem_mark.line + 1}" if problem.problem_mark else name
        raise error(f"{where}: this is not valid YAML: {problem.problem}", hint="correct the line") from None
    except RecursionError:
        raise error(_too_deep(name)) from None
    except _UNREADABLE:
        hint = "save it as UTF-8 text, with plain key: value lines and without directives (%)"
        raise error(f"{name}: this is not valid YAML", hint=hint) from None
    if lines.too_large:
        raise error(_too_deep(name))
    raise error(_given_twice(name, key, first, second, as_text) for key, first, second in lines.twice)


def node_of(text: str) -> Node | None:
    """Nodes, with their places, of a text that :func:`parse_yaml` accepts; None if it is empty."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Resolver = _Resolver
    constructor, _ = yaml.get_constructor_parser(io.StringIO(text))
    return constructor.composer.get_single_node()  # type: ignore[no-any-return]


class _Lines:
    """Line of each key and list item of a document, keys given twice, and whether it is too deep or too large."""

    def __init__(self, root: Node | None) -> None:
        self.of: dict[tuple[str, ...], int] = {}
        self.twice: list[tuple[str, int, int]] = []
        self.too_large = False
        todo: list[tuple[tuple[str, ...], Node]] = [] if root is None else [((), root)]
        seen: set[int] = set()
        n_values = 0
        while todo and not self.too_large:
            path, node = todo.pop()
            if isinstance(node, MappingNode) and id(node) not in seen:
                self.twice += _twice(node)
            seen.add(id(node))
            for key, line, child in _children(node):
                self.of[*path, key] = line
                todo.append(((*path, key), child))
            n_values += 1
            self.too_large = len(path) > DEEPEST or n_values > LARGEST
        self.twice.sort(key=lambda found: found[2])


def _children(node: Node) -> Iterator[tuple[str, int, Node]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield str(key.value), key.start_mark.line + 1, value
    elif isinstance(node, SequenceNode):
        for at, item in enumerate(node.value):
            yield str(at), item.start_mark.line + 1, item


def _twice(node: MappingNode) -> Iterator[tuple[str, int, int]]:
    first: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            continue
        line, name = key.start_mark.line + 1, (str(key.tag), key.value)
        if name in first:
            yield key.value, first[name], line
        first.setdefault(name, line)


def _given_twice(name: str, key: str, first: int, second: int, private: bool) -> Problem:
    where: dict[str, Fact] = {"file": name, "line": second, "first": first}
    if private:
        return Problem(sentence("config.twice.private", **where), "remove one of the two", values=key)
    return Problem(sentence("config.twice", key=key, **where), "remove one of the two")


def _too_deep(name: str) -> Problem:
    return Problem(
        f"{name}: the file is nested deeper than {DEEPEST} levels, or has more than {LARGEST:,} values",
        "write it flatter, with fewer aliases",
    )


def validated(model: type[Model], content: Mapping[str, Any], source: ConfigSource | str = "") -> Model:
    """Check the content of a file against an option model; ``source`` is where it was read, if it does not know."""
    if isinstance(content, YamlMapping):
        source = content.source
    elif isinstance(source, str):
        source = ConfigSource(source)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigError(_problem(model, source, detail, content) for detail in error.errors()) from None


_EXPECTED = {
    "missing": "this key is missing",
    "union_tag_invalid": "unknown choice; one of {expected_tags} was expected",
    "literal_error": "{expected} was expected",
    "enum": "{expected} was expected",
    "greater_than_equal": "at least {ge} was expected",
    "greater_than": "more than {gt} was expected",
    "less_than_equal": "at most {le} was expected",
    "less_than": "less than {lt} was expected",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number was expected"),
    **dict.fromkeys(("float_parsing", "float_type", "decimal_parsing", "decimal_type"), "a number was expected"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false was expected"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list was expected"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "a mapping of keys to values was expected"),
    "string_type": "a text was expected",
}
"""What was expected, by the type of a pydantic error; others keep its own words."""


def expected(detail: Any) -> str:
    """Words on what was expected where pydantic found an error (an entry of ``errors()``)."""
    words = _EXPECTED.get(detail["type"])
    return words.format(**detail.get("ctx", {})) if words else str(detail["msg"]).removeprefix("Value error, ")


def _problem(root: type[BaseModel], source: ConfigSource, detail: Any, content: Mapping[str, Any]) -> Problem:
    """One pydantic error as a sentence: where, what, and what would be right."""
    location = detail["loc"]
    path = [part for part in location if _is_key(part, location, content)]
    if detail["type"] in ("missing", "extra_forbidden") and (not path or path[-1] is not location[-1]):
        path.append(location[-1])
    where = ".".join(map(str, path))
    file = source.at(path)
    if detail["type"] == "extra_forbidden":
        known = _siblings(root, path[:-1])
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known keys here: {', '.join(known)}"
        return Problem(f"{file}: {where}: unknown key", hint)
    message = expected(detail)
    given = detail.get("input")
    found = f" (found {given!r})" if isinstance(given, str | int | float | bool) else ""
    return Problem(f"{file}: {where or 'the file'}: {message}{found}", "" if where else "correct the file")


def _is_key(part: Any, location: tuple[Any, ...], content: Mapping[str, Any]) -> bool:
    """True if a part of a pydantic location is a key; the other parts are tags of unions."""
    at: Any = content
    for step in location:
        if step is part:
            break
        if isinstance(at, Mapping | list) and step in (at if isinstance(at, Mapping) else range(len(at))):
            at = at[step]
    return (isinstance(at, Mapping) and part in at) or isinstance(at, list)


def _siblings(root: type[BaseModel], path: list[Any]) -> list[str]:
    model: type[BaseModel] | None = root
    for part in path:
        if model is not None and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation)
    return sorted(model.model_fields) if model is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """First option model in a type, such as an optional one or a tuple of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
