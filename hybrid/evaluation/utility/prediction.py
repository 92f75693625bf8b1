"""Prediction by models of the table (TSTR) and real rows (TRTR), of the targets and of each column."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.sentence import sentence
from hybrid.base.words import told_apart
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import (
    auc,
    auc_interval,
    clustered_error,
    placements,
    quantile,
    simultaneous,
    weighted_auc_interval,
)
from hybrid.evaluation.engine.threads import one_model, one_thread
from hybrid.evaluation.families import utility
from hybrid.evaluation.fidelity.content import GROUPS, GROUPS_OF_PAIRS, MOST_LISTED, grouped
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import MIN_ROWS
from hybrid.evaluation.utility.models import Learner, boosting, brier, features, filled, fit_weights, linear
from hybrid.table import Kind
from hybrid.table import Role as ColumnRole
from hybrid.table.holders import n_with_key

BOOTSTRAPS = 200
MAX_TRAINED = 100_000
MAX_TESTED = 50_000
"""Rows that a model is trained and tested on, at most: a random sample of more."""
_ROWS: dict[Role, int] = {"table": MAX_TRAINED, "train": MAX_TRAINED, "control": MAX_TESTED}
MOST_CLASSES = 10
"""Values of a whole-number target beyond which it is a quantity: 0 and 1 are classes."""
IMPORTANCE_CELLS = 40_000
"""Rows times columns on which importance is measured: wide tables get fewer rows, but at least 300."""


class Task(NamedTuple):
    """Predict column ``at`` from ``columns`` (positions in the coding)."""

    target: str
    at: int
    columns: Array
    classify: bool


class ModelScore(NamedTuple):
    """Quality of a model on unseen people, and each column's contribution."""

    value: float
    low: float
    high: float
    extra: dict[str, float]
    importance: Array
    errors: Array
    """Squared error of each tested row: Brier's score of classes (0..1), of numbers a share of the variance."""
    parts: Array | None
    """Each tested row's part in the quality, shape (n,), mean 0: its clustered error is that of the quality. None where
    rows have weights."""


def _task(context: Context, target: str) -> Task | NotComputable:
    encoding = context.encoding
    if target not in encoding.names:
        return NotComputable("the target is constant or names single records")
    at = encoding.names.index(target)
    classify = _are_classes(context, at)
    unused = {at, *_weights(context)}
    columns = np.array([i for i in range(len(encoding.columns)) if i not in unused], dtype=np.int64)
    if not len(columns):
        return NotComputable("there is no other column to predict the target from")
    return Task(target, at, columns, classify)


def _are_classes(context: Context, at: int) -> bool:
    """True for categories, booleans, and whole numbers with few values among the real rows."""
    encoding = context.encoding
    if encoding.columns[at].kind is not Kind.INTEGER:
        return not bool(encoding.continuous[at])
    numbers = np.concatenate([context.encoded(role).numbers[:, at] for role in ("train", "control")])
    return len(np.unique(numbers[~np.isnan(numbers)])) <= MOST_CLASSES


def _data(context: Context, task: Task, role: Role, limit: int) -> tuple[Array, Array, Array | None]:
    """Inputs, outputs and weights of at most ``limit`` rows with a known target, ordered by content alone."""
    table, rows = context.encoded(role), _rows(context, task, role, limit)
    output = (table.numbers if context.encoding.continuous[task.at] else table.ranks)[rows, task.at]
    weights = context.weights(role)
    inputs = features(context.encoding, table.take(rows), task.columns)
    return inputs, output, None if weights is None else weights[rows]


def _rows(context: Context, task: Task, role: Role, limit: int) -> Array:
    table = context.encoded(role)
    known = table.ranks[:, task.at] >= 0
    if context.encoding.continuous[task.at]:
        known = ~np.isnan(table.numbers[:, task.at])
    rows: Array = table.order[known[table.order]]
    if len(rows) > limit:
        rows = context.random(f"rows {task.target} {role}").permutation(rows)[:limit]
    return rows


def tested_rows(context: Context, target: str) -> Array:
    """Positions of the control rows that models are tested on; none for a constant target."""
    task = _task(context, target)
    if isinstance(task, NotComputable):
        return np.empty(0, dtype=np.int64)
    return _rows(context, task, "control", MAX_TESTED)


def _say_samples(context: Context, task: Task) -> None:
    """Note how many rows models saw, also where the scores were computed before."""
    for role, limit in _ROWS.items():
        known = len(_rows(context, task, role, sys.maxsize))
        context.asked_about[role, "model"] = min(known, limit), known


def _score(context: Context, task: Task, source: Role, test: Role, learner: Learner) -> ModelScore | NotComputable:
    inputs, output, weights = _data(context, task, source, MAX_TRAINED)
    unseen, truth, counted = _data(context, task, test, MAX_TESTED)
    if min(len(output), len(truth)) < MIN_ROWS:
        return NotComputable(sentence("metric.few.targets", n=MIN_ROWS), "too_few")
    if len(np.unique(output)) < 2 or len(np.unique(truth)) < 2:
        return NotComputable("the target has only one value", "too_few")
    rng = context.random(f"prediction {task.target}")
    seed = int(rng.integers(2**31))
    numbers = context.encoding.continuous[task.columns]
    model = boosting(numbers, task.classify, seed) if learner == "boosting" else linear(numbers, task.classify)
    confidence = context.options.confidence
    alone = one_model if learner == "linear" else nullcontext()
    with one_thread(len(output) + len(truth), models=True), alone:
        model.fit(filled(inputs), output, **fit_weights(model, weights))
        importance = _importance(model, unseen, truth, task.classify, rng) if learner == "boosting" else np.empty(0)
        if task.classify:
            likely = model.predict_proba(unseen)
            found, parts = _classified(likely, model.classes_, truth, counted, confidence)
            return ModelScore(*found, importance, brier(likely, model.classes_, truth), parts)
        guess = model.predict(unseen)
        errors = (truth - guess) ** 2 / truth.var()
        spread = (truth - truth.mean()) ** 2 / truth.var()
        parts = None if counted is not None else errors.mean() * spread - errors
        return ModelScore(
            *_regressed(guess, truth, counted, np.ptp(output), rng, confidence), importance, errors, parts
        )


def _classified(
    likely: Array, classes: Array, truth: Array, weights: Array | None, confidence: float
) -> tuple[tuple[float, float, float, dict[str, float]], Array | None]:
    """AUC with its interval and parts, and accuracies; of several classes the frequency-weighted one-against-rest."""
    present, codes = np.unique(truth, return_inverse=True)
    counts = np.bincount(codes, weights)
    scores = np.zeros((len(truth), len(present)))
    _, here, there = np.intersect1d(present, classes, return_indices=True)
    scores[:, here] = likely[:, there]
    judged = [1] if len(present) == 2 else [*range(len(present))]
    found = [_auc(scores[:, at], codes == at, weights, confidence) for at in judged]
    value, low, high = map(float, np.average(found, axis=0, weights=counts[judged]))
    accuracy = float(np.average(classes[likely.argmax(axis=1)] == truth, weights=weights))
    extra = {"accuracy": accuracy, "accuracy_of_the_most_frequent": float(counts.max() / counts.sum())}
    return (value, low, high, extra), None if weights is not None else ranked(scores, codes, judged).parts


def _auc(scores: Array, positive: Array, weights: Array | None, confidence: float) -> tuple[float, float, float]:
    sides = scores[positive], scores[~positive]
    if weights is None:
        return auc_interval(*sides, confidence)
    return weighted_auc_interval(*sides, weights[positive], weights[~positive], confidence)


def _regressed(
    guess: Array, truth: Array, weights: Array | None, span: float, rng: np.random.Generator, confidence: float
) -> tuple[float, float, float, dict[str, float]]:
    """R squared with a bootstrap interval, and the root mean squared error over the training range."""
    error = (truth - guess) ** 2

    def unexplained(rows: Array) -> Array:
        if weights is None:
            left, spread = error[rows].mean(axis=-1), truth[rows].var(axis=-1)
        else:
            counted, total = weights[rows], weights[rows].sum(axis=-1)
            apart = truth[rows] - ((counted * truth[rows]).sum(axis=-1) / total)[..., None]
            left, spread = ((counted * each).sum(axis=-1) / total for each in (error[rows], apart**2))
        return np.asarray(left / np.maximum(spread, np.finfo(float).tiny))

    value = 1 - float(unexplained(np.arange(len(truth))))
    draws = rng.integers(len(truth), size=(BOOTSTRAPS, len(truth)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(1 - unexplained(draws), [tail, 1 - tail])
    nrmse = float(np.sqrt(np.average(error, weights=weights)) / span)
    return value, float(min(low, value)), float(max(high, value)), {"nrmse": nrmse}


def _importance(model: Any, inputs: Array, truth: Array, classify: bool, rng: np.random.Generator) -> Array:
    """Loss of quality on some rows when one column is shuffled (Breiman 2001), shape (n_columns,)."""
    rows = rng.permutation(len(truth))[: max(IMPORTANCE_CELLS // inputs.shape[1], 300)]
    inputs, truth = inputs[rows], truth[rows]

    def quality(x: Array) -> float:
        if not classify:
            return -float(((model.predict(x) - truth) ** 2).mean())
        likely = model.predict_proba(x)
        if len(model.classes_) == 2:
            positive = truth == model.classes_[1]
            return auc(likely[positive, 1], likely[~positive, 1]) if 0 < positive.sum() < len(truth) else 0.0
        return float((model.classes_[likely.argmax(axis=1)] == truth).mean())

    whole, lost = quality(inputs), np.empty(inputs.shape[1])
    for c in range(inputs.shape[1]):
        shuffled = inputs.copy()
        shuffled[:, c] = inputs[rng.permutation(len(inputs)), c]
        lost[c] = whole - quality(shuffled)
    return lost


def scores_of(context: Context, target: str, learner: Learner) -> tuple[ModelScore, ModelScore] | NotComputable:
    """Scores on control of training on the table, and on the real rows."""
    task = _task(context, target)
    if isinstance(task, NotComputable):
        return task
    real = context.once_for_all_stages(
        ("score", target, learner), lambda: _score(context, task, "train", "control", learner)
    )
    if context.table is context.train:
        synthetic = real
    else:
        synthetic = context.once(("score", target, learner), lambda: _score(context, task, "table", "control", learner))
    _say_samples(context, task)
    if isinstance(synthetic, NotComputable):
        return synthetic
    if isinstance(real, NotComputable):
        return real
    if real.low <= (0.5 if task.classify else 0.0):
        return NotComputable(
            "models trained on the real rows predict no better than chance, so that nothing can be lost", lacks="signal"
        )
    return synthetic, real


def _tstr(context: Context, target: str, learner: Learner) -> Outcome:
    scores = scores_of(context, target, learner)
    if isinstance(scores, NotComputable):
        return scores
    synthetic, real = scores
    task = _task(context, target)
    classify = isinstance(task, Task) and task.classify
    details = {
        "score": "auc" if classify else "r2",
        "learner": learner,
        "trtr_interval": [real.low, real.high],
        "difference": synthetic.value - real.value,
        "difference_interval": _paired(context, target, synthetic, real),
        "ratio": synthetic.value / real.value if real.value > 0 else None,
        **synthetic.extra,
        **{f"trtr_{name}": value for name, value in real.extra.items()},
    }
    n = len(context.encoded("table"))
    return Measure(synthetic.value, synthetic.low, synthetic.high, real.value, n, details)


def _paired(context: Context, target: str, synthetic: ModelScore, real: ModelScore) -> list[float] | None:
    """Interval of the difference of both qualities on the same people (DeLong 1988, of R squared the delta method)."""
    if synthetic.parts is None or real.parts is None:
        return None
    persons = context.persons("control")[tested_rows(context, target)]
    error = quantile(context.options.confidence) * clustered_error(synthetic.parts - real.parts, persons)
    return [synthetic.value - real.value - error, synthetic.value - real.value + error]


def tstr(context: Context, column: str) -> Outcome:
    """Gradient boosting trained on the table and tested on control.

    The reference is the same trained on real rows. AUC (0..1, frequency-weighted one-against-rest for more than two
    classes, DeLong's interval) for categories and whole numbers with at most 10 values, R squared (at most 1, bootstrap
    interval) for other numbers and dates. Sampling weights are no input: models are fitted and scored with them. Not
    computable where the model trained on real rows is not above chance (AUC .5, R squared 0) by its interval.
    ``details`` have the difference from the reference, with the interval of a paired comparison on the same people.
    """
    return _tstr(context, column, "boosting")


def tstr_linear(context: Context, column: str) -> Outcome:
    """As :func:`tstr`, with logistic or ridge regression."""
    return _tstr(context, column, "linear")


def _rank_correlation(a: Array, b: Array) -> float | None:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else None


def importance_agreement(context: Context, column: str) -> Outcome:
    """Rank correlation of permutation importances, table against real rows, -1..1.

    Spearman's, of the model of the table against the model of the real rows. The reference is the agreement of the real
    model with one trained on control and tested on train.
    """
    scores = scores_of(context, column, "boosting")
    if isinstance(scores, NotComputable):
        return scores
    synthetic, real = scores
    task = _task(context, column)
    if isinstance(task, NotComputable) or len(task.columns) < 3:
        return NotComputable("ranks of fewer than three columns say nothing", "too_few")
    other = context.once_for_all_stages(
        ("importance", column), lambda: _score(context, task, "control", "train", "boosting")
    )
    value = _rank_correlation(synthetic.importance, real.importance)
    if value is None:
        return NotComputable("no column is more important than another", "too_few")
    reference = None if isinstance(other, NotComputable) else _rank_correlation(other.importance, real.importance)
    names = [context.encoding.names[i] for i in task.columns]
    details = {
        "table": dict(zip(names, map(float, synthetic.importance), strict=True)),
        "real": dict(zip(names, map(float, real.importance), strict=True)),
    }
    return Measure(value, reference=reference, n=len(names), details=details)


PREDICTED = 0.6
"""AUC that the low end of a model of the real table must reach for a column to count as predicted."""
MOST_COLUMNS = 30
"""Columns that are predicted; of wider tables a random sample."""
MOST_ROWS = 5_000
"""Rows that a model is trained on, and tested on; of larger tables a random sample."""
TREES = 20
LEAST_TESTED = 10
"""People of control within a group, and outside, without whom its AUC is not counted: that of a single one is 0 or 1
without any error."""


class Ranked(NamedTuple):
    """AUC of a model that predicts the groups of a column, and each tested row's part in it."""

    auc: float
    parts: Array
    """Shape (n,), float64; mean 0. Their clustered error is that of the AUC."""


def lost_prediction(context: Context) -> Outcome:
    """Largest fall of how well a column is predicted from all others, at most 1.

    A random forest learns the groups of the column's values (:func:`~..fidelity.content.groups_of`) from those of all
    others, once from the table and once from the training records; both are tested on control. The fall is the
    difference of their AUCs (:func:`ranked`), of the column whose low end is the highest. The low end is DeLong's for
    paired AUCs (1988), over people, and holds for all columns together (Sidak). Columns that the real table does not
    predict, AUC below :data:`PREDICTED` at the low end, are left out, and groups of fewer than :data:`LEAST_TESTED`
    people of control.
    """
    targets = _targets(context)
    key = "each column", context.n_categories
    real = context.once_for_all_stages(key, lambda: [_scored(context, at, "train") for at in targets])
    level = simultaneous(context.options.confidence, max(len(targets), 1))
    z, persons = quantile(level), context.persons("control")[_rows_asked(context, "control")]
    judged = [
        (at, known)
        for at, known in zip(targets, real, strict=True)
        if known is not None and known.auc - z * clustered_error(known.parts, persons) >= PREDICTED
    ]
    if not judged:
        return NotComputable("the real table predicts no column from the others", lacks="linked_columns")
    people, parts = len(np.unique(persons)), dict[str, Measure]()
    for at, known in judged:
        there = known if context.table is context.train else _scored(context, at, "table")
        assert there is not None
        fall, error = known.auc - there.auc, z * clustered_error(known.parts - there.parts, persons)
        name = context.encoding.names[at]
        about = {"column": name, "train": known.auc, "table": there.auc}
        ends = fall - error, fall + error
        parts[name] = Measure(fall, *ends, 0.0, people, about, together=len(targets))
    order = sorted(parts.values(), key=lambda one: (-(one.low or 0.0), -one.value, one.details["column"]))
    worst = order[0].details
    details: dict[str, Any] = {
        "columns": [one.details for one in order[:MOST_LISTED]],
        "worst": worst["column"],
        "said": fall_in_words(worst),
        "predicted": len(order),
        "tried": len(targets),
        "interval": f"simultaneous over {len(targets)}",
    }
    return replace(order[0], details=details, parts=parts)


def fall_in_words(fall: Mapping[str, Any]) -> str:
    """Sentence on a column whose prediction fell, from its name and both AUCs; empty where it did not."""
    table, train = told_apart(fall["table"], fall["train"], 2)
    if table == train or fall["table"] > fall["train"]:
        return ""
    return sentence("content.predicted", column=fall["column"], n=table, m=train)


def _targets(context: Context) -> list[int]:
    weights = _weights(context)
    columns = np.array([at for at in range(len(context.encoding.columns)) if at not in weights], dtype=np.int64)
    if len(columns) < 2:
        return []
    rng = context.random("each column")
    return sorted(map(int, rng.permutation(columns)[:MOST_COLUMNS])) if len(columns) > MOST_COLUMNS else list(columns)


def _weights(context: Context) -> set[int]:
    return {at for at, column in enumerate(context.encoding.columns) if column.role is ColumnRole.WEIGHT}


def _rows_asked(context: Context, role: Role) -> Array:
    """Rows that count, in an order that depends on content only."""
    order = context.encoded(role).order
    if len(order) <= MOST_ROWS:
        return order
    return context.random(f"each column {role}").permutation(order)[:MOST_ROWS]


def _scored(context: Context, at: int, source: Role) -> Ranked | None:
    """AUC on control of a model of one table; None where control has no group of the column that is large enough."""
    from sklearn.ensemble import RandomForestClassifier

    weights, inputs = _weights(context), grouped(context, GROUPS)
    target = grouped(context, GROUPS_OF_PAIRS)[at]
    others = [of for i, of in enumerate(inputs) if i != at and i not in weights]
    trained, tested = _rows_asked(context, source), _rows_asked(context, "control")
    truth, persons = target.codes["control"][tested], context.persons("control")[tested]
    judged = [one for one in np.unique(truth) if _has_enough(persons, truth == one)]
    if min(len(trained), len(tested)) < MIN_ROWS or not judged:
        return None
    x, asked = (
        np.column_stack([of.codes[role][rows] for of in others]).astype(np.float32)
        for role, rows in ((source, trained), ("control", tested))
    )
    seed = int(context.random(f"each column {at}").integers(2**31))
    model = RandomForestClassifier(TREES, max_depth=12, min_samples_leaf=5, random_state=seed)
    with one_thread(len(trained), models=True), one_model:
        model.fit(x, target.codes[source][trained])
        likely = np.zeros((len(tested), target.n))
        likely[:, model.classes_] = model.predict_proba(asked)
    return ranked(likely, truth, judged)


def _has_enough(persons: Array, mine: Mask) -> bool:
    return min(n_with_key(persons[mine]), n_with_key(persons[~mine])) >= LEAST_TESTED


def ranked(likely: Array, truth: Array, groups: Sequence[int]) -> Ranked:
    """AUC of each of some groups against the rest, averaged with their frequencies, and each row's part in it.

    The parts are the structural components of DeLong et al. 1988: of a row of the group, the share of the others that
    it is above, less the AUC, over the number of rows of the group; of another row, the share of the group that is
    above it, likewise. Of a difference of two AUCs on the same rows they are the difference. ``groups`` count: rows are
    in each of them, and outside.
    """
    n, counted = len(truth), np.isin(truth, groups).sum()
    value, parts = 0.0, np.zeros(n)
    for group in groups:
        mine = truth == group
        inside, outside = likely[mine, group], likely[~mine, group]
        above, below = placements(inside, outside)
        area, share = float(above.mean()), len(inside) / counted
        value += share * area
        parts[mine] += share * (above - area) * n / len(inside)
        parts[~mine] += share * (below - area) * n / len(outside)
    return Ranked(value, parts)


METRICS = (
    utility(
        tstr,
        "How well models trained on these rows predict real people, beside models trained on the real rows.",
        direction="higher",
        low=None,
        copy=None,
        per="target",
        headline=True,
        decides=1,
    ),
    utility(
        tstr_linear,
        "How well linear models trained on these rows predict real people, beside models trained on the real rows.",
        direction="higher",
        low=None,
        copy=None,
        per="target",
        decides=2,
    ),
    utility(
        importance_agreement,
        "Whether models of these rows find the same columns important as models of the real rows.",
        direction="higher",
        low=-1,
        copy=1.0,
        per="target",
    ),
    utility(
        lost_prediction,
        "How much worse the most affected column can be predicted from the others than in the real table.",
        low=-1,
    ),
)
