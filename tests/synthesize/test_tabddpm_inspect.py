"""What a trained TabDDPM says of single records: its loss by hand, and a network that remembers."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.base.progress import silent
from hybrid.evaluation.engine.intervals import auc
from hybrid.synthesize.generators.tabddpm import Tabddpm, TabddpmOptions
from hybrid.synthesize.protocol import Encoded, Feature

pytestmark = pytest.mark.generators
pytest.importorskip("torch", reason="needs the extra [tabddpm]")


def options(**changes: object) -> TabddpmOptions:
    return TabddpmOptions.model_validate({"layers": (128, 128), "gpu": False, "likelihood": False, **changes})


def test_an_untrained_network_errs_by_the_shares_of_the_states() -> None:
    from hybrid.synthesize.generators.tabddpm.inspect import TIMES, losses

    feature = Feature("group", 3, ordered=False, missing=False)
    train = Encoded([feature], [np.repeat([0, 1, 2], [6, 3, 1]).astype(np.int32)])
    model = Tabddpm().learn(train, options(steps=1, lr=1e-12), 1, silent)
    asked = Encoded([feature], [np.array([0, 1, 2, -1], dtype=np.int32)])
    found = losses(model, asked, 1)
    costs = -np.log([0.6, 0.3, 0.1, 0.1])
    assert found == pytest.approx(np.repeat(costs[:, None], len(TIMES), axis=1), abs=1e-4), "unseen: as the rarest"


def test_what_people_with_such_values_score_is_taken_off() -> None:
    from hybrid.synthesize.generators.tabddpm.inspect import expected

    group = np.repeat([0.0, 1.0], 100)[:, None]
    scores = np.where(group[:, 0] == 1, 5.0, 2.0)
    assert expected(np.array([[0.0], [1.0]]), group, scores, 1) == pytest.approx([2, 5], abs=0.05)


def people(n: int, seed: int) -> Encoded:
    rng = np.random.default_rng(seed)
    features = [Feature(f"group {at}", 4, False, False) for at in range(5)] + [Feature("number", 0, True, False)]
    columns = [rng.integers(4, size=n).astype(np.int32) for _ in range(5)] + [rng.normal(size=n)]
    return Encoded(features, columns)


def test_a_network_that_remembers_gives_people_away_and_one_that_hardly_learned_does_not() -> None:
    train, others, reference = people(60, 1), people(200, 2), people(200, 3)
    found = []
    for steps in (1, 1200):
        model = Tabddpm().learn(train, options(steps=steps), 1, silent)
        mine, strangers = (Tabddpm().log_odds(model, part, reference, 1) for part in (train, others))
        found.append(auc(mine, strangers))
        again = Tabddpm().log_odds(model, train, reference, 1)
        assert np.array_equal(mine, again), "the same seed gives the same numbers"
    assert abs(found[0] - 0.5) < 0.15
    assert found[1] > 0.9
