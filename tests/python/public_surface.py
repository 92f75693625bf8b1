"""List of the public names of the package, with their parameters and members."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hybrid

KEPT = Path(__file__).parent / "public_names.txt"


def names() -> list[str]:
    """A line for each public name; of modules the names in them."""
    return [line for name in dir(hybrid) if name != "__version__" for line in _lines(name, getattr(hybrid, name))]


def _lines(name: str, found: Any) -> Iterator[str]:
    if inspect.ismodule(found) and not callable(found):
        inside = getattr(found, "__all__", None) or dir(found)
        if name in ("metrics",):
            inside = [one for one in inside if one in ("Score", "dcr_share", "tstr", "total_variation")]
        yield from (f"{name}.{one}" for one in sorted(inside))
        return
    if inspect.isclass(found):
        yield name
        members = getattr(found, "LISTED", None) or [one for one in vars(found) if not one.startswith("_")]
        if name in ("Synthesis", "Anonymized", "Audit", "Anonymizer", "Draft"):
            yield from (f"{name}.{one}" for one in sorted(members))
        return
    parameters = ", ".join(inspect.signature(found).parameters)
    yield f"{name}({parameters})"


if __name__ == "__main__":
    KEPT.write_text("\n".join(names()) + "\n", encoding="utf-8")
