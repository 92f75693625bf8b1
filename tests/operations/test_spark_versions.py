"""Versions in a Spark with a catalog: whole, shown one after the other, and finished after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytestmark = [pytest.mark.spark, pytest.mark.engines]

PROGRAM = """
import json, os, signal, sys
from threading import Event, Thread
import pyarrow as pa
from hybrid.base.errors import OutputError
from hybrid.operations import sql_versions
from hybrid.operations.sql_versions import deliver_versions, plain_rows, recall_versions
from hybrid.table.spark import SparkWarehouse
from hybrid.table.warehouse import open_warehouse

FIRST, SECOND, THIRD = "2026-01-01-000000aa", "2026-01-02-000000bb", "2026-01-03-000000cc"

def rows(*ages):
    table = pa.table({"age": pa.array(ages, pa.int64()), "town": ['Rome, "x"', None, "o'hara"][: len(ages)]})
    return lambda: plain_rows(table.schema, table.to_batches(2))

def give(release, *ages, keep=None, data_set="clinic"):
    deliver_versions({"synthetic": rows(*ages)}, "W_URL", data_set, release, keep)

def seen():
    with open_warehouse("W_URL") as warehouse:
        names = sorted(name for _, name, _ in warehouse.execute("SHOW TABLES") if name.startswith("synthetic"))
        ages = warehouse.execute("SELECT age FROM synthetic ORDER BY age") if "synthetic" in names else []
    return [[age for (age,) in ages], names]

def first():
    give(FIRST, 34, None, 36)
    yield seen()

def killed_while_writing():
    sql_versions._count = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    give(SECOND, 2)

def finishes():
    yield seen()
    give(SECOND, 2)
    yield seen()

def killed_after_the_switch():
    execute = SparkWarehouse.execute
    def stop(self, statement):
        if "TBLPROPERTIES" in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(self, statement)
    SparkWarehouse.execute = stop
    give(THIRD, 3)

def recalls():
    yield seen()
    recall_versions(["synthetic"], "W_URL", "clinic", {THIRD})
    yield seen()
    try:
        give(THIRD, 3, data_set="ward")
    except OutputError as error:
        yield str(error)
    give(THIRD, 4, keep=1)
    yield seen()
    recall_versions(["synthetic"], "W_URL", "clinic", {THIRD})
    yield seen()

def readers():
    found, ended = set(), Event()
    def read():
        with open_warehouse("W_URL") as warehouse:
            while not ended.is_set():
                found.update(warehouse.execute("SELECT count(*), min(age), max(age) FROM watched"))
        found.add("ended")
    reader = Thread(target=read)
    for number, release in enumerate((FIRST, SECOND, THIRD)):
        table = pa.table({"age": [number] * (1000 + number)})
        rows = {"watched": lambda table=table: plain_rows(table.schema, table.to_batches(100))}
        deliver_versions(rows, "W_URL", "clinic", release, 2)
        if number == 0:
            reader.start()
    ended.set()
    reader.join()
    yield sorted(map(str, found))

for step in sys.argv[1:]:
    print(json.dumps(list(globals()[step]())))
"""


def run(address: str, step: str, code: int = 0) -> Any:
    command = [sys.executable, "-c", PROGRAM, step]
    done = subprocess.run(command, env={**os.environ, "W_URL": address}, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_versions_and_what_a_kill_leaves(tmp_path: Path) -> None:
    from tests.helpers.spark_connect import spark_connect

    first, second, third = (f"synthetic_2026_01_0{day}_000000{end}" for day, end in ((1, "aa"), (2, "bb"), (3, "cc")))
    with spark_connect(tmp_path) as address:
        assert run(address, "first") == [[[None, 34, 36], ["synthetic", first]]]
        run(address, "killed_while_writing", -9)
        before, after = run(address, "finishes")
        assert before == [[None, 34, 36], ["synthetic", first, f"{second}_unverified"]]
        assert after == [[2], ["synthetic", first, second]]
        run(address, "killed_after_the_switch", -9)
        shown, recalled, refused, last, gone = run(address, "recalls")
        [found] = run(address, "readers")
    assert shown == [[3], ["synthetic", first, second, third]]
    assert recalled == [[2], ["synthetic", first, second]]
    assert "of the data set clinic, not ward" in refused
    assert last == [[4], ["synthetic", third]]
    assert gone == [[], []]
    # Each reading beside the switches had all rows of one version, and none was refused.
    whole = {str((1000 + number, number, number)) for number in range(3)}
    assert "ended" in found and len(found) > 2 and set(found) <= whole | {"ended"}
