"""Tables of a real PostgreSQL: types, order, errors, and what must never be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.base.errors import ConfigError, DataError, HybridError
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import parse_config
from hybrid.table import Kind, Table
from hybrid.table.arrow import to_arrow
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.sources.sql import CHUNK, SqlOptions, read_sql
from hybrid.table.text import as_text
from tests.helpers.postgres_server import PASSWORD, Server, postgres

MAKE = """
create table people (
    id uuid primary key default gen_random_uuid(), name text, age integer, big bigint, cost numeric(10,2),
    weight float8, smoker boolean, born date, seen timestamp, seen_here timestamptz, woken time, nothing numeric, town
    varchar(20))
"""
ROWS = """
insert into people (name, age, big, cost, weight, smoker, born, seen, seen_here, woken, town) values
    ('canary-name', 34, 9007199254740993, 10.50, 61.5, true, '1990-02-28', '2026-01-01 10:00:00.000001',
     '2026-01-01 10:00:00+00', '06:30', 'Rome'),
    (null, null, null, null, null, null, null, null, null, null, null),
    ('b', 12, -1, 0.05, -0.25, false, '0900-01-01', '1969-12-31', '1969-12-31 23:00:00+00', '23:59', '')
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[sa.Engine]:
    monkeypatch.setenv("TEST_DB_URL", server.url)
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("drop schema public cascade"))
        connection.execute(sa.text("create schema public"))
        connection.execute(sa.text(MAKE))
        connection.execute(sa.text(ROWS))
        connection.execute(sa.text("create sequence counter"))
    yield engine


def options(**sql: str) -> DataOptions:
    return DataOptions.model_validate({"sql": {"url_env": "TEST_DB_URL", **sql}})


def read(**sql: str) -> Table:
    return load_table(options(**sql), Path())


def refused(**sql: str) -> str:
    with pytest.raises(HybridError) as caught:
        read(**sql)
    assert PASSWORD not in str(caught.value)
    assert "canary" not in str(caught.value)
    return str(caught.value)


def test_types_and_nulls_come_as_the_database_has_them(database: sa.Engine) -> None:
    table = read(table="people")
    kinds = {column.name: column.kind for column in table.schema}
    assert kinds == {
        "id": Kind.CATEGORICAL,
        "name": Kind.CATEGORICAL,
        "age": Kind.INTEGER,
        "big": Kind.INTEGER,
        "cost": Kind.DECIMAL,
        "weight": Kind.DECIMAL,
        "smoker": Kind.BOOLEAN,
        "born": Kind.DATE,
        "seen": Kind.DATETIME,
        "seen_here": Kind.DATETIME,
        "woken": Kind.TIME,
        "nothing": Kind.DECIMAL,
        "town": Kind.CATEGORICAL,
    }
    row = table.frame.set_index("name").loc["canary-name"]
    assert (row["age"], row["big"], row["cost"]) == (34, 9007199254740993, 10.5)
    assert row["seen"] == pd.Timestamp("2026-01-01 10:00:00.000001")
    assert as_text(pd.Series([row["woken"]]), table.schema["woken"]).tolist() == ["06:30"]
    empty = table.frame[table.frame["name"].isna()].drop(columns="id")
    assert empty.isna().all(axis=None)
    assert table.frame["nothing"].isna().all()


def test_a_query_gives_the_same_as_the_table(database: sa.Engine) -> None:
    whole = read(table="people").frame.drop(columns="nothing")
    columns = ", ".join(whole.columns)
    pd.testing.assert_frame_equal(read(query=f"select {columns} from people").frame, whole)


def test_a_query_is_taken_as_it_stands(database: sa.Engine) -> None:
    frame = read(query="select ':a' as colon, '5%' as percent, '1'::int as cast_here where 'x' like '%x'").frame
    assert frame.iloc[0].tolist() == [":a", "5%", 1]


def test_the_order_of_the_rows_does_not_count(database: sa.Engine) -> None:
    before = read(table="people")
    with database.begin() as connection:
        connection.execute(sa.text("update people set age = age"))  # PostgreSQL writes the rows anew, elsewhere
        connection.execute(sa.text("update people set town = town where age = 34"))
    pd.testing.assert_frame_equal(read(table="people").frame, before.frame)


def test_more_rows_than_a_chunk_are_streamed(database: sa.Engine) -> None:
    n_rows = 2 * CHUNK + 17
    query = f"select i as number, i * 0.5 as half, null::int as nothing from generate_series(1, {n_rows}) i"
    frame = read(query=query).frame
    assert len(frame) == n_rows
    assert frame["number"].sum() == n_rows * (n_rows + 1) // 2
    assert (frame["half"] * 2 == frame["number"]).all()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"table": "nobody"}, "no such table"),
        ({"table": "elsewhere.people"}, "no such table"),
        ({"query": "select from where 'canary'"}, "SQLSTATE 42601"),
        ({"query": "select 1 / (age - 34) from people"}, "SQLSTATE 22012"),
        ({"query": "select setval('counter', 7)"}, "would change the database"),
        ({"query": "select cast('canary' as int)"}, "SQLSTATE 22P02"),
        ({"query": "select age, age from people"}, "more than once: 'age'"),
        ({"query": "select age from people where false"}, "no rows"),
        ({"query": "select interval '1 day' as span"}, "'span' has the type duration"),
        ({"query": "select 'NaN'::numeric as odd"}, "'odd'"),
    ],
)
def test_what_is_wrong_is_said_without_values(database: sa.Engine, source: dict[str, str], said: str) -> None:
    assert said in refused(**source)
    assert len(read(table="people")) == 3


def test_a_wrong_password_and_a_stopped_server(
    database: sa.Engine, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DB_URL", server.url.replace("canary-password", "canary-other"))
    assert "cannot be reached" in refused(table="people")
    monkeypatch.setenv("TEST_DB_URL", server.url)
    server.stop()
    try:
        assert "cannot be reached" in refused(table="people")
    finally:
        server.start()


def test_what_no_config_may_hold() -> None:
    for sql in (
        {"url": f"postgresql://hybrid:{PASSWORD}@localhost/db", "table": "people"},
        {"url_env": f"postgresql://hybrid:{PASSWORD}@localhost/db", "table": "people"},
    ):
        from hybrid.pipeline.config import parse_config

        with pytest.raises(ConfigError) as caught:
            parse_config({"data": {"sql": sql}})
        assert PASSWORD not in str(caught.value)
        assert "environment variable" in str(caught.value)


def test_no_url_and_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_DB_URL", raising=False)
    assert "TEST_DB_URL is not set" in refused(table="people")
    monkeypatch.setenv("TEST_DB_URL", f"no url {PASSWORD}")
    assert "holds no URL" in refused(table="people")
    monkeypatch.setenv("TEST_DB_URL", f"nothing://hybrid:{PASSWORD}@localhost/db")
    assert "no driver" in refused(table="people")
    monkeypatch.setenv("TEST_DB_URL", f"mysql://hybrid:{PASSWORD}@localhost/db")
    assert "needs the package MySQLdb" in refused(table="people")


@pytest.mark.parametrize(
    "query",
    [
        "drop table people",
        "attach database 'x.sqlite' as x",
        "select 1; drop table people",
        "/* select */ delete from t",
    ],
)
def test_a_query_that_is_no_select_is_refused_before_it_runs(query: str) -> None:
    with pytest.raises(ValueError, match="a source is read, not changed"):
        options(query=query)


@pytest.mark.parametrize(
    "query", ["(select 1)", "with a as (select ';') select * from a;", "-- drop\nvalues (1)", "select $x$;$x$ as a"]
)
def test_a_query_that_reads_is_accepted(query: str) -> None:
    assert options(query=query).sql.query == query  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "query",
    [
        "select E'\\'' ; commit; drop table people; select '1'",
        "with gone as (delete from people returning 1) select * from gone",
        "select nextval('counter')",
    ],
)
def test_a_query_that_hides_a_change_leaves_postgresql_as_it_was(database: sa.Engine, query: str) -> None:
    refused(query=query)
    with database.begin() as connection:
        assert connection.execute(sa.text("select count(*) from people")).scalar() == 3
        assert not connection.execute(sa.text("select is_called from counter")).scalar()


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "db.sqlite"
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("create table t (n integer, day date)")
        connection.exec_driver_sql("insert into t values (3, '2026-01-02'), (null, null)")
        connection.exec_driver_sql("create view seen as select n from t")
    monkeypatch.setenv("TEST_DB_URL", f"sqlite:///{path}")
    return path


def test_sqlite_needs_no_driver(sqlite: Path) -> None:
    assert sorted(read(table="t").frame["n"].dropna()) == [3]
    assert len(read(table="seen")) == len(read(query="select upper('a'), n from seen")) == 2


def test_an_sqlite_query_can_neither_change_nor_attach_nor_set(sqlite: Path) -> None:
    before = sqlite.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybrid.table.sources.sql._only_reads", lambda query: True)
        for query in (
            "drop table t",
            f"attach database '{sqlite.with_name('new.sqlite')}' as x",
            "delete from t returning n",
            "pragma user_version = 7",
        ):
            assert "would change the database" in refused(query=query)
    assert sqlite.read_bytes() == before
    assert [path.name for path in sqlite.parent.iterdir()] == [sqlite.name]


def test_a_missing_sqlite_file_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB_URL", f"sqlite:///{tmp_path / 'none.sqlite'}")
    refused(table="t")
    assert list(tmp_path.iterdir()) == []


def test_a_query_is_refused_where_no_read_only_mode_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB_URL", "mssql+pyodbc://u:p@host/db")
    assert "no read-only mode of mssql is known" in refused(query="select 1")


def test_numbers_of_the_database_are_exact(database: sa.Engine) -> None:
    written = to_arrow(read(query="select 1234567.89::numeric as cost union select 0.1"))
    assert written["cost"].to_pylist() == [Decimal("0.10"), Decimal("1234567.89")]


ENDLESS = {
    "postgresql": "select pg_sleep(60)",
    "sqlite": "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) as n from n",
}


@pytest.mark.parametrize("dialect", ENDLESS)
def test_a_statement_that_does_not_end_is_stopped(
    dialect: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dialect == "postgresql":
        request.getfixturevalue("database")
        environment = "TEST_DB_URL"
    else:
        monkeypatch.setenv("ENDLESS_URL", "sqlite://")
        environment = "ENDLESS_URL"
    source = SqlOptions(url_env=environment, query=ENDLESS[dialect], timeout_minutes=0.002)
    with pytest.raises(DataError, match=r"did not answer within 0\.002 minutes") as caught:
        read_sql(source, ReadOptions())
    assert "timeout_minutes" in caught.value.problems[0].hint


def test_rows_that_come_and_come_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDLESS_URL", "sqlite://")
    rows = "with recursive n(x) as (select 1 union all select x + 1 from n) select x, 'some text' as t from n"
    with pytest.raises(DataError, match=r"within 0\.005 minutes"):
        read_sql(SqlOptions(url_env="ENDLESS_URL", query=rows, timeout_minutes=0.005), ReadOptions())
    monkeypatch.setattr("hybrid.table.sources.sql.available_bytes", lambda: 10**6)
    with pytest.raises(DataError, match="GiB of memory"):
        read_sql(SqlOptions(url_env="ENDLESS_URL", query=rows), ReadOptions())


def test_an_sqlite_cell_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDLESS_URL", "sqlite://")
    with pytest.raises(DataError, match="a cell holds more than 100 million bytes"):
        read_sql(SqlOptions(url_env="ENDLESS_URL", query="select hex(zeroblob(60000000)) as t"), ReadOptions())


def test_rows_of_long_cells_are_fetched_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a part is ever held as Python's objects."""
    monkeypatch.setenv("ENDLESS_URL", "sqlite://")
    monkeypatch.setattr("hybrid.table.sources.sql._CHUNK_BYTES", 10_000)
    asked: list[int] = []
    fetchmany = sa.CursorResult.fetchmany

    def seen(result: Any, size: int) -> Any:
        asked.append(size)
        return fetchmany(result, size)

    monkeypatch.setattr(sa.CursorResult, "fetchmany", seen)
    rows = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 300) "
    found = read_sql(
        SqlOptions(url_env="ENDLESS_URL", query=rows + "select x, hex(zeroblob(500)) as t from n"), ReadOptions()
    )
    assert list(found.frame["x"]) == list(range(1, 301))
    assert max(asked[1:]) <= 10


def test_a_superuser_that_reads_is_noted(database: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse_config({"data": {"sql": {"url_env": "TEST_DB_URL", "table": "people"}, "unlisted": "insensitive"}})
    noted = [found for found in diagnose(config) if "is a superuser" in found.message]
    assert [found.level for found in noted] == ["note"] and "SELECT" in noted[0].hint
    with database.begin() as connection:
        connection.exec_driver_sql("drop role if exists reader")
        connection.exec_driver_sql("create role reader login password 'reads'")
        connection.exec_driver_sql("grant select on people to reader")
    url = database.url.set(username="reader", password="reads")
    monkeypatch.setenv("TEST_DB_URL", url.render_as_string(hide_password=False))
    assert not [found for found in diagnose(config) if "is a superuser" in found.message]
