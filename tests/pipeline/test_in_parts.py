"""Tables drawn in parts: every row written and counted, a sample judged, and never a pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from hybrid.base.errors import ConfigError
from hybrid.base.progress import silent
from hybrid.evaluation.measure import AllRows, Evaluation
from hybrid.jobs.run import write_run
from hybrid.pipeline import generation
from hybrid.pipeline.config import load_config
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.in_parts import DrawnInParts, draw_in_parts
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.finished_run import read_run
from hybrid.publication.gate import all_rows_checks, judge
from hybrid.publication.policy import load_policy, packaged_policies, packaged_policy
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.helpers.pages import report_text
from tests.jobs.small_job import write_small_job

SCHEMA = Schema((Column("age", Role.INSENSITIVE, Kind.INTEGER),))


def table(ages: Any, persons: Any = None) -> Table:
    return Table(pd.DataFrame({"age": pd.array(ages, dtype="Int64")}), SCHEMA, persons)


def drawn(rows: int, part_rows: int, train: Any = (), control: Any = (), several: int = 1) -> Any:
    """Row i of all rows holds i; each person has ``several`` rows."""
    before = [0]

    def draw(n: int, number: int) -> Generated:
        start = before[0]
        before[0] += n
        persons = None if several == 1 else np.arange(n) // several
        return Generated(table(range(start, start + n), persons))

    def finish(part: Table, rows: int, persons: int) -> Table:
        places.append((rows, persons))
        return part

    places: list[tuple[int, int]] = []
    known = {"train": table(train), "control": table(control)}
    return draw_in_parts(rows, part_rows, draw, finish, known, silent), places


def test_every_row_is_written_and_each_part_gives_its_share_of_the_sample() -> None:
    found, places = drawn(1000, 300)
    assert pq.read_table(found.file)["age"].to_pylist() == list(range(1000))
    assert pq.ParquetFile(found.file).num_row_groups == 4
    assert found.table.frame["age"].tolist() == [start + at for start in (0, 250, 500, 750) for at in range(62)]
    assert found.all_rows.rows == 1000 and found.all_rows.judged == len(found.table) <= 300
    assert places == [(0, 0), (250, 250), (500, 500), (750, 750)]


def test_persons_stay_whole_and_have_numbers_of_their_own() -> None:
    found, places = drawn(1000, 500, several=5)
    assert len(found.table) == 500 and pd.Series(found.table.persons).value_counts().eq(5).all()
    assert places == [(0, 0), (500, 100)]


def test_repeats_are_counted_on_all_rows_not_on_the_sample() -> None:
    found, _ = drawn(1000, 100, train=[5, 5, 999, 2000], control=[3000, 998])
    assert (found.all_rows.train, found.all_rows.train_found) == (4, 3)
    assert (found.all_rows.control, found.all_rows.control_found) == (2, 1)
    assert not {999, 998} & set(found.table.frame["age"])


def test_the_file_leaves_with_its_table() -> None:
    found, _ = drawn(10, 5)
    file = found.file
    assert file.parent.stat().st_mode & 0o777 == 0o700
    del found
    assert not file.exists()


@pytest.mark.parametrize("name", sorted(packaged_policies()))
@pytest.mark.parametrize(
    ("train_found", "control_found", "status"),
    [(0, 0, "pass"), (100, 50, "pass"), (100, 0, "review"), (1000, 0, "block")],
)
def test_more_rows_than_were_judged_are_never_a_pass(
    name: str, train_found: int, control_found: int, status: str
) -> None:
    policy = load_policy(packaged_policy(name))
    found = AllRows(10**8, 10**6, 10_000, train_found, 5_000, control_found)
    copies, attacks = all_rows_checks(policy, found)
    assert copies.status == status, copies.message
    assert attacks.status == "not judged" and attacks.decision == "review"
    assert judge(policy.model_copy(update={"rules": ()}), Evaluation((), found), None).status != "pass"
    assert list(all_rows_checks(policy, None)) == []


def test_copies_are_not_judged_without_people_never_seen() -> None:
    policy = load_policy(packaged_policy("default"))
    copies, _ = all_rows_checks(policy, AllRows(10**8, 10**6, 10_000, 0))
    assert copies.status == "not judged" and "no control records" in copies.message
    copies, _ = all_rows_checks(policy.model_copy(update={"rules": ()}), AllRows(10**8, 10**6, 10, 0, 10, 0))
    assert copies.status == "not judged" and "no rule about identical_match" in copies.message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"synthesize.rows": "same"}, "more rows than that"),
        ({"synthesize.rows": 10}, "more rows than that"),
        ({"synthesize.filter": {}}, "compares drawn rows with each other"),
        ({"output.format": "same"}, "writes Parquet"),
        ({"output.format": "csv"}, "writes Parquet"),
        ({"data.columns.cost.role": "weight"}, "weights are calibrated on all rows"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused(job: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(job, PARTS | changes)
    assert said in str(caught.value)


PARTS = {"synthesize.rows": 700, "synthesize.part_rows": 300, "output.format": "parquet"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_job(tmp_path_factory.mktemp("job"))


def test_a_run_in_parts(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One training, all rows in the file, different parts, and a verdict that says what was judged."""
    trained = []
    learn = generation.fit_or_reuse
    monkeypatch.setattr(
        generation, "fit_or_reuse", lambda *args, **named: (trained.append(1), learn(*args, **named))[1]
    )
    pipeline = Pipeline(load_config(job, PARTS))
    write_run(pipeline, tmp_path / "run")
    assert len(trained) == 1
    run = read_run(tmp_path / "run")
    rows = pd.read_parquet(tmp_path / "run" / "synthetic.parquet")
    assert len(rows) == 700 == run.manifest["table"]["rows"] == pipeline.person.released_rows
    assert rows["patient_id"].is_unique and not set(rows["patient_id"]) & set(pipeline.table.frame["patient_id"])
    assert not rows.drop(columns="patient_id").duplicated().any()
    assert run.evaluation.all_rows is not None
    assert (run.evaluation.all_rows.rows, run.evaluation.all_rows.judged) == (700, len(pipeline.synthetic))
    columns = ["age", "sex", "postcode", "admission_date", "length_of_stay"]
    tables = (frame[columns].astype(str).mask(frame[columns].isna(), "") for frame in (pipeline.synthetic.frame, rows))
    sampled, written = (frame.agg("|".join, axis=1) for frame in tables)
    assert set(sampled) <= set(written)
    verdict = judge(run.policy, run.evaluation, run.anonymization)
    assert verdict.status == "review"
    assert f"{run.evaluation.all_rows.judged} of 700 rows" in verdict.open_checks[-1].message
    page = report_text(tmp_path / "run")
    assert "what all rows disclose together was not measured" in page and "drawn at random, were judged" in page
    again = Pipeline(load_config(job, PARTS))
    assert isinstance(again.person.drawn, DrawnInParts)
    assert again.person.drawn.file.read_bytes() == (tmp_path / "run" / "synthetic.parquet").read_bytes()
