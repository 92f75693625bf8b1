"""Models on the common encoding, and classifiers of two sides."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.engine.encoding import Encoded, Encoding
from hybrid.evaluation.engine.threads import one_thread

Learner = Literal["boosting", "linear"]
MAX_CATEGORIES = 254
"""What scikit-learn's histogram boosting can hold; rarer categories share one code."""
HIDDEN, EPOCHS = 64, 30
"""Units and passes of a perceptron."""
TREES = 100
"""Trees of a forest."""


def features(encoding: Encoding, table: Encoded, columns: Array | None = None) -> Array:
    """Columns, all by default, as model inputs: numbers, or codes of categories; NaN where missing."""
    chosen = np.arange(len(encoding.columns)) if columns is None else columns
    codes = np.minimum(table.ranks[:, chosen], MAX_CATEGORIES).astype(np.float64)
    codes[codes < 0] = np.nan
    return np.where(encoding.continuous[chosen], table.numbers[:, chosen], codes)


def filled(inputs: Array) -> Array:
    """Model inputs for ``fit``: columns without any value are 0.

    scikit-learn's histogram boosting finds no bins in them. A constant column splits nothing, whatever it holds
    when the model is asked.
    """
    empty = np.isnan(inputs).all(axis=0)
    return np.where(empty, 0.0, inputs) if empty.any() else inputs


def boosting(continuous: Mask, classify: bool, seed: int, iterations: int = 100) -> Any:
    """Histogram gradient boosting (scikit-learn defaults but for the number of iterations).

    ``continuous``, shape (n_columns,): True for inputs that are numbers, False for codes of categories.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    categorical = ~continuous
    return model(
        max_iter=iterations,
        early_stopping=False,
        categorical_features=categorical if categorical.any() else None,
        random_state=seed,
    )


def fit_weights(model: Any, weights: Array | None) -> dict[str, Array]:
    """Keywords of ``fit`` that weight the rows; none without weights."""
    if weights is None:
        return {}
    steps = getattr(model, "steps", None)
    return {"sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight": weights}


def linear(continuous: Mask, classify: bool) -> Any:
    """Logistic or ridge regression on standardized numbers (median for missing) and one-hot categories."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline

    model = LogisticRegression(max_iter=300, tol=1e-3) if classify else Ridge()
    return make_pipeline(_one_hot(continuous), model)


def perceptron(continuous: Mask, seed: int) -> Any:
    """Classifier of one hidden layer, on the inputs of :func:`linear`."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    model = MLPClassifier((HIDDEN,), max_iter=EPOCHS, n_iter_no_change=EPOCHS, alpha=1e-3, random_state=seed)
    return make_pipeline(_one_hot(continuous), model)


def forest(continuous: Mask, seed: int) -> Any:
    """Classifier of :data:`TREES` unpruned trees, on the inputs of :func:`linear`."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_one_hot(continuous), RandomForestClassifier(TREES, random_state=seed))


def _one_hot(continuous: Mask) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(impute, StandardScaler()), np.flatnonzero(continuous)),
            ("categories", OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(~continuous)),
        ]
    )


def told_apart(model: Any, positive: Array, negative: Array) -> Callable[[Array], Array]:
    """Probability that a record is one of the positive, by a classifier that learned both sides."""
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    with one_thread(len(labels), models=True), quiet():
        model.fit(filled(np.concatenate([positive, negative])), labels)
    return lambda asked: np.round(model.predict_proba(asked)[:, 1], 9)  # Rounding must not break ties.


@contextmanager
def quiet() -> Iterator[None]:
    """Without scikit-learn's warning that a perceptron could learn for longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def out_of_fold(
    model: Callable[[int], Any], inputs: Array, labels: Array, fold: Array, rng: np.random.Generator
) -> Array:
    """Probability of label 1 of each row, by a classifier that learns from the other folds; ``model`` of a seed."""
    scores = np.empty(len(labels))
    with one_thread(len(labels), models=True):
        for held in range(int(fold.max()) + 1):
            learner = model(int(rng.integers(2**31)))
            learner.fit(filled(inputs[fold != held]), labels[fold != held])
            scores[fold == held] = learner.predict_proba(inputs[fold == held])[:, 1]
    return scores


def brier(likely: Array, classes: Array, truth: Array) -> Array:
    """Brier's score of each row (1950), halved.

    0 for a sure and right guess, 1 for a sure and wrong one. ``likely`` has a column per class, whose codes ascend;
    true classes may be others.
    """
    right = likely[np.arange(len(truth)), np.minimum(np.searchsorted(classes, truth), len(classes) - 1)]
    return np.asarray(((likely**2).sum(axis=1) + 1 - 2 * np.where(np.isin(truth, classes), right, 0.0)) / 2)
