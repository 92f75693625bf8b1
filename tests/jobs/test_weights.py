"""A survey with weights from the configuration to the table that leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize.risk import class_risk
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.redact import public_anonymization
from tests.jobs.small_job import write_survey


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of 2,000 people; weights with two decimals, nearly all different."""
    folder = tmp_path_factory.mktemp("weights")
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"id": [f"P{one}" for one in range(2000)], "age": rng.integers(18, 90, 2000)})
    frame["sex"] = rng.choice(["f", "m"], 2000)
    frame["work"] = np.where(frame["age"] > 65, "retired", rng.choice(["clerk", "nurse", "smith"], 2000))
    frame["weight"] = np.round(rng.uniform(40, 90, 2000) * np.where(frame["sex"] == "f", 1.5, 1), 2)
    columns = {"id": {"role": "identifier"}, "weight": {"role": "weight"}, "work": {"role": "sensitive"}}
    measured = {"metrics": ["weighted_margins"], "baseline": False}
    return write_survey(folder, frame, columns, sample={"method": "none"}, evaluate=measured)


@pytest.fixture(scope="module")
def pipeline(survey: Path) -> TableRun:
    return TableRun(load_config(survey))


def test_margins_are_kept_within_one_percent(pipeline: TableRun) -> None:
    source = pipeline.table.frame
    released = pipeline.synthetic.frame
    for name in ("sex", "work"):
        before, after = (
            frame.groupby(frame[name].astype(str))["weight"].sum() / frame["weight"].sum()
            for frame in (pipeline.train.frame, released)
        )
        assert (before - after).abs().max() < 0.01
    assert released["weight"].sum() == pytest.approx(source["weight"].sum(), rel=0.03)
    found = pipeline.evaluation.find("weighted_margins", "synthetic")
    assert found is not None and found.outcome.value < 0.01  # type: ignore[union-attr]
    assert found.outcome.value > 0  # type: ignore[union-attr]


def test_no_weight_is_that_of_a_person(pipeline: TableRun) -> None:
    shared = np.isin(pipeline.synthetic.frame["weight"], pipeline.train.frame["weight"]).mean()
    chance = np.isin(pipeline.train.frame["weight"] + 0.37, pipeline.train.frame["weight"]).mean()
    assert shared <= chance + 0.1


def test_the_risk_in_the_population_is_said(pipeline: TableRun) -> None:
    found = pipeline.anonymized
    risk, sizes = class_risk(found.class_ids, found.originals.persons, found.originals.frame["weight"].to_numpy())
    assert found.result.population_risk is not None
    assert found.result.population_risk["risk_max"] == risk.max()
    assert found.result.population_risk["expected"] == pytest.approx((risk * sizes).sum())
    public = public_anonymization(found.result)["population_risk"]
    assert set(public) == {"risk_mean", "risk_max"} and risk.max() <= public["risk_max"] <= 1.11 * risk.max()
    text = guarantee_sentence(found.result, {"data": {}}, pipeline.evaluation)
    assert f"of at most {public['risk_max']:g} in any class" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.columns.age.role": "weight"}, "a row has one sampling weight"),
        ({"protect": {"columns": {"weight": "keep"}}}, "is not kept as it is"),
        ({"data.columns.weight.target": True}, "a weight is no target"),
        ({"data.columns.weight.kind": "categorical"}, "a weight is a number"),
    ],
)
def test_contradictions(survey: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        load_config(survey, changes)
