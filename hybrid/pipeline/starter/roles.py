"""Guess what a column is to an attacker, from its name and its values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid.table import Column, Kind, Role, Table
from hybrid.table.checks import giveaways, looks_like_identifier, unique_share

_KNOWN_OUTSIDE = re.compile(
    r"(^|[^a-z])(age|sex|gender|race|ethnic\w*|birth\w*|dob|marital\w*|relationship|family|children|household|"
    r"education\w*|degree|school|occupation|job|profession|employer|work_?class|industry|"
    r"nation\w*|citizen\w*|country|state|province|region|county|district|city|town|municipality|address|street|"
    r"zip\w*|post_?code|postal\w*|plz|fips|language|height|"
    r"(admission|discharge|visit|death|hire|start)[ _-]?(date|day)|alter|geschlecht|geburt\w*|beruf|wohnort)([^a-z]|$)"
)
_SECRET = re.compile(
    r"(^|[^a-z])(diagnos\w*|disease|illness|icd\w*|condition|symptom\w*|hiv|cancer|drug\w*|medication|treatment|therapy|"
    r"salary|wage\w*|income|earnings|debt|credit|balance|religion|party|crime\w*|offen[cs]e|conviction|grade|score|"
    r"cost\w*|charge\w*|price)([^a-z]|$)"
)
_TARGET = re.compile(
    r"(^|[^a-z])(target|label|class|outcome|income|default|churn\w*|readmi\w*|died|death|survived|mortality|y)([^a-z]|$)"
)
_MOST_CLASSES = 10


@dataclass(frozen=True)
class GuessedRole:
    """A role and why; reasons hold no cell values."""

    role: Role
    target: bool
    reason: str


def guess_roles(table: Table) -> dict[str, GuessedRole]:
    """The role of every column.

    Identifiers by name and uniqueness; quasi-identifiers by name, and columns that give one of them away;
    sensitive columns by name; targets by name, if a model could predict them (few classes).
    """
    roles = {column.name: _by_name(column, table) for column in table.schema}
    known = [name for name, guessed in roles.items() if guessed.role is Role.QUASI_IDENTIFIER]
    others = [name for name, guessed in roles.items() if guessed.role is Role.INSENSITIVE and not guessed.target]
    for teller, told in giveaways(table, known, others):
        roles[teller] = GuessedRole(Role.QUASI_IDENTIFIER, False, f"each of its values goes with one of {told}")
    return _with_uniqueness(table, roles)


def _by_name(column: Column, table: Table) -> GuessedRole:
    values = table.frame[column.name]
    distinct = int(values.nunique())
    count = f"{distinct:,} different values"
    name = column.name.lower()
    if looks_like_identifier(column, values):
        return GuessedRole(Role.IDENTIFIER, False, f"{count}, looks like it names one person each")
    target = _TARGET.search(name) is not None and 2 <= distinct <= _MOST_CLASSES
    if distinct < 2:
        return GuessedRole(Role.INSENSITIVE, False, "no two different values" if distinct else "no values at all")
    if target:
        return GuessedRole(Role.INSENSITIVE, True, f"{count}, looks like what a model would predict")
    if _SECRET.search(name):
        return GuessedRole(Role.SENSITIVE, False, f"{count}, looks like what an attacker wants to learn")
    if _KNOWN_OUTSIDE.search(name):
        return GuessedRole(Role.QUASI_IDENTIFIER, False, f"{count}, looks like others know it")
    return GuessedRole(Role.INSENSITIVE, False, count)


def _with_uniqueness(table: Table, roles: dict[str, GuessedRole]) -> dict[str, GuessedRole]:
    """Say of every other column how much more unique rows would be if an attacker knew it too."""
    known = [name for name, guessed in roles.items() if guessed.role is Role.QUASI_IDENTIFIER]
    before = unique_share(table, known)
    explained = dict(roles)
    for name, guessed in roles.items():
        if guessed.role is Role.INSENSITIVE and not guessed.target and table.schema[name].kind is not Kind.BOOLEAN:
            after = unique_share(table, [*known, name])
            if after - before > 0.05:
                reason = f"{guessed.reason}; known outside? then {100 * after:.0f} % of rows are unique, "
                reason += f"not {100 * before:.0f} %"
                explained[name] = GuessedRole(guessed.role, guessed.target, reason)
    return explained
