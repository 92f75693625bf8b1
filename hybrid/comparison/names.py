"""Names of configurations: what differs between them, in a few words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LONGEST_PART, LONGEST_FOLDER = 40, 80
"""Most characters of one level in a name, and of a name in a folder's."""
AS_THE_BASE = "as the base"
"""Name of a configuration where nothing differs."""
ITSELF = ("method", "generator", "model", "type")
"""Keys whose value says by itself what it is: tree, cart."""
SAID = {
    ("transition.order", "pre"): "before",
    ("transition.order", "post"): "after",
    ("sample.method", "none"): "no sample",
    ("synthesize.generator", "none"): "no generator",
}
"""Levels that are said otherwise than ``key value``; before and after are about the generator."""


def named(combinations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of combinations of a plan: the levels of the factors that differ, in the plan's order.

    Parameters
    ----------
    combinations : sequence of mapping
        Level by factor, in the plan's order; a factor that is not there is as the base has it. A level is a value of
        the key that the factor is called after, or the name of a level.

    Returns
    -------
    list of str
        "k 10, tree, cart, before". All different, also as names of folders; where two were the same, the later one has
        a number.
    """
    factors = list(dict.fromkeys(factor for each in combinations for factor in each))
    levels = {factor: {repr(each[factor]) if factor in each else "" for each in combinations} for factor in factors}
    differing = [factor for factor in factors if len(levels[factor]) > 1]
    said = ([_part(factor, each[factor]) for factor in differing if factor in each] for each in combinations)
    return list(_unique([", ".join(parts) or AS_THE_BASE for parts in said]))


def folder_name(name: str) -> str:
    """A configuration's name as that of a folder: letters, digits and hyphens."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:LONGEST_FOLDER].strip("-.") or "configuration"


def _part(factor: str, level: Any) -> str:
    key = factor.rpartition(".")[2].replace("_", " ")
    if (factor, level) in ((known, value) for known, value in SAID):
        return SAID[factor, level]
    text = _text(level)
    if level is None:
        text = f"no {key}"
    elif not isinstance(level, str | Mapping) or (("." in factor) and key not in ITSELF):
        text = f"{key} {text}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_PART else f"{text[: LONGEST_PART - 1].rstrip()}…"


def _text(level: Any) -> str:
    """A level in a few words; of a mapping the keys with their values, the one that names it first and alone."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, Mapping):
        return " ".join(_text(value) if key in ITSELF else f"{key} {_text(value)}" for key, value in level.items())
    if isinstance(level, list | tuple):
        return " ".join(_text(value) for value in level)
    return f"{level:g}" if isinstance(level, float) else str(level)


def _unique(names: Sequence[str]) -> Iterator[str]:
    taken: set[str] = set()
    for name in names:
        found, again = name, 1
        while folder_name(found).lower() in taken:
            again += 1
            found = f"{again}: {name}"
        taken.add(folder_name(found).lower())
        yield found
