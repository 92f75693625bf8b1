"""Dossier of a release or of a finished run, from the headings of ``headings.yaml`` and its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from hybrid.publication.criteria import QUESTIONS
from hybrid.publication.dossier import facts
from hybrid.publication.dossier.source import DossierSource, Fact, read_source

FACTS: dict[str, Callable[[DossierSource], Iterator[Fact]]] = {
    "singling_out": facts.about("singling out"),
    "linkability": facts.about("linkability"),
    "inference": facts.about("inference"),
    "membership": facts.about("membership"),
    "copies": facts.about("copies"),
    "other_rules": facts.other_rules,
    "attacks": facts.attacks,
    "not_attacked": facts.summary("not_attacked"),
    "rows": facts.rows,
    "made": facts.made,
    "in_short": facts.in_short(*QUESTIONS),
    "copies_in_short": facts.in_short("copies"),
    "inference_in_short": facts.in_short("inference"),
    "membership_in_short": facts.in_short("membership"),
    "uses": facts.uses,
    "source": facts.said("source", "Real records behind the table"),
    "control": facts.control,
    "planted": facts.planted,
    "identifiers": facts.identifiers,
    "columns": facts.columns,
    "kept_back": facts.kept_back,
    "model": facts.model,
    "processing": facts.processing,
    "size": facts.size,
    "anonymity": facts.anonymity,
    "described": facts.described,
    "guarantee": facts.guarantee,
    "decisions": facts.decisions,
    "roles": facts.roles,
    "signature": facts.signature,
    "open_rules": facts.open_rules,
    "unmet": facts.unmet,
    "budget": facts.terms,
    "unit": facts.unit,
    "account": facts.account,
}
"""Every fact by the name that ``headings.yaml`` gives it."""


TO_FILL = "____"
"""Empty box for what a person adds."""


@dataclass(frozen=True)
class Item:
    """One heading that a committee ticks: facts, and what a person must add."""

    heading: str
    facts: tuple[Fact, ...]
    person: str


@dataclass(frozen=True)
class Framework:
    """Headings of one framework."""

    title: str
    about: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Dossier:
    """Facts of a release or of a finished run, under headings."""

    title: str
    """Name of the data set, and of the release."""
    note: str
    """That no legal conclusion is stated."""
    head: tuple[Fact, ...]
    """What the table is, and what was decided."""
    parts: tuple[Framework, ...]
    """One per framework."""
    language: str | None = None
    """Language of the publisher's words (BCP 47), where it was stated."""

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        found = asdict(self)
        del found["language"]
        return found


def dossier_of(folder: Path) -> Dossier:
    """Write the dossier of a release's or a finished run's folder; a release is verified first."""
    source, table = read_source(folder), headings()
    return Dossier(
        title=f"{source.content['name']}, {_place(source)}",
        note=table["note"],
        head=tuple(dict.fromkeys(_head(source))),
        parts=tuple(_part(part, source) for part in table["parts"] if part.get("only") != "dp" or source.is_dp),
        language=source.language,
    )


@cache
def headings() -> Mapping[str, Any]:
    """Table of headings."""
    text = files(__package__).joinpath("headings.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def _place(source: DossierSource) -> str:
    return f"release {source.content['release']}" if source.is_release else "a run that is not published"


def _head(source: DossierSource) -> Iterator[Fact]:
    for name in (*(["budget"] if source.is_dp else []), "rows", "made", "decisions", "open_rules"):
        yield from FACTS[name](source)


def _part(part: Mapping[str, Any], source: DossierSource) -> Framework:
    items = (
        Item(
            item["heading"],
            tuple(dict.fromkeys(fact for name in item["facts"] for fact in FACTS[name](source))),
            item["person"],
        )
        for item in part["items"]
    )
    return Framework(part["title"], part["about"].strip(), tuple(items))
