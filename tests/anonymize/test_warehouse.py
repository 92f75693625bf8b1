"""A table that stays in a warehouse is labelled as one in memory is; nothing but counts and values comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import ibis
import pyarrow as pa
import pytest
import yaml
from ibis.config import Config

from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.anonymize_rows import RowsTask
from hybrid.anonymize.warehouse.expressions import CLASS, NUMBER
from hybrid.base.errors import ConfigError, DataError, HybridError, InfeasibleError, OutputError, VerificationError
from hybrid.cli import main
from hybrid.jobs import anonymize_file
from hybrid.jobs.anonymize_file import write_in_warehouse
from hybrid.table import warehouse as warehouse_session
from hybrid.table.warehouse import Warehouse, open_warehouse, plain
from tests.anonymize.warehouse_job import (
    LIKE_FILES,
    MODELS,
    OTHERS,
    PERSONS,
    Job,
    assert_size_decides,
    put,
    suppress_no_row,
    write_people,
)
from tests.helpers.postgres_server import PASSWORD, postgres

SETTINGS = {
    f"{model}, {other}": MODELS[model] | OTHERS[other]
    for at, model in enumerate(MODELS)
    for beside, other in enumerate(OTHERS)
    if (at + beside) % 2 == 0
}
"""Every second pair, each model with half of the others: all pairs hold, and take twice the time."""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return write_people(tmp_path_factory.mktemp("job"))


def test_search_and_engine_share_the_memory(job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """DuckDB has half of it, and a tenth while the search has the rest."""
    given: list[object] = []

    def stop(task: RowsTask, *_: object) -> None:
        asked = "select current_setting('memory_limit')"
        warehouse = task.rows.warehouse
        given.append(warehouse.execute(asked))
        with warehouse.resting():
            given.extend((warehouse.execute(asked), task.memory))
        given.append(warehouse.execute(asked))
        raise HybridError("enough")

    put(tmp_path / "people.duckdb", job.table)
    monkeypatch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/people.duckdb")
    monkeypatch.setattr(anonymize_file, "anonymize_rows", stop)
    sql = {"url_env": "TEST_WAREHOUSE", "table": "people", "push_down": True, "labels": "labelled"}
    config = job.config(**{"data.path": "", "data.sql": sql, "anonymize.memory_limit": 2})
    with pytest.raises(HybridError, match="enough"):
        write_in_warehouse(config, tmp_path / "out")
    assert given == [[("1.0 GiB",)], [("204.0 MiB",)], 0.9 * 2 * 2**30, [("1.0 GiB",)]]


@pytest.fixture(scope="module")
def session(job: Job) -> Iterator[Warehouse]:
    file = job.path.parent / "people.duckdb"
    put(file, job.table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", f"duckdb:///{file}")
        with open_warehouse("TEST_WAREHOUSE", memory=2**28) as warehouse:
            yield warehouse


@pytest.mark.parametrize("name", SETTINGS)
def test_as_in_memory(name: str, job: Job, session: Warehouse) -> None:
    labels = "labels_" + "".join(letter if letter.isalnum() else "_" for letter in name)
    assert job.there(session, SETTINGS[name], labels) == job.here(SETTINGS[name])


@pytest.mark.parametrize("name", LIKE_FILES)
def test_labels_without_levels_and_models_of_persons(name: str, job: Job, session: Warehouse) -> None:
    labels = "more_" + "".join(letter if letter.isalnum() else "_" for letter in name)
    assert job.there(session, LIKE_FILES[name], labels) == job.here(LIKE_FILES[name])


@pytest.mark.parametrize("most", [0, warehouse_session.MOST_TEXTS])
def test_rows_are_in_the_order_of_their_content(
    most: int, job: Job, session: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are enumerations in DuckDB, in the order of their texts; too many of them are texts."""
    monkeypatch.setattr(warehouse_session, "MOST_TEXTS", most)
    name = f"ordered_{most}"
    assert job.there(session, SETTINGS["k, k 2"], name) == job.here(SETTINGS["k, k 2"])
    kinds = dict(session._backend.con.execute(f"select column_name, column_type from (describe {name})").fetchall())
    assert kinds["sex"].startswith("ENUM") == bool(most)
    written = session.fetch("all", session.table(name))
    assert written.equals(in_order(written))


def in_order(written: pa.Table) -> pa.Table:
    """Rows by their labels, and then by their other columns."""
    first = ["age", "sex", "weight"]
    names = [*first, *(name for name in written.column_names if name not in first)]
    return written.sort_by([(name, "ascending") for name in names])


def test_infeasible_leaves_no_table(job: Job, session: Warehouse) -> None:
    with pytest.raises(InfeasibleError):
        job.push_down(session, {"anonymize.k": 300}, "never")
    assert not session.exists("never")
    assert not session.exists("never_unverified")


def test_what_is_not_kept_is_not_there(job: Job, session: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    suppress_no_row(monkeypatch)
    with pytest.raises(VerificationError):
        job.push_down(session, {"anonymize.k": 4}, "leaky")
    assert not session.exists("leaky")
    assert not session.exists("leaky_unverified")


def test_tables_of_others_stay_as_they_are(job: Job, session: Warehouse) -> None:
    with pytest.raises(OutputError, match="left as it is"):
        job.push_down(session, {}, "people")
    assert session.fetch("all", session.table("people")).num_rows == job.table.num_rows


def test_repeated_identifiers_and_draws_of_nobody_are_refused(job: Job, session: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"identifiers repeat and data\.person is not set: 'person'"):
        job.push_down(session, {"data.person": None}, "repeated")
    people = job.table.set_column(
        job.table.column_names.index("person"), "person", pa.array(["?"] * 10 + job.table["person"].to_pylist()[10:])
    )
    put(tmp_path / "nobody.duckdb", people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/nobody.duckdb")
        with (
            open_warehouse("TEST_WAREHOUSE") as other,
            pytest.raises(DataError, match=r"10 rows lack a value in data\.person"),
        ):
            job.draw(other, PERSONS, 60)


@pytest.fixture(scope="module")
def server(job: Job) -> Iterator[str]:
    with postgres() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TEST_WAREHOUSE", running.url)
            with open_warehouse("TEST_WAREHOUSE") as warehouse:
                warehouse.write("people", job.table)
        yield running.url


@pytest.mark.parametrize("name", ["k, k 2", "persons, k 4", "distinct l, weights", "t, k 8"])
def test_postgresql_as_in_memory(name: str, job: Job, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", server)
    labels = f"public.labels_{list(SETTINGS).index(name)}"
    with open_warehouse("TEST_WAREHOUSE") as warehouse:
        if "k 2" in name:
            warehouse.sort_bytes = 10_000  # written in parts
        assert job.there(warehouse, SETTINGS[name], labels) == job.here(SETTINGS[name])


@pytest.mark.parametrize("name", ["k, k 2", "persons, k 4"])
def test_engines_draw_the_same_sample(
    name: str, job: Job, session: Warehouse, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", server)
    with open_warehouse("TEST_WAREHOUSE") as warehouse:
        drawn = [job.draw(place, SETTINGS[name], 60) for place in (session, warehouse)]
    (whole, rows), (same, others) = drawn
    assert (whole, sorted(rows["id"].to_pylist())) == (same, sorted(others["id"].to_pylist()))
    assert 0 < rows.num_rows < whole["records"] - whole["suppressed"]
    assert rows.num_rows == 60 or "persons" in name


def test_the_memory_limit_decides_whether_rows_stay_in_postgresql(
    job: Job, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", server)
    assert_size_decides(job)


def test_an_error_of_postgresql_repeats_no_value(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", server)
    with pytest.raises(DataError, match="SQLSTATE 22P02") as caught, open_warehouse("TEST_WAREHOUSE") as warehouse:
        warehouse.fetch("ward", warehouse.table("people").select(number=ibis._.ward.cast("int64")))
    assert "north" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


def exit_code(command: str, path: Path, out: Path) -> object:
    with pytest.raises(SystemExit) as caught:
        main([command, str(path), "--out", str(out)])
    return caught.value.code


def test_from_the_command_line(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "clinic.duckdb", tmp_path / "out"
    put(file, job.table)
    monkeypatch.setenv("CLINIC_URL", f"duckdb:///{file}")
    content = yaml.safe_load(job.path.read_text())
    content["data"] |= {"person": "person", "sql": {"url_env": "CLINIC_URL", "table": "people", "push_down": True}}
    del content["data"]["path"]
    path = job.path.with_name("clinic.yaml")
    path.write_text(yaml.safe_dump(content))
    assert exit_code("anonymize", path, out) == 0
    told = json.loads((out / "anonymization.json").read_text())
    assert told["warehouse"]["labels"] == "people_labels"
    assert told["min_class_persons"] >= 3
    moved = told["warehouse"]["transfers"]
    assert sum(one["bytes"] for one in moved) < 400 * told["warehouse"]["combinations"]
    assert {path.name for path in out.iterdir()} == {"anonymization.json", "manifest.json"}
    with duckdb.connect(str(file)) as connection:
        written = plain(connection.execute("select * from people_labels").fetch_arrow_table())
        tables = {name for (name,) in connection.execute("show tables").fetchall()}
    assert tables == {"people", "people_labels"}
    assert written.num_rows == told["records"] - told["suppressed"]
    assert "id" not in written.column_names
    assert "person" not in written.column_names
    assert written.equals(in_order(written))
    # A second time there is a table of that name.
    assert exit_code("anonymize", path, out) == 1


def test_what_is_not_done_there_is_refused_at_once(job: Job) -> None:
    sql = {"url_env": "UNSET_WAREHOUSE", "table": "people", "push_down": True}
    asked = {"data.path": "", "data.sql": sql, "data.person": "person", "anonymize.known_rows": 2}
    asked["anonymize.loss"] = {"name": "association"}
    with pytest.raises(ConfigError) as caught:
        write_in_warehouse(job.config(**asked, **{"protect": {}, "split.control": 0.3}), job.path.parent / "out")
    said = [problem.message for problem in caught.value.problems]
    for rule in ("loss association", "known_rows", "protection", "every row"):
        assert any(rule in message for message in said), rule
    with pytest.raises(ConfigError, match="UNSET_WAREHOUSE is not set"), open_warehouse("UNSET_WAREHOUSE"):
        pass


@pytest.mark.parametrize("url", ["mysql://me:canary@host/x", "duckdb:///nowhere/at/all.duckdb", "canary"])
def test_urls_of_no_warehouse(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", url)
    with pytest.raises(HybridError) as caught, open_warehouse("TEST_WAREHOUSE"):
        pass
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "pyspark", "snowflake", "bigquery"])
def test_every_operation_compiles(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class SparkOptions(Config):
        treat_nan_as_null: bool = False

    if ibis.options.pyspark is None:  # where pyspark is not installed
        monkeypatch.setattr(ibis.options, "pyspark", SparkOptions())
    kinds = {"age": "int64", "sex": "string", "person": "string", "cost": "int64", "weight": "float64"}
    rows = expressions.plain(ibis.table(kinds, name="people"))
    names, persons = ["age", "sex"], ["person"]
    keyed = expressions.with_keys(rows, persons, ("", "?"))
    pairs = expressions.person_rows(keyed, names, persons)
    kept = ibis.table({"age": "int64", "sex": "string", NUMBER: "int64"}, name="kept")
    sent = ibis.table({NUMBER: "int64", CLASS: "int64"}, name="sent")
    labels = ibis.table({CLASS: "int64", "hybrid_label_0": "string", "hybrid_label_1": "string"}, name="labels")
    classified = expressions.in_classes(expressions.classified(kept, sent, names), 2, 5)
    released = expressions.kept_rows(keyed, classified, names, {"age", "sex"})
    labelled = expressions.labelled(released, labels, names)
    in_order = expressions.in_content_order(labelled, names, [*names, "cost", "weight"])
    for expression in (
        expressions.combinations(rows, names),
        expressions.repeated(rows, persons),
        expressions.without_key(keyed, persons).as_table(),
        expressions.combinations_of(pairs, names),
        expressions.shared(pairs, persons),
        expressions.alone(pairs),
        expressions.nobodys(pairs, persons),
        expressions.numbered(expressions.combinations(rows, names)),
        in_order,
        expressions.persons_of_classes(released, persons),
        expressions.longest(rows, persons),
        expressions.content(rows, names),
        expressions.digested(
            rows, names, ibis.table({expressions.KEY: "string"}, name="key"), each_row=True, engine=dialect
        ),
    ):
        text = str(ibis.to_sql(expression, dialect=dialect)).upper()
        assert text.startswith(("SELECT", "WITH"))
    assert "ORDER BY" in str(ibis.to_sql(in_order, dialect=dialect)).upper()


def test_a_warehouse_that_does_not_answer_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(tmp_path / "endless.duckdb")) as connection:
        connection.execute(
            "create view endless as select sum(a.range * b.range) from range(10000000) a, range(10000000) b"
        )
    monkeypatch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/endless.duckdb")
    with (
        pytest.raises(DataError, match=r"did not answer within 0\.002 minutes"),
        open_warehouse("TEST_WAREHOUSE", minutes=0.002) as warehouse,
    ):
        warehouse.execute("select * from endless")
    with open_warehouse("TEST_WAREHOUSE", minutes=1) as warehouse:
        assert warehouse.execute("select 1") == [(1,)]
