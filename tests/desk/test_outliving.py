"""Runs that outlive the desk, how far they are, and the new link for a browser that was closed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.cli import main
from hybrid.desk.runner import JOB, LOG, Runner, Started, waiting_of
from hybrid.jobs.places import Places
from hybrid.store import Store
from tests.desk.open_desk import OpenDesk, Visitor

Own = tuple[Visitor, OpenDesk, Path]
STEPS = ("read", "anonymize", "evaluate", "power")
KILLED = """
import os, signal, sys
from pathlib import Path
from hybrid.desk.runner import Plan, Runner
from hybrid.jobs.places import Places
folder = Path(sys.argv[1])
runner = Runner(Places(folder / "work", folder / "runs", folder / "releases"))
runner.start(folder / "config.yaml", "night", Plan(("read", "evaluate")))
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A desk that is killed as soon as it has started a run."""


def _told(*steps: tuple[float, str, int, int | None]) -> list[tuple[float, dict[str, object]]]:
    return [(when, {"step": step, "done": done, "total": total}) for when, step, done, total in steps]


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert true()


def test_the_time_left_follows_the_pace_of_the_present_stage() -> None:
    told = _told((1, "read", 0, 1), (2, "anonymize", 0, None), (10, "evaluate original: tstr", 20, 100))
    told += _told((30, "evaluate original: tstr", 60, 100), (30, "evaluate synthetic: tstr", 40, 100))
    found = waiting_of(told, STEPS, {"evaluate": 20.0, "power": 5.0}, began=0, now=30)
    # Half of the stage is done after 20 s: 20 s are left. It takes twice the forecast, and so may the next.
    assert (found.number, found.of, found.stage, found.seconds) == (3, 4, "evaluate", 30.0)
    assert found.left == pytest.approx(20 + 2 * 5) and found.share == pytest.approx(0.5)


def test_a_stage_named_before_the_one_that_it_needs_is_not_the_present_one() -> None:
    told = _told((1, "read", 0, 1), (2, "evaluate", 0, None), (3, "anonymize", 0, None), (4, "search", 1, 2))
    assert waiting_of(told, STEPS, {}, began=0, now=9).stage == "anonymize"
    assert waiting_of([], STEPS, {}, began=0, now=9).number == 0


@given(
    st.lists(
        st.tuples(st.sampled_from([*STEPS, "fit", "evaluate x: y"]), st.integers(0, 9), st.sampled_from([None, 5]))
    ),
    st.dictionaries(st.sampled_from(STEPS), st.floats(0, 1e6)),
    st.floats(0, 1e6),
)
def test_time_and_share_stay_within_their_bounds(
    steps: list[tuple[str, int, int | None]], expected: dict[str, float], later: float
) -> None:
    told = _told(*((float(at), *one) for at, one in enumerate(steps)))
    found = waiting_of(told, STEPS, expected, began=0.0, now=len(steps) + later)
    assert 0 <= found.share <= 1 and 0 <= found.number <= found.of == len(STEPS)
    assert found.left is None or found.left >= 0


def test_a_run_outlives_the_desk_that_started_it_and_continues_after_it_was_killed(own: Own) -> None:
    visitor, found, folder = own
    died = subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    assert died.returncode == -signal.SIGKILL
    run = found.desk.runner.started["night"]
    assert run.is_running and os.getsid(run.pid) == run.pid, "a session of its own, which Ctrl-C does not reach"
    assert (folder / "work" / "jobs" / "night" / LOG).stat().st_mode & 0o777 == 0o600
    page = visitor.get("/runs/night")
    assert page.headers["refresh"] == "5" and "<progress" in page.text
    visitor.get("/runs")
    assert visitor.post("/runs/start").status == 409, "another desk sees that one is under way"
    store = folder / "work" / "store"
    _until(lambda: store.is_dir() and any(one.stage == "protect" for one in Store(store).entries()))
    psutil.Process(run.pid).kill()
    _until(lambda: not found.desk.runner.started["night"].is_running)
    kept = {(one.stage, one.key, one.created) for one in Store(store).entries()}
    page = visitor.get("/runs/night")
    assert "without a word: it was killed" in page.text and "refresh" not in page.headers
    assert visitor.post("/runs/start", continued="other").status == 409
    visitor.get("/runs/night")
    assert visitor.post("/runs/start", continued="night").headers["location"] == "/runs/night"
    _until(lambda: not found.desk.runner.started["night"].is_running)
    last = found.desk.runner.started["night"]
    assert last.code == 0, last.lines
    steps = [json.loads(line)["step"] for line in (last.folder / LOG).read_text().splitlines() if '"step"' in line]
    assert any(one.startswith("synthesize") for one in steps)
    assert "What will be published" in visitor.get("/runs/night").text, "the same page shows the verdict"
    again = {(one.stage, one.key, one.created) for one in Store(store).entries()}
    assert kept and kept < again, "what was finished was not computed again"


def test_a_run_takes_no_program_from_the_folder_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('taken', 'w')")
    runner = Runner(Places(tmp_path / "work"))
    runner.begin("run", ["--version"], place=str(tmp_path))
    _until(lambda: not runner.started["run"].is_running)
    assert not (tmp_path / "taken").exists()


def test_another_process_with_the_same_number_is_not_taken_for_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "run"
    folder.mkdir(parents=True)
    about = {"command": ["run"], "pid": os.getpid(), "created": 1.0, "began": 2.0, "plan": {}, "place": "/"}
    (folder / JOB).write_text(json.dumps(about))
    found = Started.read(folder)
    assert found is not None and not found.is_running and found.code is None
    found.cancel()
    odd = [json.dumps(about | one) for one in ({"pid": "x"}, {"plan": 7}, {"plan": {"more": 1}}, {"command": 7})]
    for text in ("", "[]", "{}", "[" * 100_000, *odd):
        (folder / JOB).write_text(text)
        assert Started.read(folder) is None
    assert Runner(Places(tmp_path)).started == {}


def test_a_later_link_opens_another_session_and_ends_the_one_before(own: Own) -> None:
    visitor, found, _ = own
    origin = found.address.partition("?")[0]
    unused, newest = found.desk.sessions.new_token(), found.desk.sessions.new_token()
    second = found.visitor()
    assert second.enter(f"{origin}?token={unused}").status == 403
    assert visitor.get("/runs").status == 200, "until the link is used, the browser before stays in"
    assert second.enter(f"{origin}?token={newest}").status == 200
    assert visitor.get("/runs").status == 403 and second.get("/runs").status == 200
    assert "Press Enter in the terminal" in found.visitor().get(f"/enter?token={newest}").text


def test_the_last_json_line_of_a_command_is_its_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--log-format", "json", "check", "nothing.yaml"])
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert ended.value.code == 2 and lines[-1]["exit_code"] == 2 and lines[0]["level"] == "error"
