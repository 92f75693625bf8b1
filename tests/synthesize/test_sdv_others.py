"""TVAE and the Gaussian copula: the same protocol through sdv, and isolation with packages that need it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from hybrid.synthesize import SynthesizeOptions, fit
from tests.synthesize.synthesize_tables import people

pytestmark = pytest.mark.generators
pytest.importorskip("sdv", reason="needs the extra [ctgan]")
SMALL = {"tvae": {"epochs": 2, "batch_size": 100}, "copula": {"distribution": "norm"}}
every_one = pytest.mark.parametrize("name", list(SMALL))


@every_one
def test_what_goes_in_comes_out_and_seeds_repeat(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = people(300)
    options = SynthesizeOptions(generator=name, isolate=False, options=SMALL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = fit(table, options, 1), fit(table, options, 1)
        synthetic = one.sample(77, 5)
    assert synthetic.schema == table.schema
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert len(synthetic) == 77
    pd.testing.assert_frame_equal(synthetic.frame, two.sample(77, 5).frame)
    assert not synthetic.frame.equals(one.sample(77, 6).frame)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


@every_one
def test_three_rows(name):
    table = people(60, seed=2).only(["age", "job", "cost"]).take(np.array([0, 1, 2]))
    assert len(fit(table, SynthesizeOptions(generator=name, isolate=False, options=SMALL[name]), 1).sample(20, 1)) == 20


def test_in_its_own_process_a_generator_gives_the_same_rows_and_can_be_kept():
    table = people(100).only(["age", "job"])
    seen = []
    options = {"generator": "tvae", "options": SMALL["tvae"]}
    away = fit(
        table, SynthesizeOptions(**options), 1, lambda step, done, total=None, **values: seen.append((step, values))
    )
    rows = away.sample(30, 2).frame
    assert [step for step, _ in seen][-1] == "fit tvae"
    assert np.isfinite(seen[-1][1]["loss"])
    pd.testing.assert_frame_equal(rows, pickle.loads(pickle.dumps(away)).sample(30, 2).frame)
