"""Values that identify persons, found whatever the column is called."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from stdnum import luhn
from stdnum.iso7064 import mod_97_10

from hybrid.pipeline.starter.value_patterns import pattern_of
from hybrid.table import DTYPES, Column, Kind, Role

RNG = np.random.default_rng(11)
DIGITS = [f"{number:09d}" for number in RNG.integers(10**8, 10**9, 3000)]


def _what(values: list[str], kind: Kind = Kind.CATEGORICAL) -> str | None:
    column = Column("x", Role.INSENSITIVE, kind)
    found = pattern_of(column, pd.Series(values, dtype=DTYPES[kind]))
    return None if found is None else f"{found.what}{' inside' if found.inside else ''}"


def _iban(number: str) -> str:
    """A German IBAN; its check digits are those of ISO 13616."""
    body = f"{number}{number}"[:18]
    return f"DE{98 - int(f'{body}131400') % 97:02d}{body}"


def _bsn(number: str) -> bool:
    """The Dutch eleven test: 9a + 8b + ... + 2h - i is divisible by 11."""
    weights = (9, 8, 7, 6, 5, 4, 3, 2, -1)
    return sum(weight * int(digit) for weight, digit in zip(weights, number, strict=True)) % 11 == 0


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([f"a{at}@clinic.org" for at in range(30)], "e-mail addresses"),
        ([f"0170-{at + 5551000}" for at in range(30)], "phone numbers"),
        ([f"+49 30 {at + 551000}" for at in range(30)], "phone numbers"),
        ([f"({at + 200}) 555-{at + 1000}" for at in range(30)], "phone numbers"),
        ([f"https://x.org/{at}" for at in range(30)], "web addresses"),
        ([f"123e4567-e89b-12d3-a456-4266141740{at:02}" for at in range(30)], "universally unique identifiers"),
        ([f"MRN{at:06}" for at in range(30)], "record numbers"),
        ([f"{at + 100}-45-{at + 6000}" for at in range(30)], "social security numbers"),
        ([_iban(number) for number in DIGITS[:40]], "IBANs"),
        ([number for number in DIGITS if _bsn(number)][:60], "Dutch citizen numbers (BSN)"),
        (
            ["4111" + d + luhn.calc_check_digit("4111" + d) for d in (f"{n}00"[:11] for n in DIGITS[:40])],
            "card numbers",
        ),
        (
            [f"{first} Meier{chr(97 + at)}" for at in range(10) for first in ("Anna", "Hans", "Julia")],
            "names of persons",
        ),
        ([f"Muster{chr(97 + at)}, Erika B." for at in range(20)], None),
        ([*["no remark"] * 50, *(f"call Mr {at} tel 0170-{at + 5551000}" for at in range(20))], "phone numbers inside"),
        ([*["fine"] * 50, *(f"write to p{at}@web.de please" for at in range(20))], "e-mail addresses inside"),
    ],
)
def test_forms(values: list[str], what: str | None) -> None:
    assert _what(values) == what


@pytest.mark.parametrize(
    "values",
    [
        DIGITS[:200],
        [f"{year}-{year + 9}" for year in range(1950, 2000)],
        [f"E{at:02}.{at % 9}" for at in range(90)],
        [f"[{at}-{at + 10})" for at in range(0, 200, 10)],
        [
            "New York",
            "San Diego",
            "Los Angeles",
            "Santa Fe",
            "St Louis",
            "El Paso",
            "Fort Worth",
            "Long Beach",
            "Las Vegas",
            "Kansas City",
            "Baton Rouge",
            "Salt Lake",
        ],
        [f"{at}.5" for at in range(40)],
        [f"0{at % 9 + 1}/{at % 28 + 1}/{60 + at}" for at in range(40)],  # dates, once taken for phone numbers
        [f"0{at % 9 + 1}/{at % 18 + 10}/{at % 5 + 14}" for at in range(40)],
        ["yes", "no"] * 20,
        [],
    ],
)
def test_values_that_are_none(values: list[str]) -> None:
    assert _what(values) is None


def test_numbers_with_check_digits_that_are_stored_as_integers() -> None:
    values = [number for number in DIGITS if _bsn(number)][:60]
    assert _what(values, Kind.INTEGER) == "Dutch citizen numbers (BSN)"
    assert _what(DIGITS[:200], Kind.INTEGER) is None


def test_iban_check_digits_are_those_of_mod_97() -> None:
    iban = _iban(DIGITS[0])
    assert mod_97_10.is_valid(iban[4:] + iban[:4])
