"""Attribute inference by a random forest trained on the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.inference import secrets_of
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome
from hybrid.evaluation.utility.models import features

_PEOPLE: tuple[Role, ...] = ("train", "control")
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
    with_secret = {role: _known(context, role, at) for role in _PEOPLE}
    known = {role: context.encoded(role).take(rows) for role, rows in with_secret.items()}
    guesses = _guesses(
        features(encoding, source, others),
        source.ranks[:, at] if classify else source.numbers[:, at],
        [features(encoding, records, others) for records in known.values()],
        classify,
        int(rng.integers(2**31)),
    )

    def success(role: Role) -> Array:
        return is_right(context, known[role], at, guesses[_PEOPLE.index(role)])

    def accuracy_of_numbers(role: Role) -> float:
        """Accuracy of guessed numbers: 1 - RMSE / range.

        The thesis takes the risk of numbers from it (METRICS B10).
        """
        values = known[role].numbers[:, at]
        gaps = values - guesses[_PEOPLE.index(role)]
        return 1 - float(np.sqrt((gaps**2).mean()) / np.ptp(values))

    train, control = success("train"), success("control")
    made = attacked_people(context, train, control, (with_secret["train"], with_secret["control"]))
    details: dict[str, object] = {"trees": TREES, "rows": len(source)}
    if context.options.paper and not classify:
        mine, its = accuracy_of_numbers("train"), accuracy_of_numbers("control")
        details["paper"] = {"train": mine, "control": its, "risk": (mine - its) / (1 - its) if its < 1 else None}
    return made if isinstance(made, NotComputable) else made.measure(**details)


def is_right(context: Context, records: Encoded, at: int, guess: Array) -> Array:
    """True where a guess is the secret of its record.

    Parameters
    ----------
    records : Encoded
        n records with a known secret.
    at : int
        Position of the secret in the coding.
    guess : numpy.ndarray, shape (n,)
        Ranks of categories, or numbers, which count within the options' tolerance.
    """
    if not context.encoding.continuous[at]:
        return np.asarray(guess == records.ranks[:, at])
    truth = secrets_of(context, records, np.array([at]))
    value = truth.numbers[0]
    allowed = np.maximum(truth.relative * np.maximum(np.abs(value), np.abs(guess)), truth.absolute)
    return np.asarray(np.abs(value - guess) <= allowed + 1e-12)


def _known(context: Context, role: Role, at: int) -> Array:
    """Queried records whose secret is known."""
    asked = context.asked(context.whole(role)).rows
    rows: Array = asked[context.encoded(role).ranks[asked, at] >= 0]
    return rows


def _guesses(inputs: Array, output: Array, asked: list[Array], classify: bool, seed: int) -> list[Array]:
    """Predictions of one random forest for several sets of records.

    Its trees are fitted a few at a time. One random state runs through all batches, so the trees are those of a forest
    fitted at once.
    """
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


METRICS = (
    attack(
        inference_model,
        "inference",
        "How much more often a model trained on the table predicts this secret right, from a person's own other "
        "columns, of training people than of people never seen.",
        per="declared_secret",
        mechanism="learned model",
        printed=("risk",),
    ),
)
