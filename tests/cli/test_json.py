"""--json prints one object and nothing else; exit codes stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_jobs import Run, edit


@pytest.fixture
def printed(hybrid: Run, capsys: pytest.CaptureFixture[str]) -> Any:
    """Exit code and object of a command."""

    def run(*words: object) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = hybrid(*words, "--json")
        return code, json.loads(capsys.readouterr().out)

    return run


def test_check(job: Path, printed: Any) -> None:
    code, said = printed("check", job)
    assert code == 0 and said["config"] == str(job) and said["verdict"] == "ok"
    assert {finding["level"] for finding in said["findings"]} == {"ok", "note"}


def test_check_of_wrong_configurations(job: Path, printed: Any) -> None:
    code, said = printed("check", job, "--set", "anonymize.kk=3")
    assert code == 2 and said["verdict"] == "error"
    (finding,) = said["findings"]
    assert finding == {"level": "error", "message": f"{job}: anonymize.kk: unknown key", "hint": "did you mean 'k'?"}
    edit(job, data__separator=";")
    code, said = printed("check", job)
    assert code == 2 and "error" in {finding["level"] for finding in said["findings"]}


def test_run_and_audit(job: Path, printed: Any, tmp_path: Path) -> None:
    code, said = printed("run", job, "--out", tmp_path / "out")
    assert code == 0 and said["verdict"]["status"] in ("pass", "review", "block")
    assert said["verdict"]["checks"] and said["folder"] == str(tmp_path / "out")
    (table,) = said["tables"]
    assert Path(table["path"]).is_file() and table["rows"] > 0 and Path(said["report"]).is_file()
    data = job.parent / "admissions.csv"
    code, said = printed(
        "audit", "--config", job, "--train", data, "--synthetic", table["path"], "--out", tmp_path / "audit"
    )
    assert code == 0 and said["verdict"]["status"] in ("pass", "review", "block")
    assert Path(said["report"]).is_file() and isinstance(said["notes"], list)


def test_a_run_that_fails_prints_no_object(
    job: Path, hybrid: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert hybrid("run", tmp_path / "nowhere.yaml", "--json") == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "does not exist" in shown.err


def test_comparisons_and_their_forecast(job: Path, printed: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    content = {"name": "plan", "base": str(job), "factors": {"anonymize.k": [3, 5]}, "seeds": [1]}
    plan.write_text(json.dumps(content), encoding="utf-8")
    code, said = printed("compare", plan, "--dry-run", "--out", tmp_path / "out")
    assert (code, said["configurations"], said["runs"], said["refused"]) == (0, 2, 2, [])
    assert said["reach"]["seeds"] == 1 and said["executions"] > 2
    wrong = content | {"factors": {"evaluate.metrics": [["identical_match"], ["nonsense"]]}}
    plan.write_text(json.dumps(wrong), encoding="utf-8")
    code, said = printed("compare", plan, "--dry-run", "--out", tmp_path / "out")
    assert code == 1 and len(said["refused"]) == 1 and said["refused"][0]["reason"]
