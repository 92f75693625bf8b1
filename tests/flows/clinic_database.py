"""A hospital's table in PostgreSQL, and a config that reads it and delivers into it."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from hybrid.operations.sql_table import MARKS, replace_sql_tables
from hybrid.pipeline.config import load_config
from tests.helpers.postgres_server import Server
from tests.helpers.whole_demo import write_whole_demo

RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "no copies"}


def write_clinic(folder: Path, database: Server) -> Path:
    """The table of the demo in the database; gives the config, which knows the database as CLINIC_URL."""
    path = write_whole_demo(folder, rows=500, seed=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINIC_URL", database.url)
        replace_sql_tables({"admissions": load_config(path).load_table()}, "CLINIC_URL", "demo")
    with sa.create_engine(database.url, poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text(f"drop table {MARKS}"))
    content = yaml.safe_load(path.read_text())
    columns = content["data"]["columns"]
    content["data"] = {"sql": {"url_env": "CLINIC_URL", "table": "admissions"}, "columns": columns, "unlisted": "error"}
    content["evaluate"] |= {"metrics": ["identical_match"], "baseline": False}
    content |= {"name": "clinic", "policy": "policy.yaml"}
    content["nightly"] = {"deliver": {"folder": "elsewhere", "sql": {"url_env": "CLINIC_URL", "table": "released"}}}
    path.write_text(yaml.safe_dump(content))
    policy = {"name": "test", "version": "1", "owner": "tests", "rules": [RULE]}
    (path.parent / "policy.yaml").write_text(yaml.safe_dump(policy))
    return path


def add_people(database: Server, prefix: str) -> None:
    """Five more people, like some who are there, under names of their own."""
    engine = sa.create_engine(database.url, poolclass=sa.NullPool)
    names = [column["name"] for column in sa.inspect(engine).get_columns("admissions")]
    others = ", ".join(name for name in names if name != "patient_id")
    with engine.begin() as connection:
        more = f"select '{prefix}' || patient_id, {others} from admissions limit 5"
        connection.execute(sa.text(f"insert into admissions (patient_id, {others}) {more}"))
