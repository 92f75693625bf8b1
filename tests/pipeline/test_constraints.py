"""Constraints through a whole run: held at every stage, measured, judged, reported, and in the keys of results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.cli import main
from hybrid.constraints.gaps import gaps
from hybrid.evaluation.measure import Measure
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.column_findings import constraint_findings
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.starter import guess_config
from hybrid.pipeline.table_run import TableRun
from tests.constraints.small_tables import stays
from tests.helpers.pages import report_text

CONSTRAINTS: list[dict[str, Any]] = [
    {"le": ["admitted", "discharged"]},
    {"combinations": ["city", "postcode"]},
    {"range": {"bed": [1, 39]}},
    {"missing_together": ["test", "result"]},
    {"formula": "discharged - admitted <= 7"},
    {"derived": {"total": "drugs + bed"}},
]
QUASI = ("city", "postcode", "admitted")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config without constraints for 300 stays, of which seven are longer than a week at most."""
    folder = tmp_path_factory.mktemp("stays")
    table = stays(300)
    table.frame.to_csv(folder / "stays.csv", index=False)
    (folder / "city.csv").write_text("".join(f"city {c};{'north' if c < 2 else 'south'};*\n" for c in range(4)))
    (folder / "postcode.yaml").write_text("type: mask\n")
    (folder / "admitted.yaml").write_text("type: dates\nlevels: [month]\n")
    columns: dict[str, dict[str, Any]] = {name: {"role": "insensitive"} for name in table.schema.names}
    columns["city"] = {"role": "quasi_identifier", "kind": "categorical", "hierarchy": "city.csv"}
    columns["postcode"] = {"role": "quasi_identifier", "kind": "categorical", "hierarchy": "postcode.yaml"}
    columns["admitted"] = {"role": "quasi_identifier", "kind": "date", "hierarchy": "admitted.yaml"}
    columns["discharged"]["kind"] = "date"
    columns["result"]["kind"] = "categorical"
    content = {
        "seed": 5,
        "data": {"path": "stays.csv", "columns": columns},
        "anonymize": {"k": 3, "suppression_limit": 0.1},
        "evaluate": {"metrics": ["constraint_violations"], "power": False},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    return folder / "config.yaml"


def config_of(job: Path, **overrides: Any) -> RunConfig:
    return load_config(job, {"constraints": CONSTRAINTS, **{key.replace("__", "."): v for key, v in overrides.items()}})


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code of the command line, and what it printed with single spaces."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    found = capsys.readouterr()
    return int(caught.value.code or 0), " ".join((found.out + found.err).split())


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"transition__order": "post"},
        {"anonymize": None, "transition": None},
        {"synthesize__generator": "none"},
        {"protect": "off"},
        {"protect__replace": "other"},
    ],
    ids=["pre", "post", "not anonymized", "no generator", "not protected", "other"],
)
def test_no_row_breaks_a_constraint(job: Path, overrides: dict[str, Any]) -> None:
    pipeline = TableRun(config_of(job, **overrides))
    table = pipeline.generated.table
    assert len(table) >= 150
    assert {rule.constraint.key: int(mask.sum()) for rule, mask in pipeline.rules.masks(table)} == {
        "le": 0,
        "combinations": 0,
        "range": 0,
        "missing_together": 0,
        "formula": 0,
        "derived": 0,
    }
    frame = table.frame
    assert (frame["admitted"] <= frame["discharged"]).all()
    assert (frame["postcode"].astype(str).str[:-3].replace("", "0") == frame["city"].str[-1]).all()
    assert list(frame.columns) == pipeline.train.schema.names
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        name: str(dtype) for name, dtype in pipeline.train.frame.dtypes.items()
    }
    redrawn = pipeline.redrawn
    assert redrawn is not None and redrawn.left == 0


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_date_tied_to_a_quasi_identifier_follows_its_restored_value(job: Path, order: str) -> None:
    """Beside a restored admission the exact discharge would tell it, and the stay would be lost."""
    pipeline = TableRun(config_of(job, transition__order=order, constraints=[{"tied": ["admitted", "discharged"]}]))
    anonymization = pipeline.anonymization
    assert anonymization is not None
    real, protected = (gaps(table, "admitted", "discharged") for table in (pipeline.train, pipeline.learned))
    assert (np.sort(protected) == np.sort(real)).mean() > 0.95  # but for the longest
    known = anonymization.sampled.anonymized
    assert known.labels.schema["discharged"].kind.value == "integer"
    before, after = (gaps(table, "admitted", "discharged") for table in (known.originals, pipeline.generated.table))
    assert (after >= 0).all()
    assert abs(after.mean() - before.mean()) < 0.5
    if order == "pre":
        restored = anonymization.restored.table
        moved = (restored.frame["admitted"] != known.originals.frame["admitted"]).mean()
        assert moved > 0.5
        assert (gaps(restored, "admitted", "discharged") == before).mean() > 0.95  # but at the ends of the dates
    assert pipeline.generated.table.schema == pipeline.train.schema


@pytest.mark.parametrize("order", ["pre", "post"])
def test_what_is_computed_from_a_quasi_identifier_follows_it_and_stands_beside_no_label(job: Path, order: str) -> None:
    frame = pd.read_csv(job.parent / "stays.csv", parse_dates=["admitted", "discharged"])
    frame["stay"] = (frame["discharged"] - frame["admitted"]).dt.days
    frame["fee"] = 2.5 * frame["stay"].where(frame.index % 3 > 0)
    frame.to_csv(job.parent / "lengths.csv", index=False)
    columns = yaml.safe_load(job.read_text())["data"]["columns"] | {
        name: {"role": "insensitive"} for name in ("stay", "fee")
    }
    formulas = [{"derived": {"stay": "days(admitted, discharged)"}}, {"derived": {"fee": "stay * 2.5"}}]
    content = {"path": "lengths.csv", "columns": columns}
    constraints = [*formulas, {"le": ["admitted", "discharged"]}]
    pipeline = TableRun(config_of(job, data=content, transition__order=order, constraints=constraints))
    anonymization = pipeline.anonymization
    assert anonymization is not None
    labels = anonymization.with_gaps(anonymization.anonymized)
    assert {labels.schema[name].kind.value for name in ("stay", "fee")} == {"boolean"}
    table = pipeline.generated.table
    assert not pipeline.rules.broken(table).any()
    assert (table.frame["stay"] == gaps(table, "admitted", "discharged")).all()
    known = table.frame["fee"].notna()
    assert 0.5 < known.mean() < 0.85
    assert (table.frame["fee"][known] == 2.5 * table.frame["stay"][known]).all()
    assert table.schema == pipeline.train.schema


def test_equal_columns_are_copies_in_every_table(job: Path) -> None:
    frame = pd.read_csv(job.parent / "stays.csv").assign(left=lambda one: one["discharged"])
    frame.to_csv(job.parent / "twice.csv", index=False)
    content = {"path": "twice.csv", "columns": yaml.safe_load(job.read_text())["data"]["columns"]}
    content["columns"]["left"] = {"role": "insensitive", "kind": "date"}
    pipeline = TableRun(config_of(job, data=content, constraints=[{"equal": ["discharged", "left"]}]))
    assert pipeline.protected is not None and pipeline.restored is not None
    for table in (pipeline.protected.table, pipeline.restored.table, pipeline.generated.table):
        assert table.frame["left"].rename("discharged").equals(table.frame["discharged"])


def test_without_constraints_rows_break_them(job: Path) -> None:
    held, free = TableRun(config_of(job)), TableRun(load_config(job))
    assert free.redrawn is None
    assert held.rules.broken(free.generated.table).mean() > 0.1


def test_restored_rows_keep_the_constraints_within_their_labels(job: Path) -> None:
    before = TableRun(config_of(job)).anonymization
    assert before is not None
    restored, labels = before.restored.table.frame, before.sampled.anonymized.labels
    assert (restored["postcode"].astype(str).str[:-3].replace("", "0") == restored["city"].str[-1]).all()
    for at, name in enumerate(labels.quasi_identifiers):
        hierarchy, nodes = before.hierarchies[name], labels.nodes[:, at]
        leaves = hierarchy.encode(restored[name])
        assert (hierarchy.node_of[leaves] == nodes[:, None]).any(axis=1).all()


def test_a_combination_of_few_people_does_not_come_out(job: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(job.parent / "stays.csv")
    frame.loc[[3, 50, 90], "city"] = "city 0"
    frame.loc[[3, 50, 90], "postcode"] = 3000
    frame.to_csv(tmp_path / "stays.csv", index=False)
    pipeline = TableRun(config_of(job, data__path=str(tmp_path / "stays.csv")))
    assert pipeline.learned.frame.query("city == 'city 0' and postcode == '3000'").empty
    assert pipeline.generated.table.frame.query("city == 'city 0' and postcode == '3000'").empty


def test_the_metric_is_about_every_stage_and_masks_real_rows(job: Path) -> None:
    evaluation = TableRun(config_of(job)).evaluation
    values = {metric.stage: metric.outcome for metric in evaluation.metrics}
    assert set(values) == {"original", "anonymized", "synthetic", "baseline"}
    original, synthetic = values["original"], values["synthetic"]
    assert isinstance(original, Measure) and isinstance(synthetic, Measure)
    assert synthetic.value == 0 and synthetic.reference == original.value
    assert (original.value * original.n) % 10 == pytest.approx(0, abs=1e-9)
    assert set(synthetic.details["rules"].values()) == {0.0}


def test_check_counts_what_the_source_breaks_without_values(job: Path) -> None:
    findings = diagnose(config_of(job, constraints=[*CONSTRAINTS, {"range": {"bed": [30, None]}}]))
    notes = [finding.message for finding in findings if finding.message.startswith("constraints")]
    assert any(note.startswith("constraints: about 2") and "bed is at least 30" in note for note in notes)
    assert any("fewer than 10 rows of the source break: discharged - admitted <= 7" in note for note in notes)
    assert any("5 constraints hold in all rows" in finding.message for finding in findings)


def test_check_and_init_say_the_same_of_constraints_that_hold(job: Path, tmp_path: Path) -> None:
    """What init offers as broken by no row, check counts among those that hold; rare combinations break no rule."""
    frame = pd.read_csv(job.parent / "stays.csv")
    frame["ward"] = ["R1" if at < 3 else f"W{at % 7}" for at in range(len(frame))]
    frame["house"] = frame["ward"].str[-1]
    frame.to_csv(tmp_path / "stays.csv", index=False)
    guessed = guess_config(tmp_path / "stays.csv")
    found = [one.constraint for one in guessed.constraints]
    assert {"combinations": ("ward", "house")} in [one.model_dump() for one in found]
    config = config_of(job).model_copy(update={"constraints": tuple(found)})
    said = [finding.message for finding in constraint_findings(config, guessed.table, {})]
    assert f"{len(found)} constraints hold in all rows of the source" in said
    assert not [message for message in said if "break" in message]
    assert [message for message in said if "fewer than 10 rows of the source have a combination of ward" in message]


def test_a_constraint_that_no_row_keeps_is_one_error(job: Path) -> None:
    impossible = [{"formula": "bed > 100"}, {"le": ["admitted", "discharged"]}]
    errors = [finding for finding in diagnose(config_of(job, constraints=impossible)) if finding.level == "error"]
    assert [error.message for error in errors if "bed > 100" in error.message and "no row" in error.message]
    assert len(errors) == 1


def test_columns_that_do_not_exist_are_all_named_at_once(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [{"le": ["admitted", "gone"]}, {"combinations": ["city", "town"]}]
    code, output = command(capsys, "check", str(job), "--set", f"constraints={json.dumps(wrong)}")
    assert code == 2
    for words in ("constraints.0.le: no such column: gone", "constraints.1.combinations: no such column: town"):
        assert words in output


VISITS: list[dict[str, Any]] = [
    {"le": ["admitted", "discharged"]},
    {"combinations": ["city", "postcode"]},
    {"counter": {"column": "visit", "by": "admitted"}},
    {"formula": "discharged - admitted <= 7"},
    {"derived": {"total": "drugs + bed"}},
]


@pytest.fixture(scope="module")
def visits(job: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Overrides for three visits of each person, who stays in one city and postcode."""
    path = tmp_path_factory.mktemp("visits") / "stays.csv"
    frame = pd.read_csv(job.parent / "stays.csv", parse_dates=["admitted", "discharged"]).drop(columns="total")
    frame["person"] = np.arange(len(frame)) // 3
    places = frame.groupby("person")[["city", "postcode"]].transform("first")
    frame = frame.assign(city=places["city"], postcode=places["postcode"], total=frame["drugs"] + frame["bed"])
    frame = frame.sort_values(["person", "admitted"])
    frame["visit"] = frame.groupby("person").cumcount() + 1
    frame.to_csv(path, index=False)
    columns = load_config(job).model_dump()["data"]["columns"]
    columns |= {"person": {"role": "identifier"}, "visit": {"role": "insensitive"}}
    return {"data": {"path": str(path), "columns": columns, "person": "person", "order": "admitted"}}


@pytest.mark.parametrize("more", [{}, {"transition__order": "post"}], ids=["pre", "post"])
def test_persons_with_several_rows_keep_the_constraints_in_all_of_them(
    job: Path, visits: dict[str, Any], more: dict[str, Any]
) -> None:
    pipeline = TableRun(config_of(job, **visits, **more, constraints=VISITS))
    table = pipeline.generated.table
    assert not table.rows_are_persons
    assert {rule.constraint.key: int(mask.sum()) for rule, mask in pipeline.rules.masks(table)} == dict.fromkeys(
        ("le", "combinations", "counter", "formula", "derived"), 0
    )
    persons = table.frame.groupby(table.persons)
    assert (persons[["city", "postcode"]].nunique() <= 1).all(axis=None)
    assert persons["admitted"].is_monotonic_increasing.all()
    assert list(persons["visit"].max()) == list(persons.size())
    assert len(persons) == pytest.approx(len(np.unique(pipeline.train.persons)), abs=5)


def test_uniqueness_of_an_identifier_is_held_by_surrogates_and_of_the_source_checked(job: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(job.parent / "stays.csv").assign(visit=range(1, 301))
    frame.to_csv(tmp_path / "stays.csv", index=False)
    declared: dict[str, Any] = {"data__path": str(tmp_path / "stays.csv"), "constraints": [{"unique": ["visit"]}]}
    declared["data__columns"] = load_config(job).model_dump()["data"]["columns"] | {"visit": {"role": "identifier"}}
    pipeline = TableRun(config_of(job, **declared))
    assert [mask.sum() for _, mask in pipeline.rules.masks(pipeline.synthetic)] == [0]
    outcome = pipeline.evaluated("synthetic").metrics[0].outcome
    assert isinstance(outcome, Measure) and outcome.value == 0
    assert any("1 constraint holds" in finding.message for finding in diagnose(config_of(job, **declared)))


def test_a_counter_of_persons_is_not_judged_on_unlinked_rows(job: Path) -> None:
    counter = {"counter": {"column": "bed", "by": "admitted"}}
    with pytest.raises(ConfigError, match=r"constraints\.0\.counter counts within persons"):
        config_of(job, constraints=[counter])


def test_init_suggests_what_holds_and_what_it_suggests_can_be_declared(job: Path, tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_bytes((job.parent / "stays.csv").read_bytes())
    written = guess_config(tmp_path / "stays.csv").write(tmp_path / "config.yaml")[-1]
    text = written.read_text()
    for suggested in ("{le: [admitted, discharged]}", "{derived: {total: drugs + bed}}"):
        assert f"#   - {suggested}\n" in text
    (sure,) = load_config(written).constraints
    assert sure.columns == ("city", "postcode"), "a postcode lies in its city"
    declared = re.sub(r"^# (constraints:|  - \{(?:le|derived|comb|miss))", r"\1", text, flags=re.M)
    written.write_text(declared)
    assert {constraint.key for constraint in load_config(written).constraints} >= {"le", "derived", "missing_together"}


def test_check_names_what_holds_and_is_not_declared(job: Path) -> None:
    messages = [finding.message for finding in diagnose(config_of(job, constraints=CONSTRAINTS[:1]))]
    (message,) = (message for message in messages if message.startswith("not declared"))
    assert "{derived: {total: drugs + bed}}" in message and "{le: [admitted, discharged]}" not in message


def test_a_contradiction_names_its_key(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [{"le": ["admitted", "discharged"]}, {"le": ["discharged", "admitted"]}]
    code, output = command(capsys, "check", str(job), "--set", f"constraints={json.dumps(both)}")
    assert code == 2
    assert "would have to be equal" in output


def test_a_run_reports_and_judges_them(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = hybrid.run(config_of(job), out="out")
    check = next(check for check in pipeline.verdict.checks if check.rule == "constraints between columns")
    assert check.status == "pass"
    report = report_text(tmp_path / "out")
    assert "Constraints between columns" in report and "admitted is at most discharged" in report


def test_constraints_are_in_the_keys_of_what_they_decide(job: Path) -> None:
    keys = [TableRun(config_of(job, constraints=declared)).keys for declared in ([], CONSTRAINTS, CONSTRAINTS[:2])]
    for first, second in ((0, 1), (1, 2)):
        same = {name for name, key in keys[first].items() if keys[second][name] == key}
        assert same == set()


def test_the_same_seed_gives_the_same_rows(job: Path) -> None:
    first, second = (TableRun(config_of(job)).generated.table.frame for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert isinstance(first.index, pd.RangeIndex) and np.isfinite(len(first))


@pytest.mark.parametrize(("limits", "told"), [([1, None], False), ([0, 100], False), ([1, 41], True)])
def test_a_limit_that_one_person_gives_away_is_noted(tmp_path: Path, limits: list[int | None], told: bool) -> None:
    beds = pd.DataFrame({"bed": [1] * 10 + list(range(2, 41)) + [41]})
    beds.to_csv(tmp_path / "beds.csv", index=False)
    config = {
        "version": 1,
        "name": "beds",
        "data": {"path": "beds.csv", "columns": {"bed": {"role": "insensitive", "kind": "integer"}}},
        "constraints": [{"range": {"bed": limits}}],
        "synthesize": {"generator": "cart"},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    loaded = load_config(tmp_path / "config.yaml")
    notes = [finding for finding in diagnose(loaded) if "a limit of range.bed" in finding.message]
    assert bool(notes) == told and all("41" not in finding.message for finding in notes)
