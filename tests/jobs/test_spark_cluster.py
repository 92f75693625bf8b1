"""The demo of a million rows on a Spark of two workers, to labels and to a release in its catalog."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytestmark = [pytest.mark.spark, pytest.mark.engines]


def test_a_million_rows_on_two_workers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.helpers.spark_cluster", str(tmp_path), "--rows", "1000000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == told["records"] == 1_000_000
    assert told["labelled"] == told["records"] - told["suppressed"]
    assert told["same"]
    assert 4_000 < told["drawn"] < 6_000
    assert 0 < told["released"] <= told["drawn"]
    versions = [name for name in told["tables"] if name.startswith("synthetic_")]
    assert len(versions) == 1
    assert told["tables"] == ["admissions", "admissions_labels", "synthetic", *versions]
    # Two workers, each with an executor of its own.
    log = (tmp_path / "log").read_text(errors="replace")
    assert len(re.findall(r"Registered executor .* with ID [01],", log)) == 2
