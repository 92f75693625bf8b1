"""Likeness of a column's name to the key of another table."""

from __future__ import annotations

from hybrid.pipeline.starter.column_names import vocabulary

SAME, TABLE, QUALIFIED, NONE = 1.0, 0.9, 0.7, 0.0
"""Likeness of the same name, of the table's name, of a name that ends so, and of any other."""
_SHORTEST = 3
"""Letters of the shortest abbreviation of a table's name."""
_ENDINGS = ("en", "es", "n", "s", "e")
"""Endings of plurals; "ies" for "y" is beside them."""


def name_likeness(column: str, table: str, key: str) -> float:
    """Likeness (0..1) of a column's name to the key of a table.

    Parameters
    ----------
    column : str
        A column of another table.
    table, key : str
        The table referred to, and its key.

    Returns
    -------
    float
        1 for the same name, unless that is a bare number word such as ``id``; .9 for the table's name, in the singular,
        plural or abbreviated, with or without a number word (``patient_id``, ``PATIENT``, ``pat_nr``), if the key is
        named after the table or is a bare number word; .7 if the key has another name, or for a name that ends in one
        of these (``home_hospital_id``); else 0.
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
    """True if a column is named after its table or just numbered.

    ``patient_id`` or ``id`` of ``patients``.
    """
    subject = _subject(_words(column))
    return not subject or _names(subject, _words(table))


def is_number_name(column: str) -> bool:
    """True if a name ends in a word for numbers: ``id``, ``visit_no``."""
    return bool(set(_words(column)[-1:]) & vocabulary().numbers)


def denotes_people(name: str, *, staff: bool = True) -> bool:
    """True if a name has a word for persons or households.

    Parameters
    ----------
    name : str
        Of a table or of a column.
    staff : bool
        Whether physicians, sellers and others who serve many count, too.
    """
    known = vocabulary()
    people = {_stem(word) for word in known.people}
    serving = {_stem(word) for word in known.staff}
    stems = {_stem(word) for word in _words(name)}
    return bool(stems & people) and (staff or not stems & serving)


def denotes_events(name: str) -> bool:
    """True if a name has a word for visits or contracts."""
    events = {_stem(word) for word in vocabulary().events}
    return bool(events & {_stem(word) for word in _words(name)})


def _words(name: str) -> list[str]:
    known = vocabulary()
    return known.without_fillers(known.split(name))


def _subject(words: list[str]) -> list[str]:
    """Words that are no words for numbers."""
    return [word for word in words if word not in vocabulary().numbers]


def _names(words: list[str], table: list[str]) -> bool:
    """True if words are a table's name; the last may be abbreviated."""
    if len(words) != len(table) or not words:
        return False
    *first, last = map(_stem, words)
    *table_first, table_last = map(_stem, table)
    return first == table_first and (last == table_last or (len(last) >= _SHORTEST and table_last.startswith(last)))


def _stem(word: str) -> str:
    """A word without its plural's ending, umlauts as plain letters."""
    if word.endswith("ies") and len(word) > _SHORTEST + 1:
        return word[:-3] + "y"
    word = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _SHORTEST), "")
    return word.removesuffix(ending)
