"""Names of people, and equality of spellings that look alike.

Comparison follows the idea of skeletons in Unicode Technical Standard #39, section 4, for the letters that occur in
names: compatibility forms, accents, case, blanks and punctuation do not count, nor do letters of other alphabets with
the same look.
"""

from __future__ import annotations

import unicodedata

from hybrid.base.errors import ConfigError

_PUNCTUATION = frozenset(" .,'’·-_@&()/")
_ALPHABETS = frozenset({"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GEORGIAN", "GREEK", "LATIN", "LISU"})
"""Scripts that have letters with the same look; a name is of one of them."""
_PHONETIC = ((0x0250, 0x02AF), (0x1D00, 0x1DBF), (0xA720, 0xA7FF), (0xAB30, 0xAB6F))
"""Blocks of Latin letters that no name needs and that look like common ones."""
_CAPITALS = str.maketrans("АВЕКМНОРСТУХЅІЈԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEKMHOPCTYXSIJQWABEZHIKMNOPTYXC")
_SMALL = str.maketrans("авгеёзікмнорстухѕјһԁԛԝѵүαγεικνορτυχωϲϳı01", "abreezikmhopctyxsjhdqwvyayeikvoptuxwcjiol")
"""Cyrillic and Greek letters, a dotless i, and digits, with the Latin letter that looks like each."""
_SAME = (("rn", "m"), ("vv", "w"), ("i", "l"))
LONGEST = 100


def clean_name(name: str, where: str) -> str:
    """Normalize the name of a person: NFKC, single blanks.

    Parameters
    ----------
    name : str
        As it was typed.
    where : str
        The option or key it comes from, for messages.

    Raises
    ------
    ConfigError
        It has no two letters, is longer than :data:`LONGEST`, holds characters that are invisible or not of names, or
        mixes alphabets with letters that look alike.
    """
    plain = clean_text(name, where)
    letters = [character for character in plain if character.isalpha()]
    strange = [character for character in plain if not _is_of_names(character)]
    if strange:
        codes = ", ".join(f"U+{ord(character):04X}" for character in sorted(set(strange))[:5])
        raise ConfigError(f"{where}: the name holds characters that no name has ({codes})", hint="type it again")
    if len(letters) < 2 or len(plain) > LONGEST:
        raise ConfigError(f"{where}: a name has at least two letters, and at most {LONGEST}", hint="give the full name")
    scripts = sorted({unicodedata.name(letter, "").partition(" ")[0] for letter in letters} & _ALPHABETS)
    if len(scripts) > 1:
        raise ConfigError(
            f"{where}: the name mixes letters of the alphabets {' and '.join(scripts).title()}, which look alike",
            hint="type it with one keyboard layout",
        )
    return plain


def clean_text(text: str, where: str) -> str:
    """Normalize a line of text: NFKC, single blanks.

    Raises
    ------
    ConfigError
        It holds control characters, or characters that are invisible or turn the direction of writing.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = sorted({character for character in plain if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs")})
    if hidden:
        codes = ", ".join(f"U+{ord(character):04X}" for character in hidden[:5])
        raise ConfigError(f"{where}: the text holds invisible characters ({codes})", hint="type it again")
    return plain


def person_of(name: str) -> str:
    """Skeleton of a name, for comparison only.

    All spellings that look alike share it.

    Different people may share it (Ali and All): then one of them gives a fuller name.
    """
    folded = unicodedata.normalize("NFKC", name).translate(_CAPITALS).casefold()
    plain = unicodedata.normalize("NFKD", folded).translate(_SMALL)
    letters = "".join(found for found in plain if found.isalnum())
    for look, one in _SAME:
        letters = letters.replace(look, one)
    return letters


def _is_of_names(character: str) -> bool:
    if any(first <= ord(character) <= last for first, last in _PHONETIC):
        return False
    return character in _PUNCTUATION or unicodedata.category(character)[0] in "LM" or character in "0123456789"
