"""From the command to the answers: facets of configurations, and a recommended file that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hybrid.cli import main
from hybrid.comparison import load_plan
from hybrid.comparison.schedule import expand
from hybrid.comparison.write import facets, recommended_yaml
from hybrid.pipeline.config import load_config
from tests.comparison.comparison_jobs import write_plan


def _facets(folder: Path, **plan: Any) -> dict[str, dict[str, str]]:
    return facets(expand(load_plan(write_plan(folder, **plan)), folder).configurations)


def test_facets_do_not_depend_on_what_factors_are_called(folder: Path) -> None:
    named = _facets(
        folder,
        factors={
            "walk": {
                "PRE": {"transition.method": "conditional", "transition.order": "pre"},
                "POST": {"transition.method": "uniform", "transition.order": "post"},
            },
            "share": {"half": {"sample.method": "simple", "sample.beta": 0.5}, "all": {"sample.method": "none"}},
        },
    )
    c1, c2, c3, _ = named.values()
    assert (c1["k"], c1["sampling"], c1["beta"]) == ("5", "simple", "0.5")
    assert (c1["transition"], c1["order"], c1["generator"]) == ("conditional", "pre", "cart")
    assert (c2["sampling"], c2["beta"]) == ("none", "1")
    assert (c3["transition"], c3["order"]) == ("uniform", "post")
    assert len({each["rest"] for each in named.values()}) == 1


def test_options_name_a_facet_where_they_differ(folder: Path) -> None:
    found = _facets(
        folder,
        factors={
            "transition": [
                {"method": "uniform"},
                {"method": "blend", "weight": 0.2},
                {"method": "blend", "weight": 0.8},
            ]
        },
    )
    assert [each["transition"] for each in found.values()] == ["uniform", "blend {weight: 0.2}", "blend {weight: 0.8}"]


def test_what_no_facet_tells_is_in_the_rest(folder: Path) -> None:
    found = _facets(folder, factors={"anonymize.k": [5, 10], "anonymize.suppression_limit": [0.0, 0.2]})
    assert [each["k"] for each in found.values()] == ["5", "5", "10", "10"]
    rests = [each["rest"] for each in found.values()]
    assert rests[0] == rests[2] != rests[1] == rests[3]


def test_without_anonymization_there_is_no_k(folder: Path) -> None:
    (found,) = _facets(
        folder, configurations=[{"anonymize": None, "transition": None, "sample.method": "none"}], set={}
    ).values()
    assert (found["k"], found["transition"], found["order"]) == ("none", "none", "none")


def test_recommended_file_is_the_configuration_seen_from_another_folder(folder: Path, tmp_path: Path) -> None:
    config = load_config(folder / "config.yaml", {"anonymize.k": 10, "seed": 5})
    (tmp_path / "recommended.yaml").write_text(recommended_yaml("plan", "c1", config, tmp_path))
    again = load_config(tmp_path / "recommended.yaml")
    assert again.seed is None and again.anonymize is not None and again.anonymize.k == 10
    assert again.data_file is not None and config.data_file is not None
    assert Path(again.data_file.path).resolve() == Path(config.data_file.path).resolve()
    columns = {name: column.model_copy(update={"hierarchy": None}) for name, column in config.data.columns.items()}
    assert {n: c.model_copy(update={"hierarchy": None}) for n, c in again.data.columns.items()} == columns
    assert {n: p.resolve() for n, p in again.hierarchy_sources.items()} == {
        n: p.resolve() for n, p in config.hierarchy_sources.items()
    }
    for name in ("split", "anonymize", "sample", "transition", "synthesize", "evaluate", "output"):
        assert getattr(again, name) == getattr(config, name), name


def test_the_command_writes_answers_and_a_file_to_run(folder: Path, tmp_path: Path) -> None:
    metrics = ["identical_match", "total_variation"]
    content = yaml.safe_load((folder / "config.yaml").read_text())
    content["evaluate"] = {"targets": ["readmitted"], "metrics": metrics}
    (folder / "config.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    factors = {"anonymize.k": [5, 100_000], "transition.method": ["uniform", "conditional"]}
    plan = write_plan(folder, factors=factors, set={})
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(plan), "--out", str(out)])
    assert ended.value.code == 1  # no table has classes of 100,000 people
    table = pd.read_csv(out / "comparison.csv")
    found = json.loads((out / "comparison.json").read_text())
    page = (out / "comparison.html").read_text()
    assert (table["status"] == "failed").sum() == 4 and "Not run, or failed" in page
    ended = table[table["status"] == "ok"]
    assert found["overlap"] == pytest.approx((ended["control_records"] / ended["records"]).max(), rel=1e-4)
    assert 0 < found["overlap"] < 0.5 and found["paradox"]["verdict"]["margin"] == 0.02
    difference = next(e for e in found["paradox"]["differences"] if e["column"] == "synthetic.total_variation")
    means = table[table["status"] == "ok"].groupby("transition.method")["synthetic.total_variation"].mean()
    expected = means["conditional"] - means["uniform"]
    assert difference["difference"]["value"] == pytest.approx(expected, rel=1e-4)
    chosen = found["recommendation"]["chosen"]["configuration"]
    with pytest.raises(SystemExit) as ended:
        main(["check", str(out / "recommended.yaml")])
    assert not ended.value.code
    method = table.loc[table["configuration"] == chosen, "transition.method"].iloc[0]
    recommended = load_config(out / "recommended.yaml")
    assert recommended.transition is not None and recommended.transition.method == method
