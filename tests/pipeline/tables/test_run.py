"""Linked tables from the command line: run, check, release, verify; all tables or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from frictionless import Package
from typer.testing import CliRunner

import hybrid
from hybrid.base.errors import ConfigError, HybridError
from hybrid.cli import app
from hybrid.evaluation.measure import Measure
from hybrid.jobs import run as jobs_run
from hybrid.jobs.places import Places
from hybrid.jobs.release import Candidate, write_candidate
from hybrid.jobs.run import write_labels
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config, refuse_linked
from hybrid.pipeline.pipeline import Pipeline, worst_power
from hybrid.publication.certificate import Acceptance
from hybrid.publication.power import LeakTrials, Power
from hybrid.publication.table_facts import few
from hybrid.publication.verify import verify
from hybrid.report.run.sections.who_is_missing import SECTION
from tests.pipeline.tables.hospital import content, frames, write

TABLES = ("patients", "visits", "drugs", "hospitals")


def config_in(folder: Path) -> RunConfig:
    return load_config(write(folder))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("linked")
    return Places(folder / "work", folder / "runs", folder / "releases")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return Pipeline(config_in(tmp_path_factory.mktemp("source")))


@pytest.fixture(scope="module")
def candidate(run: Pipeline, places: Places) -> Candidate:
    return write_candidate(run, places)


@pytest.fixture(scope="module")
def read(candidate: Candidate) -> Callable[[str], pd.DataFrame]:
    return lambda name: pd.read_csv(candidate.folder / f"{name}.csv", dtype=str)


def test_every_table_comes_out_with_its_columns(read: Callable[[str], pd.DataFrame]) -> None:
    for name, frame in frames().items():
        assert list(read(name).columns) == list(frame.columns)
    pd.testing.assert_frame_equal(read("hospitals"), frames()["hospitals"].astype(str))


def test_references_lead_to_rows_and_keys_are_made_up(read: Callable[[str], pd.DataFrame]) -> None:
    patients, visits, drugs = (read(name) for name in ("patients", "visits", "drugs"))
    assert patients["patient"].is_unique and visits["visit"].is_unique
    assert visits["patient"].isin(patients["patient"]).all() and drugs["visit"].isin(visits["visit"]).all()
    assert visits["hospital"].isin(read("hospitals")["id"]).all()
    for name, key in (("patients", "patient"), ("visits", "visit")):
        assert not set(read(name)[key]) & set(frames()[name][key].astype(str))
    empty = ~patients["patient"].isin(visits["patient"])
    assert 0.05 < empty.mean() < 0.6, "patients without visits come out, too"


def test_dates_keep_their_order_across_tables(read: Callable[[str], pd.DataFrame]) -> None:
    visits = read("visits")
    drugs = read("drugs").merge(visits, on="visit")
    assert (visits["discharged"] >= visits["admitted"]).all()
    assert (drugs["given"] >= drugs["admitted"]).all()


def test_stays_are_as_long_as_in_the_source(read: Callable[[str], pd.DataFrame]) -> None:
    real, drawn = (
        (pd.to_datetime(visits["discharged"]) - pd.to_datetime(visits["admitted"])).dt.days
        for visits in (frames()["visits"], read("visits"))
    )
    assert drawn.max() <= real.max()
    assert abs(drawn.mean() - real.mean()) < 0.5 < real.std()


def test_one_verdict_judges_all_tables_and_their_references(run: Pipeline, candidate: Candidate) -> None:
    tables = {check.table for check in candidate.verdict.checks}
    assert tables == {None, "patients", "visits", "drugs"}
    (whole,) = {(c.status, c.table) for c in candidate.verdict.checks if c.rule == "whole references" and c.applies} - {
        ("pass", "visits")
    }
    assert whole == ("pass", "drugs")
    assert candidate.verdict.status == max(
        (run.verdict_of(name).status for name in run.tables), key=["pass", "review", "block"].index
    ) or candidate.verdict.status in ("review", "block")
    found = run.evaluation.find("children_per_parent", "synthetic", table="visits")
    assert found is not None and found.outcome.value < 0.2


def test_who_is_left_out_is_told_of_the_table_of_persons(tmp_path: Path) -> None:
    """Exact counts in the house, rounded ones on its page; the pages of other tables have none."""
    fixed = {"k": 8, "levels": {"age": 1, "sex": 0}, "suppression_limit": 0.9}
    found = load_config(write(tmp_path, settings=content() | {"anonymize": fixed}))
    run = Pipeline(found, seed=1)
    write_labels(run, tmp_path)
    anonymized = run.person.anonymized
    assert anonymized is not None
    everybody, *groups = json.loads((tmp_path / "anonymization.json").read_text())["left_out"]
    assert (everybody["people"], everybody["left_out"]) == (len(run.person.train), len(anonymized.suppressed))
    assert everybody["left_out"] > 0 and all(one["people"] >= 20 for one in groups)
    assert SECTION.collect is not None
    shown = SECTION.collect(run.person, 5)["rows"][0]
    assert shown.numbers[0] == few(everybody["people"])
    assert SECTION.collect(run.tables["visits"], 5) is None


def test_a_broken_reference_blocks(run: Pipeline) -> None:
    view = run.tables["drugs"]
    honest = view.link.released
    object.__setattr__(view.link, "released", lambda: (honest()[0], 1))
    try:
        found = view.assessment._evaluate({"synthetic": view.generated.table})
    finally:
        object.__setattr__(view.link, "released", honest)
    orphans = found.find("orphans", "synthetic")
    assert orphans is not None and orphans.outcome.value == 1 / len(view.generated.table)
    (rule,) = [rule for rule in run.policy.rules if rule.metric == "orphans"]
    assert rule.block == 0


def test_a_release_has_all_tables_and_its_certificate_names_them(candidate: Candidate, places: Places) -> None:
    release = candidate.publish(Acceptance("A Person", "trial"))
    assert not verify(release)
    certificate = json.loads((release / "certificate.json").read_text())
    assert [table["name"] for table in certificate["tables"]] == list(TABLES)
    assert all(table["file"] in certificate["files"] for table in certificate["tables"])
    assert "linked by their keys" in certificate["guarantee"] and "that of patients" in certificate["guarantee"]
    assert certificate["draw"]["number"] == 1
    assert not (release / "anonymized.parquet").exists()
    report = (release / "report.html").read_text()
    assert all(f'href="report-{name}.html"' in report for name in ("patients", "visits", "drugs"))
    package = Package(release / "datapackage.json").validate()
    assert package.valid, package.to_summary()
    description = json.loads((release / "datapackage.json").read_text())
    (drugs,) = [one for one in description["resources"] if one["name"] == "drugs"]
    assert drugs["schema"]["foreignKeys"] == [
        {"fields": ["visit"], "reference": {"resource": "visits", "fields": ["visit"]}}
    ]


def test_a_run_that_fails_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise HybridError("the disk is full")

    monkeypatch.setattr(jobs_run, "report_pages", fail)
    monkeypatch.setattr(Pipeline, "evaluation", property(lambda self: self.person.evaluation))
    config = config_in(tmp_path)
    with pytest.raises(HybridError, match="disk is full"):
        hybrid.run(config, out=tmp_path / "out", work=tmp_path / "work")
    assert not (tmp_path / "out").exists()


def test_protection_of_a_column_is_decided_for_the_table_that_has_it(tmp_path: Path) -> None:
    decided = content() | {"protect": {"columns": {"diagnosis": "missing", "sex": "keep"}}}
    config = load_config(write(tmp_path, frames(40), decided))
    run = Pipeline(config, seed=1)
    assert all(run.tables[name].protected is not None for name in ("patients", "visits", "drugs"))
    assert not [finding for finding in diagnose(config) if "no such column" in finding.message]


def test_power_is_that_of_the_table_that_notices_least() -> None:
    strong, weak = LeakTrials("copy", 0.01, 20, 20, 20), LeakTrials("copy", 0.01, 20, 2, 0)
    without = LeakTrials("copy", 0.01, 20, reason="no columns", lacks="quasi_identifiers")
    found = worst_power({"a": Power((strong,), 50), "b": Power((weak,), 30), "c": Power((without,), 30)})
    assert found is not None and found.leaks == (weak,) and found.control == 30
    assert worst_power({}) is None
    by = [LeakTrials("exposed", 1, 20, 20, 20 - at, way=way) for at, way in enumerate(("size", "distance"))]
    both = worst_power({"a": Power(tuple(by), 50), "b": Power((by[0],), 30)})
    assert both is not None and both.leaks == tuple(by)


def test_commands_of_the_terminal_know_linked_tables(tmp_path: Path) -> None:
    config = str(write(tmp_path, settings=content() | {"split": {"stable": True}}))
    checked = CliRunner().invoke(app, ["check", config])
    assert checked.exit_code == 0, checked.output
    said = " ".join(checked.output.split())
    assert f"visits: {len(frames()['visits'])} rows belong to" in said and "hospitals: 3 rows, public" in said
    explained = CliRunner().invoke(app, ["explain", config])
    assert "not met: every released column is a generalized quasi-identifier" in " ".join(explained.output.split())
    shown = yaml.safe_load(CliRunner().invoke(app, ["check", config, "--show"]).output)
    assert shown["tables"]["drugs"]["parent"]["orphans"] == "refuse" and "data" not in shown
    (tmp_path / "shown.yaml").write_text(yaml.safe_dump(shown))
    assert load_config(tmp_path / "shown.yaml").model_dump(mode="json") == shown
    with pytest.raises(ConfigError, match="single tables alone"):
        refuse_linked(load_config(Path(config)), config)


def test_linked_tables_are_judged_on_folds_of_persons(tmp_path: Path) -> None:
    """Each fold runs all tables without its persons; the released tables are from everybody."""
    whole = config_in(tmp_path)
    split = whole.split.model_copy(update={"control": "cross", "folds": 3})
    run = Pipeline(whole.with_sections({"split": split}), 5)
    assert [fold.person.compared_rows[1].tolist() for fold in run.folds]
    controls = sorted(row for fold in run.folds for row in fold.person.compared_rows[1])
    assert controls == list(range(len(run.person.table)))
    for name, table in run.tables.items():
        assert table.control is None
        assert len(table.train) == len(run.sources.tables[name])
        assert [fold.config.split.control for fold in table.folds] == [1 / 3] * 3
        in_folds = [len(fold.train) + len(fold.compared_rows[1]) for fold in table.folds]
        assert in_folds == [len(table.train)] * 3
    found = run.evaluation
    copies = found.of_stage("identical_match", "synthetic")
    assert {one.table for one in copies} == set(run.tables)
    for one in copies:
        assert isinstance(one.outcome, Measure)
        assert one.outcome.details["folds"] == 3
        assert one.outcome.excess is not None
    assert {one.table for one in found.crossed} == set(run.tables)
    assert [one.table for one in found.of_stage("orphans", "synthetic")]
    assert run.verdict.status in ("pass", "review")


def test_people_sampled_first_are_k_anonymous_among_themselves_and_bring_their_rows(tmp_path: Path) -> None:
    sampled = {"sample": {"method": "beta", "beta": 0.5, "order": "pre"}}
    run = Pipeline(load_config(write(tmp_path, frames(400), content() | sampled)), 3)
    people, visits = run.tables["patients"], run.tables["visits"]
    assert people.anonymized is not None and len(people.anonymized.labels) <= 0.7 * len(people.train)
    assert np.bincount(people.anonymized.class_ids).min() >= run.config.k
    learned = set(people.kept[1].tolist())
    assert 0 < len(learned) < len(people.train)
    assert set(visits.kept[0].persons.tolist()) <= learned and len(visits.kept[0]) < len(visits.train)
    assert set(run.released["visits"].frame["patient"]) <= set(run.released["patients"].frame["patient"])


def test_a_budget_of_people_brings_their_rows_and_nobody_elses(tmp_path: Path) -> None:
    """``split.rows`` draws people; check says nothing against it."""
    config = load_config(write(tmp_path)).with_values({"split.rows": 60})
    assert not [one.message for one in diagnose(config) if one.level == "error"]
    run = Pipeline(config, seed=1)
    people, visits = run.tables["patients"], run.tables["visits"]
    assert people.control is not None and len(people.train) + len(people.control) == 60
    assert set(visits.train.persons) <= set(people.train.persons)
    assert len(visits.train) == np.isin(visits.table.persons, people.train.persons).sum()
    made = run.released
    assert set(made["visits"].frame["patient"]) <= set(made["patients"].frame["patient"])
    assert {one.name for one in run.evaluation.metrics} >= {"orphans", "children_per_parent"}
