"""Wrong input ends with exit code 2 and one message that says where, what and how to fix it."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hybrid.cli import main
from tests.cli.cli_jobs import Run, edit


def _rows(job: Path) -> list[list[str]]:
    with (job.parent / "admissions.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _write(job: Path, rows: list[list[str]]) -> None:
    with (job.parent / "admissions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _refused(hybrid: Run, capsys: pytest.CaptureFixture[str], job: Path, *words: str, command: str = "run") -> str:
    out = job.parent / "out"
    capsys.readouterr()
    assert hybrid(command, job, "--out", out) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    for word in words:
        assert word in said, said
    assert not out.exists()
    assert not [path for path in job.parent.iterdir() if path.name.startswith(".")]
    return said


def test_missing_file(hybrid: Run, capsys: Any, job: Path) -> None:
    (job.parent / "admissions.csv").unlink()
    _refused(hybrid, capsys, job, "admissions.csv", "does not exist", "hint")


def test_empty_file(hybrid: Run, capsys: Any, job: Path) -> None:
    (job.parent / "admissions.csv").write_text("")
    _refused(hybrid, capsys, job, "admissions.csv", "empty")


def test_header_only(hybrid: Run, capsys: Any, job: Path) -> None:
    _write(job, _rows(job)[:1])
    _refused(hybrid, capsys, job, "no rows")


def test_duplicate_column_names(hybrid: Run, capsys: Any, job: Path) -> None:
    rows = _rows(job)
    rows[0][2] = "age"
    _write(job, rows)
    _refused(hybrid, capsys, job, "more than once", "'age'")


def test_columns_that_do_not_match_the_config_are_named_both_ways(hybrid: Run, capsys: Any, job: Path) -> None:
    rows = _rows(job)
    rows[0][rows[0].index("bmi")] = "body_mass"
    _write(job, rows)
    _refused(hybrid, capsys, job, "'bmi'", "body_mass")


def test_wrong_separator(hybrid: Run, capsys: Any, job: Path) -> None:
    edit(job, data__separator=";")
    _refused(hybrid, capsys, job, "data.separator", "only one column")


def test_value_missing_from_a_hierarchy_is_shown_on_a_terminal_only(
    hybrid: Run, capsys: Any, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _rows(job)
    for row in rows[1:4]:
        row[rows[0].index("sex")] = "canary-value"
    _write(job, rows)
    said = _refused(hybrid, capsys, job, "'sex'", "3 rows", "hint")
    assert "canary-value" not in said
    monkeypatch.setenv("HYBRID_SHOW_VALUES", "1")
    assert "canary-value (3 rows)" in _refused(hybrid, capsys, job, "'sex'")


def test_hierarchy_that_is_not_nested(hybrid: Run, capsys: Any, job: Path) -> None:
    (job.parent / "hierarchies" / "sex.csv").write_text("female,a,*\nmale,a,x\ndiverse,b,*\n")
    said = _refused(hybrid, capsys, job, "sex.csv")
    assert "not nested" in said or "roots" in said


def test_k_larger_than_the_table(hybrid: Run, capsys: Any, job: Path) -> None:
    edit(job, anonymize__k=100_000)
    _refused(hybrid, capsys, job, "k", "hint")


def test_infeasible_at_the_suppression_limit(hybrid: Run, capsys: Any, job: Path) -> None:
    edit(
        job,
        anonymize__suppression_limit=0,
        anonymize__models=[{"model": "l_diversity", "kind": "distinct", "l": 400, "attribute": "diagnosis"}],
    )
    _refused(hybrid, capsys, job, "diagnosis")


def test_sensitive_attribute_with_one_value(hybrid: Run, capsys: Any, job: Path) -> None:
    rows = _rows(job)
    at = rows[0].index("diagnosis")
    _write(job, [rows[0], *([*row[:at], "J06", *row[at + 1 :]] for row in rows[1:])])
    _refused(hybrid, capsys, job, "diagnosis")


@pytest.mark.parametrize("value", ["", "same"])
def test_all_missing_and_constant_columns_run(hybrid: Run, job: Path, value: str) -> None:
    rows = _rows(job)
    at = rows[0].index("ward")
    _write(job, [rows[0], *([*row[:at], value, *row[at + 1 :]] for row in rows[1:])])
    assert hybrid("run", job, "--out", job.parent / "out") == 0
    with (job.parent / "out" / "synthetic.csv").open(newline="") as file:
        assert {row["ward"] for row in csv.DictReader(file)} == {value}


def test_unwritable_output(hybrid: Run, capsys: Any, job: Path) -> None:
    (job.parent / "file").write_text("")
    assert hybrid("run", job, "--out", job.parent / "file" / "out") == 2
    assert "--out" in capsys.readouterr().err
    assert hybrid("run", job, "--out", job.parent / "hierarchies") == 2
    assert "left as it is" in capsys.readouterr().err


def test_disk_full_leaves_the_earlier_run(hybrid: Run, capsys: Any, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = job.parent / "out"
    assert hybrid("run", job, "--out", out) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hybrid.jobs.run.write_text", full)
    assert hybrid("run", job, "--out", out) == 1
    assert "No space left" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert not [path for path in job.parent.iterdir() if path.name.startswith(".")]


STAGES = (
    "hybrid.pipeline.config.load_table",
    "hybrid.pipeline.anonymization.anonymize_in_steps",
    "hybrid.pipeline.anonymization.sample.sample",
    "hybrid.pipeline.generation.fit_or_reuse",
    "hybrid.pipeline.assessment.evaluate",
    "hybrid.jobs.report_inputs.render_report",
)


@pytest.mark.parametrize("stage", STAGES)
def test_interrupt_in_each_stage_leaves_nothing(
    hybrid: Run, capsys: Any, job: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stage, interrupted)
    assert hybrid("run", job, "--out", job.parent / "out") == 1
    assert "Cancelled" in capsys.readouterr().err
    assert not (job.parent / "out").exists()
    assert not [path for path in job.parent.iterdir() if path.name.startswith(".")]


def test_ctrl_c_on_the_real_process(job: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid", "run", str(job), "--out", str(job.parent / "out")],
        cwd=job.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert "Cancelled" in said and "Traceback" not in said
    assert not (job.parent / "out").exists()


def test_a_stray_error_shows_no_data(hybrid: Run, capsys: Any, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("secret-cell-value")

    monkeypatch.setattr("hybrid.pipeline.assessment.evaluate", broken)
    assert hybrid("run", job, "--out", job.parent / "out") == 1
    said = capsys.readouterr().err
    assert "ValueError" in said and "secret-cell-value" not in said and "--debug" in said


def test_unknown_options_and_commands_exit_with_2() -> None:
    for words in (["run"], ["run", "x", "--nonsense"], ["nonsense"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2


def test_what_later_stages_need_is_checked_before_the_first_works(hybrid: Run, capsys: Any, job: Path) -> None:
    for setting in ("evaluate.metrics=[nope]", "evaluate.targets=[patient_id]", "policy=nope.yaml"):
        capsys.readouterr()
        assert hybrid("run", job, "--out", job.parent / "out", "--set", setting) == 2
        said = capsys.readouterr().err
        assert "nope" in said or "patient_id" in said
        assert "anonymize ..." not in said


def test_a_value_of_the_wrong_kind_names_its_key_only(hybrid: Run, capsys: Any, job: Path) -> None:
    assert hybrid("run", job, "--set", "synthesize.rows=0") == 2
    said = capsys.readouterr().err
    assert "synthesize.rows:" in said and "literal[" not in said


def test_set_needs_key_and_value(hybrid: Run, capsys: Any, job: Path) -> None:
    assert hybrid("run", job, "--set", "anonymize.k") == 2
    assert "KEY=VALUE" in capsys.readouterr().err
    assert hybrid("run", job, "--set", "anonymize.kk=3") == 2
    assert "did you mean 'k'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "run", "tune", "release", "edit"])
def test_data_in_place_of_a_configuration_names_init(command: str, hybrid: Run, capsys: Any, job: Path) -> None:
    data = job.parent / "admissions.csv"
    assert hybrid(command, data, *(["a=b"] if command == "edit" else [])) == 2
    said = capsys.readouterr().err
    assert "this is a data file" in said and f"hybrid init {data}" in said


def test_folders_without_what_is_looked_for(hybrid: Run, capsys: Any, job: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for command, said in (("init", "no data file"), ("check", f"hybrid init {empty}")):
        assert hybrid(command, empty) == 2
        assert said in capsys.readouterr().err
    assert hybrid("check", job.parent) == 2
    assert f"give the file: {job}" in capsys.readouterr().err


def test_init_names_the_schema_that_it_writes(hybrid: Run, capsys: Any, job: Path, tmp_path: Path) -> None:
    guessed = tmp_path / "new" / "config.yaml"
    assert hybrid("init", job.parent / "admissions.csv", "--out", guessed) == 0
    first, *_ = guessed.read_text(encoding="utf-8").splitlines()
    schema = guessed.parent / first.removeprefix("# yaml-language-server: $schema=")
    assert f"{schema}: editors" in capsys.readouterr().out
    content = json.loads(schema.read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(content).iter_errors
    written = yaml.safe_load(guessed.read_text(encoding="utf-8"))
    assert not list(errors(written)) and list(errors(written | {"anonymise": {}}))
    assert hybrid("check", guessed) == 0


def test_init_again_says_one_thing(hybrid: Run, capsys: Any, job: Path) -> None:
    assert hybrid("init", job.parent / "admissions.csv") == 2
    said = capsys.readouterr().err
    assert said.count("exists") == 1 and said.count("hint") == 1 and f"{job}: the file exists" in said
