"""Generators that only run in a managed environment, built and used for real (make test-engines)."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.isolation.environments import install
from tests.synthesize.synthesize_tables import people

pytestmark = [pytest.mark.engines, pytest.mark.slow]
SYNTHCITY = {"generator": "tabddpm", "options": {"engine": "synthcity", "epochs": 2, "timesteps": 10, "layers": [32]}}
TINY = {"epochs": 2, "layers": [16], "batch_size": 50}
NETWORKS = [
    {"generator": name, "options": TINY | ({"rounds": 2} if name == "pategan" else {})}
    for name in ("adsgan", "dpgan", "pategan", "rtvae")
]
every_one = pytest.mark.parametrize(
    "given", [SYNTHCITY, *NETWORKS], ids=["synthcity", "adsgan", "dpgan", "pategan", "rtvae"]
)


@pytest.fixture(scope="module", autouse=True)
def built():
    assert install("synthcity").state == "ready"


@every_one
def test_what_goes_in_comes_out_and_models_can_be_kept(given):
    table = people(300)
    fitted = fit(table, SynthesizeOptions(**given), 1)
    synthetic = fitted.sample(123, 5)
    assert synthetic.schema == table.schema and len(synthetic) == 123
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert not synthetic.frame.equals(fitted.sample(123, 6).frame)
    pd.testing.assert_frame_equal(synthetic.frame, pickle.loads(pickle.dumps(fitted)).sample(123, 5).frame)
    assert "synthcity" in fitted.record.versions


@every_one
def test_three_rows_of_one_column(given):
    for column in ("age", "job"):
        table = people(60, seed=2).only([column]).take(np.array([0, 1, 2]))
        assert len(fit(table, SynthesizeOptions(**given), 1).sample(20, 1)) == 20


def test_the_engine_synthcity_repeats_and_tells_its_loss():
    table = people(200).only(["age", "job", "children"])
    one, two = (fit(table, SynthesizeOptions(**SYNTHCITY), 7) for _ in range(2))
    pd.testing.assert_frame_equal(one.sample(50, 3).frame, two.sample(50, 3).frame)
    assert [point.done for point in one.losses] == [1, 2]
    assert all(np.isfinite(point.losses["loss"]) for point in one.losses)


@pytest.mark.parametrize("given", NETWORKS, ids=[given["generator"] for given in NETWORKS])
def test_networks_of_synthcity_repeat(given):
    table = people(200).only(["age", "job", "children"])
    one, two = (fit(table, SynthesizeOptions(**given), 7) for _ in range(2))
    pd.testing.assert_frame_equal(one.sample(50, 3).frame, two.sample(50, 3).frame)
