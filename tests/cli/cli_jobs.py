"""Edit a job's config, and the type of the command line as the tests call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.cli import main

Run = Callable[..., int]


def exit_code(*arguments: object) -> int:
    """Exit code of the command line in this process."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def edit(path: Path, **changes: Any) -> None:
    """Set dotted keys (``__`` for the dot) of a YAML file."""
    content = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        at = content
        *parents, last = key.split("__")
        for parent in parents:
            at = at[parent]
        at[last] = value
    path.write_text(yaml.safe_dump(content, sort_keys=False))
