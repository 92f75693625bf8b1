"""The JSON schema accepts what the program accepts, and refuses mistyped keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hybrid.demo import write_demo, write_linked_demo
from hybrid.pipeline.config import load_config
from hybrid.pipeline.json_schema import configuration_schema
from tests.docs.documentation_pages import ROOT

SCHEMA = configuration_schema()
CONFIGS = ("adult", "adult_dp", "bank", "diabetes130", "diabetes130_dp", "quickstart")


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def _errors(content: Any) -> list[str]:
    """Errors of a content as an editor sees it: dates are texts."""
    content = json.loads(json.dumps(content, default=str))
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_of_this_repository_are_accepted(name: str) -> None:
    path = ROOT / "configs" / f"{name}.yaml"
    assert _errors(yaml.safe_load(path.read_text("utf-8"))) == []
    assert _errors(load_config(path).model_dump(mode="json")) == [], "every default"


def test_linked_tables_are_accepted(tmp_path: Path) -> None:
    write_linked_demo(tmp_path, 60, 1)
    content = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))
    assert _errors(content) == []
    assert _errors(load_config(tmp_path / "config.yaml").model_dump(mode="json")) == []
    assert _errors(content | {"risk": {"model": "memorize"}}), "a section of one table alone"
    assert _errors(content | {"tables": {"patients": {"paht": "a.csv"}}})


@pytest.mark.parametrize(
    "sections",
    [
        {"anonymize": False, "transition": False, "protect": False},
        {"protect": "off", "synthesize": {"generator": None}},
        {"synthesize": {"generator": False}},
        {"anonymize": {"technique": "microaggregation"}},
        {"anonymize": {"technique": {"name": "pram"}}},
        {"anonymize": {"technique": ["suppression", {"name": "noise"}]}},
        {"anonymize": {"k": 3}, "transition": {"order": "post"}},
    ],
)
def test_short_forms_are_accepted(sections: dict[str, Any], tmp_path: Path) -> None:
    content = yaml.safe_load(write_demo(tmp_path, 60, 1, several=False).read_text("utf-8"))
    assert _errors(content | sections) == []


@pytest.mark.parametrize(
    "sections", [{"anonymise": {}}, {"anonymize": {"kk": 3}}, {"anonymize": {"k": "many"}}, {"data": {}, "sead": 1}]
)
def test_mistakes_are_marked(sections: dict[str, Any]) -> None:
    assert _errors({"data": {"path": "a.csv"}}) == []
    assert _errors({"data": {"path": "a.csv"}} | sections)
