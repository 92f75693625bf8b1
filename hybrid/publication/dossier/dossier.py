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
from hybrid.publication.dossier import checked, told
from hybrid.publication.dossier.stated import Fact, Stated, read_stated

FACTS: dict[str, Callable[[Stated], Iterator[Fact]]] = {
    "singling_out": checked.about("singling out"),
    "linkability": checked.about("linkability"),
    "inference": checked.about("inference"),
    "membership": checked.about("membership"),
    "copies": checked.about("copies"),
    "other_rules": checked.other_rules,
    "attacks": checked.attacks,
    "not_attacked": told.sentences("not_attacked"),
    "rows": told.rows,
    "made": told.made,
    "in_short": checked.in_short(*QUESTIONS),
    "copies_in_short": checked.in_short("copies"),
    "inference_in_short": checked.in_short("inference"),
    "membership_in_short": checked.in_short("membership"),
    "uses": told.uses,
    "source": told.said("source", "Real records behind the table"),
    "control": checked.control,
    "planted": checked.planted,
    "identifiers": told.identifiers,
    "columns": told.columns,
    "kept_back": told.kept_back,
    "model": checked.model,
    "processing": told.processing,
    "size": told.sentences("table"),
    "anonymity": told.anonymity,
    "described": told.described,
    "guarantee": told.guarantee,
    "decisions": told.decisions,
    "roles": told.roles,
    "signature": told.signature,
    "open_rules": checked.open_rules,
    "unmet": checked.unmet,
    "budget": checked.terms,
    "unit": told.unit,
    "account": told.account,
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
class Part:
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
    parts: tuple[Part, ...]
    """One per framework."""
    language: str | None = None
    """Language of the publisher's words (BCP 47), where it was stated."""

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        found = asdict(self)
        del found["language"]
        return found


def dossier_of(folder: Path) -> Dossier:
    """Write the dossier of a release's or a finished run's folder; a release is verified first.

    Raises
    ------
    ConfigError, DataError, VerificationError
        As :func:`hybrid.publication.dossier.stated.read_stated`.
    """
    stated, table = read_stated(folder), headings()
    return Dossier(
        title=f"{stated.content['name']}, {_place(stated)}",
        note=table["note"],
        head=tuple(dict.fromkeys(_head(stated))),
        parts=tuple(_part(part, stated) for part in table["parts"] if part.get("only") != "dp" or stated.is_dp),
        language=stated.language,
    )


@cache
def headings() -> Mapping[str, Any]:
    """Table of headings."""
    text = files(__package__).joinpath("headings.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def _place(stated: Stated) -> str:
    return f"release {stated.content['release']}" if stated.is_release else "a run that is not published"


def _head(stated: Stated) -> Iterator[Fact]:
    for name in (*(["budget"] if stated.is_dp else []), "rows", "made", "decisions", "open_rules"):
        yield from FACTS[name](stated)


def _part(part: Mapping[str, Any], stated: Stated) -> Part:
    items = (
        Item(
            item["heading"],
            tuple(dict.fromkeys(fact for name in item["facts"] for fact in FACTS[name](stated))),
            item["person"],
        )
        for item in part["items"]
    )
    return Part(part["title"], part["about"].strip(), tuple(items))
