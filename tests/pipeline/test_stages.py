"""Keys of stage results move when the code, or libraries or options behind the stage, change."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any, get_args

import pytest

import hybrid
from hybrid.base import hashing
from hybrid.base.hashing import LIBRARIES
from hybrid.base.manifest import PACKAGE, StageName
from hybrid.evaluation.measure import Subject
from hybrid.pipeline import stages
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.stages import STAGES, libraries, needed_by
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.redact import METHOD
from hybrid.synthesize.fitted import model_version
from hybrid.synthesize.registry import REGISTRY

QI = {"role": "quasi_identifier", "hierarchy": "age.csv"}
CONTENT: dict[str, Any] = {"data": {"path": "t.csv", "columns": {"age": QI}}, "anonymize": {"k": 2}}
EVALUATED = {f"evaluate-{subject}" for subject in get_args(Subject)}
BY_VALUES = {"transition", "synthesize", "evaluate-anonymized", "evaluate-synthetic"}
BY_GENERATOR = {"synthesize", "baseline", "evaluate-synthetic", "evaluate-baseline"}
BY_LABELS = {"anonymize", "tradeoff", "sample", *BY_VALUES}
BY_PROTECTION = {"protect", *BY_LABELS, *BY_GENERATOR}
ALL = {*BY_PROTECTION, *EVALUATED}
NOTHING = {
    *("typer", "rich", "jinja2", "markupsafe"),  # print
    *("fsspec", "cryptography", "securesystemslib", "filelock", "platformdirs"),  # move, keep, encrypt and sign bytes
    *("psutil", "threadpoolctl"),  # measure and limit processes
    "python-stdnum",  # suggests roles of columns
}
"""Distributions that the package requires and that decide no kept result."""


def _keys(**sections: Any) -> dict[str, str]:
    return stage_keys(parse_config({**CONTENT, **sections}), seed=1, split_seed=2, data="data")


def _moved(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert set(before) == set(after)
    return {name for name, key in before.items() if after[name] != key}


def _change_version(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    original = hashing._version
    monkeypatch.setattr(hashing, "_version", lambda name: "999" if name == changed else original(name))


def test_levels_chosen_by_association_depend_on_what_the_evaluation_predicts() -> None:
    def key(loss: dict, *targets: str) -> str:
        return _keys(anonymize={**CONTENT["anonymize"], "loss": loss}, evaluate={"targets": targets})["anonymize"]

    association = {"name": "association"}
    assert key(association, "a") != key(association, "b")
    assert key(association, "a") == key({**association, "use": ["a"]}, "b"), "what is named wins"
    assert key({"name": "loss"}, "a") == key({"name": "loss"}, "b")


def test_the_sample_of_a_warehouse_moves_the_keys_of_its_runs() -> None:
    place = {"url_env": "CLINIC_URL", "table": "t", "push_down": True}
    there = {"data": {"sql": place, "columns": {"age": QI}}}
    before, elsewhere = _keys(), _keys(**there)
    assert set(elsewhere) == ALL - {"tradeoff"}
    assert set(elsewhere.values()).isdisjoint(before.values())
    larger = _keys(data={"sql": {**place, "sample_rows": 5}, "columns": {"age": QI}})
    assert _moved(elsewhere, larger) == set(elsewhere)


def test_every_required_distribution_is_in_the_keys_or_on_a_list_with_the_reason() -> None:
    required = {
        re.split("[^A-Za-z0-9._-]", one)[0].replace(".", "-")
        for one in requires(PACKAGE) or ()
        if "extra ==" not in one
    }
    assert {one.lower() for one in required} - {one.lower().replace(".", "-") for one in LIBRARIES} == NOTHING


@pytest.mark.parametrize(
    ("library", "moved"),
    [
        ("prefect", set()),
        ("dask", set()),
        ("distributed", set()),
        ("fsspec", set()),
        ("realtabformer", set()),
        ("torch", EVALUATED),
        ("numpy", ALL),
        ("numba", ALL),
        ("hybrid-release", ALL),
        ("anjana", BY_LABELS),
    ],
)
def test_another_version_of_a_library_moves_the_keys_of_the_stages_that_use_it(
    monkeypatch: pytest.MonkeyPatch, library: str, moved: set[str]
) -> None:
    before = _keys()
    _change_version(monkeypatch, library)
    assert _moved(before, _keys()) == moved


def test_libraries_of_a_manifest_are_those_of_the_stages_and_generators() -> None:
    assert {"numpy", "pandas", "numba", "scikit-learn", "sdv", "rdt", "torch", "realtabformer"} <= set(libraries())
    assert not {"prefect", "dask", "distributed", "xgboost", "fastapi"} & set(libraries())


def test_a_kept_model_goes_with_the_libraries_of_its_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = REGISTRY["ctgan"]

    def version(changed: str) -> str:
        with monkeypatch.context() as patch:
            _change_version(patch, changed)
            return model_version(generator)

    before = model_version(generator)
    for library in ("sdv", "rdt", "numpy"):
        assert version(library) != before, library
    for library in ("prefect", "realtabformer"):
        assert version(library) == before, library


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
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.cache_keys import stage_keys
from hybrid.synthesize.fitted import model_version
from hybrid.synthesize.registry import REGISTRY
print(json.dumps({{
    **stage_keys(parse_config(json.loads({content!r})), 1, 2, "data"), "model": model_version(REGISTRY["cart"])
}}))
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
    assert _moved(before, keys()) == {*ALL, "model"}


def test_the_one_list_agrees_with_what_is_derived_from_it() -> None:
    assert tuple(stage.section for stage in STAGES if stage.section) == get_args(StageName)
    assert {stage.judged for stage in STAGES if stage.judged} == set(get_args(Subject))
    assert all(hasattr(TableRun, stage.result) for stage in STAGES)
    assert set(get_args(StageName)) <= set(METHOD)
    assert set(stages._COUNTS) == {"protect", "filter", *get_args(StageName)}
    assert needed_by("evaluate-synthetic") == ("synthesize", "filter") and needed_by("evaluate-original") == ()
    assert needed_by("synthesize") == ("transition", "sample", "protect") and needed_by("anonymize") == ("protect",)
    config = parse_config({**CONTENT, "transition": {"method": "tree", "order": "post"}})
    assert config.described_stages == ("anonymize", "synthesize", "transition")
