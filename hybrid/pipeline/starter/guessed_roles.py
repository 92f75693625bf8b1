"""Guess the roles of columns: what a column is to an attacker, by its name and its values."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.sentence import sentence, sentences
from hybrid.constraints.kinds.computed import Equal
from hybrid.pipeline.starter.column_names import Identity, ends_in_number, has_phrase, identity_of, vocabulary
from hybrid.pipeline.starter.person_numbers import (
    FEWEST_NUMBERED,
    FEWEST_PERSONS,
    is_part_of_name,
    may_name_persons,
    person_numbers,
)
from hybrid.pipeline.starter.value_patterns import DATE_LIKE, NAMES, holds_births, pattern_of
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.dependencies import functional_dependencies, never_repeats, no_secrets, rank_correlated, unique_share
from hybrid.table.persons import with_persons
from hybrid.table.text import as_text

_SUGGESTED: dict[Identity, str] = {
    "number": "the name suggests an ID (person, visit or contract)",
    "name": "the name suggests the name of a person",
    "contact": "the name suggests a contact such as e-mail or phone",
    "address": "the name suggests an address",
}


@dataclass(frozen=True)
class IdentifierEvidence:
    """Reason to take a column for an identifier."""

    reason: str
    """For messages; holds no cell value."""
    identity: Identity | None = None
    """What the column's name denotes; None where it denotes nothing of a person."""
    strong: bool = True
    """Whether name or form of the values say so, not just that values do not repeat."""
    partial: bool = False
    """Whether only parts of some values identify, as in remarks."""


def evidence_of(column: Column, values: pd.Series) -> IdentifierEvidence | None:
    """Find the strongest evidence that a column identifies persons.

    By name (however often values repeat), then by form, then by uniqueness. Texts and integers may identify; decimals,
    dates and booleans measure.
    """
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return None
    identity = identity_of(column.name)
    pattern = pattern_of(column, values)
    if identity == "number" and pattern is not None and pattern.what == NAMES:
        # A column "patient" may hold numbers or names.
        identity = "name"
    if identity == "number" and _is_counter(column, values):
        identity = None
    if identity == "address" and _counts_from_zero(column, values):
        identity = None
    if identity == "number" and _names_things(column, values):
        reason = "the name suggests an ID (person, visit or contract), its values do not"
        return IdentifierEvidence(reason, strong=False, partial=True)
    if identity is not None:
        return IdentifierEvidence(_SUGGESTED[identity], identity)
    if pattern is not None and not pattern.inside:
        return IdentifierEvidence(sentence("role.values", what=pattern.what))
    known, distinct = int(values.notna().sum()), int(values.nunique())
    words = vocabulary().split(column.name)
    if words and distinct > FEWEST_NUMBERED and vocabulary().people.issuperset(words):
        return IdentifierEvidence("the name suggests people, and it has many values", "number")
    if never_repeats(column, values):
        return IdentifierEvidence("no value occurs twice", strong=False)
    if ends_in_number(column.name) and distinct > known / 2 and known > 1:
        return IdentifierEvidence("the name suggests a number, and most values occur once", strong=False)
    return None if pattern is None else IdentifierEvidence(sentence("role.some", what=pattern.what), partial=True)


def _counts_from_zero(column: Column, values: pd.Series) -> bool:
    """True for whole numbers such as years at an address, which begin with 0 as no number of a house does."""
    return column.kind is Kind.INTEGER and int(values.nunique()) <= FEWEST_NUMBERED and bool(values.min() == 0)


def _is_counter(column: Column, values: pd.Series) -> bool:
    """True for numbers that count visits: 1, 2, 3.

    Not for numbers of people: few patients of many rows may be numbered so.
    """
    if column.kind is not Kind.INTEGER or vocabulary().people & set(vocabulary().split(column.name)):
        return False
    known = values.dropna()
    distinct = int(known.nunique())
    if not 1 < distinct <= FEWEST_PERSONS or len(known) < FEWEST_PERSONS * distinct:
        return False
    first, last = int(known.min()), int(known.max())
    return first in (0, 1) and last - first + 1 == distinct


def _names_things(column: Column, values: pd.Series) -> bool:
    """True for few words, without a digit, in a table of many rows each: a subject is a person, or is taught.

    Not for staff, of whom there may be as few.
    """
    known = vocabulary()
    if column.kind is not Kind.CATEGORICAL or known.staff & set(known.split(column.name)):
        return False
    texts = values.dropna()
    distinct = texts.drop_duplicates()
    few = 1 < len(distinct) <= FEWEST_PERSONS and len(texts) > FEWEST_PERSONS * len(distinct)
    return few and not distinct.astype("string").str.contains(r"\d").any()


def repeats(values: pd.Series) -> bool:
    """True if some value belongs to two rows or more."""
    return bool(values.dropna().duplicated().any())


MOST_CLASSES = 10
"""Values of a column beyond which a model predicts a quantity, not a class."""
MANY_VALUES = 50
"""Distinct texts of a column without a telling name, beyond which a person has to say what it is."""
_MOST_CODES = 50
"""Distinct whole numbers up to which they may be codes."""
_WORDS = 3.0
"""Mean number of words of a text from which it is free text."""
_FREE_TEXTS = 20
"""Distinct free texts from which a person has to decide."""
_DIAGNOSIS = r"\A[A-TV-Z][0-9][0-9AB](\.?[0-9A-KXZ]{1,3}([0-9X]?[A-HJ-NP-S])?)?\z"
"""ICD-10 codes; a seventh character is a letter."""
_UNREADABLE_DATES = "dates with years of two digits, or with parts missing: write them as 2024-12-31"
_UNREADABLE_NUMBERS = "numbers with separated thousands, a currency or a percent sign: write them as 80448.5"
_NUMBER_LIKE = (
    r"\A[-+(]?[$€£]? ?([0-9]{1,3}([,.' \x{a0}\x{202f}][0-9]{3})+|[0-9]+)([.,][0-9]+)?( ?([$€£%]|EUR|USD|CHF|GBP))?\)?\z"
)
_MOSTLY = 0.8
_ROWS_OF_A_GROUP = 5
"""Rows of a value below which a number names few people, such as a couple."""
_LIFETIME = 30.0
"""Years from which dates are taken for dates of birth."""
_KNOWN = "probably known to others"
EVENT = "a date of an event: do others know it? then quasi_identifier, else insensitive"
"""Question about a date that is neither of birth nor of death."""
_DATE_AND_SEX = (
    "holds dates of birth, and more: write them into a column of their own before (and what else the number says, "
    "such as 50 added to the months of women), or age and sex of everybody are lost with it"
)


@dataclass(frozen=True)
class GuessedRole:
    """A role, and the reason for it, which holds no cell value."""

    role: Role
    target: bool
    reason: str
    evidence: IdentifierEvidence | None = None
    """Why the column is taken for an identifier; None for other roles."""

    @property
    def is_event(self) -> bool:
        """True for the date of an event, which a person must decide."""
        return self.role is Role.UNDECIDED and self.reason.endswith(EVENT)

    @property
    def is_echo(self) -> bool:
        """True for a number that says nearly the same as another quasi-identifier: a person may do without it."""
        return self.reason.endswith(ECHO)


ECHO = "the two rise together"
"""End of the reason for a quasi-identifier that another one nearly tells."""
_OF_ROWS = r"row[ ._]?(names?|numbers?|nr|num|id|index)"
_ROW_NAMES = rf"(?i)\A({_OF_ROWS}|x|index|unnamed: ?0|)\Z"
"""Names under which programs write the names or numbers of rows."""
MOSTLY_DIFFERENT = 0.9
"""Share of different values from which on decimals called so name rows, too: 1978.1 is the first and the tenth row of
1978."""


def further(*clauses: str) -> str:
    """Clauses of a reason, without those that are empty."""
    return sentences(*clauses, between="further")


def guess_roles(table: Table) -> dict[str, GuessedRole]:
    """Guess the role of every column.

    Identifiers by name (however often values repeat), by the form of values and by uniqueness; texts and numbers of
    which neither is certain are undecided; sensitive columns, quasi-identifiers and targets by name, and columns that
    give a quasi-identifier away. A secret that a quasi-identifier gives away is a quasi-identifier, too. Names and
    numbers of rows are excluded; copies of another column are undecided.
    """
    roles = {column.name: _guess(column, table.frame[column.name]) for column in table.schema}
    roles |= _numbers_of_persons(table, roles)
    roles |= _copies(table, roles)
    known = [name for name, guessed in roles.items() if guessed.role is Role.QUASI_IDENTIFIER]
    others = [name for name, guessed in roles.items() if guessed.role is Role.INSENSITIVE and not guessed.target]
    for teller, told in functional_dependencies(table, known, others):
        roles[teller] = GuessedRole(Role.QUASI_IDENTIFIER, False, sentence("role.tells", column=told))
    for teller, told in rank_correlated(table, known, others):
        roles[teller] = GuessedRole(Role.QUASI_IDENTIFIER, False, sentence("role.rises", column=told))
    secret = [name for name, guessed in roles.items() if guessed.role is Role.SENSITIVE]
    for told, reason in no_secrets(table, secret, known).items():
        roles[told] = GuessedRole(Role.QUASI_IDENTIFIER, False, sentence("role.no_secret", found=reason))
    return _with_uniqueness(table, _without_determined_targets(table, roles))


def _without_determined_targets(table: Table, roles: dict[str, GuessedRole]) -> dict[str, GuessedRole]:
    targets = [name for name, guessed in roles.items() if guessed.target]
    among = [name for name, guessed in roles.items() if guessed.role.is_learned]
    told: dict[str, str] = {}
    for teller, name in functional_dependencies(table, targets, among):
        if told.get(teller) != name:
            told.setdefault(name, teller)
    return roles | {
        name: GuessedRole(roles[name].role, False, further(roles[name].reason, sentence("role.made", column=teller)))
        for name, teller in told.items()
    }


def person_key(table: Table, roles: dict[str, GuessedRole]) -> str | None:
    """The identifier that most likely names the person behind several rows.

    Among identifiers whose values repeat: a number of a person before other numbers, names and contacts, staff
    (physicians, providers) last, and of those the one with the fewest gaps and values; of names the one with the most,
    since people have the same name; first names and surnames alone do not count. Nor do identifiers of a few values,
    and those whose rows differ in traits that a person keeps. None if no identifier is left.
    """
    repeating = {
        name: guessed.evidence
        for name, guessed in roles.items()
        if guessed.role is Role.IDENTIFIER
        and guessed.evidence is not None
        and repeats(table.frame[name])
        and not is_part_of_name(name)
        and may_name_persons(table, name)
    }
    known = vocabulary()

    def rank(name: str) -> tuple[int, int, int]:
        evidence, words = repeating[name], set(known.split(name))
        if known.staff & words:
            order = 6
        elif evidence.identity == "number":
            order = 0 if known.people & words else 1
        else:
            order = {None: 2, "name": 3, "contact": 4, "address": 5}[evidence.identity]
        values, gaps = int(table.frame[name].nunique()), int(table.frame[name].isna().sum())
        return order, gaps, -values if evidence.identity == "name" else values

    return min(repeating, key=rank, default=None)


def _guess(column: Column, values: pd.Series) -> GuessedRole:
    distinct = int(values.nunique())
    if _names_rows(column, values):
        return _guessed(Role.EXCLUDED, distinct, "names or numbers of the rows, which nobody needs")
    evidence = evidence_of(column, values)
    unsure = column.kind is Kind.CATEGORICAL and (evidence is None or evidence.partial or not evidence.strong)
    if unsure and distinct > MOST_CLASSES and _matching(column, values, DATE_LIKE) >= _MOSTLY:
        return _guessed(Role.UNDECIDED, distinct, _UNREADABLE_DATES)
    if unsure and distinct > MOST_CLASSES and _are_unreadable_numbers(column, values):
        return _guessed(Role.UNDECIDED, distinct, _UNREADABLE_NUMBERS)
    if evidence is not None and not evidence.partial:
        more = _DATE_AND_SEX if holds_births(column, values) else ""
        return _guessed(Role.IDENTIFIER, distinct, evidence.reason, more, evidence=evidence)
    if evidence is not None:
        return _guessed(Role.UNDECIDED, distinct, evidence.reason)
    if distinct < 2:
        return GuessedRole(Role.INSENSITIVE, False, "no two different values" if distinct else "no values at all")
    if _is_free_text(column, values, distinct):
        return _guessed(Role.UNDECIDED, distinct, "free text, which may name persons")
    return _of_date(column, values, distinct) or role_by_name(column, distinct) or _by_values(column, values, distinct)


def _guessed(
    role: Role, distinct: int, *why: str, target: bool = False, evidence: IdentifierEvidence | None = None
) -> GuessedRole:
    """A role whose reason begins with the number of different values."""
    return GuessedRole(role, target, further(sentence("role.distinct", n=distinct), *why), evidence)


def _of_date(column: Column, values: pd.Series, distinct: int) -> GuessedRole | None:
    """Role of a date of birth, of death, or of an event; None for other columns, and dates of what is secret."""
    known = vocabulary()
    words = known.without_fillers(known.split(column.name))
    if not column.kind.is_temporal or has_phrase(words, known.secrets):
        return None
    if has_phrase(words, known.lasting | known.deaths):
        return _guessed(Role.QUASI_IDENTIFIER, distinct, _KNOWN)
    if column.kind is Kind.DATE and _years(values) >= _LIFETIME:
        return _guessed(Role.QUASI_IDENTIFIER, distinct, "over many years, as dates of birth are")
    return _guessed(Role.UNDECIDED, distinct, EVENT)


def _names_rows(column: Column, values: pd.Series) -> bool:
    """True for names of rows, rising numbers called so, and whole numbers that count the rows from 0 or 1."""
    if column.kind is Kind.DECIMAL and re.fullmatch(rf"(?i){_OF_ROWS}", column.name):
        return bool(values.nunique() >= MOSTLY_DIFFERENT * len(values))
    if not never_repeats(column, values) or values.isna().any():
        return False
    called = re.match(_ROW_NAMES, column.name) is not None
    if column.kind is not Kind.INTEGER:
        return called
    steps = np.diff(values.to_numpy(dtype=np.int64))
    counts = values.iloc[0] in (0, 1) and bool((steps == 1).all())
    return bool((steps > 0).all()) if called else counts and identity_of(column.name) is None


def _copies(table: Table, roles: dict[str, GuessedRole]) -> dict[str, GuessedRole]:
    """Columns with the same value as an earlier one in every row: a person has to say what they are for."""
    learned = [column for column in table.schema if roles[column.name].role.enters_runs]
    rows = Table(table.frame[[column.name for column in learned]], Schema(tuple(learned)), table.named_persons)
    pairs = (one.columns for one in Equal.candidates(rows, np.random.default_rng(0)) if one.holds(rows))
    return {
        name: GuessedRole(Role.UNDECIDED, False, sentence("role.copy", column=first, both=f"[{first}, {name}]"))
        for first, *others in pairs
        for name in others
        if roles[name].role is not Role.IDENTIFIER
    }


def _numbers_of_persons(table: Table, roles: dict[str, GuessedRole]) -> dict[str, GuessedRole]:
    asked = [name for name, guessed in roles.items() if guessed.role is not Role.IDENTIFIER and not guessed.target]
    return {
        name: _guessed(
            Role.IDENTIFIER,
            int(table.frame[name].nunique()),
            "each with the sex, birth or name of one person",
            evidence=IdentifierEvidence("its values go with the traits of persons", "number"),
        )
        for name in person_numbers(table, asked)
    }


def role_by_name(column: Column, distinct: int) -> GuessedRole | None:
    """Role of a column by its name; None where that says nothing."""
    known = vocabulary()
    words = known.without_fillers(known.split(column.name)) or [""]
    if has_phrase(words, known.opinions):
        return _guessed(Role.INSENSITIVE, distinct, "an opinion, a habit or a mark, which few others know")
    if (has_phrase(words, known.targets) or tuple(words) in known.targets_alone) and distinct <= MOST_CLASSES:
        return _guessed(Role.INSENSITIVE, distinct, "probably a prediction target: then target: true", target=True)
    if column.kind.is_number and has_phrase(words, known.sampling_weights):
        return _guessed(Role.INSENSITIVE, distinct, "is it a sampling weight? then its role is weight")
    counts = column.kind is Kind.INTEGER and words[0] in known.counting
    if has_phrase(words, known.secrets) and not counts:
        return _guessed(Role.SENSITIVE, distinct, "probably confidential")
    if has_phrase(words, known.known_outside) or tuple(words) in known.known_outside_alone:
        return _guessed(Role.QUASI_IDENTIFIER, distinct, _KNOWN)
    return None


def _by_values(column: Column, values: pd.Series, distinct: int) -> GuessedRole:
    many = distinct > min(MANY_VALUES, max(MOST_CLASSES, len(values) / _ROWS_OF_A_GROUP))
    if many and ends_in_number(column.name) and column.kind is not Kind.DECIMAL:
        return _guessed(Role.UNDECIDED, distinct, "the name suggests a number: of persons, or of things?")
    if column.kind is Kind.CATEGORICAL:
        if _matching(column, values, _DIAGNOSIS) >= _MOSTLY and distinct > MOST_CLASSES:
            return _guessed(Role.SENSITIVE, distinct, "its values are diagnoses (ICD-10)")
        if distinct > MANY_VALUES:
            return _guessed(Role.UNDECIDED, distinct, "neither its name nor its values tell what it is")
    coded = has_phrase(vocabulary().split(column.name), vocabulary().code_words)
    if column.kind is Kind.INTEGER and coded and 2 < distinct <= _MOST_CODES:
        return _guessed(Role.INSENSITIVE, distinct, "codes or quantities? for codes: kind: categorical")
    if column.kind is Kind.DECIMAL and _are_amounts(column, values, distinct):
        return _guessed(Role.SENSITIVE, distinct, "its values look like amounts of money")
    return _guessed(Role.INSENSITIVE, distinct)


def _are_unreadable_numbers(column: Column, values: pd.Series) -> bool:
    bare = _matching(column, values, r"\A[0-9]+([.,][0-9]+)?\z")
    return bare < _MOSTLY <= _matching(column, values, _NUMBER_LIKE)


def _years(values: pd.Series) -> float:
    low, high = values.dropna().quantile([0.05, 0.95])
    return float((high - low).days) / 365.25


def _is_free_text(column: Column, values: pd.Series, distinct: int) -> bool:
    if column.kind is not Kind.CATEGORICAL or distinct < _FREE_TEXTS:
        return False
    texts = _texts(column, values)
    return float(pc.mean(pc.count_substring_regex(texts, r"\S+")).as_py()) >= _WORDS


def _are_amounts(column: Column, values: pd.Series, distinct: int) -> bool:
    """True for numbers distributed like amounts of money.

    They have two fixed decimals, are mostly different, and are skewed to the right as money is.
    """
    known = values.dropna()
    two = column.format.decimals == 2 and column.format.fixed_decimals
    return two and distinct > len(known) / 2 and float(known.mean()) > 1.2 * float(known.median()) > 0


def _matching(column: Column, values: pd.Series, form: str) -> float:
    texts = _texts(column, values)
    return float(pc.sum(pc.match_substring_regex(texts, form)).as_py() or 0) / max(len(texts), 1)


def _texts(column: Column, values: pd.Series) -> pa.Array:
    return pa.array(as_text(values.dropna().drop_duplicates(), column).str.strip(), pa.large_string())


def _with_uniqueness(table: Table, roles: dict[str, GuessedRole]) -> dict[str, GuessedRole]:
    """Add to the other columns' reasons the increase in unique rows for an attacker who knew the column too."""
    known = [name for name, guessed in roles.items() if guessed.role is Role.QUASI_IDENTIFIER]
    person = person_key(table, roles)
    table = with_persons(table, [] if person is None else [person])
    before = unique_share(table, known)
    explained = dict(roles)
    for name, guessed in roles.items():
        if guessed.role is Role.INSENSITIVE and not guessed.target and table.schema[name].kind is not Kind.BOOLEAN:
            after = unique_share(table, [*known, name])
            if after - before > 0.05:
                alone = sentence("role.alone", n=round(100 * after), now=round(100 * before))
                explained[name] = GuessedRole(guessed.role, guessed.target, further(guessed.reason, alone))
    return explained
