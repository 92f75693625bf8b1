"""Words of a differentially private release: guarantee, account, decision, first page.

Every sentence is a function of the configuration, the account of the budget and the released table. None is a function
of a record, of a measurement against records, or of the gate's verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hybrid.privacy.accounting import at_most
from hybrid.table.data_options import EACH_ROW

WITHHELD = "withheld"
"""Entry of a public file that would be computed from records without noise."""
METRICS_NOTE = "kept by the operator: they are computed from real records without noise"
SOURCE_NOTE = "withheld: equal tags of two releases would tell that no record had changed in between"
SEED_NOTE = (
    "withheld: it repeats who was kept apart, which rows of a person were used and all else but the noise, and the "
    "guarantee needs it secret"
)
NOT_PUBLISHED = "Attacks on this table, where any were made, and their results are not published."
NOT_COMPARED = "How close this table is to its source is not published: real records would decide such a figure."


def is_dp(config: Mapping[str, Any]) -> bool:
    """True for a configuration with ``privacy.mode: dp`` (JSON types)."""
    return config.get("privacy") is not None


def budget_words(config: Mapping[str, Any]) -> str:
    """Epsilon and delta of a configuration, such as "epsilon = 2 and delta = 0.00001"."""
    privacy = config["privacy"]
    return f"epsilon = {at_most(privacy['epsilon'], 6)} and delta = {_delta(config)}"


def _delta(config: Mapping[str, Any]) -> str:
    return np.format_float_positional(float(at_most(config["privacy"]["delta"], 6)), trim="-")


def terms(config: Mapping[str, Any], claimed: bool) -> Iterator[str]:
    """State epsilon and delta, for first pages and terminals; ``claimed``: whether the run makes the claim."""
    privacy, budget = config["privacy"], budget_words(config)
    if not claimed:
        yield (f"This run asked for differential privacy with {budget}, and does not claim it: its seed was given.")
        return
    yield f"The table is differentially private for each person, with {budget}."
    yield (
        "With or without any one person, each table is about as likely. The chance of it changes by a factor of at "
        f"most {at_most(math.exp(privacy['epsilon']), 3)}, and by {_delta(config)} beyond that."
    )


def guarantee(config: Mapping[str, Any]) -> Iterator[str]:
    """State what is guaranteed, for whom, against whom, and what is not; the run makes the claim."""
    privacy = config["privacy"]
    epsilon, delta = at_most(privacy["epsilon"], 6), at_most(privacy["delta"], 6)
    yield (
        f"The synthetic table is (epsilon, delta)-differentially private with epsilon = {epsilon} and delta = {delta}: "
        "between neighbouring tables, the probability of any outcome differs by a factor of at most "
        f"e^{epsilon}, which is at most {at_most(math.exp(privacy['epsilon']), 3)}, and by {delta} beyond that."
    )
    yield f"The unit is the person: neighbouring tables differ in the presence of one person with {_rows(config)}."
    yield (
        "This holds against everyone who sees the table and this account of it, whatever else they know (the records "
        "of all other people and the configuration included), but not the seed or the memory of the run, and who "
        "cannot predict the random bits of the operating system."
    )
    yield (
        "Names, kinds, bounds and listed values of columns, and all other settings, count as public: where they "
        "were taken from the records, nothing is guaranteed."
    )
    yield from not_covered()


def _rows(config: Mapping[str, Any]) -> str:
    data = config.get("data") or {}
    if data.get("person") in (None, EACH_ROW):
        return "their row (it was declared that each row is another person)"
    most = data.get("max_rows") or 1
    used = "one, drawn at random, is" if most == 1 else f"at most {most}, drawn at random, are"
    return f"all their rows, of which {used} used"


def not_covered() -> Iterator[str]:
    """State what the guarantee does not cover."""
    yield (
        "It does not cover the verdict, nor the decisions when to draw and whether to publish: these read real records."
    )
    yield (
        "It does not cover the figures of evaluation and report in the operator's folder, which are computed from the "
        "records without noise, nor whether and how long a run works."
    )
    yield (
        "A further draw from the same people, published or not, has a budget of its own, and the budgets add up: the "
        "operator's ledger keeps the sum."
    )


def account(budget: Mapping[str, Any]) -> str:
    """State every part of a spent budget (:meth:`hybrid.privacy.accounting.Budget.to_json`)."""
    parts = ", ".join(f"{part['name']} {part['rho']:.3g}" for part in budget["parts"])
    delta = math.fsum(part["delta"] for part in budget["parts"])
    failing = f" (and delta {delta:.3g} for categories that noisy counts of persons found)" if delta else ""
    return (
        f"The account in rho of zero-concentrated differential privacy: {parts}; together {at_most(budget['rho'], 4)}"
        f"{failing}, which is delta = {at_most(budget['spent_delta'], 3)} at epsilon = {budget['epsilon']:g}."
    )


def unit_words(config: Mapping[str, Any]) -> str:
    """Name the unit that is protected, for the ledger and the certificate."""
    data = config.get("data") or {}
    person = data.get("person")
    if person in (None, EACH_ROW):
        return "each row is another person"
    columns = [person] if isinstance(person, str) else list(person)
    return f"person: {', '.join(columns)}"


def decision(owner: str, policy: str) -> str:
    """State who answers for the publication, where the policy has an owner; never what was measured."""
    who = f"by decision of {owner}, who answers for the policy {policy}" if owner else f"under the policy {policy}"
    return f"Published {who}. The decision read real records, and the guarantee does not cover it."


def steps(config: Mapping[str, Any]) -> Iterator[str]:
    """State each step from the source to the rows, in plain words."""
    data = config.get("data") or {}
    if data.get("person") in (None, EACH_ROW):
        yield "Each row counts as another person."
    else:
        most = data.get("max_rows") or 1
        yield f"Of each person {'one row counts' if most == 1 else f'at most {most} rows count'}, drawn at random."
    yield "A program counted values and pairs of values, and put random noise on all that it took from these counts."
    yield "Every released row was drawn from what it took. No row stands for a person."
