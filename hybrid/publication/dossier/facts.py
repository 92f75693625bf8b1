"""Every fact of a dossier by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hybrid.publication.criteria import QUESTIONS
from hybrid.publication.dossier import checked, told
from hybrid.publication.dossier.stated import Fact, Stated

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
