"""Attacks and distances in the space of a contrastive encoder.

The encoder is trained on the judged table alone. Beside every number stands that of the same network with random
weights: what the training adds is the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np

from hybrid.evaluation.attacks.closeness import dcr_score, dcr_share
from hybrid.evaluation.attacks.linkability import halves
from hybrid.evaluation.attacks.membership import membership
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.families import attack, indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import Need
from hybrid.evaluation.options import TORCH_HINT
from hybrid.evaluation.price import Price
from hybrid.lab.attacks.contrastive_inference import inferred
from hybrid.lab.attacks.outlier_predicates import difference, one_column, several_columns
from hybrid.lab.encoder.embed import Embedding, chosen, nearest_groups, trained, without_training

InSpace = Callable[[Context, Embedding], Outcome]


def in_space(context: Context, measure: InSpace) -> Outcome:
    """A metric in the encoder's space, the mean over the trained encoders.

    Value, interval and excess are means over the encoders; ``details.untrained`` has the same of a network with random
    weights and the gain over it, with an interval that takes both as independent; ``details.encoder`` how well the
    encoders recognize records.
    """
    if len(context.encoding.columns) < 2:
        return NotComputable("an encoder needs two columns that vary")
    engine = chosen(context).engine
    if engine == "contrastive" and find_spec("torch") is None:
        return NotComputable(f"an encoder is trained with torch, which is missing: {TORCH_HINT}", "failed")
    random = without_training(context)
    beside = measure(context, random)
    if engine == "untrained":
        return _saying(beside, (random,), engine) if isinstance(beside, Measure) else beside
    embeddings = trained(context)
    outcomes = [measure(context, embedding) for embedding in embeddings]
    found = [outcome for outcome in outcomes if isinstance(outcome, Measure)]
    if len(found) < len(outcomes):
        return next(outcome for outcome in outcomes if isinstance(outcome, NotComputable))
    mean = _saying(_mean(found), embeddings, engine)
    if isinstance(beside, Measure):
        check = {"found": random.check.found, "loss": random.check.loss}
        mean.details["untrained"] = _ends(beside) | check | {"gain": difference(mean, beside)}
    else:
        mean.details["untrained"] = {"reason": beside.reason}
    return mean


def _mean(found: list[Measure]) -> Measure:
    """Mean of the measures of several encoders, each with its details."""
    values = [measure.value for measure in found]
    low, high = (_mean_of([getattr(measure, end) for measure in found]) for end in ("low", "high"))
    excess = [
        _mean_of(list(ends)) for ends in zip(*(measure.excess for measure in found if measure.excess), strict=True)
    ]
    each = [_ends(measure) | measure.details for measure in found]
    return replace(
        found[0],
        value=_mean_of(values),
        low=low,
        high=high,
        reference=_mean_of([measure.reference for measure in found if measure.reference is not None]),
        details={"each": each, "spread": max(values) - min(values)},
        excess=(excess[0], excess[1], excess[2]),
    )


def _mean_of(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ends(measure: Measure) -> dict[str, object]:
    return {"value": measure.value, "low": measure.low, "high": measure.high}


def _saying(measure: Measure, embeddings: tuple[Embedding, ...], engine: str) -> Measure:
    """The measure with the self-check of its encoders."""
    checks = [embedding.check for embedding in embeddings]
    encoder = {
        "engine": engine,
        "encoders": len(checks),
        "records": checks[0].records,
        "found": float(np.mean([check.found for check in checks])),
        "chance": checks[0].chance,
        "loss": float(np.mean([check.loss for check in checks])),
    }
    measure.details["encoder"] = encoder
    return measure


def linked(context: Context, embedding: Embedding) -> Outcome:
    """Risk that two holders' columns lead to a common nearest row.

    As in :func:`~.linkability.linkability`, each holder hiding the other's columns from the encoder. Rows at one point
    are tied.
    """
    masks = [np.isin(context.encoding.names, side) for side in halves(context)]
    if not all(mask.any() for mask in masks):
        return NotComputable("each of the two data holders needs at least one column that varies")
    roles: tuple[Role, ...] = ("train", "control")
    people = [context.encoded(role).take(context.asked(context.whole(role)).rows) for role in roles]
    everybody, table, points = people[0].join(people[1]), context.encoded("table"), embedding.encoder.points
    sides = [nearest_groups(points(table, mask), points(everybody, mask)) for mask in masks]
    (group, near), (other_group, other_near) = sides
    wide = int(other_group.max()) + 1
    common = np.isin(near * wide + other_near, group * wide + other_group)
    train, control = np.split(common, [len(people[0])])
    made = attacked_people(context, train, control)
    return made if isinstance(made, NotComputable) else made.measure()


def _in_its_space(compute: Callable[[Context], Measure]) -> InSpace:
    """A metric of distances as it is, on the encoder's points."""

    def measure(_: Context, embedding: Embedding) -> Outcome:
        found = compute(embedding.space)
        return replace(
            found,
            details={name: found.details[name] for name in ("ties", "threshold", "advantage") if name in found.details},
        )

    return measure


def _of_column(context: Context, column: str) -> Outcome:
    return in_space(context, partial(inferred, secret=column))


_NEEDS: tuple[Need, ...] = ("control", "encoder")
BEFORE = "privacy_score"
PRICES = {
    "cl_singling_out": Price(searches=1.0, cells=1.5),
    "cl_linkability": Price(searches=1.5),
    "cl_inference": Price(searches=0.5, cells=2.0),
    "cl_dcr_share": Price(searches=2.5),
    "cl_dcr_score": Price(searches=0.5),
    "cl_membership": Price(searches=1.0),
}
METRICS = (
    attack(
        partial(in_space, measure=several_columns),
        "singling out",
        "How much more often several values of an outlying row describe exactly one training person than one "
        "person never seen.",
        name="cl_singling_out",
        copy=1.0,
        needs=_NEEDS,
        mechanism="embedding",
    ),
    attack(
        partial(in_space, measure=one_column),
        "singling out",
        "How much more often one rare value of an outlying row describes exactly one training person than one "
        "person never seen.",
        name="cl_singling_out_univariate",
        copy=1.0,
        needs=_NEEDS,
        mechanism="embedding",
    ),
    attack(
        partial(in_space, measure=linked),
        "linkability",
        "How much more often the table links two partial records of one training person than of one person never "
        "seen, by the points of an encoder.",
        name="cl_linkability",
        copy=1.0,
        needs=_NEEDS,
        mechanism="embedding",
    ),
    attack(
        _of_column,
        "inference",
        "How much more often this secret is guessed right of training people than of people never seen, by the "
        "points of an encoder.",
        name="cl_inference",
        needs=_NEEDS,
        mechanism="embedding",
        per="declared_secret",
    ),
    indicator(
        partial(in_space, measure=_in_its_space(dcr_share)),
        "The share of rows that lie closer to a training record than to any person never seen among the points "
        "of an encoder; .5 is chance.",
        name="cl_dcr_share",
        no_leak=0.5,
        needs=_NEEDS,
        mechanism="embedding",
    ),
    indicator(
        partial(in_space, measure=_in_its_space(dcr_score)),
        "The share of rows that lie closer to a training record than real people lie to each other among the "
        "points of an encoder.",
        name="cl_dcr_score",
        low=None,
        no_leak=0.0,
        needs=_NEEDS,
        mechanism="embedding",
    ),
    attack(
        partial(in_space, measure=_in_its_space(membership)),
        "membership",
        "How well an attacker can find out from the points of an encoder who was in the training data; .5 is guessing.",
        name="cl_membership",
        copy=1.0,
        needs=_NEEDS,
        mechanism="embedding",
    ),
)
