"""Estimates of users, real beside the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.estimates import combine, estimate
from hybrid.evaluation import EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.context import Making
from hybrid.evaluation.utility.analyses import default_analyses
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people

CHOSEN = ("interval_overlap", "conclusions_kept", "pmse_ratio")


def measured(train: Table, table: Table, learned: int | None = None, **options: Any) -> dict[str, Any]:
    chosen = EvaluateOptions.model_validate({"metrics": CHOSEN, **options})
    stages: Any = {"synthetic": table}
    found = evaluate(
        train, None, stages, chosen, np.random.default_rng(1), making={"synthetic": Making(learned=learned)}
    )
    return {one.name: one.outcome for one in found.metrics}


@pytest.fixture(scope="module")
def train() -> Table:
    return make_people(800, np.random.default_rng(4))


def test_a_copy_differs_in_nothing_and_its_interval_is_wider(train: Table) -> None:
    found = measured(train, train, analyses=("cost ~ age + sex", "height ~ 1"))
    overlap = found["interval_overlap"]
    assert overlap.value == 1.0 and found["conclusions_kept"].value == 1.0
    assert found["pmse_ratio"].value == pytest.approx(0, abs=1e-6)
    for one in overlap.details["estimates"]:
        assert one["difference"] == 0 and one["noise"] == 1
        half = [(side[2] - side[1]) / 2 for side in (one["table"], one["real"])]
        # As many rows as records: T_s = 2 v.
        assert half[0] / half[1] == pytest.approx(np.sqrt(2), rel=0.2)


def test_the_interval_is_that_of_the_rule_for_several_tables(train: Table) -> None:
    rng = np.random.default_rng(5)
    tables = [make_people(500, rng) for _ in range(3)]
    frame = pd.concat([one.frame for one in tables], ignore_index=True).astype(dict(train.frame.dtypes))
    (one,) = measured(train, Table(frame, train.schema), 640, analyses=("urgent ~ 1",))["interval_overlap"].details[
        "estimates"
    ]
    parts = [estimate("urgent ~ 1", each.frame) for each in tables]
    stated = combine([each.estimates for each in parts], [each.errors**2 for each in parts], n=640, k=500)
    assert one["table"] == pytest.approx((stated.estimates[0], stated.low[0], stated.high[0]), rel=0.01)


def test_a_reversed_relation_changes_the_conclusion_and_the_rest_stays(train: Table) -> None:
    frame = train.frame.assign(age=train.frame["age"].max() + train.frame["age"].min() - train.frame["age"])
    found = measured(train, Table(frame, train.schema), analyses=("cost ~ age + urgent",))
    estimates = {one["name"]: one for one in found["interval_overlap"].details["estimates"]}
    assert not estimates["age"]["concluded"] and estimates["age"]["overlap"] == 0
    assert estimates["urgent = True"]["concluded"] and estimates["urgent = True"]["overlap"] > 0.9
    assert found["conclusions_kept"].value == 0.5
    assert "cost ~ age + urgent, age differs most" in found["interval_overlap"].details["said"]


def test_no_estimate_is_of_few_people(train: Table) -> None:
    rare = np.arange(800) < 7
    frame = train.frame.assign(place=np.where(rare, "islet", train.frame["place"].astype(str)), height=rare * 1.0)
    people = Table(frame.astype(dict(train.frame.dtypes)), train.schema)
    found = measured(people, people, analyses=("cost ~ place", "cost ~ height", "height ~ age"))["interval_overlap"]
    assert not any("islet" in str(one) for one in found.details["estimates"])
    assert set(found.details["left_out"]) == {"cost ~ height", "height ~ age"}
    assert all("fewer than 20 people" in reason for reason in found.details["left_out"].values())


def test_a_model_that_the_table_does_not_determine_counts_as_lost(train: Table) -> None:
    one_sex = Table(train.frame.assign(sex=train.frame["sex"].where(train.frame["sex"] == "f", "f")), train.schema)
    found = measured(train, one_sex, analyses=("cost ~ sex + age",))
    assert found["interval_overlap"].value == 0 == found["conclusions_kept"].value
    assert {one["table"] for one in found["interval_overlap"].details["estimates"]} == {None}


def test_the_propensity_ratio_is_one_for_the_right_model(train: Table) -> None:
    """The right model of single columns: each is drawn from the training records with replacement."""
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({name: rng.choice(train.frame[name], 800) for name in train.frame})
        table = Table(frame.astype(dict(train.frame.dtypes)), train.schema)
        ratios.append(measured(train, table, metrics=("pmse_ratio",))["pmse_ratio"].value)
    # A mean of 6 chi-squared ratios with some 23 degrees of freedom has a standard error of .12.
    assert np.mean(ratios) == pytest.approx(1, abs=0.4)
    shifted = Table(train.frame.assign(age=train.frame["age"] + 10), train.schema)
    assert measured(train, shifted, metrics=("pmse_ratio",))["pmse_ratio"].value > 10


def test_analyses_of_a_survey_are_weighted(train: Table) -> None:
    weights = np.where(train.frame["sex"] == "f", 3.0, 1.0)
    schema = Schema((*train.schema, Column("w", Role.WEIGHT, Kind.DECIMAL)))
    survey = Table(train.frame.assign(w=weights), schema)
    (found,) = measured(survey, survey, analyses=("cost ~ 1",))["interval_overlap"].details["estimates"]
    wanted = np.average(train.frame["cost"].dropna(), weights=weights[train.frame["cost"].notna()])
    (plain,) = measured(train, train, analyses=("cost ~ 1",))["interval_overlap"].details["estimates"]
    assert found["real"][0] == pytest.approx(wanted, rel=0.02) and found["real"] != plain["real"]


def test_clusters_widen_the_intervals_and_follow_students_distribution(train: Table) -> None:
    designs: list[dict[str, Any]] = [{}, {"clusters": "place", "strata": "urgent"}]
    plain, clustered = (
        measured(train, train, analyses=("height ~ age",), **design)["interval_overlap"].details["estimates"][0]
        for design in designs
    )
    wanted = estimate("height ~ age", train.frame, clusters="place", strata="urgent", least=20)
    assert clustered["real"] == pytest.approx((wanted.estimates[1], wanted.low[1], wanted.high[1]), rel=0.05)
    assert clustered["real"][0] == plain["real"][0] and clustered["real"] != plain["real"]


def test_a_table_that_lost_its_clusters_has_too_narrow_errors(train: Table) -> None:
    rng, places = np.random.default_rng(3), np.repeat([f"village {at}" for at in range(20)], 40)
    frame = train.frame.assign(
        height=rng.normal(size=20).repeat(40) + rng.normal(size=800), place=pd.Categorical(places)
    )
    people = Table(frame, train.schema)
    mixed = Table(frame.assign(place=rng.permutation(places)).astype(dict(frame.dtypes)), train.schema)
    chosen: dict[str, Any] = {"analyses": ("height ~ 1",), "clusters": "place"}
    kept, lost = (measured(people, table, **chosen)["interval_overlap"].details for table in (people, mixed))
    assert kept["width_of_survey"] == 1 and lost["width_of_survey"] < 0.5
    assert measured(people, mixed, analyses=("height ~ 1",))["interval_overlap"].details["width_of_survey"] is None


def test_a_group_within_one_cluster_has_no_estimate(train: Table) -> None:
    chosen: dict[str, Any] = {"analyses": ("height ~ age",), "clusters": "place", "groups": ("place", "sex")}
    groups = measured(train, train, **chosen)["interval_overlap"].details["groups"]
    assert {one["column"] for one in groups} == {"sex"}


def test_the_reason_is_told_where_no_analysis_could_be_made(train: Table) -> None:
    single = train.frame.assign(place=pd.Categorical(np.where(np.arange(800) < 60, "a", "b")))
    people = Table(single, train.schema)
    found = measured(people, people, analyses=("cost ~ 1",), strata="place", clusters="place")["interval_overlap"]
    assert isinstance(found, NotComputable) and "a stratum has a single cluster" in found.reason


def test_groups_are_compared_without_their_column_and_none_is_of_few_people(train: Table) -> None:
    """In the table, age and cost are unrelated among women alone."""
    rng, is_woman = np.random.default_rng(2), (train.frame["sex"] == "f").to_numpy()
    ages = train.frame["age"].copy()
    ages[is_woman] = rng.permutation(ages[is_woman])
    table = Table(train.frame.assign(age=ages), train.schema)
    chosen: dict[str, Any] = {"analyses": ("cost ~ age + sex", "sex ~ age"), "groups": ("sex",)}
    groups = measured(train, table, **chosen)["interval_overlap"].details["groups"]
    assert [one["group"] for one in groups] == ["f", "m"]
    assert [one["worst"]["analysis"] for one in groups] == ["`cost` ~ `age`"] * 2
    assert groups[0]["overlap"] < 0.5 and groups[0]["kept"] == 0 and groups[1]["overlap"] == groups[1]["kept"] == 1
    # All but 12 people are men: their number follows from that of everybody, so no group is compared.
    few = train.frame["sex"].where(np.arange(800) < 12, "m").where(np.arange(800) >= 12, "f")
    people = Table(train.frame.assign(sex=few.astype(train.frame["sex"].dtype)), train.schema)
    assert measured(people, people, **chosen)["interval_overlap"].details["groups"] == []


def test_default_analyses_are_means_shares_and_a_model_of_each_target(train: Table) -> None:
    found = default_analyses(train.schema, ["urgent"], train.frame)
    assert found[:2] == ["`age` ~ 1", "`cost` ~ 1"] and "`admitted` ~ 1" not in found
    assert found[-1] == "`urgent` ~ `age` + `sex` + `cost` + `height` + `illness`"
    assert isinstance(measured(train, train)["interval_overlap"], Measure)


def test_persons_with_several_rows_are_not_measured(train: Table) -> None:
    several = Table(train.frame, train.schema, np.arange(800) // 2)
    found = measured(several, several)["interval_overlap"]
    assert isinstance(found, NotComputable) and found.lacks == "single_rows"


def test_unknown_columns_and_formulas_are_refused_together(train: Table) -> None:
    with pytest.raises(ConfigError) as caught:
        measured(train, train, analyses=("cost ~ agee", "cost ~ age * sex"))
    assert [problem.message.split(":")[0] for problem in caught.value.problems] == ["evaluate.analyses"] * 2
