"""Attribute inference: by the nearest row, by several, and by a random forest trained on the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation import families
from hybrid.evaluation.attacks.outcome import Attack, attacked, attacked_people, measured, worst
from hybrid.evaluation.context import PEOPLE, Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.neighbours import Guesses, Secrets, infer, nearest
from hybrid.evaluation.engine.space import gower
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.utility.models import features


def secrets_of(context: Context, table: Encoded, columns: Array, tolerance: float | None = None) -> Secrets:
    """Secret columns of a table, with a tolerance (the options' by default), of dates a share of train's range."""
    encoding, options = context.encoding, context.options
    share = options.tolerance if tolerance is None else tolerance
    train = context.encoded("train").numbers[:, columns]
    temporal = np.array([encoding.columns[at].kind.type.has_date_format for at in columns], dtype=bool)
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
    """Guesses of every secret from the known columns, all others if not given, in one pass over pairs of records.

    Guesses about some people alone are taken from those about all where these are remembered.
    """
    people = [context.asked_records(role) for role in PEOPLE]
    if only is not None and not context.has(("inference", known)):
        train, control = (side.take(np.flatnonzero(mask)) for side, mask in zip(people, only, strict=True))
        return _guesses(context, train, control, known)
    found = context.once(("inference", known), lambda: _guesses(context, people[0], people[1], known))
    if only is None:
        return found
    return {name: (mine.of(only[0]), its.of(only[1]), at) for name, (mine, its, at) in found.items()}


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
    return {name: (found.of(is_train), found.of(~is_train), i) for i, name in enumerate(names)}


def _printed(context: Context, secret: str) -> dict[str, object]:
    """The attack as Anonymeter makes it: ranges anew for control, tolerance of the guess, the first of tied rows."""

    def about(role: Role) -> Guesses:
        encoding, records, table = context.encoding, context.asked_records(role), context.encoded("table")
        space = gower(encoding, tables=[context.encoded(role), table])
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
    """Attack on one secret of all queried training and control records, with these known columns."""
    found = guesses(context, known)
    if secret not in found or len(context.encoding.names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column", lacks="secret")
    train, control, s = found[secret]
    return attacked_people(context, train.likely[:, s], control.likely[:, s])


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
    """Inference risk from the declared quasi-identifiers: :func:`inference` by an attacker who knows nothing else."""
    known = tuple(name for name in context.schema.quasi_identifiers if name in context.encoding.names)
    if not set(known) - {column}:
        return NotComputable("no quasi-identifier varies", lacks="quasi_identifiers")
    return measured(attack(context, column, known), known=list(known))


def inference_rest(context: Context, column: str) -> Outcome:
    """Inference risk from the columns that are no quasi-identifiers.

    As :func:`inference`, by an attacker who knows these and nothing else. Anonymization leaves them as they are, so of
    a quasi-identifier it is the risk that they undo its generalization.
    """
    quasi = context.schema.quasi_identifiers
    known = tuple(name for name in context.encoding.names if name not in quasi)
    if not set(known) - {column}:
        return NotComputable("no other column than quasi-identifiers varies")
    return measured(attack(context, column, known), known=list(known))


def inference_worst(context: Context) -> Outcome:
    """Largest inference risk over all secrets; its interval holds for all of them at once (Sidak)."""
    if not context.secrets:
        return NotComputable("no secret column is declared", lacks="secret")
    attacks = {secret: attack(context, secret) for secret in context.secrets}
    found = worst(attacks, "secret", context.options.confidence, context.options.paper)
    if isinstance(found, Measure) and not context.schema.sensitive and context.options.secrets is None:
        found.details["no_secrets"] = context.no_secrets
    return found


TREES = 50
BATCH = 5
"""Trees that are kept at once: one that is fully grown on many categories has tens of megabytes."""
MAX_ROWS = 50_000
"""Rows of the table that the attacker's forest is trained on."""
SPLIT_COLUMNS = 20
"""Columns that a split on the way to a number chooses from, at most; categories: the root of all."""


def inference_model(context: Context, column: str) -> Outcome:
    """Risk that a random forest predicts a person's secret.

    It is trained on the table, and predicts from the person's own other columns (METRICS B10). The thesis (section
    3.3.3) asks its model about the columns of the row nearest to the person instead: a model that remembers mostly
    answers with that row's own secret, which ``inference`` reads off without a model. 50 fully grown trees, which
    remember what they were shown. Right is as in ``inference``: equal categories, numbers within tolerance.
    R = (r_T - r_C)/(1 - r_C) over the queried training and control records with a known secret.
    """
    encoding = context.encoding
    if column not in encoding.names or len(encoding.names) < 2:
        return NotComputable("the secret is constant, names single records, or is the only column")
    at = encoding.names.index(column)
    others = np.flatnonzero(np.arange(len(encoding.columns)) != at)
    classify = not bool(encoding.continuous[at])
    rng = context.random(f"inference_model {column}")
    table = context.encoded("table")
    rows = table.order[table.ranks[table.order, at] >= 0]
    source = table.take(rows if len(rows) <= MAX_ROWS else rows[rng.permutation(len(rows))[:MAX_ROWS]])
    context.asked_about["table", "model"] = len(source), len(rows)
    if not len(rows):
        return NotComputable("the secret is missing in every row of the table", "too_few")
    with_secret = known_rows(context, at)
    people = [context.encoded(role).take(rows) for role, rows in zip(PEOPLE, with_secret, strict=True)]
    guesses = _forest_guesses(
        features(encoding, source, others),
        source.ranks[:, at] if classify else source.numbers[:, at],
        [features(encoding, records, others) for records in people],
        classify,
        int(rng.integers(2**31)),
    )
    train, control = (is_right(context, side, at, guess) for side, guess in zip(people, guesses, strict=True))
    made = attacked_people(context, train, control, with_secret)
    details: dict[str, object] = {"trees": TREES, "rows": len(source)}
    if context.options.paper and not classify:
        mine, its = (_accuracy(side.numbers[:, at], guess) for side, guess in zip(people, guesses, strict=True))
        details["paper"] = {"train": mine, "control": its, "risk": (mine - its) / (1 - its) if its < 1 else None}
    return measured(made, **details)


def _accuracy(numbers: Array, guessed: Array) -> float:
    """Accuracy of guessed numbers, from which the thesis takes their risk (METRICS B10): 1 - RMSE / range."""
    return 1 - float(np.sqrt(((numbers - guessed) ** 2).mean()) / np.ptp(numbers))


def is_right(context: Context, records: Encoded, at: int, guess: Array) -> Array:
    """True where a guess is its record's secret: the rank of a category, or a number within the options' tolerance."""
    if not context.encoding.continuous[at]:
        return np.asarray(guess == records.ranks[:, at])
    truth = secrets_of(context, records, np.array([at]))
    value = truth.numbers[0]
    allowed = np.maximum(truth.relative * np.maximum(np.abs(value), np.abs(guess)), truth.absolute)
    return np.asarray(np.abs(value - guess) <= allowed + 1e-12)


def known_rows(context: Context, at: int) -> tuple[Array, Array]:
    """Positions of the queried records of train and of control with a value in a column."""
    asked = [(context.encoded(role), context.asked_rows(role)) for role in PEOPLE]
    train, control = (rows[records.ranks[rows, at] >= 0] for records, rows in asked)
    return train, control


def _forest_guesses(inputs: Array, output: Array, asked: list[Array], classify: bool, seed: int) -> list[Array]:
    """Predictions of one random forest, whose trees are fitted a few at a time with one random state."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    state = np.random.RandomState(seed)
    settings: dict[str, Any] = {"n_estimators": BATCH, "n_jobs": -1, "random_state": state}
    if classify:
        model = RandomForestClassifier(**settings)
    else:
        model = RandomForestRegressor(**settings, max_features=min(inputs.shape[1], SPLIT_COLUMNS))
    scores: list[Any] = [0.0] * len(asked)
    for _ in range(TREES // BATCH):
        with one_model:
            model.fit(inputs, output)
            found = [model.predict_proba(rows) if classify else model.predict(rows) for rows in asked]
        scores = [score + more for score, more in zip(scores, found, strict=True)]
    if classify:
        return [model.classes_[np.round(score, 9).argmax(axis=1)] for score in scores]  # Rounding must not break ties.
    return [score * (BATCH / TREES) for score in scores]


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
        return NotComputable(sentence("metric.few.secret", n=len(rows)), "too_few")
    people = known_rows(context, at)
    train, control = (
        _successes(context, context.encoded(role).take(known), rows, at, sizes)
        for role, known in zip(PEOPLE, people, strict=True)
    )
    attacks = {name: attacked_people(context, right, control[name], people) for name, right in train.items()}
    return worst(attacks, "guess", context.options.confidence)


def _shuffled(context: Context, at: int, column: str) -> Encoded:
    """Rows with a known secret, in a random order that does not depend on that of the file."""
    table = context.encoded("table")
    order = table.order[context.random(f"inference neighbours {column}").permutation(len(table))]
    return table.take(order[table.ranks[order, at] >= 0])


def _successes(context: Context, people: Encoded, rows: Encoded, at: int, sizes: list[int]) -> dict[str, Array]:
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
    """Probability that the most frequent code, of shape (n, k), is the true one."""
    counts = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)
    most = counts.max(axis=1)
    several = np.where(counts == most[:, None], 1 / counts, 0.0).sum(axis=1)
    return np.asarray(((codes == truth[:, None]).sum(axis=1) == most) / several)


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
    families.attack(
        inference_model,
        "inference",
        "How much more often a model trained on the table predicts this secret right, from a person's own other "
        "columns, of training people than of people never seen.",
        per="declared_secret",
        mechanism="learned model",
        printed=("risk",),
    ),
    families.attack(
        inference_neighbours,
        "inference",
        "How much more often several rows like a person tell this secret of training people than of people never "
        "seen, from all other columns.",
        per="declared_secret",
        by_default=False,
    ),
)
