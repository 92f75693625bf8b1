"""Versions in a warehouse: whole, switched at once, and nothing touched that others made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.base.errors import ConfigError, DataError, HybridError, OutputError, UnreachableError
from hybrid.operations.deliver import Deliveries, DeliverOptions
from hybrid.operations.sql_versions import check_versions, deliver_versions, plain_rows, recall_versions
from hybrid.publication.ledger import Ledger, Withdrawal
from hybrid.table.data_options import DataOptions
from hybrid.table.warehouse import Warehouse, open_warehouse
from tests.helpers.postgres_server import postgres

DATA = {"synthetic": DataOptions.model_validate({"path": "people.csv", "columns": {"age": {"kind": "integer"}}})}
FIRST, SECOND, THIRD = "2026-01-01-000000aa", "2026-01-02-000000bb", "2026-01-03-000000cc"
NAME = "synthetic"
WEIRD = """main.o'hara"; drop table people; --%s ?"""


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with postgres() as running:
        yield running.url


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.engines)])
def url_env(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A warehouse with a table of others."""
    if request.param == "duckdb":
        import duckdb

        duckdb.connect(str(tmp_path / "w.duckdb")).close()
        monkeypatch.setenv("W_URL", f"duckdb:///{tmp_path}/w.duckdb")
    else:
        monkeypatch.setenv("W_URL", request.getfixturevalue("server_url"))
        run("DROP SCHEMA IF EXISTS main CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        run("CREATE SCHEMA main")
    run("CREATE TABLE people (age INTEGER)", "INSERT INTO people VALUES (81)")
    return "W_URL"


def run(*statements: str) -> list[tuple[Any, ...]]:
    with open_warehouse("W_URL", 2.0**30) as warehouse:
        return [warehouse.execute(statement) for statement in statements][-1]


def rows(*ages: int | None) -> Callable[[], pa.RecordBatchReader]:
    table = pa.table({"age": pa.array(ages, pa.int64()), "town": ['Rome, "x"', None, ""][: len(ages)]})
    return lambda: plain_rows(table.schema, table.to_batches(2))


def give(
    release: str, *ages: int | None, keep: int | None = None, gone: set[str] = frozenset(), view: str = NAME
) -> None:  # type: ignore[assignment]
    deliver_versions({view: rows(*ages)}, "W_URL", "clinic", release, keep, gone)


def tables() -> set[str]:
    names = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('main', 'public')"
    return {name for (name,) in run(names)} - {"people"}


def shown(view: str = NAME) -> list[Any]:
    return [age for (age,) in run(f"SELECT age FROM {view} ORDER BY age NULLS FIRST")]


def version(release: str) -> str:
    return f"{NAME}_{release.replace('-', '_')}"


def test_each_release_is_a_table_and_the_view_shows_the_latest(url_env: str) -> None:
    give(FIRST, 34, None, 36)
    assert run(f"SELECT * FROM {NAME} ORDER BY age NULLS FIRST") == [(None, None), (34, 'Rome, "x"'), (36, "")]
    give(SECOND, 40)
    assert shown() == [40] and shown(version(FIRST)) == [None, 34, 36]
    give(FIRST, 34, None, 36)  # the source has gone back
    assert shown() == [None, 34, 36]
    assert tables() == {NAME, version(FIRST), version(SECOND)}
    give(THIRD, 50, keep=2)
    assert tables() == {NAME, version(SECOND), version(THIRD)}


def test_a_withdrawn_version_leaves_and_the_view_shows_the_one_before(url_env: str) -> None:
    for release, age in ((FIRST, 1), (SECOND, 2), (THIRD, 3)):
        give(release, age)
    recall_versions([NAME], url_env, "clinic", {SECOND})
    assert shown() == [3] and tables() == {NAME, version(FIRST), version(THIRD)}
    recall_versions([NAME], url_env, "clinic", {SECOND, THIRD})
    assert shown() == [1] and tables() == {NAME, version(FIRST)}
    recall_versions([NAME], url_env, "clinic", {FIRST, SECOND, THIRD})
    assert tables() == set()


def test_a_version_that_was_cut_off_is_never_seen_and_the_next_call_finishes(url_env: str, tmp_path: Path) -> None:
    give(FIRST, 1)
    program = f"""
import os, signal, pyarrow as pa
from hybrid.operations.sql_versions import deliver_versions
schema = pa.schema([("age", pa.int64())])
def batches():
    for _ in range(30):
        yield pa.record_batch([pa.array([7] * 10000)], schema=schema)
    os.kill(os.getpid(), signal.SIGKILL)
    yield
rows = {{"{NAME}": lambda: pa.RecordBatchReader.from_batches(schema, batches())}}
deliver_versions(rows, "W_URL", "clinic", "{SECOND}", None)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert shown() == [1] and tables() == {NAME, version(FIRST)}
    give(SECOND, 2)
    assert shown() == [2]


def test_a_version_that_was_written_before_the_cut_is_only_shown(url_env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    give(FIRST, 1)
    with monkeypatch.context() as patch:
        patch.setattr("hybrid.operations.sql_versions._switch", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            give(SECOND, 2)
    assert shown() == [1] and version(SECOND) in tables()
    deliver_versions({NAME: lambda: pytest.fail("written twice")}, url_env, "clinic", SECOND, None)
    assert shown() == [2]


def test_a_view_whose_columns_change_is_made_anew_at_once(url_env: str) -> None:
    give(FIRST, 1)
    other = pa.table({"years": ["a"]})
    deliver_versions({NAME: lambda: plain_rows(other.schema, other.to_batches())}, url_env, "clinic", SECOND, None)
    assert run(f"SELECT years FROM {NAME}") == [("a",)]


@pytest.mark.parametrize("foreign", [NAME, version(FIRST)])
@pytest.mark.parametrize("kind", ["TABLE {} AS SELECT 1 AS age", "VIEW {} AS SELECT age FROM people"])
def test_what_others_made_is_left_as_it_is(url_env: str, foreign: str, kind: str) -> None:
    run(f"CREATE {kind.format(foreign)}")
    before = tables()
    with pytest.raises(OutputError, match="this program did not make"):
        give(FIRST, 34)
    if foreign == NAME:
        with pytest.raises(OutputError, match="left as it is"):
            check_versions([NAME], url_env)
    assert tables() == before and shown(foreign) in ([1], [81])


def test_a_foreign_view_in_other_letters_is_left_as_it_is(url_env: str) -> None:
    """DuckDB's names are the same in lower and upper case, those of PostgreSQL are not."""
    run('CREATE VIEW "Synthetic" AS SELECT age FROM people')
    try:
        give(FIRST, 34)
    except OutputError:
        assert tables() == {"Synthetic"}
    assert shown('"Synthetic"') == [81]


def test_a_version_that_others_wrote_to_is_not_dropped(url_env: str) -> None:
    give(FIRST, 1)
    run(f"INSERT INTO {version(FIRST)} VALUES (99, 'canary')")
    with pytest.raises(OutputError, match="not those that were delivered") as caught:
        give(SECOND, 2, gone={FIRST})
    assert shown() == [2] and shown(version(FIRST)) == [1, 99]
    assert "canary" not in str(caught.value)


def test_the_view_of_another_data_set_is_left_as_it_is(url_env: str) -> None:
    give(FIRST, 1)
    with pytest.raises(OutputError, match="of the data set clinic, not ward"):
        deliver_versions({NAME: rows(2)}, url_env, "ward", SECOND, None)
    assert shown() == [1]


def test_names_are_names_whatever_they_hold(url_env: str) -> None:
    give(FIRST, 1, view=WEIRD)
    give(SECOND, 2, view=WEIRD, keep=1)
    assert run("SELECT age FROM people") == [(81,)]
    found = tables()
    assert len(found) == 2 and WEIRD.removeprefix("main.") in found
    recall_versions([WEIRD], url_env, "clinic", {SECOND})
    assert tables() == set()


def test_names_that_are_cut_off_or_in_another_database_are_refused(url_env: str) -> None:
    with pytest.raises(OutputError, match="too long"):
        give(FIRST, 1, view="x" * 44)
    with pytest.raises(ValueError, match="a schema and a name"):
        DeliverOptions.model_validate({"sql": {"url_env": url_env, "table": "other.main.people", "versions": 1}})
    with pytest.raises(DataError, match="refused"):
        give(FIRST, 1, view="nowhere.synthetic")


def test_linked_tables_are_switched_together(url_env: str) -> None:
    both = {"visits": rows(1), "patients": rows(2)}
    deliver_versions(both, url_env, "clinic", FIRST, None)

    def stops() -> Iterator[pa.RecordBatch]:
        yield from rows(5)()
        raise KeyboardInterrupt

    schema = rows(5)().schema
    broken: dict[str, Any] = {**both, "patients": lambda: pa.RecordBatchReader.from_batches(schema, stops())}
    with pytest.raises((KeyboardInterrupt, HybridError)):
        deliver_versions(broken, url_env, "clinic", SECOND, None)
    for view in both:
        assert FIRST in str(comment(view))
    deliver_versions({**both, "patients": rows(4)}, url_env, "clinic", SECOND, None)
    assert (shown("visits"), shown("patients")) == ([1], [4])
    assert SECOND in str(comment("visits")) and SECOND in str(comment("patients"))


def comment(view: str) -> Any:
    with open_warehouse("W_URL", 2.0**30) as warehouse:
        if warehouse.engine == "postgres":
            return warehouse.execute(f"SELECT obj_description('{view}'::regclass, 'pg_class')")[0][0]
        return warehouse.execute(f"SELECT comment FROM duckdb_views() WHERE view_name = '{view}'")[0][0]


def test_two_deliveries_at_once(url_env: str) -> None:
    """The second is refused, and says that it may be tried again."""

    def slow() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([pa.array([1])], names=["age"])
        program = f"""
from hybrid.base.errors import HybridError
from hybrid.operations import sql_versions
sql_versions.LOCK_SECONDS = 0
try:
    sql_versions.check_versions(["{NAME}"], "W_URL")
except HybridError as error:
    print(type(error).__name__)
"""
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        said.append(done.stdout.strip())

    said: list[str] = []
    schema = pa.schema([("age", pa.int64())])
    deliver_versions({NAME: lambda: pa.RecordBatchReader.from_batches(schema, slow())}, url_env, "clinic", FIRST, None)
    assert said[0] in (UnreachableError.__name__, OutputError.__name__)
    assert shown() == [1]


@pytest.mark.engines
def test_a_reader_finds_one_release_whole_at_any_time(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While forty versions come and go, each reading has all rows of one."""
    monkeypatch.setenv("W_URL", server_url)
    run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    sizes = {f"2026-01-01-{number:08x}": 1000 + number for number in range(40)}

    def of(age: int, size: int) -> Callable[[], pa.RecordBatchReader]:
        table = pa.table({"age": [age] * size})
        return lambda: plain_rows(table.schema, table.to_batches(100))

    give("2026-01-01-ffffffff", 1)
    deliver_versions({"v": of(0, 1000)}, "W_URL", "clinic", "2026-01-01-00000000", 1)
    program = """
import time
from hybrid.table.warehouse import open_warehouse
end = time.time() + 12
with open_warehouse("W_URL") as warehouse:
    while time.time() < end:
        print(warehouse.execute("SELECT count(*), min(age), max(age) FROM v")[0])
"""
    reader = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    first = reader.stdout.readline()
    for release, size in list(sizes.items())[1:]:
        deliver_versions({"v": of(size - 1000, size)}, "W_URL", "clinic", release, 1)
    said, _ = reader.communicate()
    assert reader.returncode == 0
    seen = [eval(line) for line in [first, *said.splitlines()]]
    assert all(low == high and count == 1000 + low for count, low, high in seen)
    assert len({low for _, low, _ in seen}) > 2


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return made(tmp_path, FIRST, [34, None])


def made(folder: Path, name: str, ages: list[int | None]) -> Path:
    path = folder / "releases" / name
    path.mkdir(parents=True)
    table = pa.table({"age": pa.array(ages, pa.int64()), "ward": pa.array(["a"] * len(ages)).dictionary_encode()})
    pq.write_table(table, path / "synthetic.parquet")
    (path / "certificate.json").write_text(json.dumps({"name": "clinic", "files": {"synthetic.parquet": {}}}))
    return path


def test_delivery_and_withdrawal(url_env: str, release: Path, tmp_path: Path) -> None:
    options = DeliverOptions.model_validate({"sql": {"url_env": url_env, "table": NAME, "versions": "all"}})
    work, target = tmp_path / "work", f"versions of {NAME} in {url_env}"
    Deliveries(options, DATA, tmp_path).check()
    assert Deliveries(options, DATA, tmp_path).deliver(release, work) == [target]
    assert Deliveries(options, DATA, tmp_path).deliver(release, work) == []
    second = made(tmp_path, SECOND, [40])
    assert Deliveries(options, DATA, tmp_path).deliver(second, work) == [target]
    assert shown() == [40]
    Ledger(work).withdraw(tmp_path / "releases", Withdrawal(SECOND, "2026-01-02T00:00:00", "Ada", "a mistake", ""))
    Deliveries(options, DATA, tmp_path).recall("clinic", work)
    assert shown() == [None, 34] and version(SECOND) not in tables()
    run(f"DROP VIEW {NAME}")
    Deliveries(options, DATA, tmp_path).recall("clinic", work)  # told already: nothing is done
    assert NAME not in tables()
    assert Deliveries(options, DATA, tmp_path).deliver(release, work) == [target]
    assert shown() == [None, 34]


def test_a_folder_of_files_has_no_versions(url_env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Warehouse, "catalog", False)
    with pytest.raises(ConfigError, match="a folder of Parquet files has none"):
        check_versions([NAME], url_env)


def test_spark_is_given_one_table(url_env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It switches one view at a time: readers would see two releases."""
    monkeypatch.setattr(Warehouse, "engine", "spark")
    with pytest.raises(ConfigError, match="one view at a time"):
        check_versions(["visits", "patients"], url_env)


def test_a_database_that_is_no_warehouse_is_refused_by_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("W_URL", "sqlite:///x.sqlite")
    with pytest.raises(ConfigError, match=r"nightly.deliver.sql.versions: the URL in W_URL is of no warehouse"):
        check_versions([NAME], "W_URL")
