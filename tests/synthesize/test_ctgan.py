"""CTGAN trained for real, on tables small enough for seconds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import REGISTRY, FittedGenerator, SynthesizeOptions, fit
from hybrid.table import Kind
from tests.synthesize.synthesize_tables import people, table_of

pytestmark = pytest.mark.generators
pytest.importorskip("sdv", reason="needs the extra [ctgan]")


def options(**own: object) -> SynthesizeOptions:
    return SynthesizeOptions(generator="ctgan", isolate=False, options={"epochs": 2, "batch_size": 100, **own})


def test_what_goes_in_comes_out_and_the_loss_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = people(300)
    seen = []
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit(
            table, options(), 1, lambda step, done, total=None, **values: seen.append((step, done, total, values))
        )
        synthetic = fitted.sample(123, 5)
    assert synthetic.schema == table.schema
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert len(synthetic) == 123
    assert [(done, total) for step, done, total, _ in seen if step == "fit ctgan"] == [(1, 2), (2, 2)]
    assert np.isfinite(seen[-1][3]["loss"])
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_seeds_repeat_and_models_survive_a_file(tmp_path):
    table = people(200).only(["age", "job", "children"])
    one, two = (fit(table, options(), 7) for _ in range(2))
    rows = one.sample(50, 3).frame
    pd.testing.assert_frame_equal(rows, two.sample(50, 3).frame)
    pd.testing.assert_frame_equal(rows, one.sample(50, 3).frame)
    assert not rows.equals(one.sample(50, 4).frame)
    one.model.save(tmp_path)
    loaded = FittedGenerator("ctgan", one.codec, REGISTRY["ctgan"].load(tmp_path))
    pd.testing.assert_frame_equal(rows, loaded.sample(50, 3).frame)


@pytest.mark.parametrize(
    "columns", [["age"], ["job"], ["cost", "children", "empty"], ["ill", "insured"]], ids=lambda names: "+".join(names)
)
def test_three_rows_of_few_columns(columns):
    table = people(60, seed=2).only(columns).take(np.array([0, 1, 2]))
    assert len(fit(table, options(), 1).sample(20, 1)) == 20


def test_a_table_too_wide_is_refused_before_it_eats_the_memory():
    table = table_of(
        {
            "code": (Kind.CATEGORICAL, pd.Series(np.arange(20_000).astype(str))),
            "age": (Kind.INTEGER, np.arange(20_000) % 90),
        }
    )
    with pytest.raises(GeneratorError, match=r"20011 inputs .*'code' \(20000 states\)"):
        fit(table, options(), 1)


def test_an_interrupt_ends_the_training():
    def interrupt(step, done, total=None, **values):
        if step == "fit ctgan":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(people(100), options(), 1, interrupt)


def test_it_learns_which_job_the_old_have():
    table = people(1500).only(["age", "job"])
    small = {"generator_dim": (64,), "discriminator_dim": (64,), "embedding_dim": 16}
    own = options(epochs=60, batch_size=200, generator_lr=1e-3, discriminator_lr=1e-3, **small)
    synthetic = fit(table, own, 1).sample(2000, 1).frame
    old = synthetic["age"] > 70
    assert 0.1 < old.mean() < 0.6
    retired = (synthetic["job"] == "retired").groupby(old).mean()
    assert retired[True] > retired[False] + 0.2
