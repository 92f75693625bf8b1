"""The interval of the difference of two models' qualities on the same people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.intervals import auc
from hybrid.evaluation.utility.prediction import ranked
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.small_tables import measured

KINDS = {"age": Kind.INTEGER, "dose": Kind.DECIMAL, "ill": Kind.CATEGORICAL}


def people(n: int, seed: int, target: str, signal: float = 1.0) -> Table:
    rng = np.random.default_rng(seed)
    age, noise = rng.integers(20, 80, n), rng.normal(size=n)
    risk = signal * (age - 50) / 15 + noise
    values = {"age": age, "dose": np.round(risk, 2), "ill": np.where(risk > 0, "yes", "no")}
    frame = pd.DataFrame({name: values[name] for name in ("age", target)})
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, KINDS[name]) for name in frame))
    return Table(frame.astype({name: DTYPES[KINDS[name]] for name in frame}), schema)


@pytest.mark.parametrize("target", ["ill", "dose"])
def test_a_difference_by_chance_holds_zero_and_a_lost_target_does_not(target: str) -> None:
    train, control = people(400, 1, target), people(200, 2, target)
    for seed in (3, 4, 5):
        fresh = measured("tstr", train, control, people(400, seed, target), targets=(target,))
        low, high = fresh.details["difference_interval"]
        assert low < fresh.details["difference"] < high and low < 0.02 and high > -0.02
    lost = measured("tstr", train, control, people(400, 6, target, signal=0.0), targets=(target,))
    assert lost.details["difference_interval"][1] < -0.1
    same = measured("tstr", train, control, train, targets=(target,))
    assert same.details["difference_interval"] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_parts_of_an_auc_have_the_error_of_repeated_samples() -> None:
    rng, values, errors = np.random.default_rng(7), [], []

    def drawn(n: int) -> tuple[Array, Array]:
        truth = (rng.random(n) < 0.3).astype(np.int64)
        chance = 1 / (1 + np.exp(-(truth + rng.normal(size=n))))
        return np.column_stack([1 - chance, chance]), truth

    for _ in range(300):
        likely, truth = drawn(150)
        parts = ranked(likely, truth, [1]).parts
        assert abs(parts.mean()) < 1e-12
        values.append(auc(likely[truth == 1, 1], likely[truth == 0, 1]))
        errors.append(parts.std() / np.sqrt(len(parts)))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)
