"""Trained model that a run keeps, in the hands of an attacker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hybrid.base.arrays import Array
from hybrid.table import Table

Ask = Callable[[Table, Table], Array]
"""(people, reference) to what the model says of each of the people; the larger, the more it knows them."""


@dataclass(frozen=True)
class KeptModel:
    """A kept model that made a stage's table.

    Parameters
    ----------
    generator : str
        Who trained it.
    ask : callable or None
        Asks the model about single records, beside those of other people of the population; None: it cannot be asked.
    untried : str
        Why it cannot be asked, in words without a full stop; empty where it can.
    """

    generator: str
    ask: Ask | None
    untried: str = ""
