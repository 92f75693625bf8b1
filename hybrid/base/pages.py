"""Pages of the documentation that every installation has: start, guides and concepts, as text.

The wheel has them in ``hybrid/pages``; in a clone they are under ``docs``.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from hybrid.base.errors import ConfigError

FOLDERS = ("start", "guides", "concepts")
"""Folders of the documentation that come with the package."""


def folder() -> Path:
    """Folder with the pages of this installation."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "pages"
    return packaged if packaged.is_dir() else package.parent / "docs"


def topics() -> dict[str, str]:
    """Title of each page, by its topic, such as ``guides/nights``; in the order of the folders."""
    found = {}
    for name in FOLDERS:
        for path in sorted((folder() / name).glob("*.md")):
            found[f"{name}/{path.stem}"] = _title(path.read_text(encoding="utf-8"))
    return found


def page(topic: str) -> str:
    """Text of a page."""
    known = list(topics())
    asked = topic.strip().lower().removesuffix(".md").removeprefix("docs/").replace(" ", "-")
    found = [one for one in known if asked in (one, one.partition("/")[2])]
    if not found:
        near = difflib.get_close_matches(asked, [*known, *(one.partition("/")[2] for one in known)], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "hybrid help lists the topics"
        raise ConfigError(f"there is no topic {topic!r}", hint=hint)
    return (folder() / f"{found[0]}.md").read_text(encoding="utf-8")


def command_of(path: str) -> str:
    """Command that prints a page, given below ``docs/``: ``start/install.md`` is ``hybrid help install``."""
    return f"hybrid help {Path(path).stem}"


def _title(text: str) -> str:
    return next((line.removeprefix("# ").strip() for line in text.splitlines() if line.startswith("# ")), "")
