"""What is not German on a page that should be: English words, numbers and days, outside of data, code and keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd

CODE = {"code", "pre", "style", "script", "textarea"}
LABELS = ("aria-label", "title", "alt", "data-label", "placeholder")
ENGLISH = re.compile(
    r"\b(the|of|and|is|are|were|be|been|not|no|with|by|from|for|that|this|these|which|who|whom|whose|have|had|than|more"
    r"|most|less|least|each|every|any|other|others|their|they|them|it|its|what|where|when|how|why|if|at|to|as|into"
    r"|between|within|without|above|below|over|under|only|can|cannot|could|may|must|should|would|there|here|then|too"
    r"|people|persons|rows?|values?|tables?|columns?|records?|shares?|numbers?|real|chance|attacker|released"
    r"|missing|equal|found|left|out)\b",
    re.IGNORECASE,
)
"""Words of English sentences that no German one has; "was", "in", "so", "an" and "die" are both."""
ENGLISH_NUMBER = re.compile(r"(?<![\w.,])(0\.\d+|\d+\.\d{1,2}|\d+(,\d{3}){2,})(?!\w|[.,]\w)")
ENGLISH_DAY = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")
VERSIONS = re.compile(r"<h3>Versionen</h3>.*?</table>", re.DOTALL)
ROWS = re.compile(r'<section id="rows">.*?</section>|<div class="long".*?</div>', re.DOTALL)
"""Values as they are released, and those that a comparison embeds."""
KEYS = re.compile(
    r"`[^`]*`|\{\w+: [^}]*\}|[“„»\"][^”“«\"]*[”“«\"]"
    r"|\b[\w.*]+: \[?[\w, -]+\]?|\b\w+(_\w+)+\b|\b[A-Za-z_]\w*(\.\w+)+\b|/\S+|--\w+"
    r"|\b(?:Gleichung|Gl\.|Abbildung|Apache-)[ \d]\S*"
)
"""Code, quoted names, settings, keys and paths."""


class _Texts(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._within = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within += tag in CODE
        self.found += [value for name, value in attrs if name in LABELS and value]

    def handle_endtag(self, tag: str) -> None:
        self._within -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.found.append(data)


def texts(page: str) -> list[str]:
    """Texts of a page and of its labels, without code and without rows of data."""
    return [" ".join(text.split()) for text in _Texts(VERSIONS.sub("", ROWS.sub("", page))).found if text.strip()]


def not_german(page: str, data: Iterable[str] = ()) -> list[str]:
    """Texts with an English word, number or day beside what the data says."""
    known = sorted({one for one in data if re.search(r"[A-Za-z]{2}", one)}, key=len, reverse=True)
    of_data = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in known) or r"(?!)")
    return [
        text
        for text in texts(page)
        for said in [KEYS.sub(" ", of_data.sub(" ", text))]
        if not (text.endswith("…") and any(one.startswith(text[:-1]) for one in known))
        if ENGLISH.search(said) or ENGLISH_NUMBER.search(said) or ENGLISH_DAY.search(said)
    ]


def words_of(folder: Path) -> set[str]:
    """Names of columns and values of the text files in a folder, and of its hierarchies."""
    found: set[str] = set()
    for path in folder.rglob("*.csv"):
        text = path.read_text(encoding="utf-8")
        frame = pd.read_csv(path, sep=";" if text.count(";") > text.count(",") else ",", dtype=str, header=None)
        cells = frame.fillna("").to_numpy().ravel()
        found.update(cell for cell in cells if cell and not cell.replace(".", "").replace("-", "").isdigit())
    return found
