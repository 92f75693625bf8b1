"""A run whose rows stay in a warehouse: labels of all of them, a secret sample, and sentences that say so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.expressions import DIGEST, KEY
from hybrid.base.errors import ConfigError, DataError
from hybrid.cli import main
from hybrid.jobs.anonymize_file import write_in_warehouse
from hybrid.jobs.trade_off import trade_off_of
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.column_findings import small_sample
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.placement import placed
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.gate import judge
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.ledger import Ledger
from hybrid.publication.pending_membership import joined_history
from hybrid.publication.policy import load_policy, packaged_policies, packaged_policy
from hybrid.publication.protection_words import protection
from hybrid.publication.redact import public_anonymization
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Verdict
from hybrid.table.sources import sql
from hybrid.table.warehouse import open_warehouse
from hybrid.tuning.search import tune
from tests.helpers.pages import report_text
from tests.jobs.warehouse_clinic import (
    QUASI_IDENTIFIERS,
    all_rows_have_the_labels_of,
    here,
    labels,
    rows_of,
    write_clinic,
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = write_clinic(tmp_path_factory.mktemp("clinic"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINIC_URL", f"duckdb:///{path.parent}/clinic.duckdb")
        yield path


@pytest.fixture(scope="module")
def drawn(clinic: Path) -> TableRun:
    return TableRun(load_config(clinic))


def persons_of_labels(pipeline: TableRun) -> pd.Series:
    assert pipeline.anonymized is not None
    whose = pipeline.anonymized.originals.persons
    return labels(pipeline).assign(person=whose).groupby(QUASI_IDENTIFIERS)["person"].nunique()


def test_all_rows_drawn_are_those_with_labels_in_memory(clinic: Path) -> None:
    alone = {"protect": "off", "split": {"control": 0}}
    there = TableRun(load_config(clinic, {"data.sql.sample_rows": 10**6, **alone}))
    expected = here(clinic, **alone)
    all_rows_have_the_labels_of(there, expected)


def test_persons_come_whole_and_have_k_others_in_the_whole_table(clinic: Path, drawn: TableRun) -> None:
    whole = here(clinic, protect="off", split={"control": 0})
    assert whole.anonymized is not None
    persons = persons_of_labels(whole)
    assert min(persons[tuple(row)] for row in labels(drawn).to_numpy()) >= 5
    assert persons_of_labels(drawn).min() < 5, "among those drawn fewer look alike"
    table = drawn.inputs.table
    assert 150 < len(table) < 350
    of_each = rows_of(clinic.parent)["patient_id"].value_counts()
    left_out = whole.anonymized.suppressed
    assert not left_out.rows_are_persons and not whole.table.rows_are_persons
    names = dict(zip(whole.table.persons, whole.table.frame["patient_id"], strict=True))
    gone = pd.Series([names[person] for person in left_out.persons]).value_counts()
    came = table.frame["patient_id"].astype(str).value_counts()
    assert (came == of_each.sub(gone, fill_value=0).astype(int)[came.index]).all()


def test_the_same_seed_draws_the_same_persons_of_the_same_data(clinic: Path, drawn: TableRun) -> None:
    again, other = TableRun(load_config(clinic)), TableRun(load_config(clinic), seed=2)
    assert again.table.frame.equals(drawn.table.frame)
    assert not other.table.frame.equals(drawn.table.frame)
    # All draws of the same rows count as draws of the same data.
    assert again.data_fingerprint == drawn.data_fingerprint == other.data_fingerprint
    assert again.keys["anonymize"] == drawn.keys["anonymize"] != other.keys["anonymize"]


def test_no_surrogate_is_an_identifier_of_a_row_that_stayed_there(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = clinic.parent / "known.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"attach '{clinic.parent}/clinic.duckdb' as clinic (read_only)")
        connection.execute(
            "create table admissions as select 'S' || lpad(cast(dense_rank() over (order by patient_id) as varchar), "
            "6, '0') as patient_id, * exclude (patient_id) from clinic.admissions"
        )
        known = {name for (name,) in connection.execute("select patient_id from admissions").fetchall()}
    monkeypatch.setenv("CLINIC_URL", f"duckdb:///{file}")
    changes = {"synthesize.rows": 2000, "protect": "off"}
    done = TableRun(load_config(clinic, changes))
    assert len(known) > done.table.frame["patient_id"].nunique()
    assert not known & set(done.synthetic.frame["patient_id"])


def test_what_is_said_of_a_sample(clinic: Path, drawn: TableRun, tmp_path: Path) -> None:
    result = drawn.anonymized.result if drawn.anonymized is not None else None
    assert result is not None and result.drawn is not None
    said = guarantee_sentence(result, drawn.config.model_dump(mode="json"), drawn.evaluation)
    assert "which stayed in its source with all records" in said
    assert "counted again there by queries on all of its rows" in said
    assert f"about {10 * round(result.drawn / 10)} of about" in said
    assert "down to a single one" in said
    assert "none kept apart: control records do not show what this choice gives away" in said
    assert "All drawn records were used but those kept apart" in said
    assert "All persons of the intermediate table were used" not in said
    assert "counted before sampling" in str(drawn.promises.text)
    assert drawn.trade_off == []
    facts = TableFacts.of(drawn.table, drawn.control, drawn.synthetic, anonymized=True)
    replaced = {"min_count": 5, "columns": [{"column": "ward", "method": "sample"}]}
    sentences = list(protection(facts, drawn.config.model_dump(mode="json"), result, False, replaced))
    came, changed = (
        next(at for at, one in enumerate(sentences) if part in one) for part in ("came out", "were replaced")
    )
    assert came < changed  # protection saw the sample alone
    assert "was decided with all records, none kept apart" in sentences[came]
    assert public_anonymization(result)["drawn"] % 10 == 0
    judged = Pipeline(drawn.config)
    judged.__dict__["person"] = drawn
    checks = {check.rule: check.message for check in judged.verdict.checks}
    assert "in the whole table, from which the records learned from were drawn, has" in checks["k"]


def test_from_the_command_line_to_a_release(clinic: Path, tmp_path: Path) -> None:
    out, work, releases = tmp_path / "out", tmp_path / "work", tmp_path / "releases"
    assert exit_code("run", clinic, "--out", out, "--work", work) == 0
    told = json.loads((out / "anonymization.json").read_text())
    moved = {one["operation"]: one for one in told["warehouse"]["transfers"]}
    assert moved["sample"]["rows"] < 2 * told["drawn"]
    assert told["records"] == 700 > told["drawn"]
    page = report_text(out)
    for sentence in (
        "stay there; labels were found and verified on all",
        "drawn at random from",
        "passes unnoticed",
        "on all rows of the source, none kept apart",
    ):
        assert sentence in page
    assert exit_code("release", out, "--out", releases, "--work", work) == 0
    certificate = json.loads(next(releases.glob("*/certificate.json")).read_text())
    words = " ".join(certificate["summary"]["protection"] + certificate["summary"]["table"])
    assert "on all of about 700 records" in words
    assert "drawn at random from a table of about 700" in words
    with duckdb.connect(str(clinic.parent / "clinic.duckdb"), read_only=True) as connection:
        assert connection.execute("show tables").fetchall() == [("admissions",)]


def exit_code(*arguments: object) -> object:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code


@pytest.mark.parametrize("name", sorted({*packaged_policies()} - {"dp"}))
def test_later_releases_of_a_warehouse_are_not_passed_unseen(
    drawn: TableRun, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What two releases give away together is not known there, and what is not known is a review."""
    result = drawn.anonymized.result if drawn.anonymized is not None else None
    run: Any = SimpleNamespace(anonymization=result, data_set="small")
    ledger = Ledger(tmp_path)
    policy = load_policy(packaged_policy(name))

    def check() -> str:
        exposure = joined_history(run, ledger, tmp_path, tmp_path).exposure
        rules = {rule.name for rule in policy.history}
        checks = [one for one in judge(policy, drawn.evaluation, result, exposure).checks if one.rule in rules]
        assert checks
        return checks[0].status if checks[0].status != "not judged" else Verdict.of("p", tuple(checks)).status

    assert check() == "pass"
    monkeypatch.setattr(Ledger, "entries", lambda *_: [object()])
    assert check() == "review"


def test_a_sample_too_small_for_the_demanded_leaks_is_noted(drawn: TableRun) -> None:
    policy = load_policy(packaged_policy("default"))  # the smallest leak is one row of a hundred
    assert list(small_sample(policy, 1000)) == []
    (finding,) = small_sample(policy, 999)
    assert finding.level == "note" and "split.rows: of 999 drawn rows" in finding.message
    assert "1,000 rows or more" in finding.hint
    assert list(small_sample(drawn.policy, 10)) == []


def test_a_check_reads_a_sample_and_counts_all_rows(clinic: Path) -> None:
    found = diagnose(load_config(clinic, {"protect": "off"}))
    assert not [finding for finding in found if finding.level == "error"]
    assert any("duckdb: 700 rows stay there; verified on all of them" in finding.message for finding in found)


def test_what_cannot_be_done_honestly_is_refused_at_once(clinic: Path) -> None:
    asked = {
        "data.columns.cost.role": "weight",
        "sample": {"method": "beta", "beta": 0.5},
        "split.rows": 100,
        "anonymize.known_rows": 2,
    }
    with pytest.raises(ConfigError) as caught:
        _ = TableRun(load_config(clinic, asked)).table
    said = [problem.message for problem in caught.value.problems]
    for rule in ("weights of a sample", "the sample is drawn there", "sample_rows", "known_rows"):
        assert any(rule in message for message in said), rule


def test_no_one_can_tell_who_was_drawn_without_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every person is equally likely over keys; digests without the key say nothing."""
    people = [f"P{number:04d}" for number in range(40)]
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.register("given", pa.table({"person": people * 2}))
        connection.execute("create table people as select * from given")
    monkeypatch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/people.duckdb")
    rng = np.random.default_rng(4)
    keys = pa.table({KEY: [rng.bytes(32).hex() for _ in range(400)], "draw": list(range(400))})
    with open_warehouse("TEST_WAREHOUSE") as warehouse:
        secret = warehouse.send("keys", keys)
        rows = warehouse.table("people")
        found = expressions.digested(rows, ["person"], secret, each_row=False, engine="duckdb")
        digests = warehouse.fetch("digests", found).to_pandas()
        single = expressions.digested(rows, ["person"], secret, each_row=True, engine="duckdb")
        each = warehouse.fetch("each", single.filter(single.draw == 0)).to_pandas()
        assert each[DIGEST].nunique() == len(each) == 80
        assert keys[KEY][0].as_py() not in ibis.to_sql(found, dialect="duckdb")
    # The engine's digest is SHA-256 of key and person: the same in every engine.
    first = digests[(digests["draw"] == 0) & (digests["person"] == "P0007")][DIGEST]
    text = keys[KEY][0].as_py() + "vP0007\x1f"
    assert set(first) == {hashlib.sha256(text.encode()).hexdigest()}
    numbered = {hashlib.sha256(f"{text}{number}".encode()).hexdigest() for number in range(2)}
    assert set(each[each["person"] == "P0007"][DIGEST]) == numbered
    drawn = digests.assign(rank=digests.groupby("draw")[DIGEST].rank(method="dense") <= 10)
    often = drawn.groupby("person")["rank"].sum() / 2
    expected, spread = 400 * 10 / 40, (400 * 0.25 * 0.75) ** 0.5
    assert (abs(often - expected) < 5 * spread).all()
    assert 15 < ((often - expected) ** 2 / (expected * 0.75)).sum() < 75  # chi-square with 39 degrees of freedom
    for guess in (hashlib.sha256, hashlib.md5):
        order = sorted(people, key=lambda person: guess(person.encode()).hexdigest())
        hits = drawn[drawn["person"].isin(order[:10]) & drawn["rank"]].groupby("draw").size().sum() / 2
        assert abs(hits - 400 * 2.5) < 5 * (400 * 10 * 0.25 * 0.75) ** 0.5


def test_sample_rows_let_the_rows_stay(clinic: Path) -> None:
    content = yaml.safe_load(clinic.read_text())
    del content["data"]["sql"]["push_down"]
    path = clinic.with_name("asked.yaml")
    path.write_text(yaml.safe_dump(content))
    assert load_config(path).rows_stay
    content["data"]["sql"]["push_down"] = False
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match="sample_rows is for rows that stay in the warehouse"):
        load_config(path)


@pytest.fixture
def undecided(clinic: Path) -> Path:
    """The configuration that says nothing of where the rows are."""
    content = yaml.safe_load(clinic.read_text())
    content["data"]["sql"] = {"url_env": "CLINIC_URL", "table": "admissions"}
    path = clinic.with_name("undecided.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


LITTLE = {"anonymize.memory_limit": 0.0005}
"""GiB: less than 700 rows of the clinic take."""


def test_the_memory_limit_decides_whether_rows_stay(undecided: Path, tmp_path: Path) -> None:
    small = load_config(undecided)
    assert placed(small).rows_stay is False and placed(load_config(undecided, LITTLE)).rows_stay
    read, expected = Pipeline(small).person, here(undecided)
    assert read.inputs.whole is None and len(read.table) == len(expected.table) == 700
    texts = [one.table.frame.astype(str) for one in (read, expected)]
    first, second = (sorted(map(tuple, frame[sorted(frame)].to_numpy())) for frame in texts)
    assert first == second
    crossed = load_config(undecided, {**LITTLE, "split.control": "cross"})
    with pytest.raises(ConfigError, match="rows that stay in their source"):
        _ = Pipeline(crossed).person
    assert any(one.level == "error" and "stay in their source" in one.message for one in diagnose(crossed))


def test_a_table_larger_than_the_memory_limit_is_run_by_a_sample(undecided: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    assert exit_code("run", undecided, "--out", out, "--work", work, "--set", "anonymize.memory_limit=0.0005") == 0
    told = json.loads((out / "anonymization.json").read_text())
    assert told["warehouse"]["engine"] == "duckdb" and told["records"] == 700
    assert "stay there; labels were found and verified on all" in report_text(out)
    messages = [finding.message for finding in diagnose(load_config(undecided, LITTLE))]
    assert any("700 rows stay there" in message for message in messages)
    assert any("hybrid anonymize needs data.sql.labels" in message for message in messages)
    named = diagnose(load_config(undecided, {**LITTLE, "data.sql.labels": "labelled"}))
    assert any("writes the new table labelled" in finding.message for finding in named)
    with pytest.raises(ConfigError, match="are not tuned"):
        tune(load_config(undecided, LITTLE), work=tmp_path / "tune")
    with pytest.raises(ConfigError, match="trade-off is searched on rows in memory"):
        trade_off_of(load_config(undecided, LITTLE))


def test_no_table_of_labels_is_made_that_was_not_asked_for(undecided: Path, tmp_path: Path) -> None:
    alone = {"protect": "off", "split.control": 0, "data.order": None, "constraints": []}
    given = [part for key, value in (LITTLE | alone).items() for part in ("--set", f"{key}={json.dumps(value)}")]
    out = tmp_path / "labels"
    assert exit_code("anonymize", undecided, "--out", out, *given) == 2
    assert not out.exists()
    with duckdb.connect(str(undecided.parent / "clinic.duckdb"), read_only=True) as connection:
        assert connection.execute("show tables").fetchall() == [("admissions",)]
    config = placed(load_config(undecided, LITTLE | alone))
    with pytest.raises(ConfigError) as caught:
        write_in_warehouse(config, out)
    assert [problem.message for problem in caught.value.problems] == [
        "the rows stay in their source: no table is made in the warehouse that was not asked for"
    ]


def test_no_more_is_read_than_memory_holds(undecided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "available_bytes", lambda: 2**18)
    with pytest.raises(DataError, match="the rows take more than"):
        load_config(undecided, {"anonymize": None, "transition": None}).load_table()
