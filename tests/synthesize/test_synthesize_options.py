"""The registry, its options, and errors in them."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from hybrid.base.errors import GeneratorError, MissingExtraError
from hybrid.synthesize import REGISTRY, FittedGenerator, SynthesizeOptions, availability, fit, fitted
from hybrid.synthesize.codec import Codec
from hybrid.synthesize.protocol import DrawnColumns
from hybrid.synthesize.registry import ENGINES, distributions
from tests.synthesize.synthesize_tables import people


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"generator": "gart"}, "unknown generator 'gart'; did you mean 'cart'"),
        ({"generator": "cart", "preset": "thesis"}, "cart has no preset 'thesis'"),
        ({"generator": "cart", "options": {"min_leav": 3}}, "'min_leav': did you mean 'min_leaf'"),
        ({"generator": "cart", "options": {"min_leaf": 0}}, "min_leaf: at least 1 was expected"),
        ({"generator": "ctgan", "options": {"batch_size": 55}}, "multiple of pac"),
        ({"generator": "none", "options": {"min_leaf": 3}}, "generator is none"),
        ({"rows": 0}, "rows"),
        ({"row": 1}, "Extra inputs"),
    ],
)
def test_mistakes_are_named(given, message):
    with pytest.raises(ValidationError, match=message):
        SynthesizeOptions(**given)


def test_options_win_over_the_preset():
    own = SynthesizeOptions(generator="ctgan", preset="thesis", options={"epochs": 5}).resolve()
    assert (own.epochs, own.generator_lr, own.discriminator_lr) == (5, 1e-4, 1e-4)


def test_off():
    assert SynthesizeOptions(generator=None).is_off
    assert SynthesizeOptions(generator=False).generator == "none"


def test_every_generator_can_be_described():
    described = {entry.name: entry for entry in availability()}
    assert described["tabddpm"].capabilities.words == (
        "draws persons with all their rows; continues an interrupted training"
    )
    assert [name for name, entry in described.items() if entry.capabilities.private] == ["aim", "mst"]
    assert list(described) == list(REGISTRY)
    assert described["cart"].available
    for name, entry in described.items():
        assert entry.title
        assert entry.licence
        assert "default" in entry.presets
        assert all(option.description for option in entry.options), name
        for preset in entry.presets:
            SynthesizeOptions(generator=name, preset=preset)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setattr(type(REGISTRY["ctgan"]), "requires", ("package_nobody_has",))
    entry = next(entry for entry in availability() if entry.name == "ctgan")
    assert not entry.available
    assert "[ctgan]" in entry.install
    with pytest.raises(MissingExtraError, match="package_nobody_has"):
        fit(people(10), SynthesizeOptions(generator="ctgan"), 1)


class _Broken:
    def __init__(self, error=None, columns=()):
        self.error, self.columns = error, columns

    def draw(self, n, seed):
        if self.error:
            raise self.error
        return DrawnColumns(self.columns)

    def learn(self, *args):
        raise self.error


def test_whatever_a_library_throws_is_one_error_without_its_words(monkeypatch):
    def learn(*args):
        raise ValueError("could not convert 'Alice'")

    monkeypatch.setattr(REGISTRY["cart"], "learn", learn, raising=False)
    with pytest.raises(GeneratorError, match=r"cart failed to learn \(ValueError\)") as caught:
        fit(people(10), SynthesizeOptions(), 1)
    assert "Alice" not in str(caught.value)
    assert "Alice" in caught.value.problems[0].values
    assert caught.value.__suppress_context__


def test_out_of_memory_has_its_own_advice():
    table = people(10)
    codec = Codec(table, REGISTRY["cart"].encoding(None))
    with pytest.raises(GeneratorError, match="ran out of memory trying to draw"):
        FittedGenerator("cart", codec, _Broken(MemoryError())).sample(5, 1)


def test_an_interrupt_is_not_swallowed(monkeypatch):
    def learn(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(REGISTRY["cart"], "learn", learn, raising=False)
    with pytest.raises(KeyboardInterrupt):
        fit(people(10), SynthesizeOptions(), 1)


def test_fewer_rows_than_asked_are_an_error():
    table = people(20).only(["age"])
    codec = Codec(table, REGISTRY["cart"].encoding(None))
    with pytest.raises(GeneratorError, match="3 rows instead of 5"):
        FittedGenerator("cart", codec, _Broken(columns=[np.zeros(3)])).sample(5, 1)


def test_a_table_without_variation_needs_no_model():
    table = people(20).only(["country", "note"])
    fitted = fit(table, SynthesizeOptions(generator="cart"), 1)
    assert fitted.model is None
    assert fitted.sample(3, 1).frame["country"].tolist() == ["here"] * 3


@pytest.mark.parametrize(
    ("generator", "preset", "expected"),
    [
        ("ctgan", "thesis", {"epochs": 300, "generator_lr": 1e-4, "discriminator_lr": 1e-4}),
        ("tabddpm", "thesis", {"epochs": 1000, "lr": 1e-4, "layers": (256, 256, 256), "dropout": 0.1}),
        ("realtabformer", "thesis", {"epochs": 50, "validation": 0.1, "patience": 5, "dropout": 0.1}),
        ("realtabformer", "small", {"n_layer": 2, "n_embd": 128}),
    ],
)
def test_presets_are_what_they_are_called(generator, preset, expected):
    own = SynthesizeOptions(generator=generator, preset=preset).resolve()
    assert {name: getattr(own, name) for name in expected} == expected


def test_the_engine_decides_who_works_and_what_it_knows():
    native = SynthesizeOptions(generator="tabddpm")
    other = SynthesizeOptions(generator="tabddpm", preset="thesis", options={"engine": "synthcity"})
    assert native.engine is native.plugin
    assert (other.engine.environment, other.engine.name) == ("synthcity", "tabddpm")
    for wrong, message in (
        ({"ema": 0.9}, "does not know: ema"),
        ({"lr_decay": "none", "overfit": 2}, "does not know: lr_decay, overfit"),
        ({"layers": [64, 32]}, "one width only"),
    ):
        with pytest.raises(ValidationError, match=message):
            SynthesizeOptions(generator="tabddpm", options={"engine": "synthcity", **wrong})


@pytest.mark.parametrize("generator", [*REGISTRY.values(), *ENGINES.values()], ids=lambda one: one.title)
def test_the_versions_of_all_that_a_generator_requires_decide_what_its_model_is(generator, monkeypatch):
    asked = []
    monkeypatch.setattr(fitted, "library_versions", lambda *names: asked.extend(names) or {})
    fitted.versions_of(generator)
    assert "numpy" in asked
    assert set(generator.requires) <= set(asked)


def test_a_package_with_another_name_than_its_distribution():
    generator = type("Forest", (), {"requires": ("sklearn", "package_nobody_has")})()
    assert distributions(generator) == ["package_nobody_has", "scikit-learn"]
