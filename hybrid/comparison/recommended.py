"""The recommended configuration as a file to run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hybrid.pipeline.config import RunConfig
from hybrid.table.files import is_url

HEADER = """\
# Recommended by hybrid compare: configuration {name} of the plan {plan}. The ground: comparison.html beside this file.
# It is the best of several on one table, so its numbers there are a little too good: a run of its own measures it anew.
# No seed: then nobody can repeat the draws.
"""


def recommended_yaml(plan: str, name: str, config: RunConfig, out: Path) -> str:
    """What was set in a configuration, as YAML with paths that are relative to ``out``."""
    content = config.model_dump(mode="json", exclude_unset=True)
    content.pop("seed", None)
    for section, key in _paths(content):
        path = Path(section[key]).expanduser()
        if not is_url(section[key]) and not path.is_absolute():
            section[key] = os.path.relpath(config.path(section[key]).resolve(), out.resolve())
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return HEADER.format(name=name, plan=plan) + text


def _paths(content: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a configuration names files, of the places that are set."""
    deliver = (content.get("nightly") or {}).get("deliver") or {}
    places = [
        (content["data"], "path"),
        *((column, "hierarchy") for column in content["data"].get("columns", {}).values()),
        (content.get("anonymize") or {}, "population"),
        (content, "policy"),
        (deliver, "folder"),
    ]
    return (place for place in places if place[0].get(place[1]))
