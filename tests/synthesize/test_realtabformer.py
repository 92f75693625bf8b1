"""REaLTabFormer trained for real, with a network small enough for seconds."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import REGISTRY, FittedGenerator, SynthesizeOptions, fit
from tests.synthesize.synthesize_tables import people

pytestmark = pytest.mark.generators
pytest.importorskip("realtabformer", reason="needs the extra [realtabformer]")


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def options(**own: object) -> SynthesizeOptions:
    small = {"epochs": 2, "n_embd": 16, "n_layer": 1}
    return SynthesizeOptions(generator="realtabformer", isolate=False, preset="small", options={**small, **own})


def test_what_goes_in_comes_out_and_nothing_is_left_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = people(200)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit(
            table, options(), 1, lambda step, done, total=None, **values: seen.append((step, done, total, values))
        )
        synthetic = fitted.sample(70, 5)
    assert synthetic.schema == table.schema
    assert (synthetic.frame.dtypes == table.frame.dtypes).all()
    assert len(synthetic) == 70
    assert {"loss", "eval_loss"} <= set().union(*(values for *_, values in seen))
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().out == ""


def test_seeds_repeat_and_models_survive_a_file(tmp_path):
    table = people(100).only(["age", "job", "children"])
    one, two = (fit(table, options(), 7) for _ in range(2))
    rows = one.sample(30, 3).frame
    pd.testing.assert_frame_equal(rows, two.sample(30, 3).frame)
    assert not rows.equals(one.sample(30, 4).frame)
    one.model.save(tmp_path)
    loaded = FittedGenerator("realtabformer", one.codec, REGISTRY["realtabformer"].load(tmp_path))
    pd.testing.assert_frame_equal(rows, loaded.sample(30, 3).frame)


@pytest.mark.parametrize(
    "columns", [["age"], ["job"], ["cost", "children", "empty"]], ids=lambda names: "+".join(names)
)
def test_three_rows_of_few_columns(columns):
    table = people(60, seed=2).only(columns).take(np.array([0, 1, 2]))
    assert len(fit(table, options(), 1).sample(10, 1)) == 10


def test_one_row_is_refused():
    table = people(60).only(["age", "job"]).take(np.array([0]))
    assert fit(table, options(), 1).sample(3, 1).frame["job"].nunique() == 1
    with pytest.raises(GeneratorError, match="two records"):
        REGISTRY["realtabformer"].learn(_one_row(), options().resolve(), 1, lambda *a, **k: None)


def _one_row():
    from hybrid.synthesize import Encoded, Feature

    return Encoded([Feature("x", 2, ordered=False, missing=False)], [np.zeros(1, dtype=np.int32)])


def test_an_interrupt_ends_the_training():
    def interrupt(step, done, total=None, **values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(people(100), options(), 1, interrupt)


def test_the_width_must_fit_the_heads():
    with pytest.raises(ValueError, match="multiple of n_head"):
        options(n_embd=17)


def test_overfitting_on_purpose_stops_at_the_ratio_or_says_that_it_did_not():
    from hybrid.synthesize.generators.realtabformer.model import just_reached, overfit_ratio

    assert [overfit_ratio(losses) for losses in ([], [2.0, 1.0], [2.0, 1.0, 1.5])] == [1.0, 1.0, 1.5]
    table = people(60).only(["age", "job"])
    own = options(overfit=1.001, epochs=60, batch_size=16, lr=2e-2, n_embd=32)
    losses = [point.losses["eval_loss"] for point in fit(table, own, 1).losses if "eval_loss" in point.losses]
    assert overfit_ratio(losses) >= 1.001 > max(overfit_ratio(losses[: at + 1]) for at in range(len(losses) - 1))
    with pytest.raises(GeneratorError, match="not 9"):
        fit(table, options(overfit=9), 1)
    assert just_reached([2.0, 1.0, 1.3, 1.4, 1.6], (1.2, 1.5)) == [1.5]
    assert just_reached([1.0, 1.3, 0.9, 1.2], (1.2, 1.5)) == [1.2] and just_reached([], (1.2,)) == []
    highest = options(**own.options | {"overfit": 1.05})
    whole = fit(table, options(**highest.options | {"snapshots": (1.001, 1.05)}), 1, all_levels=True)
    drawn = [whole.at(level).sample(20, 1).frame for level in ("1.001", "1.05")]
    assert not drawn[0].equals(drawn[1])
    pd.testing.assert_frame_equal(drawn[1], fit(table, highest, 1).sample(20, 1).frame)
    with pytest.raises(ValueError, match="validation share"):
        options(overfit=2, validation=0)
