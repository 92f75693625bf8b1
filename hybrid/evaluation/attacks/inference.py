"""Attribute inference by the nearest row."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation import families
from hybrid.evaluation.attacks.outcome import Attack, attacked, attacked_people, worst
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.neighbours import Guesses, Secrets, infer
from hybrid.evaluation.engine.space import gower
from hybrid.evaluation.measure import Measure, NotComputable, Outcome


def secrets_of(context: Context, table: Encoded, columns: Array, tolerance: float | None = None) -> Secrets:
    """Secret columns of a table, with a tolerance, the options' by default.

    For dates the tolerance is a share of train's range.
    """
    encoding, options = context.encoding, context.options
    share = options.tolerance if tolerance is None else tolerance
    train = context.encoded("train").numbers[:, columns]
    temporal = np.array([encoding.columns[at].kind.is_temporal for at in columns], dtype=bool)
    span = np.zeros(len(columns))
    for i in np.flatnonzero(temporal):
        known = train[~np.isnan(train[:, i]), i]
        span[i] = np.ptp(known) if len(known) else 0.0
    relative = np.where(temporal, 0.0, share)
    absolute = np.where(temporal, share * span, options.absolute_tolerance)
    ranks = np.ascontiguousarray(table.ranks[:, columns].T)
    return Secrets(ranks, np.ascontiguousarray(table.numbers[:, columns].T), relative, absolute, True)


Guessed = dict[str, tuple[Guesses, Guesses, int]]
"""For every secret: guesses about train and control, and its place in them."""


Only = tuple[Array, Array]
"""Masks of the queried training and control records."""


def guesses(context: Context, known: tuple[str, ...] | None = None, only: Only | None = None) -> Guessed:
    """Guesses of every secret from the known columns.

    Known are all other columns, if not given. It takes one pass over pairs of records. Guesses about some people alone
    are taken from those about all where these are remembered.
    """
    people = [context.encoded(role).take(context.asked(context.whole(role)).rows) for role in ("train", "control")]
    if only is not None and not context.has(("inference", known)):
        train, control = (side.take(np.flatnonzero(mask)) for side, mask in zip(people, only, strict=True))
        return _guesses(context, train, control, known)
    found = context.once(("inference", known), lambda: _guesses(context, people[0], people[1], known))
    if only is None:
        return found
    return {name: (_of(mine, only[0]), _of(its, only[1]), at) for name, (mine, its, at) in found.items()}


def _of(guesses: Guesses, chosen: Array) -> Guesses:
    """The guesses about some of the people."""
    return Guesses(*(part[chosen] for part in guesses))


def attackable(context: Context) -> list[str]:
    """Secrets that vary, each once."""
    return [name for name in dict.fromkeys([*context.secrets]) if name in context.encoding.names]


def _guesses(context: Context, train: Encoded, control: Encoded, known: tuple[str, ...] | None) -> Guessed:
    encoding = context.encoding
    space = gower(encoding, None if known is None else encoding.positions(known))
    names = attackable(context)
    columns = np.array([encoding.names.index(name) for name in names], dtype=np.int64)
    place = {int(column): i for i, column in enumerate(space.columns)}
    skip = np.array([place.get(int(column), -1) for column in columns], dtype=np.int64)
    table = context.encoded("table")
    people = train.join(control)
    truth, guess = secrets_of(context, people, columns), secrets_of(context, table, columns)
    found = infer(space.place(people), space.place(table), skip, truth, guess)
    is_train = np.arange(len(people)) < len(train)
    mine, its = _of(found, is_train), _of(found, ~is_train)
    return {name: (mine, its, i) for i, name in enumerate(names)}


def _printed(context: Context, secret: str) -> dict[str, object]:
    """The attack as Anonymeter computes it.

    Ranges are refitted for control, the tolerance is relative to the guess, and the first of tied rows counts.
    """

    def about(role: Role) -> Guesses:
        encoding, everybody, table = context.encoding, context.encoded(role), context.encoded("table")
        space = gower(encoding, tables=[everybody, table])
        records = everybody.take(context.asked(context.whole(role)).rows)
        columns = np.array([encoding.names.index(secret)])
        skip = np.flatnonzero(space.columns == columns[0])
        truth, guess = (secrets_of(context, t, columns)._replace(symmetric=False) for t in (records, table))
        return infer(space.place(records), space.place(table), skip, truth, guess)

    train, control = about("train"), about("control")
    made = attacked(train.first.sum(), control.first.sum(), len(train.first), len(control.first), 0.95)
    return {
        "successes": int(train.first.sum()),
        "control_successes": int(control.first.sum()),
        "risk": None if isinstance(made, NotComputable) else made.measure().value,
    }


def attack(context: Context, secret: str, known: tuple[str, ...] | None = None) -> Attack | NotComputable:
    """Attack on one secret with these known columns.

    It is on all queried training and control records.
    """
    found = guesses(context, known)
    if secret not in found or len(context.encoding.names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column", lacks="secret")
    train, control, s = found[secret]
    return attacked_people(context, expected(train)[:, s], expected(control)[:, s])


def expected(guesses: Guesses) -> Array:
    """Probability that a guess is right, shape (n, m).

    The guess is drawn from the tied nearest rows.
    """
    result: Array = guesses.hits / guesses.ties
    return result


def inference(context: Context, column: str) -> Outcome:
    """Risk that the nearest row has a person's secret.

    The nearest row by all other columns (METRICS A4; Giomi et al. 2023, 4.3). Gower distance; categories must be equal,
    numbers within ``tolerance`` of the larger of guess and truth, dates within that share of the range. Among several
    nearest rows the attacker picks one at random; the expectation is taken. R = (r_T - r_C)/(1 - r_C) over all training
    and control records: at most 1, 0 without a leak.
    """
    made = attack(context, column)
    if isinstance(made, NotComputable):
        return made
    train, _, s = guesses(context)[column]
    details: dict[str, object] = {"tied": float((train.ties[:, s] > 1).mean())}
    if context.options.paper:
        details["paper"] = _printed(context, column)
    return made.measure(**details)


def inference_quasi(context: Context, column: str) -> Outcome:
    """Inference risk from the declared quasi-identifiers.

    As :func:`inference`, by an attacker who knows these and nothing else.
    """
    known = tuple(name for name in context.schema.quasi_identifiers if name in context.encoding.names)
    if not set(known) - {column}:
        return NotComputable("no quasi-identifier varies", lacks="quasi_identifiers")
    made = attack(context, column, known)
    return made if isinstance(made, NotComputable) else made.measure(known=list(known))


def inference_rest(context: Context, column: str) -> Outcome:
    """Inference risk from the columns that are no quasi-identifiers.

    As :func:`inference`, by an attacker who knows these and nothing else. Anonymization leaves them as they are, so of
    a quasi-identifier it is the risk that they undo its generalization.
    """
    quasi = context.schema.quasi_identifiers
    known = tuple(name for name in context.encoding.names if name not in quasi)
    if not set(known) - {column}:
        return NotComputable("no other column than quasi-identifiers varies")
    made = attack(context, column, known)
    return made if isinstance(made, NotComputable) else made.measure(known=list(known))


def inference_worst(context: Context) -> Outcome:
    """Largest inference risk over all secrets.

    Its interval holds for all of them at once (Sidak).
    """
    if not context.secrets:
        return NotComputable("no secret column is declared", lacks="secret")
    attacks = {secret: attack(context, secret) for secret in context.secrets}
    found = worst(attacks, "secret", context.options.confidence, context.options.paper)
    if isinstance(found, Measure) and not context.schema.sensitive and context.options.secrets is None:
        found.details["no_secrets"] = context.no_secrets
    return found


METRICS = (
    families.attack(
        inference,
        "inference",
        "How much more often this secret is guessed right of training people than of people never seen, from all "
        "other columns.",
        copy=1.0,
        per="secret",
        headline=True,
        leakage=True,
        decides=5,
        printed=("risk",),
    ),
    families.attack(
        inference_quasi,
        "inference",
        "How much more often this secret is guessed right of training people than of people never seen, from the "
        "quasi-identifiers.",
        needs=("control", "quasi_identifiers"),
        per="secret",
        knows="quasi-identifiers",
    ),
    families.attack(
        inference_rest,
        "inference",
        "How much more often this column is guessed right of training people than of people never seen, from the "
        "columns that are no quasi-identifiers.",
        needs=("control", "quasi_identifiers"),
        per="secret",
        knows="columns that are no quasi-identifiers",
        by_default=False,
    ),
    families.attack(
        inference_worst,
        "inference",
        "How much more often the most exposed secret is guessed right of training people than of people never seen.",
        copy=1.0,
        printed=("risk",),
    ),
)
