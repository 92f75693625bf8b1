"""Households from the configuration to the certificate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.risk import household_risk
from hybrid.base.errors import ConfigError
from hybrid.evaluation.measure import Evaluation
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.gate import judge
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.redact import public_anonymization
from hybrid.publication.verdict import Check
from tests.jobs.small_job import write_survey


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of 400 persons in households of one to seven."""
    folder = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(8)
    home = np.repeat(np.arange(400), rng.integers(1, 8, 400))[:400]
    frame = pd.DataFrame({"hh": [f"H{one}" for one in home], "id": [f"P{one}" for one in range(400)]})
    frame["age"], frame["sex"] = rng.integers(0, 90, 400), rng.choice(["f", "m"], 400)
    frame["income"] = rng.choice(["low", "high"], 400)
    columns = {"hh": {"role": "identifier"}, "id": {"role": "identifier"}, "income": {"role": "sensitive"}}
    return write_survey(
        folder,
        frame,
        columns,
        data={"household": "hh"},
        roles={"decided_by": "Dr Example", "date": "2026-11-21"},
        sample={"method": "simple", "beta": 0.8},
        evaluate={"metrics": ["identical_match"], "baseline": False},
    )


@pytest.fixture(scope="module")
def pipeline(survey: Path) -> TableRun:
    return TableRun(load_config(survey))


def test_every_stage_keeps_households_together(pipeline: TableRun) -> None:
    train, control, sampled = pipeline.train, pipeline.control, pipeline.sampled
    assert control is not None and train.has_households and control.has_households
    assert not set(train.households.tolist()) & set(control.households.tolist())
    assert sampled is not None and sampled.unit == "households"
    kept, before = sampled.anonymized.originals.households, pipeline.anonymized.originals.households
    assert kept is not None and before is not None and 0 < len(kept) < len(before)
    assert set(kept.tolist()).isdisjoint(before[~np.isin(before, kept)].tolist())
    assert np.isin(before, kept).sum() == len(kept), "all members or none"


def test_the_risk_is_measured_and_rounded_for_the_public(pipeline: TableRun) -> None:
    found = pipeline.anonymized
    result = found.result
    assert result.household is not None and found.originals.has_households
    risk = household_risk(found.class_ids, found.originals.persons, found.originals.households).risk
    assert result.household["risk_max"] == risk.max() and result.household["risk_mean"] == pytest.approx(risk.mean())
    assert result.household["worst_class_min"] == result.min_class_size
    public = public_anonymization(result)["household"]
    assert set(public) == {"households", "risk_mean", "risk_max"} and public["households"] % 10 == 0
    assert public["risk_max"] >= risk.max() and 10 * public["risk_max"] == pytest.approx(round(10 * public["risk_max"]))
    text = guarantee_sentence(result, {"data": {"household": "hh"}}, pipeline.evaluation)
    assert "no published persons are linked as one" in text
    assert "linked as one" not in guarantee_sentence(None, {"data": {}}, pipeline.evaluation)
    assert f"on average and at most {public['risk_max']:g}." in text
    assert "household" not in json.dumps(public_anonymization(pipeline_without(pipeline)))


def pipeline_without(pipeline: TableRun) -> AnonymizationResult:
    return replace(pipeline.anonymized.result, household=None)


def test_a_policy_limits_it(pipeline: TableRun) -> None:
    rule: dict[str, Any] = {"name": "households", "quantity": "household_risk", "review": 0.3, "reason": "People."}
    rule["applies_if"] = ["households"]
    policy = Policy.model_validate({"name": "own", "version": "1", "owner": "x", "anonymity": [rule]})

    def judged(result: Any) -> Check:
        return judge(policy, pipeline.evaluation, result).checks[0]

    found = judged(pipeline.anonymized.result)
    assert found.status == "review" and "probability of at most" in found.message
    assert not judged(pipeline_without(pipeline)).applies
    office = load_policy(packaged_policies()["statistics_office"])
    assert "household_risk" in {one.quantity for one in office.anonymity}


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_every_class_has_people_of_as_many_households_as_asked_for(survey: Path, recoding: str) -> None:
    changes = {"anonymize.models": [{"model": "households", "least": 13}], "anonymize.recoding": recoding}
    found = TableRun(load_config(survey, changes))
    homes = pd.Series(found.anonymized.originals.households).groupby(found.anonymized.class_ids).nunique()
    said = guarantee_sentence(found.anonymized.result, {"data": {}}, Evaluation(()))
    assert homes.min() >= 13 and found.generated.table is not None
    free = TableRun(load_config(survey, {"anonymize.recoding": recoding})).anonymized
    assert pd.Series(free.originals.households).groupby(free.class_ids).nunique().min() < 13, "k alone does not give it"
    assert "persons of at least 13 households" in said
    with pytest.raises(ConfigError, match="households are not known"):
        load_config(survey, changes | {"data.household": None})


def test_check_says_how_many_there_are(survey: Path) -> None:
    messages = [finding.message for finding in diagnose(load_config(survey))]
    assert any("households with up to 7 persons each" in message for message in messages)
    assert not any("identifiers repeat" in message for message in messages), "a household is no person"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.household": "income"}, "data.household: the column 'income' does not have the role identifier"),
        ({"data.household": "id", "data.person": "id"}, "a household then is one person"),
        ({"split.key": "hh"}, "data.household keeps households on one side"),
        ({"data.household": ""}, "household needs a column"),
    ],
)
def test_contradictions(survey: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        load_config(survey, changes)
