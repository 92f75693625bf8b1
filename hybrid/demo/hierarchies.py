"""Write the generalization hierarchies of the simulated population."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hybrid.base.atomic import write_text
from hybrid.demo.vocabulary import SEXES, Vocabulary
from hybrid.hierarchy.tree import ROOT

RULES = {
    "age": """\
# Years of age in groups of 5, 10, 20 and 40; the last level is everybody.
type: intervals
widths: [5, 10, 20, 40]
""",
    "postcode": """\
# 01234 > 0123* > 012** > 01*** > 0**** > *
type: mask
""",
    "admission_date": """\
# Day > month > quarter > year > *
type: dates
levels: [month, quarter, year]
""",
}
"""YAML of the hierarchies that follow a rule."""
LINKED_RULES = {
    "birth_year": """\
# Years of birth in groups of 5, 10, 20 and 40; the last level is everybody.
type: intervals
widths: [5, 10, 20, 40]
""",
    "postcode": RULES["postcode"],
    "admitted": RULES["admission_date"],
}
"""The same of the linked tables."""


def write_hierarchies(folder: Path, vocabulary: Vocabulary, rules: Mapping[str, str]) -> None:
    """Write one file per quasi-identifier, and the taxonomy of diagnoses, into ``folder``.

    Lists of values are CSV (a line is one value; column i is its label on level i), what follows a rule is YAML.

    Raises
    ------
    OutputError
        The folder is not writable.
    """
    nationalities, occupations, diagnoses = vocabulary.nationalities, vocabulary.occupations, vocabulary.diagnoses
    tables: dict[str, Iterable[Sequence[str]]] = {
        "sex": ((sex,) for sex in SEXES),
        "nationality": nationalities[["nationality", "area", "world"]].itertuples(index=False),
        "occupation": occupations[["occupation", "group", "sector", "activity"]].itertuples(index=False),
        "diagnosis": diagnoses[["code", "block", "chapter"]].itertuples(index=False),
    }
    for name, lines in tables.items():
        write_text(folder / f"{name}.csv", "".join(";".join((*line, ROOT)) + "\n" for line in lines))
    for name, rule in rules.items():
        write_text(folder / f"{name}.yaml", rule)
