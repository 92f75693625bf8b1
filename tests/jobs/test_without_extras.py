"""The core needs none of the extras; what does names the extra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.jobs.small_job import write_small_job

BLOCKED = (
    "prefect",
    "sqlalchemy",
    "psycopg",
    "fastapi",
    "cronsim",
    "torch",
    "anjana",
    "dask",
    "pyreadstat",
    "openpyxl",
)
BLOCK = f"""
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec

def find_no_extra(name, path=None, target=None):
    return None if name.partition(".")[0] in {BLOCKED!r} else find_spec(name, path, target)

PathFinder.find_spec = find_no_extra
"""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which no extra can be imported."""
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    inherited = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2]), inherited])}


def _hybrid(bare: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hybrid", *map(str, words)]
    return subprocess.run(command, env=bare, capture_output=True, text=True, check=False)


def test_the_extras_are_out_of_reach(bare: dict[str, str]) -> None:
    for name in BLOCKED:
        command = [sys.executable, "-c", f"import {name}"]
        assert subprocess.run(command, env=bare, capture_output=True, check=False).returncode == 1


def test_a_run_and_an_audit_need_no_extra(bare: dict[str, str], tmp_path: Path) -> None:
    config = write_small_job(tmp_path / "job")
    ran = _hybrid(bare, "run", config, "--out", tmp_path / "out", "--work", tmp_path / "work")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "report.html").is_file()
    data = config.parent / "admissions.csv"
    files = ("--train", data, "--synthetic", tmp_path / "out" / "synthetic.csv", "--config", config)
    audited = _hybrid(bare, "audit", *files, "--out", tmp_path / "audit")
    assert audited.returncode == 0, audited.stderr


def test_serve_without_prefect_names_the_extra(bare: dict[str, str], tmp_path: Path) -> None:
    config = write_small_job(tmp_path / "job")
    refused = _hybrid(bare, "serve", config, "--cron", "0 2 * * *")
    assert refused.returncode == 2
    assert "not installed" in refused.stderr and "hybrid-release[flows]" in refused.stderr
    imported = [sys.executable, "-c", "import flows.release"]
    said = subprocess.run(imported, env=bare, capture_output=True, text=True, check=False).stderr
    assert "MissingExtraError" in said and "hybrid-release[flows]" in said


def test_a_database_without_sqlalchemy_names_the_extra(bare: dict[str, str], tmp_path: Path) -> None:
    config = write_small_job(tmp_path / "job")
    content = yaml.safe_load(config.read_text())
    content["data"]["path"], content["data"]["sql"] = "", {"url_env": "TEST_DB_URL", "table": "admissions"}
    config.write_text(yaml.safe_dump(content))
    refused = _hybrid(bare | {"TEST_DB_URL": "sqlite://"}, "run", config, "--out", tmp_path / "out")
    assert refused.returncode == 2
    assert "hybrid-release[sql]" in refused.stderr
    assert not (tmp_path / "out").exists()
