"""Over many samples without a leak, intervals of 95 % hold no leak in about 95 % of them, or more."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from hybrid.evaluation import EvaluateOptions
from hybrid.evaluation.attacks import vulnerability
from tests.evaluation.measured_people import differences, run
from tests.evaluation.simulated_people import make_people

SEEDS = 150
NAMES = (
    "knn_share",
    "nnaa",
    "membership",
    "membership_exposed",
    "membership_subgroups",
    "gtcap",
    "inference",
    "inference_subgroups",
)


@pytest.mark.slow
@pytest.mark.parametrize("n_control", [300, 80])
def test_intervals_cover(n_control: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # More trees choose the exposed people with less chance; of any choice the interval must cover.
    monkeypatch.setattr(vulnerability, "TREES", 30)
    options = EvaluateOptions(metrics=NAMES, secrets=("illness", "cost", "urgent"))
    covered = defaultdict(list)
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, n_control, 5])
        tables = make_people(300, rng), make_people(n_control, rng), make_people(300, rng)
        for key, inside in differences(run(*tables, options, seed)).items():
            covered[key].append(inside)
    assert len(covered) == 12
    for key, inside in covered.items():
        # Binomial(150, .95) is below 132 once in 2,000 tries; below 138 on the average of all would be a fault.
        assert sum(inside) >= 132, (key, np.mean(inside))
    assert np.mean([np.mean(inside) for inside in covered.values()]) >= 0.94
