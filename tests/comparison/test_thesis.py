"""The plan of chapter 5 states the settings that the thesis prints (tests/data/thesis_ch5.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.comparison import ComparePlan, load_plan
from hybrid.comparison.schedule import expand
from hybrid.synthesize.options import SynthesizeOptions

ROOT = Path(__file__).parents[2]
PLAN = ROOT / "configs" / "thesis_ch5.yaml"


@pytest.fixture(scope="module")
def thesis() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "tests" / "data" / "thesis_ch5.yaml").read_text())
    return content


@pytest.fixture(scope="module")
def plan() -> ComparePlan:
    return load_plan(PLAN)


def test_anonymization_sampling_and_transitions(plan: ComparePlan, thesis: dict[str, Any]) -> None:
    factors = plan.factors
    assert factors["anonymize.k"] == thesis["k"]
    assert factors["sample.beta"] == thesis["beta"]
    assert factors["sample.method"] == thesis["sampling"]
    assert plan.set["anonymize.suppression_limit"] == thesis["suppression_limit"]
    [model] = plan.set["anonymize.models"]
    assert (model["model"], model["kind"], model["l"]) == ("l_diversity", "distinct", thesis["l"])
    ways = factors["transition"]
    assert isinstance(ways, dict)
    assert [[way["transition.method"], way["transition.order"]] for way in ways.values()] == thesis["transitions"]
    assert set(thesis["attacks"]) <= set(plan.set["evaluate.metrics"])


def test_generators_at_the_settings_of_the_thesis(plan: ComparePlan, thesis: dict[str, Any]) -> None:
    levels = plan.factors["generator"]
    assert isinstance(levels, dict)
    assert set(levels) == {*thesis["generators"], *thesis["not_ours"]}
    for name, wanted in thesis["generators"].items():
        keys = {key.removeprefix("synthesize."): value for key, value in levels[name].items()}
        assert keys["generator"] == name
        options = SynthesizeOptions.model_validate(keys).resolve().model_dump(mode="json")
        assert {key: options[key] for key in wanted} == wanted


def test_scales_beyond_the_thesis_are_valid() -> None:
    """Other privacy models, anonymization alone, learned transitions, and linkability with more neighbours."""
    sizes = {"models": 32, "linkability": 28, "learned": 17, "baynet": 8, "all-ctgan": 112, "all-tabddpm": 112}
    found = {scale: expand(load_plan(PLAN, scale), PLAN.parent).configurations for scale in sizes}
    assert {scale: len(configurations) for scale, configurations in found.items()} == sizes
    assert all(each.config is not None for configurations in found.values() for each in configurations)
    alone = [each for each in found["models"] if each.factors["generator"] == "anonymization alone"]
    assert len(alone) == 16 and all(each.config and each.config.synthesize.is_off for each in alone)
    neighbours = {each.config.evaluate.linkability_neighbours for each in found["linkability"] if each.config}
    assert neighbours == {1, 5, 10, 50}


def test_the_research_order_is_measured_on_the_same_table() -> None:
    path = PLAN.parent / "research_order.yaml"
    found = expand(load_plan(path), path.parent).configurations
    assert [each.problem for each in found] == [""] * 8
    assert sum(bool(each.research_order) for each in found) == 4


def test_scales_of_the_printed_tables(thesis: dict[str, Any]) -> None:
    """The four configurations that tables A.1 to A.4 print; stratified with beta 1 is every record, as simple is."""
    found = {
        (scale, each.config.anonymize.k): each.config
        for scale in ("a1-a3", "a2", "a4")
        for each in expand(load_plan(PLAN, scale), PLAN.parent).configurations
        if each.config
    }
    assert len(found) == len(thesis["tables"]) == 4
    for table in thesis["tables"].values():
        config = found[table["scale"], table["k"]]
        assert config.transition and [config.transition.method, config.transition.order] == table["transition"]
        assert config.sample.beta == table["beta"] and config.synthesize.generator == table["generator"]
        assert config.synthesize.preset == "thesis" and config.anonymize and config.split.rows is None
        assert config.anonymize.suppression_limit == thesis["suppression_limit"]
        assert {"singling_out", "inference", "discriminator", "total_variation", "wasserstein"} <= set(
            config.evaluate.metrics or ()
        )
