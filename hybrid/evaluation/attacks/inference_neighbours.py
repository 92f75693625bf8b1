"""Attribute inference from several nearest rows."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.inference_model import is_right
from hybrid.evaluation.attacks.outcome import Attack, attacked_people, worst
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome


def inference_neighbours(context: Context, column: str) -> Outcome:
    """Largest risk that several nearest rows have a person's secret.

    As ``inference``, with the k rows nearest by all other columns (Gower), for each k of
    ``evaluate.inference_neighbours``: the most frequent of their categories, one of them by chance where several are,
    and the mean and the median of their numbers. Rows equally far are taken in random order. R = (r_T - r_C)/(1 - r_C)
    of each; the one with the highest lower bound is given, its interval holding for all (Sidak); at most 1, 0 without a
    leak.
    """
    encoding = context.encoding
    if column not in encoding.names or len(encoding.names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column", lacks="secret")
    at = encoding.names.index(column)
    rows = _shuffled(context, at, column)
    sizes = sorted({k for k in context.options.inference_neighbours if k <= len(rows)})
    if not sizes:
        return NotComputable(f"only {len(rows)} rows of the table have the secret", "too_few")
    guessed = {role: _successes(context, role, rows, at, sizes) for role in ("train", "control")}
    people = tuple(_known(context, role, at) for role in ("train", "control"))
    attacks: dict[str, Attack | NotComputable] = {
        name: attacked_people(context, guessed["train"][name], guessed["control"][name], (people[0], people[1]))
        for name in guessed["train"]
    }
    return worst(attacks, "guess", context.options.confidence)


def _shuffled(context: Context, at: int, column: str) -> Encoded:
    """Rows with a known secret, in random order.

    It does not depend on the order of the file.
    """
    table = context.encoded("table")
    order = table.order[context.random(f"inference neighbours {column}").permutation(len(table))]
    return table.take(order[table.ranks[order, at] >= 0])


def _known(context: Context, role: Role, at: int) -> Array:
    """Queried records whose secret is known."""
    asked = context.asked(context.whole(role)).rows
    known: Array = asked[context.encoded(role).ranks[asked, at] >= 0]
    return known


def _successes(context: Context, role: Role, rows: Encoded, at: int, sizes: list[int]) -> dict[str, Array]:
    """Probability of right guesses, by k and kind of guess."""
    people = context.encoded(role).take(_known(context, role, at))
    space = gower(context.encoding, np.delete(np.arange(len(context.encoding.columns)), at))
    found = nearest(space, space.place(people), space.place(rows), sizes[-1])[1]
    if not context.encoding.continuous[at]:
        codes, truth = rows.ranks[found, at], people.ranks[:, at]
        return {f"{k}, mode": most_frequent(codes[:, :k], truth) for k in sizes}
    values = rows.numbers[found, at]
    guesses = {f"{k}, mean": values[:, :k].mean(axis=1) for k in sizes}
    guesses |= {f"{k}, median": np.median(values[:, :k], axis=1) for k in sizes}
    return {name: is_right(context, people, at, guess).astype(float) for name, guess in guesses.items()}


def most_frequent(codes: Array, truth: Array) -> Array:
    """Probability that the most frequent code is the true one.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n, k), int
    truth : numpy.ndarray, shape (n,), int
    """
    counts = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)
    most = counts.max(axis=1)
    several = np.where(counts == most[:, None], 1 / counts, 0.0).sum(axis=1)
    right: Array = ((codes == truth[:, None]).sum(axis=1) == most) / several
    return right


METRICS = (
    attack(
        inference_neighbours,
        "inference",
        "How much more often several rows like a person tell this secret of training people than of people never "
        "seen, from all other columns.",
        per="declared_secret",
        by_default=False,
    ),
)
