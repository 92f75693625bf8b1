"""Every mistake in a configuration becomes one readable message."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.anonymize import AnonymizeOptions
from hybrid.base.errors import ConfigError
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config, parse_config
from hybrid.pipeline.table_run import TableRun
from hybrid.table.files import File
from tests.helpers.whole_demo import write_whole_demo

QI = {"role": "quasi_identifier", "hierarchy": "age.csv"}


def _config(**sections: Any) -> dict[str, Any]:
    return {"version": 1, "data": {"path": "t.csv", "columns": {"age": QI}}, **sections}


def _messages(content: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(content)
    return [str(problem) for problem in caught.value.problems]


def test_all_problems_are_reported_at_once() -> None:
    found = _messages(_config(anonymize={"k": 0, "kk": 5}, sample={"beta": 1.5}, split={"control": 2}))
    assert len(found) == 5  # split.control is a share, or cross: one line each
    assert any("anonymize.k:" in message and "found 0" in message for message in found)
    assert any("anonymize.kk: unknown key" in message and "did you mean 'k'" in message for message in found)
    assert any("sample.beta" in message for message in found)
    assert any("split.control" in message for message in found)


def test_a_transition_takes_its_own_options_only() -> None:
    assert parse_config(_config(anonymize={"k": 2}, transition={"method": "uniform"})).transition is not None
    (message,) = _messages(_config(anonymize={"k": 2}, transition={"method": "uniform", "estimator": "histogram"}))
    assert "transition.estimator: unknown key" in message
    (message,) = _messages(_config(anonymize={"k": 2}, transition={"method": "unifrom"}))
    assert message.startswith("config: transition") and "'uniform'" in message


def test_the_default_transition_is_tree_before_the_generator() -> None:
    transition = parse_config(_config(anonymize={"k": 2})).transition
    assert transition is not None and (transition.method, transition.order) == ("tree", "pre")


def test_stages_that_make_no_sense_are_refused_with_the_reason() -> None:
    (message,) = _messages(_config(transition={"method": "single"}))
    assert "without generalized labels there is nothing to restore" in message
    (message,) = _messages(_config(sample={"method": "stratified", "beta": 0.5}))
    assert "there are no classes" in message
    unchanged = {"transition": {"method": "original"}, "synthesize": {"generator": "none"}}
    assert any("the records themselves" in one for one in _messages(_config(anonymize={"k": 2}, **unchanged)))
    content = _config(anonymize={"k": 2})
    content["data"]["columns"] = {"age": {"role": "sensitive"}}
    (message,) = _messages(content)
    assert "no column has the role quasi_identifier" in message


def test_an_order_of_stages_that_protects_no_person_is_refused() -> None:
    on = {"anonymize": {"k": 2}, "sample": {"method": "beta", "beta": 0.5}}
    post = {"transition": {"method": "uniform", "order": "post"}}
    assert parse_config(_config(**on, **post, stages=["anonymize", "sample", "synthesize", "transition"]))
    (message,) = _messages(_config(**on, stages=["synthesize", "anonymize"]))
    assert "anonymizing after synthesis is refused" in message
    (message,) = _messages(_config(**on, stages=["transition", "synthesize"]))
    assert "no labels to restore" in message
    (message,) = _messages(_config(**on, stages=["anonymize", "sample", "synthesize", "transition"]))
    assert "transition.order" in message


def test_a_quasi_identifier_needs_a_hierarchy() -> None:
    content = _config(anonymize={"k": 2})
    content["data"]["columns"] = {"age": {"role": "quasi_identifier"}}
    (message,) = _messages(content)
    assert "data.columns.age" in message


def test_off_switches_a_stage_off() -> None:
    assert parse_config(_config(anonymize=False, transition=False)).anonymize is None


def test_unknown_generator_names_the_near_one() -> None:
    (message,) = _messages(_config(anonymize={"k": 2}, synthesize={"generator": "ctgann"}))
    assert "did you mean 'ctgan'" in message


def test_yaml_mistakes_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("version: 1\ndata: {path: a.csv}\nname: a\nname: b\n")
    with pytest.raises(ConfigError, match=r"line 4: the key .* is given twice \(first on line \d+\)"):
        load_config(path)
    path.write_text("data: [")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_config(path)
    path.write_text("- a\n")
    with pytest.raises(ConfigError, match="a mapping"):
        load_config(path)
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(tmp_path / "absent.yaml")


def test_overrides_win_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(_config(anonymize={"k": 2})))
    config = load_config(path, {"anonymize.k": 9, "sample.method": "beta", "sample.beta": 0.5})
    assert config.anonymize is not None and config.anonymize.k == 9 and config.sample.beta == 0.5
    assert config.data_file == File.local(tmp_path / "t.csv")
    assert config.hierarchy_sources == {"age": tmp_path / "age.csv"}


def test_what_check_shows_is_a_config_again() -> None:
    config = parse_config(_config(anonymize={"k": 3}, transition={"method": "uniform"}))
    assert parse_config(yaml.safe_load(config.to_yaml())) == config


def _as_file(folder: Path, content: dict[str, Any]) -> TableRun:
    path = folder / "c.yaml"
    path.write_text(yaml.safe_dump(content))
    return TableRun(load_config(path), seed=1)


def _as_mapping(_: Path, content: dict[str, Any]) -> TableRun:
    return TableRun(parse_config(content), seed=1)


def _as_object(_: Path, content: dict[str, Any]) -> TableRun:
    options = AnonymizeOptions(**content["anonymize"]) if content.get("anonymize") else content.get("anonymize")
    return TableRun(RunConfig(**{**content, "anonymize": options}), seed=1)


def _as_changed_copy(_: Path, content: dict[str, Any]) -> TableRun:
    """Without validation: only what is wanted off is off."""
    off = {name: None for name in ("anonymize", "transition") if content.get(name) is False}
    kept = {name: value for name, value in content.items() if name not in off}
    whole = RunConfig(**{"transition": {"method": "uniform"}, **kept})
    return TableRun(whole.model_copy(update=off), seed=1)


WAYS = (_as_file, _as_mapping, _as_object, _as_changed_copy)


@pytest.mark.parametrize("way", WAYS)
def test_a_transition_that_is_off_is_refused_where_something_is_anonymized(way: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only the original ones are left") as caught:
        way(tmp_path, _config(anonymize={"k": 2}, transition=False))
    (problem,) = caught.value.problems
    assert "leave transition out" in problem.hint


@pytest.mark.parametrize("way", WAYS[:3])
def test_a_transition_that_is_not_mentioned_is_the_default(way: Any, tmp_path: Path) -> None:
    for given in ({}, {"transition": None}):
        transition = way(tmp_path, _config(anonymize={"k": 2}, **given)).config.transition
        assert transition is not None and transition.method == "tree"


@pytest.mark.parametrize("way", WAYS)
def test_contradictions_are_refused_before_anything_is_read(way: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to restore"):
        way(tmp_path, _config(anonymize=False, transition={"method": "uniform"}))
    with pytest.raises(ConfigError, match="anonymizing after synthesis is refused"):
        way(tmp_path, _config(anonymize={"k": 2}, stages=["synthesize", "anonymize"]))
    content = _config(anonymize={"k": 2})
    content["data"]["columns"] = {"age": {"role": "quasi_identifier"}}
    with pytest.raises(ConfigError, match="needs a hierarchy") as caught:
        way(tmp_path, content)
    assert "hybrid hierarchy make CONFIG" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize("generator", ["none", "cart"])
def test_no_original_record_is_released_by_a_changed_configuration(tmp_path: Path, generator: str) -> None:
    """Without a transition there was nothing to learn from but the original records."""
    write_whole_demo(tmp_path, rows=200, seed=3)
    config = load_config(tmp_path / "config.yaml", {"synthesize.generator": generator})
    changed = config.model_copy(update={"transition": None})
    with pytest.raises(ConfigError, match="only the original ones are left"):
        TableRun(changed, seed=1)
    assert any("transition is off" in finding.message for finding in diagnose(changed) if finding.level == "error")
    with pytest.raises(ConfigError, match="transition is off"):
        _ = changed.required_transition


@pytest.mark.parametrize("method", ["tree", "uniform", "conditional", "single"])
def test_a_configuration_comes_out_of_another_process_as_it_went_in(tmp_path: Path, method: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(_config(anonymize={"k": 2}, transition={"method": method})))
    config = load_config(path)
    again = pickle.loads(pickle.dumps(config))
    assert again == config and type(again.transition) is type(config.transition)
    assert again.folder == tmp_path and again.model_fields_set == config.model_fields_set
