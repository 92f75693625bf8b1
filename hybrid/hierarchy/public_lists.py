"""Public lists of values that come with the package, with their groups.

``countries``: ISO 3166-1 codes and common English names, by the regions and continents of the United Nations (M49).
``us_states``: postal codes and names, by the divisions and regions of the Census Bureau. ``icd10``: the three-character
categories of the International Classification of Diseases, 10th revision, by its blocks and chapters.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files

from hybrid.hierarchy.spec import FORMS, ListName, ListSpec
from hybrid.hierarchy.tree import ROOT

Rows = list[tuple[str, ...]]


_GROUPS: dict[ListName, tuple[str, ...]] = {
    "countries": ("region", "continent"),
    "us_states": ("division", "region"),
    "icd10": ("block", "chapter"),
}
"""Columns of a list's file that hold the labels of levels 1, 2, ..."""
_NAMED: dict[ListName, re.Pattern[str]] = {
    "countries": re.compile(r"countr|nation|citizen|birth_?place|land$|pays|pais", re.IGNORECASE),
    "us_states": re.compile(r"state", re.IGNORECASE),
    "icd10": re.compile(r"icd|diag|cause", re.IGNORECASE),
}
_ENOUGH = 20
"""Different values from which on a list is recognized whatever the column is called."""
_FEWEST = 4
"""Different values below which a list is recognized only by the column's name."""


def list_rows(spec: ListSpec, texts: Collection[str] = ()) -> Rows:
    """Labels of every level for each value of a list: its text, then its label on levels 1, 2, ...

    A name that ``texts`` of a table write in another way, such as ``United-States``, is listed as the table writes it.
    """
    form = spec.form or FORMS[spec.list][0]
    written: dict[str, list[str]] = {}
    for text in sorted(texts):
        written.setdefault(_plain(text) if form == "name" else text, []).append(text)
    rows = []
    for entry in _entries(spec.list):
        known = {_plain(name): None for name in _names(entry)} if form == "name" else {entry[form]: None}
        spelled = [text for key in known for text in written.get(key, ())] or [entry[form]]
        rows += [(text, *(entry[group] for group in _GROUPS[spec.list]), ROOT) for text in spelled]
    return rows


def list_of(column: str, texts: Sequence[str]) -> ListSpec | None:
    """The list that holds all values of a column; None without one.

    The name of the column decides where the values are few or fit several lists.
    """
    found = [spec for spec in _specs() if _covers(spec, texts)]
    named = [spec for spec in found if _NAMED[spec.list].search(column)]
    if named:
        return named[0]
    enough = _FEWEST if found and found[0].form == "name" else _ENOUGH
    return found[0] if len({spec.list for spec in found}) == 1 and len(texts) >= enough else None


def _specs() -> Iterator[ListSpec]:
    for name, forms in FORMS.items():
        yield from (ListSpec.model_validate({"list": name, "form": form}) for form in forms)


def _covers(spec: ListSpec, texts: Sequence[str]) -> bool:
    listed = {row[0] for row in list_rows(spec, texts)}
    return bool(texts) and listed.issuperset(texts)


@cache
def _entries(name: ListName) -> tuple[dict[str, str], ...]:
    text = files("hybrid.hierarchy").joinpath("lists", f"{name}.csv").read_text(encoding="utf-8")
    lines = tuple(csv.DictReader(text.splitlines()))
    return tuple(code for line in lines for code in _codes(line)) if name == "icd10" else lines


def _codes(line: dict[str, str]) -> Iterator[dict[str, str]]:
    """Categories of a block, such as X85 to Y09."""
    first, last = line["first"], line["last"]
    block = first if first == last else f"{first}-{last}"
    for letter in map(chr, range(ord(first[0]), ord(last[0]) + 1)):
        for number in range(100):
            if first <= (code := f"{letter}{number:02d}") <= last:
                yield {"code": code, "block": block, "chapter": line["chapter"]}


def _names(entry: dict[str, str]) -> list[str]:
    return [entry["name"], *filter(None, entry.get("other_names", "").split("|"))]


def _plain(name: str) -> str:
    """Letters and digits of a name, without accents, case and article."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().casefold()
    words = [word for word in re.split(r"[^a-z0-9]+", plain) if word not in ("", "the", "and", "of")]
    return " ".join(words)
