"""Text of a YAML file whose values are changed in place.

Comments, order and layout of everything else stay as they are: only the characters of the changed value are replaced.
ruamel.yaml says where those are, but does not write the text: of the 76 configurations of this project and of its pages
its round trip lays 12 out anew (aligned columns, lists over several lines), and a change of one role is one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import yaml
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from hybrid.base.config_files import ConfigSource, node_of, parse_yaml
from hybrid.base.errors import ConfigError

Path: TypeAlias = tuple[str, ...]
"""Keys from the top of a file down to a value."""


def value_at(content: Any, path: Sequence[str]) -> Any:
    """Value at a path of nested mappings; None where there is none."""
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


@dataclass(frozen=True)
class YamlDocument:
    """Text of one YAML mapping; every change gives a new document."""

    text: str
    """The document."""
    name: str = "config"
    """What messages call it."""

    @cached_property
    def _parsed(self) -> tuple[Any, ConfigSource]:
        return parse_yaml(self.text, self.name)

    @property
    def content(self) -> dict[str, Any]:
        """Values of the document, to be read only."""
        found = self._parsed[0]
        if not isinstance(found, dict):
            raise ConfigError(f"{self.name}: a mapping of keys to values was expected", hint="write key: value lines")
        return found

    def get(self, path: Path) -> Any:
        """Value at a path; None where there is none."""
        return value_at(self.content, path)

    def with_value(self, path: Path, value: Any) -> YamlDocument:
        """Document with another value, of YAML's types, at a path; sections on the way to it are made."""
        wanted = _copied(self.content)
        at = wanted
        for key in path[:-1]:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[path[-1]] = value
        return self._checked(_with_value(self.text, path, value), wanted, path)

    def without(self, path: Path) -> YamlDocument:
        """Document without the key at a path, and with its section."""
        wanted = _copied(self.content)
        at: Any = wanted
        for key in path[:-1]:
            at = at.get(key) if isinstance(at, dict) else None
        if not isinstance(at, dict) or path[-1] not in at:
            raise ConfigError(f"{self.name}: {'.'.join(path)} is not set", hint="see hybrid check --show")
        del at[path[-1]]
        return self._checked(_without(self.text, path), wanted, path)

    def line_of(self, path: Path) -> int | None:
        """Line of a key, from 0; None where it is not set."""
        line = self._parsed[1].lines.get(path)
        return None if line is None else line - 1

    def difference(self, other: YamlDocument) -> str:
        """Unified difference to another document; empty if none."""
        lines = self.text.splitlines(), other.text.splitlines()
        return "\n".join(difflib.unified_diff(*lines, "before", "after", lineterm="", n=1))

    def _checked(self, text: str, wanted: Mapping[str, Any], path: Path) -> YamlDocument:
        changed = YamlDocument(text, self.name)
        try:
            same = changed.content == wanted
        except ConfigError:
            same = False
        if not same:
            raise ConfigError(
                f"{self.name}: {'.'.join(path)} cannot be changed on its own", hint="edit the file by hand at this key"
            )
        return changed


def _copied(value: Any) -> Any:
    """Copy in which no section is shared by aliases."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def flow(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


def _with_value(text: str, path: Path, value: Any) -> str:
    key, node, rest = _nearest(text, path)
    for name in reversed(rest[1:]):
        value = {name: value}
    if not rest or not isinstance(node, MappingNode):
        start, end = _extent(text, key, node)
        said = flow(value if not rest else {rest[0]: value})
        return text[:start] + ("" if start < end else " ") + said + text[end:]
    entry = f"{flow(rest[0])}: {flow(value)}"
    if node.flow_style:
        at = int(node.end_mark.index) - 1
        return text[:at] + (", " if node.value else "") + entry + text[at:]
    indent = " " * int(node.value[0][0].start_mark.column)
    end = _line_end(text, _extent(text, key, node)[1])
    return f"{text[:end]}\n{indent}{entry}{text[end:]}"


def _without(text: str, path: Path) -> str:
    _, node, _ = _nearest(text, path[:-1])
    assert isinstance(node, MappingNode)
    at = next(i for i, (key, _) in enumerate(node.value) if key.value == path[-1])
    start, end = int(node.value[at][0].start_mark.index), _extent(text, *node.value[at])[1]
    if node.flow_style:
        if at + 1 < len(node.value):
            end = int(node.value[at + 1][0].start_mark.index)
        elif at:
            start = _extent(text, *node.value[at - 1])[1]
        return text[:start] + text[end:]
    if len(node.value) == 1:
        return text[:start] + "{}" + text[end:]
    first = text.rfind("\n", 0, start) + 1
    return text[:first] + text[_line_end(text, end) + 1 :]


def _nearest(text: str, path: Path) -> tuple[Node | None, Node, Sequence[str]]:
    key, node = None, node_of(text)
    assert node is not None
    for at, name in enumerate(path):
        below = [pair for pair in node.value if pair[0].value == name] if isinstance(node, MappingNode) else []
        if not below:
            return key, node, path[at:]
        key, node = below[0]
    return key, node, ()


def _extent(text: str, key: Node | None, node: Node) -> tuple[int, int]:
    """Extent of a value in the text, without comments after it; an empty value is right behind its key."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return start, _extent(text, *(last if isinstance(node, MappingNode) else (None, last)))[1]
    if start == end and key is not None:
        start = end = text.index(":", int(key.end_mark.index)) + 1
    return start, end


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
