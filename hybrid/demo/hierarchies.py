"""Write the generalization hierarchies of the simulated population."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hybrid.demo.population import FIRST_DAY, MAX_AGE, N_DAYS
from hybrid.demo.vocabulary import SEXES, Vocabulary
from hybrid.hierarchy.hierarchy import ROOT
from hybrid.table.write import write_text

AGE_STEPS = (5, 10, 20, 40)
"""Width of the age groups, in years, on levels 1, 2, ..."""


def write_hierarchies(folder: Path, vocabulary: Vocabulary) -> None:
    """Write one CSV file per quasi-identifier, and the taxonomy of diagnoses, into ``folder``.

    A line is one value; column i is its label on level i.

    Raises
    ------
    OutputError
        The folder is not writable.
    """
    nationalities, occupations, diagnoses = vocabulary.nationalities, vocabulary.occupations, vocabulary.diagnoses
    tables: dict[str, Iterable[Sequence[str]]] = {
        "age": map(_age, range(MAX_AGE + 1)),
        "sex": ((sex,) for sex in SEXES),
        "postcode": map(_postcode, vocabulary.postcodes),
        "nationality": nationalities[["nationality", "area", "world"]].itertuples(index=False),
        "occupation": occupations[["occupation", "group", "sector", "activity"]].itertuples(index=False),
        "admission_date": map(_date, FIRST_DAY + np.arange(N_DAYS)),
        "diagnosis": diagnoses[["code", "block", "chapter"]].itertuples(index=False),
    }
    for name, lines in tables.items():
        write_text(folder / f"{name}.csv", "".join(";".join((*line, ROOT)) + "\n" for line in lines))


def _age(age: int) -> Sequence[str]:
    groups = ((age // step * step, step) for step in AGE_STEPS)
    return (str(age), *(f"{low}-{low + step - 1}" for low, step in groups))


def _postcode(code: str) -> Sequence[str]:
    return [code[: len(code) - n] + "*" * n for n in range(len(code))]


def _date(day: np.datetime64) -> Sequence[str]:
    """Day, month, quarter, half-year, year."""
    text = str(day)
    year, month = text[:4], int(text[5:7])
    return (text, text[:7], f"{year}-Q{(month + 2) // 3}", f"{year}-H{(month + 5) // 6}", year)
