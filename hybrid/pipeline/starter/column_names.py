"""Column names that denote a person's number, name, address or contact, in seven languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import yaml

Identity = Literal["number", "name", "contact", "address"]
"""What an identifier is: a number of a person, contract or visit; a name; e-mail, phone and the like; an address."""
Phrase = tuple[str, ...]
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SPELLED = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "œ": "oe", "Œ": "OE", "æ": "ae", "ł": "l", "º": " ", "ª": " "})
_NUMERO = re.compile(r"(?i)\bn\s?[°º]")
_SHORTEST = 2
"""Letters of the shortest word that is found inside a word written without a gap."""


@dataclass(frozen=True)
class NameVocabulary:
    """The words of ``names.yaml``.

    Phrases of ``identifiers`` identify a person wherever they occur in a name, words of ``alone`` if there is no other.
    ``known_outside`` are quasi-identifiers (ages among them), ``secrets`` sensitive columns, ``lasting`` traits that a
    person keeps, ``personal`` traits of persons, ``opinions`` what people think or are marked with, ``nominal`` what
    else has a name rather than a size. Names in ``known_outside_alone`` and ``targets_alone`` are whole ones.
    """

    fillers: frozenset[str]
    describing: frozenset[str]
    people: frozenset[str]
    households: frozenset[str]
    staff: frozenset[str]
    events: frozenset[str]
    numbers: frozenset[str]
    counting: frozenset[str]
    name_words: frozenset[str]
    name_qualifiers: frozenset[str]
    identifiers: Mapping[Identity, frozenset[Phrase]]
    alone: Mapping[Identity, frozenset[str]]
    ages: frozenset[Phrase]
    known_outside: frozenset[Phrase]
    known_outside_alone: frozenset[Phrase]
    secrets: frozenset[Phrase]
    targets: frozenset[Phrase]
    targets_alone: frozenset[Phrase]
    sampling_weights: frozenset[Phrase]
    opinions: frozenset[Phrase]
    deaths: frozenset[Phrase]
    lasting: frozenset[Phrase]
    places: frozenset[Phrase]
    personal: frozenset[Phrase]
    nominal: frozenset[Phrase]
    code_words: frozenset[Phrase]
    first_names: frozenset[str]

    def split(self, name: str) -> list[str]:
        """Split a column name into words.

        The words are in lower case, without accents, digits and gaps. Words written without a gap ("patientid",
        "Kundennr") are split where all parts are in the vocabulary.
        """
        name = _NUMERO.sub("numero ", name)
        plain = unicodedata.normalize("NFKD", name.translate(_SPELLED)).encode("ascii", "ignore").decode()
        words = [word.lower() for word in _CAMEL.findall(plain)]
        return [part for word in words for part in self._parts(word)]

    def without_fillers(self, words: list[str]) -> list[str]:
        """Words of a column name that are no fillers, unless all are."""
        return [word for word in words if word not in self.fillers] or words

    def _parts(self, word: str) -> Phrase:
        if word in self._whole:
            return (word,)
        return _split_compound(word, self._joined, self.numbers | self.name_words) or (word,)

    @cached_property
    def _whole(self) -> frozenset[str]:
        return _flat(self.identifiers.values()) | self._joined | self.describing

    @cached_property
    def _joined(self) -> frozenset[str]:
        return (
            self.people
            | self.events
            | self.numbers
            | self.name_words
            | frozenset({"first", "last", "full", "phone", "zip", "school", "hospital", "clinic", "ward"})
        )


def _split_compound(word: str, known: frozenset[str], last: frozenset[str]) -> Phrase | None:
    for end in sorted(last, key=len, reverse=True):
        head = word.removesuffix(end)
        if head == word or len(end) < _SHORTEST:
            continue
        if head in known and len(head) > _SHORTEST:
            return (head, end)
        for first in known:
            if len(first) > _SHORTEST and head.startswith(first) and head[len(first) :] in known:
                return (first, head[len(first) :], end)
    return None


@cache
def vocabulary() -> NameVocabulary:
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("names.yaml").read_text(encoding="utf-8"))
    phrased = (
        *("ages", "known_outside", "known_outside_alone", "secrets", "targets", "targets_alone", "sampling_weights"),
        *("opinions", "deaths", "lasting", "places", "personal", "nominal", "code_words"),
    )
    parsed: dict[str, Any] = {key: frozenset(words) for key, words in content.items() if isinstance(words, list)}
    parsed |= {key: _phrases(content[key]) for key in phrased}
    parsed["known_outside"] |= parsed["ages"]
    parsed["identifiers"] = {kind: _phrases(phrases) for kind, phrases in content["identifiers"].items()}
    parsed["alone"] = {kind: frozenset(words) for kind, words in content["alone"].items()}
    return NameVocabulary(**parsed)


def identity_of(name: str) -> Identity | None:
    """Kind of personal data that a column of this name holds.

    ``name`` is as the table writes it: ``patient_id``, ``PatientId``, ``N° sécurité sociale``, ``kundennr``. None where
    it denotes no number, name, contact or address of a person.
    """
    known = vocabulary()
    words = known.split(name)
    counted = {"of", "de"} & set(words[1:2]) and words[:1] and words[0] in known.counting
    words = known.without_fillers(words)
    if not words or counted:
        return None
    for kind, alone in known.alone.items():
        if len(words) == 1 and words[0] in alone:
            return kind
    if known.describing & set(words):
        return None
    for kind, phrases in known.identifiers.items():
        if has_phrase(words, phrases):
            return kind
    return _number_or_name(words, known)


def ages_among(names: Iterable[str]) -> frozenset[str]:
    """Columns that are called an age, in years."""
    known = vocabulary()
    return frozenset(name for name in names if has_phrase(known.without_fillers(known.split(name)), known.ages))


def _number_or_name(words: list[str], known: NameVocabulary) -> Identity | None:
    """Number or name beside a word for a person or an event: patient_id, id_cliente, customer_name."""
    owners = known.people | known.events
    for first, second in pairwise(words):
        if first in owners and second in known.numbers:
            return "number"
        if first in known.numbers - known.counting and second in owners and words[0] == first:
            return "number"
        if {first, second} & known.name_words and {first, second} & (known.people | known.alone["name"]):
            return "name"
    if len(words) > 2 and words[0] in known.name_words and words[2] in known.people:
        # nm_social_candidato: the name by which a candidate is known.
        return "name"
    if len(words) > 1 and set(words) <= known.numbers | {"curr", "current"} and words[0] not in known.counting:
        return "number"
    if set(words) <= known.name_words | known.name_qualifiers and set(words) & known.name_words:
        return "name"
    return None


def ends_in_number(name: str) -> bool:
    """True if a column's name ends in a word for a number or key, as in ``vendor_id``."""
    words = vocabulary().split(name)
    return len(words) > 1 and words[-1] in vocabulary().numbers


def has_phrase(words: list[str], phrases: Iterable[Phrase]) -> bool:
    """True if a phrase occurs in the words without a gap.

    ``birth*`` matches all words that begin so, ``*dtc`` all that end so.
    """
    return any(
        all(_matches(word, wanted) for word, wanted in zip(words[at:], phrase, strict=False))
        for phrase in phrases
        for at in range(len(words) - len(phrase) + 1)
    )


def is_phrase(words: list[str], phrases: Iterable[Phrase]) -> bool:
    """True if the words are a phrase and nothing else."""
    return has_phrase(words, (phrase for phrase in phrases if len(phrase) == len(words)))


def _matches(word: str, wanted: str) -> bool:
    if wanted.startswith("*"):
        return word.endswith(wanted[1:])
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


def _phrases(texts: Iterable[str]) -> frozenset[Phrase]:
    return frozenset(tuple(text.split()) for text in texts)


def _flat(groups: Iterable[frozenset[Phrase]]) -> frozenset[str]:
    return frozenset(word for phrases in groups for phrase in phrases for word in phrase)


SAME, TABLE, QUALIFIED, NONE = 1.0, 0.9, 0.7, 0.0
"""Likeness of the same name, of the table's name, of a name that ends so, and of any other."""
_ABBREVIATED = 3
"""Letters of the shortest abbreviation of a table's name."""
_ENDINGS = ("en", "es", "n", "s", "e")
"""Endings of plurals; "ies" for "y" is beside them."""


def name_likeness(column: str, table: str, key: str) -> float:
    """Likeness (0..1) of a column's name to the key of a table.

    1 for the same name, unless that is a bare number word such as ``id``; .9 for the table's name, in the singular,
    plural or abbreviated, with or without a number word (``patient_id``, ``PATIENT``, ``pat_nr``), if the key is named
    after the table or is a bare number word; .7 if the key has another name, or for a name that ends in one of these
    (``home_hospital_id``); else 0.
    """
    words, of_key, of_table = (_words(name) for name in (column, key, table))
    subject, key_subject = _subject(words), _subject(of_key)
    if not subject:
        return NONE
    if words == of_key:
        return SAME
    after_table = not key_subject or _names(key_subject, of_table)
    if _names(subject, of_table):
        return TABLE if after_table else QUALIFIED
    if len(words) > len(of_key) and key_subject and words[-len(of_key) :] == of_key:
        return QUALIFIED
    if after_table and len(subject) > len(of_table) and _names(subject[-len(of_table) :], of_table):
        return QUALIFIED
    return NONE


def named_after(column: str, table: str) -> bool:
    """True if a column is named after its table or just numbered: ``patient_id`` or ``id`` of ``patients``."""
    subject = _subject(_words(column))
    return not subject or _names(subject, _words(table))


def is_number_name(column: str) -> bool:
    """True if a name ends in a word for numbers: ``id``, ``visit_no``."""
    return bool(set(_words(column)[-1:]) & vocabulary().numbers)


def denotes_people(name: str, *, staff: bool = True) -> bool:
    """True if a name has a word for persons or households.

    With ``staff`` physicians, sellers and others who serve many count, too.
    """
    known = vocabulary()
    people = {_stem(word) for word in known.people}
    serving = {_stem(word) for word in known.staff}
    stems = {_stem(word) for word in _words(name)}
    return bool(stems & people) and (staff or not stems & serving)


def denotes_staff(name: str) -> bool:
    """True if a name has a word for those who serve many, such as physicians."""
    return denotes_people(name) and not denotes_people(name, staff=False)


def denotes_events(name: str) -> bool:
    """True if a name has a word for visits or contracts."""
    events = {_stem(word) for word in vocabulary().events}
    return bool(events & {_stem(word) for word in _words(name)})


def _words(name: str) -> list[str]:
    known = vocabulary()
    return known.without_fillers(known.split(name))


def _subject(words: list[str]) -> list[str]:
    return [word for word in words if word not in vocabulary().numbers]


def _names(words: list[str], table: list[str]) -> bool:
    """True if words are a table's name; the last may be abbreviated."""
    if len(words) != len(table) or not words:
        return False
    *first, last = map(_stem, words)
    *table_first, table_last = map(_stem, table)
    return first == table_first and (last == table_last or (len(last) >= _ABBREVIATED and table_last.startswith(last)))


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) > _ABBREVIATED + 1:
        return word[:-3] + "y"
    word = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _ABBREVIATED), "")
    return word.removesuffix(ending)
