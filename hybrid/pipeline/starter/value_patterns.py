"""Values that are those of identifiers, whatever their column is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from stdnum import iban, luhn
from stdnum.be import nn as be_nn
from stdnum.ch import ssn as ch_ssn
from stdnum.de import idnr as de_idnr
from stdnum.es import dni as es_dni
from stdnum.es import nie as es_nie
from stdnum.fr import nir as fr_nir
from stdnum.gb import nhs as gb_nhs
from stdnum.it import codicefiscale as it_codicefiscale
from stdnum.nl import bsn as nl_bsn
from stdnum.pt import nif as pt_nif

from hybrid.pipeline.starter.column_names import vocabulary
from hybrid.table import Column, Kind
from hybrid.table.text import as_text

NAMES = "names of persons"
MOST_EXAMINED = 2000
"""Distinct values of a column that are examined: the most frequent ones and as many of the others."""
_MONTHS = 12
_FEWEST = 10
"""Distinct values from which a share of them says something."""
_MOST = 0.9
"""Share of the distinct values that has to be of the form."""
_CHECKED = 0.95
"""The same for numbers whose check digits random numbers meet by chance (1 in 10 to 1 in 97)."""
_SOME = 5
"""Distinct values in which an e-mail address, phone number or IBAN is found inside of other text."""
_KNOWN_NAMES = 0.2
"""Share of capitalized texts of two to four words that begin or end with a common first name."""

_EMAIL = r"[\w.+-]+@[\w-]+\.[\w.-]*\w"
_IBAN = r"\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?\b"
_PHONE = r"(\+|\b00?)[1-9][0-9]{0,3}[ /().-]*[0-9]{2,4}([ /.-]?[0-9]{2,5}){1,4}\b"
_LOCAL_PHONE = r"\A(\([0-9]{3}\) ?|[0-9]{3}[ .-])?[0-9]{3}[.-][0-9]{4}\z"
DATE_LIKE = r"\A[0-9]{1,4}[-./][0-9]{1,2}([-./][0-9]{1,4})?([ T].*)?\z"
"""Dates, whole or in part, in whichever order."""
_DATE = r"\A[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2}([0-9]{2})?\z"
"""Dates of day, month and year, in digits that are too few for a phone number."""
_FORMS: dict[str, str] = {
    "e-mail addresses": rf"\A{_EMAIL}\z",
    "phone numbers": rf"\A{_PHONE}\z|{_LOCAL_PHONE}",
    "web addresses": r"(?i)\A(https?://|www\.)\S+\z",
    "IP addresses": r"\A([0-9]{1,3}\.){3}[0-9]{1,3}\z",
    "universally unique identifiers": r"(?i)\A[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\z",
    "long hexadecimal codes": r"(?i)\A[0-9a-f]{16}([0-9a-f]{8})*\z",
    "social security numbers": r"\A[0-9]{3}-[0-9]{2}-[0-9]{4}\z",
    "record numbers": r"(?i)\A(mrn|pat|patient|pt|case|cust|kd|id|acc|emp)[-_ #]*[0-9]{3,}\z",
}
"""Regular expressions (RE2) by what they find."""
_INSIDE: dict[str, str] = {"e-mail addresses": _EMAIL, "phone numbers": _PHONE, "IBANs": _IBAN}
_CONTACTS: dict[str, str] = _INSIDE | {"phone numbers": r"(\+|\b0)([ /().-]{0,2}[0-9]){8,14}\b"}
"""The same where a single text decides: strict enough for codes and amounts."""
_DATE_INSIDE = r"\b[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}\b"
_WORDS = r"\p{L}{2}"
_CHECKS: dict[str, tuple[int, int, Callable[[str], bool]]] = {
    "IBANs": (15, 34, iban.is_valid),
    "Swiss insurance numbers (AHV)": (13, 16, ch_ssn.is_valid),
    "German tax numbers": (11, 14, de_idnr.is_valid),
    "NHS numbers": (10, 12, gb_nhs.is_valid),
    "Spanish identity numbers": (9, 11, lambda text: es_dni.is_valid(text) or es_nie.is_valid(text)),
    "Italian tax codes": (16, 16, it_codicefiscale.is_valid),
    "French insurance numbers": (15, 21, fr_nir.is_valid),
    "Dutch citizen numbers (BSN)": (9, 11, nl_bsn.is_valid),
    "Portuguese tax numbers": (9, 11, pt_nif.is_valid),
    "Belgian national numbers": (11, 15, be_nn.is_valid),
    "card numbers": (13, 23, luhn.is_valid),
}
"""Shortest and longest form, and the check digits that each number defines (mod 97, mod 11, mod 23, ISO 7064, Luhn)."""
_WORD = r"\p{Lu}[\p{L}'’-]+"
_TITLES = r"((Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Sr|Sra|Mme|M)\.? )*"
_NAME = rf"\A{_TITLES}{_WORD},?( \p{{Lu}}\.?| (de|van|von|der|da|di|la))*( {_WORD}){{1,2}}\z"
_CASED = r"\p{Ll}"


@dataclass(frozen=True)
class Pattern:
    """Form of a column's values."""

    what: str
    """For messages, in the plural; holds no value."""
    inside: bool = False
    """Whether they stand inside of other text, in some of the values."""


def pattern_of(column: Column, values: pd.Series) -> Pattern | None:
    """Find personal data among values: e-mail addresses, phone numbers, IBANs, national numbers, names of persons.

    Texts and integers are examined; decimals, dates and booleans are not.
    """
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return None
    distinct = values.dropna().drop_duplicates()
    texts = as_text(distinct.iloc[:: max(1, len(distinct) // MOST_EXAMINED)], column).str.strip().tolist()
    if column.kind is Kind.INTEGER:
        return _checked(texts) if len(texts) >= _FEWEST else None
    written = pa.array(texts, pa.large_string())
    if len(texts) >= _FEWEST and (found := _checked(texts) or _names(texts, written)):
        return found
    dated = _share(written, _DATE) >= _MOST  # 01/17/19 has the form of a phone number, too.
    whole = next(
        (what for what, form in _FORMS.items() if len(texts) >= 2 and not dated and _share(written, form) >= _MOST),
        None,
    )
    if whole is not None:
        return Pattern(whole)
    others = written.filter(pc.invert(pc.match_substring_regex(written, DATE_LIKE)))
    inside = next((Pattern(what, True) for what, form in _INSIDE.items() if _count(others, form) >= _SOME), None)
    if inside is not None:
        return inside
    what = _contact(pa.array(as_text(distinct, column), pa.large_string()))
    return None if what is None else Pattern(what, True)


def contact_in(text: str) -> str | None:
    """Contact in a text such as a column's name, in the plural; None without one."""
    return _contact(pa.array([text.replace("_", " ")], pa.large_string()))


def _contact(written: pa.Array) -> str | None:
    """Contact beside other words in any of the texts; a phone number has nine digits or more."""
    texts = pc.replace_substring_regex(written, _DATE_INSIDE, " ")
    texts = texts.filter(pc.match_substring_regex(texts, _WORDS))
    return next((what for what, form in _CONTACTS.items() if _count(texts, form)), None)


def holds_births(column: Column, values: pd.Series) -> bool:
    """True for numbers that begin with a date of birth.

    Six digits for year, month and day are followed by up to five more, as in national numbers of some countries; 50 or
    20 may be added to the month (Czech, Slovak and Bulgarian numbers), or 40 to the day (Swedish and Italian ones).
    """
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return False
    distinct = values.dropna().drop_duplicates()
    texts = as_text(distinct.iloc[:: max(1, len(distinct) // MOST_EXAMINED)], column).str.strip()
    parts = texts.str.extract(r"\A([0-9]{2})([0-9]{2})([0-9]{2})[/-]?[0-9]{0,5}\Z").dropna().astype(int)
    if len(texts) < _FEWEST or len(parts) < _CHECKED * len(texts):
        return False
    month, day = parts[1], parts[2]
    months = month.between(1, 12) | month.between(21, 32) | month.between(51, 62)
    possible = months & (day.between(1, 31) | day.between(41, 71))
    # Year and month alone (202403) have at most twelve different days.
    return float(possible.mean()) >= _CHECKED and day.nunique() > _MONTHS


def _checked(texts: Sequence[str]) -> Pattern | None:
    lengths = [len(text) for text in texts]
    for what, (shortest, longest, is_valid) in _CHECKS.items():
        if min(lengths) < shortest - 2 or max(lengths) > longest:
            continue
        if sum(map(is_valid, texts)) >= _CHECKED * len(texts):
            return Pattern(what)
    return None


def _names(texts: Sequence[str], written: pa.Array) -> Pattern | None:
    """Pattern of texts of two to four capitalized words, many of which have a common first name."""
    if _share(written, _NAME) < _MOST or _share(written, _CASED) < _MOST:
        return None
    first = vocabulary().first_names
    words = [text.replace(",", "").lower().split() for text in texts]
    hits = sum(bool(first & {word for part in parts for word in vocabulary().split(part)}) for parts in words)
    return Pattern(NAMES) if hits >= _KNOWN_NAMES * len(texts) else None


def _share(written: pa.Array, form: str) -> float:
    return _count(written, form) / max(len(written), 1)


def _count(written: pa.Array, form: str) -> int:
    return int(pc.sum(pc.match_substring_regex(written, form)).as_py() or 0)
