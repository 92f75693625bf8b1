"""Words of a differentially private release: guarantee, account, decision, first page.

Every sentence is a function of the configuration, the account of the budget and the released table. None is a function
of a record, of a measurement against records, or of the gate's verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hybrid.base.sentence import sentence, sentences
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
NOT_COVERED = "The decision read real records, and the guarantee does not cover it."
NOT_PUBLISHED = "Attacks on this table, where any were made, and their results are not published."
NOT_COMPARED = "How close this table is to its source is not published: real records would decide such a figure."


def is_dp(config: Mapping[str, Any]) -> bool:
    """True for a configuration with ``privacy.mode: dp`` (JSON types)."""
    return config.get("privacy") is not None


def budget_words(config: Mapping[str, Any]) -> str:
    """Epsilon and delta of a configuration, such as "epsilon = 2 and delta = 0.00001"."""
    privacy = config["privacy"]
    return sentence("dp.budget", epsilon=at_most(privacy["epsilon"], 6), delta=_delta(config))


def _delta(config: Mapping[str, Any]) -> str:
    return np.format_float_positional(float(at_most(config["privacy"]["delta"], 6)), trim="-")


def terms(config: Mapping[str, Any], claimed: bool) -> Iterator[str]:
    """State epsilon and delta, for first pages and terminals; ``claimed``: whether the run makes the claim."""
    privacy, budget = config["privacy"], budget_words(config)
    if not claimed:
        yield sentence("dp.not_claimed", budget=budget)
        return
    yield sentence("dp.claimed", budget=budget)
    yield sentence("dp.alike", factor=at_most(math.exp(privacy["epsilon"]), 3), delta=_delta(config))


def guarantee(config: Mapping[str, Any]) -> Iterator[str]:
    """State what is guaranteed, for whom, against whom, and what is not; the run makes the claim."""
    privacy = config["privacy"]
    epsilon, factor = privacy["epsilon"], math.exp(privacy["epsilon"])
    terms_of = {"epsilon": at_most(epsilon, 6), "delta": at_most(privacy["delta"], 6), "factor": at_most(factor, 3)}
    yield sentence("dp.guarantee", **terms_of)
    yield sentence("dp.unit", rows=_rows(config))
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
    return sentence("dp.rows.one") if most == 1 else sentence("dp.rows", most=most)


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
    parts = tuple(sentence("dp.part", name=part["name"], rho=f"{part['rho']:.3g}") for part in budget["parts"])
    delta = math.fsum(part["delta"] for part in budget["parts"])
    spent = {
        "rho": at_most(budget["rho"], 4),
        "delta": at_most(budget["spent_delta"], 3),
        "epsilon": f"{budget['epsilon']:g}",
    }
    if delta:
        return sentence("dp.account.failing", parts=parts, **spent, failing=f"{delta:.3g}")
    return sentence("dp.account", parts=parts, **spent)


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
    if owner:
        return sentences(sentence("dp.decided", owner=owner, policy=policy), NOT_COVERED)
    return sentences(sentence("dp.published", policy=policy), NOT_COVERED)


def steps(config: Mapping[str, Any]) -> Iterator[str]:
    """State each step from the source to the rows, in plain words."""
    data = config.get("data") or {}
    if data.get("person") in (None, EACH_ROW):
        yield "Each row counts as another person."
    else:
        most = data.get("max_rows") or 1
        yield sentence("dp.rows_counted.one") if most == 1 else sentence("dp.rows_counted", most=most)
    yield "A program counted values and pairs of values, and put random noise on all that it took from these counts."
    yield "Every released row was drawn from what it took. No row stands for a person."
