"""Keys of stage results move when code, libraries or options behind the stage change, and only then."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import hybrid
from hybrid.base import hashing, source_code
from hybrid.base.manifest import StageName
from hybrid.base.source_code import NEUTRAL, Roots, modules_behind
from hybrid.evaluation.measure import Subject
from hybrid.pipeline import records
from hybrid.pipeline.cache_keys import SAMPLED, stage_keys
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.stages import STAGES, WIRING, libraries, needed_by
from hybrid.publication.redact import METHOD
from hybrid.synthesize.fitted import model_roots, model_version
from hybrid.synthesize.registry import ENGINES, REGISTRY

QI = {"role": "quasi_identifier", "hierarchy": "age.csv"}
CONTENT: dict[str, Any] = {"data": {"path": "t.csv", "columns": {"age": QI}}, "anonymize": {"k": 2}}
EVALUATED = {f"evaluate-{subject}" for subject in get_args(Subject)}
BY_VALUES = {"transition", "synthesize", "evaluate-anonymized", "evaluate-synthetic"}
BY_GENERATOR = {"synthesize", "baseline", "evaluate-synthetic", "evaluate-baseline"}
BY_LABELS = {"anonymize", "tradeoff", "sample", *BY_VALUES}
BY_PROTECTION = {"protect", *BY_LABELS, *BY_GENERATOR}
ALL = {*BY_PROTECTION, *EVALUATED}
NOTHING = {
    "hybrid.analysis": "compares finished runs",
    "hybrid.anonymize.search.rule_costs": "prices rules for hybrid init, check and trade-off; no stage asks",
    "hybrid.hierarchy.level_words": "words about levels, for the same",
    "hybrid.synthesize.estimate": "prices trainings; whether an attack is worth its time is no result",
    "hybrid.base.findings": "words of checks, for the same",
    "hybrid.report": "draws figures of a finished run",
    "hybrid.anonymize.left_out": "describes a finished decision; its result is not kept",
    "hybrid.pipeline.amplification": "explains the guarantee",
    "hybrid.pipeline.explanation": "explains the guarantee",
    "hybrid.pipeline.sampled_labels": "explains the guarantee",
    "hybrid.pipeline.guarantees": "explains the guarantee",
    "hybrid.pipeline.cache_keys": "computes the keys themselves",
    "hybrid.pipeline.stages": "names the code; its set is in every key",
    "hybrid.pipeline": "holds nothing but a docstring",
    "hybrid.base.ownership": "marks finished folders",
    "hybrid.constraints.discover": "suggests constraints",
    "hybrid.constraints.derivations": "suggests constraints",
    "hybrid.constraints.checks": "refuses constraints; what they are is in every key that they decide",
    "hybrid.hierarchy.from_data": "suggests starter hierarchies",
    "hybrid.hierarchy.file_text": "writes starter hierarchies",
    "hybrid.table.read_frame": "reads a DataFrame, whose content is in every key",
    "hybrid.operations": "options of nights",
    "hybrid.publication": "judges a finished evaluation; verdicts are not kept",
    "hybrid.table.write": "writes finished tables",
    "hybrid.table.write_csv": "writes finished tables",
    "hybrid.transition.disclosure": "describes a finished transition; its result is not kept",
}
"""Modules that a pipeline imports and that decide no kept result, with the reason."""


def _keys(**sections: Any) -> dict[str, str]:
    return stage_keys(parse_config({**CONTENT, **sections}), seed=1, split_seed=2, data="data")


def _moved(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert set(before) == set(after)
    return {name for name, key in before.items() if after[name] != key}


def _change_module(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    original = source_code.module_hash
    monkeypatch.setattr(source_code, "module_hash", lambda module: "changed" if module == changed else original(module))


def _change_version(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    original = hashing._version
    monkeypatch.setattr(hashing, "_version", lambda name: "999" if name == changed else original(name))


@pytest.mark.parametrize(
    ("module", "moved"),
    [
        ("hybrid.table.split", ALL),
        ("hybrid.table.infer", ALL),
        ("hybrid.table.record_hash", ALL),
        ("hybrid.base.rng", ALL),
        ("hybrid.hierarchy.load", ALL),
        ("hybrid.pipeline.generation", ALL),
        ("hybrid.pipeline.pipeline", ALL),
        ("hybrid.protect.numbers", BY_PROTECTION),
        ("hybrid.anonymize.search.kernels", BY_LABELS),
        ("hybrid.anonymize.verify_table", BY_LABELS),
        ("hybrid.sample", {"sample", *BY_VALUES}),
        ("hybrid.transition.strategies.tree", BY_VALUES),
        ("hybrid.synthesize.codec", BY_GENERATOR),
        ("hybrid.synthesize.reuse", BY_GENERATOR),
        ("hybrid.synthesize.generators.cart", BY_GENERATOR),
        ("hybrid.synthesize.generators.ctgan", set()),
        ("hybrid.evaluation.attacks.linkability", EVALUATED),
        ("hybrid.base.progress", set()),
        ("hybrid.store.local", set()),
        ("hybrid.publication.gate", set()),
        ("hybrid.jobs.run", set()),
    ],
)
def test_a_changed_module_moves_the_keys_of_what_it_decides(
    monkeypatch: pytest.MonkeyPatch, module: str, moved: set[str]
) -> None:
    before = _keys()
    assert set(before) == ALL
    _change_module(monkeypatch, module)
    assert _moved(before, _keys()) == moved


def test_levels_chosen_by_association_depend_on_what_the_evaluation_predicts() -> None:
    def key(loss: dict, *targets: str) -> str:
        return _keys(anonymize={**CONTENT["anonymize"], "loss": loss}, evaluate={"targets": targets})["anonymize"]

    association = {"name": "association"}
    assert key(association, "a") != key(association, "b")
    assert key(association, "a") == key({**association, "use": ["a"]}, "b"), "what is named wins"
    assert key({"name": "loss"}, "a") == key({"name": "loss"}, "b")


def test_code_that_samples_a_warehouse_moves_the_keys_of_its_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"url_env": "CLINIC_URL", "table": "t", "push_down": True}
    there = {"data": {"sql": place, "columns": {"age": QI}}}
    before, elsewhere = _keys(), _keys(**there)
    assert set(elsewhere) == ALL - {"tradeoff"}
    assert set(elsewhere.values()).isdisjoint(before.values())
    larger = _keys(data={"sql": {**place, "sample_rows": 5}, "columns": {"age": QI}})
    assert _moved(elsewhere, larger) == set(elsewhere)
    _change_module(monkeypatch, "hybrid.anonymize.warehouse.digest_rows")
    assert _moved(elsewhere, _keys(**there)) == set(elsewhere)
    assert _keys() == before


def test_every_module_that_a_pipeline_imports_is_in_a_key_or_on_a_list_with_the_reason() -> None:
    engines = (*REGISTRY.values(), *ENGINES.values())
    roots = (*(stage.roots for stage in STAGES), SAMPLED, *map(model_roots, engines))
    counted = {module for each in roots for module in modules_behind(each)}
    left = modules_behind(Roots(("hybrid.pipeline.pipeline",))) - counted
    listed = {module for module in left if any(module == one or module.startswith(f"{one}.") for one in NOTHING)}
    assert left == listed
    assert {one for one in NOTHING if not any(module.startswith(one) for module in left)} == set()
    assert all(NEUTRAL.values()) and set(WIRING) <= counted


@pytest.mark.parametrize(
    ("library", "moved"),
    [
        ("prefect", set()),
        ("dask", set()),
        ("distributed", set()),
        ("fsspec", set()),
        ("torch", set()),
        ("numpy", ALL),
        ("pandas", ALL),
        ("numba", BY_LABELS | EVALUATED),
        ("scikit-learn", ALL),
        ("anjana", BY_LABELS),
    ],
)
def test_another_version_of_a_library_moves_the_keys_of_the_stages_that_use_it(
    monkeypatch: pytest.MonkeyPatch, library: str, moved: set[str]
) -> None:
    before = _keys()
    _change_version(monkeypatch, library)
    assert _moved(before, _keys()) == moved


@pytest.mark.parametrize("evaluate", [{"encoder": {}}, {"retrain": {}}, {"also": ["membership_flow"]}])
def test_networks_count_where_the_evaluation_trains_them(
    monkeypatch: pytest.MonkeyPatch, evaluate: dict[str, Any]
) -> None:
    before = _keys(evaluate=evaluate)
    _change_version(monkeypatch, "torch")
    assert _moved(before, _keys(evaluate=evaluate)) == EVALUATED


def test_libraries_of_a_manifest_are_those_of_the_stages_and_generators() -> None:
    assert {"numpy", "pandas", "numba", "scikit-learn", "sdv", "rdt", "torch", "realtabformer"} <= set(libraries())
    assert not {"prefect", "dask", "distributed", "xgboost", "fastapi"} & set(libraries())


def test_a_kept_model_goes_with_its_own_code_and_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = REGISTRY["ctgan"]

    def version(change: Any, name: str) -> str:
        with monkeypatch.context() as patch:
            change(patch, name)
            return model_version(generator)

    before = model_version(generator)
    own = "hybrid.synthesize.generators"
    for module in (f"{own}.ctgan", f"{own}.sdv_network", "hybrid.synthesize.codec", "hybrid.base.rng"):
        assert version(_change_module, module) != before, module
    for module in (f"{own}.cart", "hybrid.evaluation.metric", "hybrid.table.split"):
        assert version(_change_module, module) == before, module
    for library in ("sdv", "rdt", "numpy"):
        assert version(_change_version, library) != before, library
    for library in ("prefect", "realtabformer", "numba"):
        assert version(_change_version, library) == before, library


def test_options_that_change_nothing_do_not_move_a_key() -> None:
    before = _keys()
    assert _moved(before, _keys(sample={"beta": 0.5})) == set()
    assert _moved(before, _keys(protect={"min_count": 7})) == BY_PROTECTION
    assert "protect" not in _keys(protect="off") and "protect" not in _keys(protect=False)
    assert _moved(before, _keys(synthesize={"rows": 7})) == BY_GENERATOR
    assert _moved(before, _keys(synthesize={"where": "age > 7"})) == BY_GENERATOR | EVALUATED
    assert _moved(before, _keys(transition={"method": "uniform"})) == BY_VALUES
    assert _moved(before, _keys(transition={"method": "tree", "order": "post"})) == {
        *("synthesize", "evaluate-synthetic")
    }


KEYS = """
import json
from hybrid.pipeline.cache_keys import SAMPLED, stage_keys
from hybrid.pipeline.config import parse_config
print(json.dumps(stage_keys(parse_config(json.loads({content!r})), 1, 2, "data")))
"""


def test_one_line_in_the_split_makes_every_kept_result_unusable(tmp_path: Path) -> None:
    """With results kept before, records that were trained on would stand in the new control set."""
    shutil.copytree(Path(hybrid.__file__).parent, tmp_path / "hybrid", ignore=shutil.ignore_patterns("__pycache__"))

    def keys() -> dict[str, str]:
        command = [sys.executable, "-c", KEYS.format(content=json.dumps(CONTENT))]
        done = subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found

    before = keys()
    path = tmp_path / "hybrid" / "table" / "split.py"
    text = path.read_text()
    assert "round(" in text
    path.write_text(text.replace("round(", "int(", 1))
    assert _moved(before, keys()) == ALL


def test_the_one_list_agrees_with_what_is_derived_from_it() -> None:
    assert tuple(stage.section for stage in STAGES if stage.section) == get_args(StageName)
    assert {stage.judged for stage in STAGES if stage.judged} == set(get_args(Subject))
    assert all(hasattr(Pipeline, stage.result) for stage in STAGES)
    assert set(get_args(StageName)) <= set(METHOD)
    assert set(records._COUNTS) == {"protect", "filter", *get_args(StageName)}
    assert needed_by("evaluate-synthetic") == ("synthesize", "filter") and needed_by("evaluate-original") == ()
    assert needed_by("synthesize") == ("transition", "sample", "protect") and needed_by("anonymize") == ("protect",)
    config = parse_config({**CONTENT, "transition": {"method": "tree", "order": "post"}})
    assert config.described_stages == ("anonymize", "synthesize", "transition")
