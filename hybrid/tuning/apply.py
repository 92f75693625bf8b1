"""Chosen values in the text of a configuration, with the reason as a comment; all other text stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybrid.base.yaml_document import Path, YamlDocument
from hybrid.pipeline.overrides import overridden

MARK = "# tune: "
"""Begins the comment; an earlier one is replaced."""
_WIDTH = 110


def applied(document: YamlDocument, values: Mapping[str, Any], reason: str) -> YamlDocument:
    """The document with chosen values, and the reason above the first of them.

    Parameters
    ----------
    document : YamlDocument
        Text of the configuration that was tuned.
    values : mapping of str to object
        Values of dotted keys.
    reason : str
        One line.

    Returns
    -------
    YamlDocument
        The same one without values.

    Raises
    ------
    ConfigError
        A value cannot be changed on its own.
    """
    if not values:
        return document
    wanted = overridden(document.content, values)
    changed = document
    for key in values:
        path = tuple(key.split("."))
        for old in _dropped(changed.get(path[:-1]), _at(wanted, path[:-1])):
            changed = changed.without((*path[:-1], old))
    for key, value in values.items():
        changed = changed.with_value(tuple(key.split(".")), value)
    first = min(line for key in values if (line := changed.line_of(tuple(key.split(".")))) is not None)
    lines = changed.text.splitlines(keepends=True)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    said = [f"{indent}{MARK}{part}\n" for part in _wrapped(reason)]
    before, after = lines[:first], lines[first:]
    text = "".join([*(one for one in before if not _ours(one)), *said, *(one for one in after if not _ours(one))])
    return YamlDocument(text, document.name)


def _ours(line: str) -> bool:
    return line.lstrip().startswith(MARK)


def _dropped(before: Any, after: Any) -> Iterator[str]:
    """Options that belong to another method or generator."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from (name for name in before if name not in after)


def _at(content: Any, path: Path) -> Any:
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _wrapped(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if len(line) + len(word) >= _WIDTH:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line
