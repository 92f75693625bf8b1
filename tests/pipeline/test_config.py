"""Every mistake in a configuration becomes one readable message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import load_config, parse_config
from hybrid.table.files import File

QI = {"role": "quasi_identifier", "hierarchy": "age.csv"}


def _config(**sections: Any) -> dict[str, Any]:
    return {"version": 1, "data": {"path": "t.csv", "columns": {"age": QI}}, **sections}


def _messages(content: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(content)
    return [str(problem) for problem in caught.value.problems]


def test_all_problems_are_reported_at_once() -> None:
    found = _messages(_config(anonymize={"k": 0, "kk": 5}, sample={"beta": 1.5}, split={"control": 2}))
    assert len(found) == 4
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
    content = _config(anonymize={"k": 2})
    content["data"]["columns"] = {"age": {"role": "sensitive"}}
    (message,) = _messages(content)
    assert "no column has the role quasi_identifier" in message


def test_an_order_of_stages_that_protects_nobody_is_refused() -> None:
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
    assert config.hierarchy_paths == {"age": tmp_path / "age.csv"}


def test_what_check_shows_is_a_config_again() -> None:
    config = parse_config(_config(anonymize={"k": 3}, transition={"method": "uniform"}))
    assert parse_config(yaml.safe_load(config.to_yaml())) == config
