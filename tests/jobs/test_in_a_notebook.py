"""From a DataFrame to a synthetic frame with its verdict: three lines, and what they show."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.jobs.start import configuration
from hybrid.pipeline.draft import Draft
from hybrid.pipeline.pipeline import Pipeline
from tests.cli.conftest import POLICY
from tests.helpers.whole_demo import write_whole_demo


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("demo")
    write_whole_demo(folder, rows=300, seed=3, several=False)
    return pd.read_csv(folder / "admissions.csv")


@pytest.fixture(scope="module")
def draft(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Draft:
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(yaml.safe_dump(POLICY))
    draft = hybrid.guess(frame)
    draft.columns["admission_date"].role = "insensitive"
    draft["seed"] = 1
    draft["protect"] = {"columns": {"diagnosis": "sample"}}
    draft["evaluate.metrics"] = ["identical_match", "total_variation", "k_reached"]
    draft["policy"] = str(path)
    return draft


@pytest.fixture(scope="module")
def result(draft: Draft, frame: pd.DataFrame) -> Pipeline:
    found = hybrid.run(draft, data=pa.Table.from_pandas(frame))
    assert isinstance(found, Pipeline)
    return found


def test_a_draft_runs_on_its_table(result: Pipeline, frame: pd.DataFrame) -> None:
    assert result.verdict.status == "review"  # nobody has signed the roles
    assert set(result.synthetic.frame) == set(frame)
    assert pa.table(result.synthetic).num_rows == len(result.synthetic.frame)


def test_a_draft_brings_the_table_that_it_was_guessed_from(draft: Draft, frame: pd.DataFrame) -> None:
    assert len(configuration(draft).load_table()) == len(frame)
    assert len(configuration(draft, frame[:50]).load_table()) == 50


def test_results_are_short_and_hold_no_record(result: Pipeline, frame: pd.DataFrame) -> None:
    shown = repr(result) + result._repr_html_() + repr(result.evaluation) + repr(result.synthetic)
    assert len(shown) < 4_000 and "REVIEW" in shown
    assert not any(name in shown for name in frame["patient_id"])


def test_a_run_that_is_not_judged_is_not_computed_to_be_shown(draft: Draft) -> None:
    waiting = Pipeline(draft.config)
    assert "not judged yet" in repr(waiting) and "not judged yet" in waiting._repr_html_()
    assert "person" not in vars(waiting) and "evaluation" not in vars(waiting)


def test_metrics_and_checks_are_frames(result: Pipeline) -> None:
    metrics, checks = result.evaluation.to_frame(), result.verdict.to_frame()
    assert len(metrics) == len(result.evaluation.metrics) and len(checks) == len(result.verdict.checks)
    one = result.evaluation.find("identical_match", "synthetic")
    row = metrics[(metrics["name"] == "identical_match") & (metrics["stage"] == "synthetic")].iloc[0]
    assert one is not None and row["value"] == one.outcome.value and row["state"] == "ok"  # type: ignore[union-attr]
    assert checks["status"].iloc[0] != "pass"
    assert (metrics["state"] == "ok").eq(metrics["value"].notna()).all()


def test_charts_are_drawn_and_kept(result: Pipeline, tmp_path: Path) -> None:
    figure = result.plot("age", "sex")
    assert repr(figure).startswith("Figure: age, sex")
    figure.write(tmp_path / "charts.html")
    page = (tmp_path / "charts.html").read_text()
    assert page.count("<svg") == 2 and "<script" not in page and "http" not in page.replace("http://www.w3.org", "")
    with pytest.raises(ConfigError, match="no such column: nothing"):
        result.plot("nothing")
