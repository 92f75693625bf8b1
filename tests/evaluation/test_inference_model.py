"""A forest fitted in batches is the forest fitted at once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from hybrid.evaluation.attacks.inference import TREES, _forest_guesses


@pytest.mark.parametrize("classify", [True, False])
def test_batches_make_the_same_forest(classify: bool) -> None:
    rng = np.random.default_rng(3)
    inputs, asked = rng.normal(size=(300, 4)), [rng.normal(size=(n, 4)) for n in (50, 70)]
    number = inputs[:, 0] + rng.normal(size=300)
    output = np.digitize(number, [-1, 0, 1]) if classify else number
    kind = RandomForestClassifier if classify else RandomForestRegressor
    whole = kind(n_estimators=TREES, random_state=11, max_features="sqrt" if classify else 4).fit(inputs, output)
    found = _forest_guesses(inputs, output, asked, classify, 11)
    for rows, guess in zip(asked, found, strict=True):
        if not classify:
            assert guess == pytest.approx(whole.predict(rows), rel=1e-9)
            continue
        likely = np.round(whole.predict_proba(rows), 9)
        assert guess.tolist() == whole.classes_[likely.argmax(axis=1)].tolist()
