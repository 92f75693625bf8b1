"""``hybrid nightly`` and logs for programs, through the command line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

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


def test_waiting_refused_and_what_status_says_of_them(
    job: Path, hybrid: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [word for place in ("work", "runs", "releases") for word in (f"--{place}", tmp_path / place)]
    zones = [word for place in ("work", "releases") for word in (f"--{place}", tmp_path / place)]
    rule = {"name": "copies", "metric": "identical_match", "direction": "lower", "reason": "no copies"}

    def judged_by(**limit: float) -> None:
        policy = {"name": "test", "version": "1", "owner": "tests", "rules": [rule | limit]}
        (job.parent / "policy.yaml").write_text(yaml.safe_dump(policy))

    edit(job, policy="policy.yaml")
    judged_by(review=-1.0)
    assert hybrid("nightly", job, *places) == 4
    (run,) = (tmp_path / "runs").iterdir()
    printed = capsys.readouterr()
    assert "waiting. review: 0 of 1 approval of" in printed.out and f"hybrid approve {run}" in printed.out
    assert "Traceback" not in printed.out + printed.err
    assert hybrid("status", *zones) == 4
    assert f"hybrid approve {run}" in capsys.readouterr().out
    assert hybrid("approve", run, "--by", "Eve", "--reason", "looked at it", *zones) == 0
    assert hybrid("status", *zones) == 0
    judged_by(block=-1.0)
    assert [hybrid("nightly", job, *places), hybrid("nightly", job, *places)] == [3, 3]
    assert "are not drawn again" in capsys.readouterr().out
    assert hybrid("status", *zones) == 1
    assert "the last night: refused" in capsys.readouterr().out


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
    assert lines[-2]["level"] == "error" and "does not exist" in lines[-2]["message"]
    assert lines[-1]["exit_code"] == 2


def test_an_exception_in_a_log_is_its_type_alone(capsys: pytest.CaptureFixture[str]) -> None:
    from hybrid.base.logs import write_json_lines

    write_json_lines()
    try:
        raise ValueError("canary-value")
    except ValueError:
        logging.getLogger("hybrid.somewhere").exception("it failed")
    line = json.loads(capsys.readouterr().err)
    assert line["exception"] == "ValueError" and "canary" not in json.dumps(line)
