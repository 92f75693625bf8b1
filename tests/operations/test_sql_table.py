"""Delivery into databases: only rows that it wrote are replaced, and never the source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

from hybrid.base.errors import ConfigError, HybridError, OutputError
from hybrid.operations.sql_table import MARKS, refuse_source, replace_sql_tables
from hybrid.table import Table
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.sources.sql import SqlOptions
from hybrid.table.typed_table import read_frame
from tests.helpers.postgres_server import Server, postgres

FRAME = pd.DataFrame({"age": [34, 35, None], "cost": [0.1, 2.5, 3.0], "town": ["Rome", None, "Oslo"]})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres() as running:
        yield running


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sa.Engine:
    url = f"sqlite:///{tmp_path / 'db.sqlite'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("server").url
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        if request.param == "postgresql":
            connection.exec_driver_sql("drop schema public cascade")
            connection.exec_driver_sql("create schema public")
        connection.exec_driver_sql("create table people (age integer, cost float, town text)")
        connection.exec_driver_sql("insert into people values (81, 9.5, 'canary')")
        connection.exec_driver_sql("create view seen as select * from people")
        connection.exec_driver_sql("create view seen_again as select age from seen")
    monkeypatch.setenv("DB_URL", url)
    return engine


@pytest.fixture(scope="module")
def table() -> Table:
    return read_frame(FRAME, DataOptions.model_validate({"path": "x.csv", "columns": {"age": {"kind": "integer"}}}))


def rows(database: sa.Engine, name: str) -> int:
    with database.connect() as connection:
        return int(connection.exec_driver_sql(f"select count(*) from {name}").scalar() or 0)


def run(database: sa.Engine, statement: str) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql(statement)


def test_a_table_of_others_is_not_emptied(database: sa.Engine, table: Table) -> None:
    with pytest.raises(OutputError, match="rows that this program did not deliver"):
        replace_sql_tables({"people": table}, "DB_URL", "r1")
    assert rows(database, "people") == 1


def test_a_delivered_table_is_replaced_and_read_back_equal(database: sa.Engine, table: Table) -> None:
    replace_sql_tables({"released": table}, "DB_URL", "r1")
    run(database, "create view towns as select town from released")
    options = DataOptions.model_validate({"sql": {"url_env": "DB_URL", "table": "released"}})
    assert sorted(load_table(options, Path()).frame["cost"]) == [0.1, 2.5, 3.0]
    replace_sql_tables({"released": table.take(pd.Series([0]).to_numpy())}, "DB_URL", "r2")
    assert rows(database, "towns") == 1
    assert pd.read_sql(f"select release_name from {MARKS}", database)["release_name"].tolist() == ["r2"]


def test_texts_of_the_source_stay_texts(database: sa.Engine) -> None:
    frame = pd.DataFrame({"smokes": ["yes", "no", None], "seen": ["2026-01-02", None, "2026-01-03"]})
    columns = {"smokes": {"kind": "boolean"}, "seen": {"kind": "date"}}
    table = read_frame(frame, DataOptions.model_validate({"path": "x.csv", "columns": columns}))
    replace_sql_tables({"texts": table}, "DB_URL", "r1")
    found = pd.read_sql("select * from texts", database)
    assert found["smokes"].tolist() == ["yes", "no", None] and str(found["seen"][0])[:10] == "2026-01-02"


def test_a_failure_at_the_second_table_leaves_the_first(database: sa.Engine, table: Table) -> None:
    with pytest.raises(OutputError, match="people: the table holds rows"):
        replace_sql_tables({"released": table, "people": table}, "DB_URL", "r1")
    assert not sa.inspect(database).has_table("released")


def test_a_delivered_table_that_somebody_changed_is_not_emptied(database: sa.Engine, table: Table) -> None:
    replace_sql_tables({"released": table}, "DB_URL", "r1")
    run(database, "insert into released values (1, 1, 'added by others')")
    with pytest.raises(OutputError, match="not those that were delivered"):
        replace_sql_tables({"released": table}, "DB_URL", "r2")
    assert rows(database, "released") == 4


def test_a_table_made_anew_under_the_name_of_a_delivered_one_is_not_emptied(database: sa.Engine, table: Table) -> None:
    replace_sql_tables({"released": table}, "DB_URL", "r1")
    run(database, "drop table released")
    run(database, "create table released as select * from people")
    with pytest.raises(OutputError, match="not those that were delivered"):
        replace_sql_tables({"released": table}, "DB_URL", "r2")
    assert rows(database, "released") == 1


def test_an_empty_table_that_was_prepared_is_filled(database: sa.Engine, table: Table) -> None:
    run(database, "create table prepared (age bigint, cost float, town text)")
    for release in ("r1", "r2"):
        replace_sql_tables({"prepared": table}, "DB_URL", release)
    assert rows(database, "prepared") == 3


def test_views_and_other_columns_are_refused(database: sa.Engine, table: Table) -> None:
    with pytest.raises(OutputError, match="a view, not a table"):
        replace_sql_tables({"seen": table}, "DB_URL", "r1")
    run(database, "create table other (a integer)")
    with pytest.raises(OutputError, match="other columns"):
        replace_sql_tables({"other": table}, "DB_URL", "r1")


def test_a_failed_delivery_leaves_the_rows_of_before(database: sa.Engine, table: Table) -> None:
    replace_sql_tables({"released": table}, "DB_URL", "r1")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(HybridError):
        patch.setattr("hybrid.operations.sql_table._enter", lambda *_: 1 / 0)
        replace_sql_tables({"released": table.take(pd.Series([0]).to_numpy())}, "DB_URL", "r2")
    assert rows(database, "released") == 3
    replace_sql_tables({"released": table}, "DB_URL", "r2")


@pytest.mark.parametrize(
    "source",
    [
        {"table": "people"},
        {"table": "seen_again"},
        {"query": "select age from seen -- people"},
        {"query": 'select * from "people"'},
    ],
)
def test_the_source_is_no_target_also_through_views(database: sa.Engine, source: dict[str, str]) -> None:
    options = SqlOptions.model_validate({"url_env": "DB_URL", **source})
    for target in ("people", "People"):
        with pytest.raises(ConfigError, match="which delivery would replace"):
            refuse_source(options, "DB_URL", target)
    refuse_source(options, "DB_URL", "released")


def test_a_source_on_another_database_may_have_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", f"sqlite:///{tmp_path / 'a.sqlite'}")
    monkeypatch.setenv("THERE", f"sqlite:///{tmp_path / 'b.sqlite'}")
    refuse_source(SqlOptions(url_env="HERE", table="people"), "THERE", "people")
    monkeypatch.setenv("ONE", "postgresql+psycopg://a:b@localhost/clinic")
    monkeypatch.setenv("OTHER", "postgresql://c:d@127.0.0.1:5432/clinic")
    from hybrid.operations import sql_table

    assert sql_table._may_be_same(sql_table.url_of("ONE"), sql_table.url_of("OTHER"))


def test_the_table_of_deliveries_is_no_target() -> None:
    with pytest.raises(ConfigError, match="holds what was delivered"):
        refuse_source(None, "DB_URL", f"public.{MARKS}")
