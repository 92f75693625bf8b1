"""Training records whose nearest row was made from them."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import independent_attempts, share_interval
from hybrid.evaluation.engine.neighbours import Secrets, infer
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.price import Price


def hidden_rate(context: Context) -> Measure:
    """Share of training records whose nearest row was made from them, 0..1.

    HiddR of PrivEval, after Guillaudeux et al. 2023. Nearest in E1, ties all in expectation. Only where it is known
    which record each row was made from: tables with a known leak. The reference, 1/n_T, is what rows made from others
    score by chance. As printed: the row of the record's own number is taken for the one made from it, which holds for
    no shuffled table.
    """
    assert context.making.origin is not None
    asked = context.asked_rows("train")
    success = _told(context, asked, context.making.origin)
    value, chance, worth = float(success.mean()), 1 / len(context.train), float(len(asked))
    if context.has_persons("train"):
        worth = independent_attempts(success, context.persons("train")[asked])
    low, high = share_interval(value, worth, context.options.confidence)
    details: dict[str, object] = {"made_from_train": float((context.making.origin >= 0).mean())}
    if context.options.paper:
        details["paper"] = {"HiddR": float(_told(context, asked, np.arange(len(context.making.origin))).mean())}
    return Measure(value, low, high, chance, len(asked), details).above(chance)


def _told(context: Context, asked: Array, origin: Array) -> Array:
    """Share of each record's nearest rows that were made from it; shape (n_asked,)."""
    people, rows = (context.space.place(part) for part in (context.asked_records("train"), context.encoded("table")))
    return infer(people, rows, np.array([-1]), Secrets.codes(asked), Secrets.codes(origin), squared=True).likely[:, 0]


BEFORE = "membership"
PRICES = {"hidden_rate": Price(searches=0.5)}
METRICS = (
    indicator(
        hidden_rate,
        "The share of training people whose nearest row is the one that was made from them.",
        needs=("origin",),
        unit="share of people",
        by_default=False,
        printed=("HiddR",),
    ),
)
