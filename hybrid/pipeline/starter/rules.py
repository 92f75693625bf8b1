"""Guess a rule beside k, if it costs little.

A rule that every class must have several values of a sensitive column removes whatever separates the rows with the
rare value from the others: nothing of it is written before its cost is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.tradeoff import rule_costs
from hybrid.base.errors import HybridError
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.level_costs import LevelWords, rule_sentences
from hybrid.pipeline.starter.column_names import ages_among
from hybrid.pipeline.starter.columns import GuessedColumn, in_memory
from hybrid.table import Role, Schema, Table

K, SUPPRESSION_LIMIT = 5, 0.05
"""Class size and share of records left out that are proposed."""
_MOST_SEARCHED = 200_000
"""Combinations of levels up to which the cost of a rule is searched."""
_MOST_TRIED = 3
"""Sensitive columns, at most, whose rule is priced."""


@dataclass(frozen=True)
class GuessedRule:
    """A privacy model beside k.

    Parameters
    ----------
    model : dict
        As ``anonymize.models`` takes it.
    against : str
        Why it is not proposed; empty for a rule that is. No cell value.
    """

    model: dict[str, Any]
    against: str = ""


def guess_rules(table: Table, columns: Sequence[GuessedColumn]) -> tuple[GuessedRule, ...]:
    """Guess a rule of distinct 2-diversity.

    It is about the first sensitive column that has it for little; those tried before are named.

    Parameters
    ----------
    table : Table
        With the persons of its rows, if several are of one.
    columns : sequence of GuessedColumn
        Of the table.

    Returns
    -------
    tuple of GuessedRule
        At most one that is proposed, the last. Not proposed are rules on a column whose commonest value more than
        1 - 1 / k of the rows have, since a class of k people then has, on average, fewer than one with another value;
        rules that cost clearly more than k alone; and rules whose cost is not known.
    """
    if not any(one.role.role is Role.QUASI_IDENTIFIER for one in columns):
        return ()
    found: list[GuessedRule] = []
    sensitive = [
        one for one in columns if one.role.role is Role.SENSITIVE and table.frame[one.column.name].nunique() > 1
    ]
    for one in sensitive[:_MOST_TRIED]:
        model = {"model": "l_diversity", "kind": "distinct", "l": 2, "attribute": one.column.name}
        found.append(GuessedRule(model, _too_common(table, one) or _too_costly(table, columns, model)))
        if not found[-1].against:
            break
    return tuple(found)


def _too_common(table: Table, one: GuessedColumn) -> str:
    share = float(table.frame[one.column.name].value_counts(normalize=True, dropna=False).iloc[0])
    if share <= 1 - 1 / K:
        return ""
    return f"{100 * share:.0f} % of the rows have the same value, so that groups of {K} people often have no other"


def _too_costly(table: Table, columns: Sequence[GuessedColumn], model: dict[str, Any]) -> str:
    """Sentence about the cost of a rule; empty where it is small."""
    options = AnonymizeOptions.model_validate({"k": K, "suppression_limit": SUPPRESSION_LIMIT, "models": [model]})
    wanted = [one for one in columns if one.hierarchy is not None or one.column.name == model["attribute"]]
    names = [one.column.name for one in wanted]
    schema = Schema(tuple(replace(table.schema[one.column.name], role=one.role.role) for one in wanted))
    known = Table(table.frame[names], schema, table.persons)
    sources = {
        one.column.name: in_memory(one.hierarchy, table.schema[one.column.name], table.frame[one.column.name])
        for one in wanted
        if one.hierarchy is not None
    }
    try:
        hierarchies = load_hierarchies(known, sources)
        if (combinations := prod(one.n_levels for one in hierarchies.values())) > _MOST_SEARCHED:
            return f"its cost is not known: there are {combinations:,} combinations of levels"
        costs = rule_costs(known, hierarchies, options)
    except HybridError:
        return "its cost could not be searched: hybrid check says why"
    return next(rule_sentences(costs, LevelWords.named(hierarchies, ages_among(hierarchies))), "")
