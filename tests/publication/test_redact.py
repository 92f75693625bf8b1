"""What says where or with which seed stays; what says how may leave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.redact import WITHHELD, public_config, public_evaluation, public_manifest


@pytest.mark.parametrize(
    "value",
    [
        "/srv/data",
        "~/data",
        "../h/age",
        "./x",
        "C:\\data",
        r"\\server\share",
        "s3://bucket/key",
        "people.csv",
        "p.PARQUET",
    ],
)
def test_places_are_withheld(value: str) -> None:
    shown = public_config({"anonymize": {"k": 5, "population": value, "models": [{"at": [value]}]}})
    assert shown["anonymize"] == {"k": 5, "population": WITHHELD, "models": [{"at": [WITHHELD]}]}


@pytest.mark.parametrize(
    "key", ["seed", "random_state", "cache_dir", "path", "model_path", "url", "password", "api_token"]
)
def test_private_options_are_withheld(key: str) -> None:
    assert public_config({"synthesize": {key: 12, "epochs": 3}})["synthesize"] == {key: WITHHELD, "epochs": 3}


@pytest.mark.parametrize("value", ["cart", "equivalence_class", "a/b", "age.group", 0.5, None, True])
def test_options_of_the_method_are_shown(value: object) -> None:
    assert public_config({"sample": {"by": value}})["sample"] == {"by": value}


def test_sections_that_are_not_known_stay() -> None:
    shown = public_config({"name": "x", "seed": 3, "data": {"path": "p.csv"}, "policy": "p", "new_section": {"a": 1}})
    assert shown == {"name": "x", "columns": {}}


def test_columns_show_what_they_are_and_not_where_their_hierarchy_is() -> None:
    columns = {"seed": {"role": "sensitive", "kind": "integer", "target": True, "hierarchy": "h/a.csv", "format": "%Y"}}
    assert public_config({"data": {"columns": columns}})["columns"] == {
        "seed": {"role": "sensitive", "kind": "integer", "target": True}
    }


def test_a_manifest_loses_seed_and_fingerprint() -> None:
    shown = public_manifest(
        {"name": "x", "seed": 5, "data_fingerprint": "ab", "config": {"seed": 5}, "files": {"a": 1}}
    )
    assert shown == {"name": "x", "config": {"columns": {}}, "seed": WITHHELD, "data_fingerprint": WITHHELD}


def test_an_evaluation_keeps_numbers_and_reasons_and_no_details() -> None:
    details = {"seed": 5, "most_exposed": [{"group": "retired"}], "reason": None}
    told = MetricResult("a", "privacy", "synthetic", "lower", Measure(0.5, 0.4, 0.6, 0.3, 9, {"groups": details}))
    missing = MetricResult("b", "privacy", "synthetic", "lower", NotComputable("no control set", "too_few"))
    shown = public_evaluation(Evaluation((told, missing)))["metrics"]
    assert shown == [told.to_json() | {"details": {}}, missing.to_json()]


NESTED = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)


@given(NESTED, st.sampled_from(["split", "anonymize", "synthesize", "evaluate"]))
def test_no_seed_survives_however_deep(content: Any, section: str) -> None:
    planted = {"outer": [{"seed": "canary", "rest": content}], "more": {"a_seed": "canary", "b": ["/canary"]}}
    assert "canary" not in str(public_config({section: planted}))
