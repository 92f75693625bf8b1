"""A small job that runs in seconds, and the real command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.cli.cli_jobs import Run, edit, exit_code
from tests.helpers.whole_demo import write_whole_demo
from tests.jobs.small_job import POLICY

QUICK = {
    "seed": 1,
    "evaluate": {"targets": ["readmitted"], "metrics": ["identical_match", "total_variation", "k_reached"]},
    "policy": "policy.yaml",
}


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_whole_demo(folder, rows=600, seed=3)
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return folder


@pytest.fixture
def job(demo_folder: Path, tmp_path: Path) -> Path:
    """A folder with data, hierarchies, policy and a config whose evaluation is short; returns the config's path."""
    folder = tmp_path / "job"
    shutil.copytree(demo_folder, folder)
    edit(folder / "config.yaml", **QUICK)
    return folder / "config.yaml"


@pytest.fixture
def hybrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in this process, in a folder of its own; gives the exit code."""
    monkeypatch.chdir(tmp_path)

    return exit_code
