"""Secrets read off rows with a person's keys: CAP and AIR.

Forms of PrivEval, a review of seventeen privacy metrics: each in excess of control, and as printed in
``details.paper``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.attribution import keys_of
from hybrid.evaluation.attacks.inference import secrets_of
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import row_keys
from hybrid.evaluation.engine.neighbours import Guesses, Secrets, infer
from hybrid.evaluation.engine.space import Columns, euclidean
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome

BINS = 20
"""Parts of about as many training records each, in which two numbers are one value."""
AIR_TOLERANCE = 0.1
"""A number is told within this share of the larger of guess and truth (PrivEval, AIR)."""
_PEOPLE: tuple[Role, Role] = ("train", "control")

Attacked = Callable[[Context, Array, int], tuple[Array, Array, dict[str, float]]]
"""Success on each queried training and control record, and what ``details.paper`` says."""


def codes(context: Context, role: Role, columns: Array, bins: int | None = BINS) -> Array:
    """Codes that are equal where values are.

    Shape (n, len(columns)), int32.
    Numbers and dates are the number of their part of train's quantiles, or their rank without ``bins``; -1 is missing.
    """
    table, train = context.encoded(role), context.encoded("train")
    found: Array = table.ranks[:, columns].astype(np.int32)
    if bins is None:
        return found
    for place, at in enumerate(columns):
        if context.encoding.continuous[at]:
            known = train.numbers[~np.isnan(train.numbers[:, at]), at]
            edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.empty(0)
            inside = np.searchsorted(edges, np.nan_to_num(table.numbers[:, at]), side="right")
            found[:, place] = np.where(found[:, place] < 0, -1, inside)
    return found


def _asked(context: Context, role: Role) -> Array:
    return context.asked(context.whole(role)).rows


def _exact_shares(context: Context, keys: Array, secret: int, bins: int | None) -> tuple[Array, Array]:
    """Share of the rows with a record's keys that have its secret.

    Of queried training and control records; 0 where no row has the keys.
    """
    roles: tuple[Role, ...] = (*_PEOPLE, "table")
    coded = [codes(context, role, np.append(keys, secret), bins) for role in roles]
    known, whole = row_keys([part[:, :-1] for part in coded]), row_keys(coded)

    def rows(ids: list[Array], asked: Array) -> Array:
        counts = np.bincount(ids[2], minlength=1 + max(int(part.max(initial=-1)) for part in ids))
        return counts[asked]

    asked = [_asked(context, role) for role in _PEOPLE]
    shares = [rows(whole, whole[at][asked[at]]) / np.maximum(rows(known, known[at][asked[at]]), 1) for at in range(2)]
    return shares[0], shares[1]


def _zero_cap(context: Context, keys: Array, secret: int) -> tuple[Array, Array, dict[str, float]]:
    train, control = _exact_shares(context, keys, secret, BINS)
    paper = {"ZCAP": float(_exact_shares(context, keys, secret, None)[0].mean())} if context.options.paper else {}
    return train, control, paper


def zcap(context: Context, column: str) -> Outcome:
    """Excess correct attribution probability on rows with a person's keys.

    Success on a record: of the rows of the table with its quasi-identifiers, the share with its secret; 0 where there
    is no such row (ZCAP of PrivEval, after Taub et al. 2018). Numbers are one value in each of 20 parts of the training
    records. R = (r_T - r_C)/(1 - r_C) over all training and control records: at most 1, 0 without a leak. As printed:
    the mean over training records alone, numbers equal to the last digit.
    """
    return _attack(context, column, _zero_cap)


def _as_columns(coded: Array) -> Columns:
    """Coded records in the space of the Hamming distance."""
    n, q = coded.shape
    numbers, none = np.empty((0, n)), np.empty((0, n), dtype=bool)
    by_column = np.ascontiguousarray(coded.T)
    return Columns(numbers, numbers.astype(np.float32), none, np.empty(0, dtype=bool), by_column, np.ones(q))


def _as_secrets(coded: Array) -> Secrets:
    """Coded secrets, guessed right where equal."""
    ranks = np.ascontiguousarray(coded[None].astype(np.int32))
    return Secrets(ranks, np.full(ranks.shape, np.nan), np.zeros(1), np.zeros(1), True)


def _hamming_shares(context: Context, keys: Array, secret: int, bins: int | None) -> tuple[Array, Array]:
    """Share of the nearest rows that have a record's secret.

    Nearest on the keys, by Hamming distance.
    """
    chosen, table = np.append(keys, secret), codes(context, "table", np.append(keys, secret), bins)
    people = np.concatenate([codes(context, role, chosen, bins)[_asked(context, role)] for role in _PEOPLE])
    nothing = np.array([-1])
    of_people, of_rows = (_as_columns(np.ascontiguousarray(part[:, :-1])) for part in (people, table))
    found = infer(of_people, of_rows, nothing, _as_secrets(people[:, -1]), _as_secrets(table[:, -1]))
    return _by_role(context, found.hits[:, 0] / found.ties[:, 0])


def _by_role(context: Context, values: Array) -> tuple[Array, Array]:
    train, control = np.split(values, [len(_asked(context, "train"))])
    return train, control


def _general_cap(context: Context, keys: Array, secret: int) -> tuple[Array, Array, dict[str, float]]:
    train, control = _hamming_shares(context, keys, secret, BINS)
    paper = {"GCAP": float(_hamming_shares(context, keys, secret, None)[0].mean())} if context.options.paper else {}
    return train, control, paper


def gcap(context: Context, column: str) -> Outcome:
    """Excess correct attribution probability on the rows nearest by keys.

    As :func:`zcap` with the rows whose quasi-identifiers differ from the record's in the fewest columns, all ties
    (GCAP of PrivEval). Always some row is nearest: success never lacks a match.
    """
    return _attack(context, column, _general_cap)


def _nearest_share(context: Context, keys: Array, secret: int, symmetric: bool) -> Guesses:
    """Guesses from the rows nearest in E1 on the keys.

    About the queried training, then the control records.
    """
    space, at = euclidean(context.encoding, keys), np.array([secret])
    mine, its = (context.encoded(role).take(_asked(context, role)) for role in _PEOPLE)
    people, table = mine.join(its), context.encoded("table")
    truth, guess = (
        secrets_of(context, part, at, AIR_TOLERANCE)._replace(symmetric=symmetric) for part in (people, table)
    )
    return infer(space.place(people), space.place(table), np.array([-1]), truth, guess, squared=True)


def _inferred(context: Context, keys: Array, secret: int) -> tuple[Array, Array, dict[str, float]]:
    found = _nearest_share(context, keys, secret, True)
    train, control = _by_role(context, found.hits[:, 0] / found.ties[:, 0])
    paper: dict[str, float] = {}
    if context.options.paper:
        right = _by_role(context, _nearest_share(context, keys, secret, False).first[:, 0].astype(float))[0]
        precision = float(_surprise(context.keys["train"], _asked(context, "train")) @ right)
        paper = {"AIR": 2 * precision / (1 + precision)}
    return train, control, paper


def _surprise(contents: Array, asked: Array) -> Array:
    """Share of each queried record in the entropy of the contents.

    -p log p over their sum; shape (n_asked,).
    """
    share = np.bincount(contents)[contents[asked]] / len(contents)
    weight = -share * np.log(share)
    total = weight.sum()
    return weight / total if total > 0 else np.full(len(asked), 1 / len(asked))


def air(context: Context, column: str) -> Outcome:
    """Excess attribute inference risk from the row nearest by keys.

    AIR of PrivEval. The nearest row in E1 on the quasi-identifiers, ties all in expectation; a category is told if
    equal, a number within 10 % of the larger of guess and truth, a date within 10 % of train's range. R = (r_T -
    r_C)/(1 - r_C). As printed: F1 of training records alone, weighted by their contents' share of the entropy, without
    false negatives, 2p/(1 + p); the first of tied rows, numbers within 10 % of the guess.
    """
    return _attack(context, column, _inferred)


def _attack(context: Context, column: str, attacked: Attacked) -> Outcome:
    names = context.encoding.names
    if column not in names:
        return NotComputable("the secret is constant or names single records", lacks="secret")
    keys = keys_of(context, column)
    if not len(keys):
        return NotComputable("there is no other column to attack with", lacks="quasi_identifiers")
    train, control, paper = attacked(context, keys, names.index(column))
    made = attacked_people(context, train, control)
    if isinstance(made, NotComputable):
        return made
    details: dict[str, object] = {"keys": [names[at] for at in keys]}
    return made.measure(**details, **({"paper": paper} if paper else {}))


METRICS = (
    attack(
        zcap,
        "inference",
        "How much more often rows with exactly a person's quasi-identifiers show the secret of training people "
        "than of people never seen.",
        needs=("control", "quasi_identifiers"),
        per="secret",
        mechanism="uniqueness",
        knows="quasi-identifiers",
        by_default=False,
        printed=("ZCAP",),
    ),
    attack(
        gcap,
        "inference",
        "How much more often the rows that differ least from a person's quasi-identifiers show the secret of "
        "training people than of people never seen.",
        needs=("control", "quasi_identifiers"),
        per="secret",
        knows="quasi-identifiers",
        by_default=False,
        printed=("GCAP",),
    ),
    attack(
        air,
        "inference",
        "How much more often the row nearest to a person's quasi-identifiers tells the secret of training people "
        "than of people never seen.",
        needs=("control", "quasi_identifiers"),
        per="secret",
        knows="quasi-identifiers",
        by_default=False,
        printed=("AIR",),
    ),
)
