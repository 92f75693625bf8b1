"""MkDocs events: add generated pages and notebooks, and list the pages under ``developing/``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from notebooks import notebook_pages
from reference import pages

ROOT = Path(__file__).parents[2]
PICTURES = {
    "evidence/tabddpm_time.svg": "benchmarks/results/generators/tabddpm_time.svg",
    "evidence/transition_fronts.svg": "benchmarks/results/transition/fronts.svg",
}
"""Pictures that benchmarks write, by their path on the site."""


LOADED = re.compile(r"""<(?:script|img|iframe|source)[^>]*\bsrc=["']?(?:https?:)?//|<link[^>]*stylesheet[^>]*//""")
"""Something a page would load from another host."""
ROLE = re.compile(r":[a-z]+:(?=<code>)")
"""A Sphinx role in front of a name, as docstrings have it."""


def on_config(config: Any) -> Any:
    """Replace the navigation entry ``developing/`` by the pages of that folder, ``index.md`` first."""
    folder = Path(config.docs_dir) / "developing"
    found = sorted(folder.rglob("*.md"), key=lambda page: (page.parent != folder, page.name != "index.md", page))
    listed = [page.relative_to(config.docs_dir).as_posix() for page in found]
    for section in config.nav:
        for title, entry in section.items():
            if entry == "developing/":
                section[title] = listed
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add every page that ``reference.py`` and ``notebooks.py`` generate, and the pictures of the benchmarks."""
    for path, text in (pages() | notebook_pages()).items():
        files.append(File.generated(config, path, content=text))
    for path, source in PICTURES.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Drop the Sphinx roles that docstrings put before names."""
    return ROLE.sub("", html)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that loads anything from another host: the site works without network."""
    if found := LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from another host: {found[0]}")
    return output
