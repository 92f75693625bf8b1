"""Options, presets and costs of the generators as they are promised."""

from __future__ import annotations

from hybrid.synthesize import REGISTRY, SynthesizeOptions
from hybrid.synthesize.protocol import Feature
from tests.helpers.kept import as_text, assert_kept

FEATURES = [
    Feature("age", 0, ordered=True, missing=False),
    Feature("cost", 0, ordered=True, missing=True),
    Feature("job", 12, ordered=False, missing=False),
    Feature("ill", 2, ordered=False, missing=False, target=True),
]


def test_options_and_presets_are_the_stated_ones() -> None:
    found = {
        name: {"options": generator.Options.model_json_schema(), "presets": generator.presets, "title": generator.title}
        for name, generator in REGISTRY.items()
    }
    assert_kept("generators.json", as_text(found))


def test_costs_are_those_that_were_measured() -> None:
    found = {}
    for name, generator in REGISTRY.items():
        options = SynthesizeOptions(generator=name).resolve()
        for rows in (500, 20_000):
            cost = generator.cost(FEATURES, rows, options)
            found[f"{name} {rows}"] = [float(f"{cost.seconds:.4g}"), float(f"{cost.memory_bytes:.4g}"), cost.inputs]
    assert_kept("costs.json", as_text(found))
