"""Generators that only run in a managed environment, built and used for real (make test-engines)."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import GeneratorError
from hybrid.cli import main
from hybrid.demo import write_demo
from hybrid.synthesize import SynthesizeOptions, fit, load_generator, save_generator
from hybrid.synthesize.isolation.environments import install
from tests.synthesize.synthesize_tables import people

pytestmark = [pytest.mark.engines, pytest.mark.slow]
MST = {"generator": "mst", "options": {"iterations": 50, "epsilon": 5.0}}
SYNTHCITY = {"generator": "tabddpm", "options": {"engine": "synthcity", "epochs": 2, "timesteps": 10, "layers": [32]}}
TINY = {"epochs": 2, "layers": [16], "batch_size": 50}
NETWORKS = [
    {"generator": name, "options": TINY | ({"rounds": 2} if name == "pategan" else {})}
    for name in ("adsgan", "dpgan", "pategan", "rtvae")
]
every_one = pytest.mark.parametrize(
    "given", [MST, SYNTHCITY, *NETWORKS], ids=["mst", "synthcity", "adsgan", "dpgan", "pategan", "rtvae"]
)


@pytest.fixture(scope="module", autouse=True)
def built():
    for name in ("dpmm", "synthcity"):
        assert install(name).state == "ready"


@every_one
def test_what_goes_in_comes_out_and_models_survive_a_file(tmp_path, given):
    table = people(300)
    fitted = fit(table, SynthesizeOptions(**given), 1)
    synthetic = fitted.sample(123, 5)
    assert synthetic.schema == table.schema and len(synthetic) == 123
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert not synthetic.frame.equals(fitted.sample(123, 6).frame)
    save_generator(fitted, tmp_path / "model")
    pd.testing.assert_frame_equal(synthetic.frame, load_generator(tmp_path / "model").sample(123, 5).frame)
    assert {"dpmm", "synthcity"} & set(fitted.record.versions)


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


def test_the_noise_of_mst_is_fresh_and_falls_with_epsilon():
    table = people(2000).only(["job"])
    exact = table.frame["job"].value_counts(normalize=True)

    def error(epsilon: float) -> float:
        options = SynthesizeOptions(generator="mst", options={"epsilon": epsilon, "iterations": 200})
        return max(_distance(fit(table, options, 1).sample(20_000, 1).frame["job"], exact) for _ in range(2))

    assert error(10) < 0.02 < error(0.004)


def _distance(drawn: pd.Series, exact: pd.Series) -> float:
    return float((drawn.value_counts(normalize=True).reindex(exact.index, fill_value=0) - exact).abs().sum() / 2)


def test_a_table_of_many_states_is_refused_by_column_name():
    options = SynthesizeOptions(generator="mst", options={"max_cells": 50})
    with pytest.raises(GeneratorError, match=r"\(limit 50\) of 'age' .* and 'cost'"):
        fit(people(100), options, 1)


def test_the_claim_stands_in_the_run(tmp_path):
    config = write_demo(tmp_path / "demo", rows=400, seed=3)
    content = yaml.safe_load(config.read_text())
    content["synthesize"] = MST
    content["evaluate"] = {"metrics": ["total_variation"], "targets": ["readmitted"], "baseline": False}
    config.write_text(yaml.safe_dump(content))
    with pytest.raises(SystemExit) as caught:
        main(["run", str(config), "--out", str(tmp_path / "run"), "--work", str(tmp_path / "work")])
    assert caught.value.code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "mst was trained once with epsilon = 5" in manifest["explanation"]
    assert "no differential privacy is claimed for people in the source" in manifest["explanation"]
    assert manifest["differential_privacy"] is False
