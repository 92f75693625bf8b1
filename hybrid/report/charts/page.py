"""Charts outside of a report, in a notebook or a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from hybrid.base.atomic import write_text

LEGEND = Markup("<p>Bars: real. Diamonds and lines: synthetic.</p>")


@dataclass(frozen=True)
class Figure:
    """Charts with their titles, in the look of the report.

    Parameters
    ----------
    charts : tuple of (str, Markup)
        Title and SVG of each; an empty SVG says that too few records are there to show any.
    """

    charts: tuple[tuple[str, Markup], ...]
    text: Markup = LEGEND
    """What stands before them."""

    def __repr__(self) -> str:
        return f"Figure: {', '.join(title for title, _ in self.charts)}; .write(FILE) keeps it as HTML"

    def _repr_html_(self) -> str:
        cards = "".join(
            f"<figure><figcaption>{escape(title)}</figcaption>{chart or 'too few records'}</figure>"
            for title, chart in self.charts
        )
        return f'<div class="hybrid-figure"><style>{_style()}</style>{self.text}{cards}</div>'

    def write(self, path: Path | str) -> None:
        """Write the charts as one HTML file that loads nothing.

        Raises
        ------
        OutputError
            The folder is not writable or the disk is full.
        """
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Charts</title>'
        write_text(Path(path), f"{head}<body>{self._repr_html_()}</body></html>")


@cache
def _style() -> str:
    """Rules of the report about charts, for one element only."""
    lines = files("hybrid.report").joinpath("templates/style.css").read_text(encoding="utf-8").splitlines()
    colours = "\n".join(lines[: lines.index("* { box-sizing: border-box; }")]).replace(":root", ".hybrid-figure")
    rules = "\n".join(line for line in lines if line.startswith("svg"))
    layout = "display: flex; flex-wrap: wrap; gap: 1rem; figure { margin: 0; width: 22rem; } p { width: 100%; }"
    return f"{colours}\n.hybrid-figure {{ {layout}\n{rules} }}"
