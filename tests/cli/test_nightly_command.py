"""``hybrid nightly`` and logs for programs, through the command line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cli_jobs import Run, edit


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    logger = logging.getLogger("hybrid")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.level, logger.propagate = before


def test_released_kept_and_stopped(job: Path, hybrid: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [word for place in ("work", "runs", "releases") for word in (f"--{place}", tmp_path / place)]
    assert hybrid("nightly", job, *places) == 0
    assert "released" in capsys.readouterr().out
    assert hybrid("nightly", job, *places) == 0
    assert "kept. skip: " in capsys.readouterr().out
    data = job.parent / "admissions.csv"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:200]))
    assert hybrid("nightly", job, *places) == 2
    assert "199 rows, 600 at the last release: -66.8%" in capsys.readouterr().err
    assert hybrid("nightly", job, *places, "--accept-drift") == 0


def test_logs_for_programs(job: Path, hybrid: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [word for place in ("work", "runs", "releases") for word in (f"--{place}", tmp_path / place)]
    assert hybrid("--log-format", "json", "nightly", job, *places) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"time", "level", "logger", "message"} <= set(lines[0])
    (end,) = [line for line in lines if "outcome" in line]
    assert (end["data_set"], end["outcome"]) == ("admissions", "released")
    edit(job, data__path="missing.csv")
    assert hybrid("--log-format", "json", "nightly", job, *places) == 2
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[-1]["level"] == "error" and "does not exist" in lines[-1]["message"]


def test_an_exception_in_a_log_is_its_type_alone(capsys: pytest.CaptureFixture[str]) -> None:
    from hybrid.base.logs import write_json_lines

    write_json_lines()
    try:
        raise ValueError("canary-value")
    except ValueError:
        logging.getLogger("hybrid.somewhere").exception("it failed")
    line = json.loads(capsys.readouterr().err)
    assert line["exception"] == "ValueError" and "canary" not in json.dumps(line)
