"""Pages of the site from notebooks, whose cells are run while the site is built."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
_INTRODUCTION = (
    "This page is a notebook of the repository, `docs/notebooks/{name}`; its cells were run while the page was built.\n"
)


@dataclass(frozen=True)
class Shown:
    """What a cell shows: printed text, and the value of its last expression."""

    printed: str
    html: str
    text: str


def run_notebook(path: Path) -> Iterator[tuple[str, str, Shown | None]]:
    """Kind, source and output of each cell of a notebook, run in order in an empty folder.

    Raises
    ------
    Exception
        Whatever a cell raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                source = "".join(cell["source"])
                shown = _run(source, names) if cell["cell_type"] == "code" else None
                yield cell["cell_type"], source, shown
        finally:
            os.chdir(before)


def _run(source: str, names: dict[str, Any]) -> Shown:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if value is None:
        return Shown(printed.getvalue(), "", "")
    html = getattr(value, "_repr_html_", None)
    return Shown(printed.getvalue(), "" if html is None else str(html() or ""), repr(value))


def page_of(path: Path) -> str:
    """Markdown of a notebook with the outputs of its cells."""
    parts = []
    for number, (kind, source, shown) in enumerate(run_notebook(path)):
        if kind == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [] if shown is None else _outputs(shown)
        if number == 0:
            parts.append(_INTRODUCTION.format(name=path.name))
    return "\n\n".join(parts) + "\n"


def _outputs(shown: Shown) -> Iterator[str]:
    if shown.printed:
        yield f"```text\n{shown.printed.rstrip()}\n```"
    if shown.html:
        yield '<div class="output">' + " ".join(line.strip() for line in shown.html.splitlines()) + "</div>"
    elif shown.text:
        yield f"```text\n{textwrap.shorten(shown.text, 2_000) if len(shown.text) > 2_000 else shown.text}\n```"


def notebook_pages() -> dict[str, str]:
    """Every notebook as a page, by its path on the site; runs all of them."""
    return {f"notebooks/{path.stem}.md": page_of(path) for path in sorted(FOLDER.glob("*.ipynb"))}


def sources() -> dict[str, str]:
    """Every notebook as a page without outputs; runs none."""
    found = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
        parts = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in texts]
        found[f"notebooks/{path.stem}.md"] = "\n\n".join(parts) + "\n"
    return found
