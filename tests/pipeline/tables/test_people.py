"""Attacks that repeat the making of linked tables, on people with all of their rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hybrid.base.arrays import Rows
from hybrid.base.errors import ConfigError
from hybrid.cli import app
from hybrid.evaluation import EvaluateOptions
from hybrid.evaluation.attacks.membership_trained import chosen_people, observer_of_people
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Evaluation, Measure, NotComputable
from hybrid.evaluation.options import RetrainOptions
from hybrid.evaluation.people_in_tables import LinkedPeople
from hybrid.evaluation.registry import REGISTRY
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.child_draw import ChildDraw, DrawnParents
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.evaluation_price import repeated_seconds
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.repetition import drawn_people, real_people, some_people, trained_on_people
from hybrid.pipeline.sources import read_sources, rows_of
from hybrid.sample import SampleOptions
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.pipeline.tables.hospital import content, frames, write

NAMES = ("membership_trained", "membership_trained_random")
RETRAIN = {"halves": 24, "pool": 120, "looks": 1}
LEARN = Pipeline.with_training


def loaded(folder: Path, n: int = 160, **evaluate: Any) -> RunConfig:
    settings = content()
    settings["evaluate"] |= {"metrics": list(NAMES), "retrain": RETRAIN} | evaluate
    return load_config(write(folder, frames(n), settings))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    return loaded(tmp_path_factory.mktemp("linked"))


def outcomes(found: Evaluation, table: str = "patients") -> dict[str, Any]:
    return {one.name: one.outcome for one in found.metrics if one.table == table and one.name in NAMES}


def test_rows_below_are_summed_up_by_hand() -> None:
    people = Table(
        pd.DataFrame({"born": pd.array([1950, 1960, 1970], "Int64")}),
        Schema((Column("born", Role.INSENSITIVE, Kind.INTEGER),)),
        np.array([7, 3, 5]),
    )
    columns = Column("cost", Role.INSENSITIVE, Kind.DECIMAL), Column("ward", Role.INSENSITIVE, Kind.CATEGORICAL)
    visits = pd.DataFrame({"cost": [1.0, 3.0, np.nan, 8.0], "ward": pd.Categorical(["b", "a", "b", None])})
    rows = Table(visits, Schema(columns), np.array([3, 3, 3, 5]))
    found = LinkedPeople.of(people, {"visits": (rows, ["cost", "ward"])})
    assert found.frame["number of visits"].tolist() == [0, 3, 1]
    assert found.frame["mean of visits.cost"].fillna(-1).tolist() == [-1, 2, 8]
    assert found.frame["largest of visits.cost"].fillna(-1).tolist() == [-1, 3, 8]
    assert found.frame["most frequent of visits.ward"].astype(object).fillna("-").tolist() == ["-", "b", "-"]
    assert found.frame["different of visits.ward"].fillna(-1).tolist() == [-1, 2, -1]
    assert found.below == (rows,) and "1950" not in repr(found)


@pytest.fixture(scope="module")
def read(config: RunConfig) -> Sources:
    return read_sources(config)


@given(seed=st.integers(0, 1000), share=st.floats(0.1, 1))
def test_people_are_taken_with_all_rows_of_theirs_and_no_others(
    config: RunConfig, read: Sources, seed: int, share: float
) -> None:
    n = len(read.tables["patients"])
    people = np.random.default_rng(seed).permutation(n)[: max(int(share * n), 1)]
    found = some_people(config.links, read, people)
    whose = read.tables["patients"].frame["patient"].iloc[people].tolist()
    assert found.tables["patients"].frame["patient"].tolist() == whose
    visits, drugs = found.tables["visits"], found.tables["drugs"]
    assert (visits.frame["patient"].to_numpy() == np.array(whose, dtype=object)[visits.persons]).all()
    keys = visits.frame["visit"].to_numpy()
    assert (drugs.frame["visit"].to_numpy() == keys[found.owners["drugs"]]).all()
    assert not visits.rows_are_persons and (drugs.persons == visits.persons[found.owners["drugs"]]).all()
    for name, table in found.tables.items():
        assert len(table) == int(np.isin(read.tables[name].persons, people).sum())  # type: ignore[arg-type]


def test_a_repetition_learns_from_these_people_alone_and_follows_from_its_seed(config: RunConfig) -> None:
    run = Pipeline(config, seed=1)
    people = run.person.train.persons
    assert people is not None
    half = people[:50]
    made = [drawn_people(run.with_training(half, seed).tables) for seed in (5, 5, 6)]
    again = run.with_training(half, 5)
    assert again.person.control is None and set(real_people(again.tables).frame["patients.age"]) <= set(
        run.sources.tables["patients"].frame["age"].iloc[half]
    )
    assert len(made[0]) == 50
    pd.testing.assert_frame_equal(made[0].frame, made[1].frame)
    assert not made[0].frame.equals(made[2].frame)
    for one, other in zip(made[0].below, made[1].below, strict=True):
        pd.testing.assert_frame_equal(one.frame, other.frame)


def test_what_is_observed_of_a_copy_is_certain_in_every_table(config: RunConfig) -> None:
    real = real_people(Pipeline(config, seed=1).tables)
    context = Context(real, None, real, EvaluateOptions.model_validate({"retrain": RETRAIN}), seed=3)
    pool, attacked, _ = chosen_people(context)
    people = [pool[at] for at in attacked]
    seen = observer_of_people(context, people)(real)
    apart = [len(one.schema) for one in (real, *real.below)]
    assert seen.shape[0] == len(people) and seen.shape[1] > sum(apart)
    nearest = seen[:, -10]
    has_drugs = np.isin(real.numbers[[mine[0] for mine in people]], real.below[1].persons)
    assert (nearest[has_drugs] == 0).all(), "the own row is there, at distance 0"
    assert (seen[~has_drugs][:, -10:] == 0).all(), "who has no row has no observation"


def test_people_who_were_not_learned_from_are_no_leak_and_numbers_repeat(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of other people than the attacker trained on."""

    def others(run: Pipeline, people: Rows, seed: int) -> Pipeline:
        everybody = np.random.default_rng(seed).permutation(len(run.sources.tables["patients"]))
        return LEARN(run, everybody[: len(people)], seed)

    monkeypatch.setattr(Pipeline, "with_training", others)
    monkeypatch.setattr("hybrid.pipeline.pipeline.drawn_people", real_people)
    found, same = (outcomes(Pipeline(config, seed=1).evaluation) for _ in range(2))
    for name, outcome in found.items():
        assert isinstance(outcome, Measure) and outcome.low is not None and outcome.high is not None
        assert outcome.low <= 0.5 <= outcome.high
        assert outcome.details["trainings"] == 24 and outcome.details["pool"] == 112
        assert (outcome.value, outcome.low) == (same[name].value, same[name].low)


def copying(self: ChildDraw, learned: Table, parents: Table, dated: Table, drawn: DrawnParents) -> tuple[Table, None]:
    """Learned rows as they are, given to drawn parents in turn."""
    owners = np.sort(np.arange(len(learned)) % len(drawn.table))
    return replace(learned, named_persons=owners), None


@pytest.mark.slow
def test_rows_that_a_table_below_copies_are_found(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person table is as clean as before; who has no row below gives nothing away."""
    monkeypatch.setattr(ChildDraw, "__call__", copying)
    found = outcomes(Pipeline(config, seed=1).evaluation)
    assert all(isinstance(outcome, Measure) and outcome.low is not None for outcome in found.values())
    assert found["membership_trained"].low > 0.6 and found["membership_trained_random"].low > 0.55, found


def test_people_who_are_copied_are_found_at_the_first_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid.pipeline.pipeline.drawn_people", real_people)
    config = loaded(tmp_path, retrain=RETRAIN | {"halves": 80, "looks": 3})
    for outcome in outcomes(Pipeline(config, seed=1).evaluation).values():
        assert isinstance(outcome, Measure) and outcome.low is not None and outcome.low > 0.8
        assert outcome.details["trainings"] == 20 and outcome.details["most_trainings"] == 80


def test_the_price_counts_every_table(config: RunConfig) -> None:
    run, options = Pipeline(config, seed=1), RetrainOptions()
    tables = [table.train for table in run.tables.values()]
    alone = repeated_seconds(config, options, tables[0])
    whole = repeated_seconds(config, options, *tables)
    assert whole > 2 * alone > 0
    fewer = options.model_copy(update={"halves": options.halves // 2})
    assert repeated_seconds(config, fewer, *tables) == pytest.approx(whole / 2)
    sampled = config.model_copy(update={"sample": SampleOptions(method="beta", beta=0.1)})
    assert whole / 10 < repeated_seconds(sampled, options, *tables) < whole / 2, "a tenth is learned"


@pytest.mark.usefixtures("repeated")
def test_it_is_tried_by_default_and_told_before(tmp_path: Path) -> None:
    config = loaded(tmp_path, retrain=None)
    assert Pipeline(config, seed=1).untried == ""
    said = [finding.message for finding in diagnose(config) if "repeat" in finding.message]
    assert len(said) == 1 and said[0].startswith("evaluate: at most ") and said[0].endswith("the making of all tables")


def test_what_takes_too_long_is_not_tried_and_says_so_once(tmp_path: Path) -> None:
    config = loaded(tmp_path, retrain=None)
    run = Pipeline(config, seed=1)
    found = outcomes(run.evaluation)
    assert all(isinstance(one, NotComputable) and one.lacks == "trainings" for one in found.values())
    assert all("128 trainings of cart would take" in one.reason for one in found.values())
    said = [finding.message for finding in diagnose(config) if "repeats the whole process" in finding.message]
    assert len(said) == 1 and "128 trainings of cart would take" in said[0]


@pytest.mark.parametrize(
    ("evaluate", "words"),
    [
        ({"metrics": ["canary"]}, "canary: for single tables"),
        ({"retrain": RETRAIN | {"stages": ["baseline"]}}, "evaluate.retrain.stages"),
        ({"retrain": RETRAIN | {"ordinal": {"sex": ["f", "m"]}}}, "evaluate.retrain.ordinal is for single tables"),
    ],
)
def test_attacks_of_single_tables_are_refused(evaluate: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        loaded(tmp_path, **evaluate)


@pytest.mark.slow
def test_a_run_tells_it_of_the_person_table_and_once_on_the_first_page(tmp_path: Path) -> None:
    """The whole way, through the command line."""
    settings = content() | {"policy": "default"}
    settings["evaluate"] |= {"metrics": [*NAMES, "identical_match"], "retrain": RETRAIN}
    config, out = write(tmp_path, settings=settings), tmp_path / "run"
    done = CliRunner().invoke(app, ["run", str(config), "--out", str(out)])
    assert done.exit_code in (0, 3, 4), done.output
    content_of = json.loads((out / "evaluation.json").read_text())
    found = {(one["table"], one["name"]): one for one in content_of["metrics"] if one["name"] in NAMES}
    for name in NAMES:
        assert found["patients", name]["state"] == "ok", found["patients", name]
        assert "see the person table" in found["visits", name]["details"]["reason"]
    judged = [one for one in content_of["verdict"]["checks"] if one["metric"] in NAMES and one["applies"]]
    assert {one["table"] for one in judged} == {"patients"} and len(judged) == 2
    for one in judged:
        value = found["patients", one["metric"]]["value"]
        assert f"{100 * value:.1f} of 100 cases" in one["message"]
    assert "everybody, by an attacker who repeats the whole process" in (out / "report.html").read_text()
    assert "Not tried: an attacker who can repeat" not in (out / "report.html").read_text()
    assert "not of this one alone" in (out / "report-visits.html").read_text()


SHADOWS = {"shadows": 12, "tests": 12, "bagging": 10, "records": 6, "rows": 50}
NAMED = ("counting_queries", "bagging_membership")


def shadowed(folder: Path, **evaluate: Any) -> dict[str, Any]:
    """Outcomes of the named attacks on the person table, and that there is none elsewhere."""
    settings = {"metrics": ["identical_match"], "also": list(NAMED), "retrain": RETRAIN | SHADOWS} | evaluate
    found = Pipeline(loaded(folder, **settings), seed=1).evaluation.metrics
    for one in found:
        if one.table != "patients" and one.name in NAMED:
            assert isinstance(one.outcome, NotComputable)
    return {one.name: one.outcome for one in found if one.table == "patients" and one.name in NAMED}


def test_shadow_models_that_are_named_find_people_who_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every training gives out its people with all rows; the attacker learns from people who are kept apart."""
    learned: list[Rows] = []

    def told(run: Pipeline, people: Rows, seed: int) -> Pipeline:
        learned.append(people)
        return LEARN(run, people, seed)

    monkeypatch.setattr(Pipeline, "with_training", told)
    monkeypatch.setattr("hybrid.pipeline.pipeline.drawn_people", real_people)
    found = shadowed(tmp_path)
    assert set(found) == set(NAMED)
    assert all(isinstance(outcome, Measure) for outcome in found.values())
    assert found["counting_queries"].low > 0.8, "twenty bootstraps are too few for the other attack"
    assert len(learned) == 12 + 12 + 2 * 10
    run = Pipeline(loaded(tmp_path), seed=1)
    assert run.person.control is not None
    attacked = np.isin(np.concatenate(learned[:12]), run.person.control.persons, invert=True)
    assert 0 < attacked.mean() < 0.5, "shadow models know the attacker's people, and some of the attacked"
    assert any(len(np.unique(people)) < len(people) for people in learned), "bootstraps repeat people"


def test_shadow_models_find_nobody_who_was_not_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def others(run: Pipeline, people: Rows, seed: int) -> Pipeline:
        everybody = np.random.default_rng(seed).permutation(len(run.sources.tables["patients"]))
        return LEARN(run, everybody[: len(people)], seed)

    monkeypatch.setattr(Pipeline, "with_training", others)
    monkeypatch.setattr("hybrid.pipeline.pipeline.drawn_people", real_people)
    for outcome in shadowed(tmp_path, also=["counting_queries"]).values():
        assert isinstance(outcome, Measure) and outcome.low is not None and outcome.low <= 0.5


def test_shadow_models_that_nobody_names_are_not_trained(tmp_path: Path) -> None:
    """``evaluate.retrain`` alone repeats halves of the people, which policies judge."""
    options = loaded(tmp_path, metrics=None, also=[]).evaluate
    assert not [one.name for one in REGISTRY.values() if trained_on_people(options, one)]
    named = options.model_copy(update={"also": ("counting_queries", "canary")})
    assert [one.name for one in REGISTRY.values() if trained_on_people(named, one)] == ["counting_queries"]


@given(
    owners=st.lists(st.integers(0, 6), max_size=30),
    parents=st.lists(st.integers(0, 6), max_size=10),
)
def test_rows_of_parents_come_in_their_order_as_often_as_their_parent(owners: list[int], parents: list[int]) -> None:
    rows, places = rows_of(np.array(parents, dtype=np.int64), np.array(owners, dtype=np.int64))
    expected = [(row, at) for at, parent in enumerate(parents) for row, owner in enumerate(owners) if owner == parent]
    assert list(zip(rows.tolist(), places.tolist(), strict=True)) == expected
