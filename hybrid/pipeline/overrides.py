"""Other values for some keys of a configuration's content."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

_CHOICES = {
    "transition.method": {"order"},
    "synthesize.generator": {"rows", "where", "filter", "isolate", "time_limit", "memory_limit"},
}
"""Keys that decide which options a section has, and the options that it has anyway."""


def overridden(content: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Copy of a configuration's content with other values for dotted keys.

    Another ``transition.method`` or ``synthesize.generator`` leaves behind the options that belong to the one before.
    """
    changed = copy.deepcopy(dict(content))
    for key in sorted(overrides, key=lambda key: key not in _CHOICES):
        _override(changed, key, overrides[key])
    return changed


def _override(content: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    at = content
    for parent in parents:
        if not isinstance(at.get(parent), dict):
            at[parent] = {}
        at = at[parent]
    if key in _CHOICES and at.get(last, value) != value:
        for option in set(at) - _CHOICES[key]:
            del at[option]
    at[last] = value
