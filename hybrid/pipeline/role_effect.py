"""Effect of the columns' roles: unique rows and the cost of k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff
from hybrid.base.errors import HybridError
from hybrid.base.rng import rng_for
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.config import RunConfig
from hybrid.table import Table
from hybrid.table.dependencies import small_share, unique_share
from hybrid.table.split import split


@dataclass(frozen=True)
class RoleEffect:
    """Effect of the quasi-identifiers of a configuration on its table.

    Parameters
    ----------
    k : int
        Persons who must share every combination of labels.
    unique : float
        Share of rows, 0..1, of a person who is alone with their quasi-identifiers as they are.
    small : float
        Share of rows, 0..1, whose values fewer than k persons have, before anything is generalized.
    combinations : int
        Combinations of levels that the search chooses from.
    records : int
        Training records, which are anonymized.
    price : TradeoffPoint or None
        Least loss at k and the suppression limit, from the real search; None where it was not searched.
    loss : str
        Name of the loss that the price is in; ``loss`` is a share of information, 0..1.
    coarsest : mapping of str to int
        Last level of each quasi-identifier, which says nothing.
    problem : str
        Why it was not searched; empty if there are only too many combinations. No cell value.
    """

    k: int
    unique: float
    small: float
    combinations: int = 0
    records: int = 0
    price: TradeoffPoint | None = None
    loss: str = "loss"
    coarsest: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


def role_effect(config: RunConfig, whole: Table, most: int) -> RoleEffect:
    """Measure the effect of the roles on a table.

    Parameters
    ----------
    config : RunConfig
        With the roles.
    whole : Table
        All columns, as :meth:`RunConfig.load_all_columns` reads them.
    most : int
        Combinations of levels up to which the least loss is searched for.
    """
    table = whole.without_left_out()
    names = table.schema.quasi_identifiers
    found = RoleEffect(config.k, unique_share(table, names), small_share(table, names, config.k))
    if config.anonymize is None or not config.anonymize.generalizes or not names:
        return found
    try:
        return _priced(config, table, found, most)
    except HybridError as error:
        return RoleEffect(found.k, found.unique, found.small, problem=error.problems[0].message)


def _priced(config: RunConfig, table: Table, found: RoleEffect, most: int) -> RoleEffect:
    options = config.anonymize
    assert options is not None
    hierarchies = load_hierarchies(table, config.hierarchy_sources, config.unlabelled)
    parts = split(table, config.split, rng_for(0, "split"), config.data.person_columns, config.data.household_columns)
    people = parts.train.without_identifiers()
    combinations = prod(one.n_levels for one in hierarchies.values())
    exact = options.engine == "exact" and options.recoding == "global" and options.population is None
    price = None
    if exact and combinations <= most:
        price = tradeoff(people, hierarchies, options, (options.k,), (options.suppression_limit,))[0]
    coarsest = {name: one.n_levels - 1 for name, one in hierarchies.items()}
    return RoleEffect(found.k, found.unique, found.small, combinations, len(people), price, options.loss.name, coarsest)
