"""Membership inference by an attacker who holds the trained model."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import FALSE_ALARMS, Fold, of_both_sides, told_apart
from hybrid.evaluation.context import Context, KeptModel, Part
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.table import Table
from hybrid.table.persons import person_groups

MAX_ATTACKED = 10_000
"""Records of each side that are attacked, a random sample of more."""


def membership_whitebox(context: Context) -> Outcome:
    """AUC of an attacker who asks the kept model about single people, 0..1.

    He knows all values of the people whom he asks about, and a sample of the population: half of control. The other
    half are strangers, and then the other way round, with the other half of train, as in
    :func:`~hybrid.evaluation.attacks.membership.membership`. What the model says of a record is up to its generator
    (:class:`~hybrid.synthesize.protocol.InspectableGenerator`): cart by the training values in its leaves
    (:func:`~hybrid.synthesize.generators.cart.leaf_odds`), tabddpm by its loss at noise levels
    (:mod:`hybrid.synthesize.generators.tabddpm.inspect`). Where rows belong to persons, persons are told apart by the
    mean over their rows. At most 10,000 random records of each side are attacked. 0.5 without a leak; interval by
    DeLong. ``details.true_positives`` has the share of members above 99 % of the strangers.
    """
    model = context.making.model
    assert model is not None
    if model.ask is None:
        return NotComputable(model.untried, lacks="model")

    def scored(fold: Fold, part: Part) -> tuple[Array, Array]:
        return _scores(context, model, part, context.records("control").take(fold.reference.rows)), part.rows

    (members, others), _ = of_both_sides(context, scored)
    edge = np.quantile(others, 1 - FALSE_ALARMS, method="higher")
    hits = {"false_alarms": FALSE_ALARMS, "share": float((members > edge).mean())}
    return told_apart(context, (members, others), None, generator=model.generator, true_positives=hits)


def _scores(context: Context, model: KeptModel, part: Part, reference: Table) -> Array:
    """Score of each attacked person: the mean over the attacked records."""
    assert model.ask is not None
    rows = context.by_content(part)
    if len(rows) > MAX_ATTACKED:
        rows = context.random(f"whitebox {part.role}").permutation(rows)[:MAX_ATTACKED]
    said = model.ask(context.records(part.role).take(rows), reference)
    if not context.has_persons(part.role):
        return said
    persons = person_groups(context.persons(part.role)[rows])
    return np.asarray(np.bincount(persons, said) / np.bincount(persons))


METRICS = (
    attack(
        membership_whitebox,
        "membership",
        "How well an attacker who holds the trained model itself finds out who was in the training data; .5 is "
        "guessing.",
        needs=("control", "model"),
        mechanism="learned model",
        access="white_box",
        knows="a reference sample",
    ),
)
