"""Trained models are kept by content, and interrupted training goes on where its library allows it."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.base.progress import silent
from hybrid.store import Store
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.kept import fit_or_reuse
from tests.synthesize.killed_worker import kill_worker_at
from tests.synthesize.synthesize_tables import people

SMALL = {
    "tabddpm": {"steps": 1200, "batch_size": 32, "layers": [16, 16], "sampling_steps": 5, "dropout": 0.1},
    "tvae": {"epochs": 6, "batch_size": 100},
    "realtabformer": {"epochs": 3, "n_embd": 16, "n_layer": 1, "n_head": 2, "batch_size": 16, "accumulation": 1},
}


@pytest.fixture
def one_thread(monkeypatch):
    """Equal sums need equal threads, in the worker and here."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch = pytest.importorskip("torch", reason="needs the extra [tabddpm]")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def options(name: str, **own: object) -> SynthesizeOptions:
    return SynthesizeOptions(generator=name, options={**SMALL[name], **own})


def here(name: str, **own: object) -> SynthesizeOptions:
    return options(name, **own).model_copy(update={"isolate": False})


def unfinished(store: Store) -> list[Path]:
    return sorted(path for folder in store.path.glob(".unfinished-*") for path in folder.rglob("*"))


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", ["tabddpm", "realtabformer"])
def test_a_killed_training_goes_on_to_the_same_result(tmp_path, caplog, name):
    pytest.importorskip("torch" if name == "tabddpm" else name, reason=f"needs the extra [{name}]")
    caplog.set_level(logging.INFO, logger="hybrid")
    table, store = people(200).only(["age", "job", "children"]), Store(tmp_path / "store")
    step, kill_at = {"tabddpm": ("fit tabddpm", 800), "realtabformer": ("fit realtabformer", 22)}[name]
    with pytest.raises(GeneratorError, match="killed by SIGKILL"):
        fit_or_reuse(table, options(name), 3, store, kill_worker_at(step, kill_at))
    assert any("tabddpm.pt" in path.name or "checkpoint-" in path.name for path in unfinished(store))
    seen = []
    again = fit_or_reuse(table, options(name), 3, store, lambda at, done, total=None, **v: seen.append((done, v)))
    assert "interrupted: it continues from its last checkpoint" in caplog.text
    whole = fit(table, here(name), 3)
    # transformers averages the training loss over the steps since it was started; the validation loss tells.
    told = "loss" if name == "tabddpm" else "eval_loss"
    assert [p.losses.get(told) for p in again.losses] == [p.losses.get(told) for p in whole.losses]
    assert unfinished(store) == []


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_the_checkpoint_is_what_training_goes_on_from(tmp_path):
    torch = pytest.importorskip("torch", reason="needs the extra [tabddpm]")
    table = people(100).only(["age", "job"])
    fit(table, here("tabddpm", steps=600), 3, unfinished=tmp_path)
    state = torch.load(tmp_path / "tabddpm.pt", weights_only=True)
    assert state["step"] == 500
    state["told"][0] = (1, {"loss": 123.0})
    torch.save(state, tmp_path / "tabddpm.pt")
    again = fit(table, here("tabddpm", steps=600), 3, unfinished=tmp_path)
    assert again.losses[0].losses == {"loss": 123.0}
    assert [point.done for point in again.losses[1:]] == list(range(100, 601, 50))
    (tmp_path / "tabddpm.pt").write_bytes(b"half")
    assert fit(table, here("tabddpm", steps=600), 3, unfinished=tmp_path).losses[0].done == 50


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_a_generator_without_checkpoints_says_that_it_starts_again(tmp_path, caplog):
    pytest.importorskip("sdv", reason="needs the extra [ctgan]")
    caplog.set_level(logging.INFO, logger="hybrid")
    table, store = people(100).only(["age", "job"]), Store(tmp_path / "store")
    with pytest.raises(GeneratorError, match="killed by SIGKILL"):
        fit_or_reuse(table, options("tvae"), 3, store, kill_worker_at("fit tvae", 2))
    again = fit_or_reuse(table, options("tvae"), 3, store)
    assert "tvae was interrupted: it has no checkpoints and starts again" in caplog.text
    assert [point.done for point in again.losses] == [1, 2, 3, 4, 5, 6]


@pytest.mark.generators
@pytest.mark.usefixtures("one_thread")
def test_a_trained_model_is_used_again_for_the_same_table_and_options_only(tmp_path, caplog):
    pytest.importorskip("torch", reason="needs the extra [tabddpm]")
    caplog.set_level(logging.INFO, logger="hybrid")
    table, store = people(100).only(["age", "job"]), Store(tmp_path / "store")
    first = fit_or_reuse(table, options("tabddpm", steps=50), 3, store)
    rows = first.sample(20, 1).frame
    steps = []
    tell = lambda step, done, total=None, **values: steps.append(step)  # noqa: E731
    own = options("tabddpm", steps=50).options
    limited = SynthesizeOptions(generator="tabddpm", rows=7, memory_limit=20, options=own)
    kept = fit_or_reuse(table, limited, 3, store, tell)
    assert steps == [] and "the kept model is used" in caplog.text
    assert kept.losses == first.losses and kept.model.limits.memory_bytes == 20 * 2**30
    pd.testing.assert_frame_equal(kept.sample(20, 1).frame, rows)
    fit_or_reuse(table, options("tabddpm", steps=51), 3, store, tell)
    fit_or_reuse(table.take(np.arange(50)), options("tabddpm", steps=50), 3, store, tell)
    fit_or_reuse(table, options("tabddpm", steps=50), 4, store, tell)
    assert steps.count("fit tabddpm") == 2 + 1 + 1
    assert len(store.entries()) == 4


def test_models_of_quick_generators_are_kept_and_nothing_is_trained_where_that_is_not_allowed(tmp_path):
    table, store = people(50).only(["age", "job"]), Store(tmp_path / "store")
    first = fit_or_reuse(table, SynthesizeOptions(), 3, store, silent)
    assert [entry.stage for entry in store.entries()] == ["model"]
    again = fit_or_reuse(table, SynthesizeOptions(rows=7, where="age > 3"), 3, store, only_kept=True)
    pd.testing.assert_frame_equal(again.sample(20, 1).frame, first.sample(20, 1).frame)
    for seed, where in ((4, store), (3, Store(None))):
        with pytest.raises(GeneratorError, match="keeps no model of this run"):
            fit_or_reuse(table, SynthesizeOptions(), seed, where, only_kept=True)
    assert len(store.entries()) == 1
