"""Adapters of synthcity's networks, without synthcity: what they ask of it, refuse and promise.

``test_environment_generators.py`` trains the real ones.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from hybrid.base.errors import GeneratorError, MissingExtraError
from hybrid.base.progress import silent
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.synthesize import REGISTRY, SynthesizeOptions, fit
from hybrid.synthesize.generators import synthcity as module
from hybrid.synthesize.protocol import Encoded, Feature
from hybrid.synthesize.registry import Capabilities
from tests.synthesize.synthesize_tables import people

NAMES = ("adsgan", "dpgan", "pategan", "rtvae")
every_one = pytest.mark.parametrize("name", NAMES)
DATA = Encoded(
    [Feature("job", 14, ordered=False, missing=False), Feature("age", 0, ordered=True, missing=False)],
    [np.arange(3, dtype=np.int32), np.array([20.0, 30.0, 40.0])],
)


class Network:
    """As a network of torch: callable, with submodules; draws the first rows that it was fitted to."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.model = SimpleNamespace(_original_cond=frame, discriminator="d", modules=lambda: [self.model])
        self.dataloader_sampler = SimpleNamespace(_dataset_conditional=frame, _discrete_feat_value_prob="shares")
        self.rows = frame.to_numpy()

    def __call__(self, n_rows: int) -> np.ndarray:
        return self.rows[:n_rows]

    def decode(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.set_axis([f"c{at}" for at in range(frame.shape[1])], axis=1)


@pytest.fixture
def asked(monkeypatch) -> dict[str, Any]:
    """A stand-in for synthcity that notes what it is asked for."""
    seen: dict[str, Any] = {"fail": None}
    parts = {name: ModuleType(name) for name in ("gan", "vae", "tabular_encoder")}
    parts["gan"].tqdm = parts["vae"].tqdm = tqdm = object()
    parts["tabular_encoder"].find_cat_cols = found = object()

    class Plugin:
        def __init__(self, **settings: Any) -> None:
            seen["settings"] = settings

        def fit(self, frame: pd.DataFrame) -> None:
            if seen["fail"] is not None:
                raise seen["fail"]
            seen["frame"], seen["discrete"] = frame, parts["tabular_encoder"].find_cat_cols(frame, 10)
            seen["epochs"] = sum(1 for _ in parts["gan"].tqdm(range(2)))
            self.model = Network(frame)

    models = ModuleType("synthcity.plugins.core.models")
    models.__dict__.update(parts)
    loader = ModuleType("synthcity.plugins.core.dataloader")
    loader.GenericDataLoader = lambda frame: frame
    monkeypatch.setitem(sys.modules, "synthcity", ModuleType("synthcity"))
    monkeypatch.setitem(sys.modules, models.__name__, models)
    monkeypatch.setitem(sys.modules, loader.__name__, loader)
    for name in ("plugins", "plugins.core"):
        monkeypatch.setitem(sys.modules, f"synthcity.{name}", ModuleType(f"synthcity.{name}"))
    for name in NAMES:
        path, _, kind = REGISTRY[name].plugin.partition(":")
        plugin = ModuleType(path)
        setattr(plugin, kind, Plugin)
        monkeypatch.setitem(sys.modules, f"synthcity.plugins.{path}", plugin)
    monkeypatch.setattr(module, "_device_for", lambda gpu: "cpu")
    seen["untouched"] = lambda: (
        parts["gan"].tqdm is parts["vae"].tqdm is tqdm and parts["tabular_encoder"].find_cat_cols is found
    )
    return seen


def learned(name: str, progress: Callable[..., None] = silent, **options: Any) -> Any:
    generator = REGISTRY[name]
    return generator.learn(DATA, generator.Options(**options), 7, progress)


@every_one
def test_states_stay_states_small_tables_are_repeated_and_epochs_told(asked, name):
    told = []
    model = learned(name, lambda step, done, total=None, **values: told.append((step, done)), epochs=2)
    assert asked["discrete"] == ["c0"] and len(asked["frame"]) == module.LEAST_ROWS
    assert asked["settings"]["random_state"] == 7
    assert [(f"fit {name}", done) for done in (1, 2)] == told[:2] and asked["epochs"] == 2
    assert asked["untouched"]()
    codes, ages = model.draw(3, 1).rows
    assert codes.dtype == np.int32 and list(codes) == [0, 1, 2] and list(ages) == [20, 30, 40]


def test_the_kept_model_has_no_records_and_no_discriminator(asked):
    network = learned("adsgan").network
    assert network.model._original_cond is network.model.discriminator is None
    assert network.dataloader_sampler._dataset_conditional is None
    assert network.dataloader_sampler._discrete_feat_value_prob == "shares"


def test_options_reach_the_plugin_under_its_names(asked):
    learned("adsgan", **REGISTRY["adsgan"].presets["wgan_gp"])
    assert asked["settings"]["lambda_identifiability_penalty"] == 0
    assert asked["settings"]["discriminator_n_iter"] == 5 and asked["settings"]["lambda_gradient_penalty"] == 10
    learned("pategan", rounds=9, epochs=4, teachers=50, epsilon=3, layers=[64])
    settings = asked["settings"]
    assert [settings[key] for key in ("n_iter", "generator_n_iter", "n_teachers", "epsilon")] == [9, 4, 20, 3]
    assert settings["generator_n_units_hidden"] == settings["discriminator_n_units_hidden"] == 64
    learned("rtvae", epochs=5)
    assert asked["settings"]["n_iter"] == asked["settings"]["n_iter_min"] == 5


def test_a_network_without_numbers_is_an_error_of_the_user_s(asked):
    model = learned("rtvae")
    model.network.rows = np.full((3, 2), np.nan)
    with pytest.raises(GeneratorError, match="rtvae: its network computes no numbers"):
        model.draw(3, 1)
    asked["fail"] = RuntimeError("NaNs detected in the generator loss")
    with pytest.raises(GeneratorError, match="dpgan: its network"):
        learned("dpgan")
    assert asked["untouched"]()
    asked["fail"] = ValueError("The privacy budget is too low.")
    with pytest.raises(GeneratorError, match="dpgan: no amount of noise keeps this epsilon"):
        learned("dpgan")
    asked["fail"] = RuntimeError("something else")
    with pytest.raises(RuntimeError, match="something else"):
        learned("dpgan")


@every_one
def test_without_synthcity_the_command_that_adds_it_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRID_ENVIRONMENTS", str(tmp_path))
    with pytest.raises(MissingExtraError, match=f"{name} needs synthcity") as caught:
        fit(people(30), SynthesizeOptions(generator=name), 1)
    assert caught.value.problems[0].hint == "hybrid generators install synthcity"


def test_what_synthcity_cannot_do_is_refused():
    with pytest.raises(ValidationError, match="one width only"):
        REGISTRY["adsgan"].Options(layers=[10, 20])
    with pytest.raises(GeneratorError, match="would need 20 inputs"):
        learned("adsgan", max_inputs=19)


@pytest.mark.parametrize("name", ["dpgan", "pategan"])
def test_no_differential_privacy_is_claimed(name, tmp_path):
    assert not Capabilities.of(REGISTRY[name]).private
    pd.DataFrame({"age": range(10)}).to_csv(tmp_path / "people.csv", index=False)
    content = {"data": {"path": "people.csv"}, "anonymize": None, "transition": None, "synthesize": {"generator": name}}
    (tmp_path / "people.yaml").write_text(json.dumps(content))
    found = TableRun(load_config(tmp_path / "people.yaml")).promises.explanation
    assert not found.holds
    assert "noise covers all that its library takes" in found.text and "What is left" not in found.text
    assert "delta" not in found.text
