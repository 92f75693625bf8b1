"""The fault matrix: after any fault at any stage the earlier release is whole and `latest`, and the next night works.

Run alone: ``python -m pytest tests/jobs/test_nights_with_faults.py``. The table in
docs/evidence/faults.md is this file's parameters.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hybrid.publication.ledger import Ledger
from hybrid.publication.verify import verify
from hybrid.store import Store
from tests.helpers.whole_demo import write_whole_demo

STAGES = ("anonymize", "sample", "transition", "synthesize", "baseline", "evaluate-synthetic")
WRITING = (
    ("read", "hybrid.pipeline.config:load_table"),
    ("hierarchies", "hybrid.pipeline.inputs:load_hierarchies"),
    ("synthetic table", "hybrid.jobs.run:write_table"),
    ("report", "hybrid.jobs.report_inputs:render_report"),
    ("manifest", "hybrid.jobs.run:build_manifest"),
    ("membership", "hybrid.jobs.run:keep_membership"),
)
PUBLISHING = (
    ("ledger entry", "hybrid.publication.ledger:Ledger.enter"),
    ("release in place", "hybrid.publication.publish:place"),
    ("ledger confirmed", "hybrid.publication.ledger:Ledger.settle"),
    ("latest", "hybrid.publication.publish:point_latest"),
)
POLICY = """
name: nights
version: "1"
owner: the tests
anonymity:
  - {name: k, quantity: k, review: 5, reason: Crowds hide.}
history:
  - {name: history, quantity: exposed_share, review: 1.0, reason: Nights add up.}
"""


@dataclass(frozen=True)
class Fault:
    fault: str
    stage: str
    point: str
    when: str
    codes: tuple[int, ...]
    """Exit codes that are right: of the contract, or minus the signal."""

    def __str__(self) -> str:
        return f"{self.fault} {self.when} {self.stage}"


def _faults() -> Iterator[Fault]:
    killed, failed = (-signal.SIGKILL,), (1,)
    points = [*((stage, stage) for stage in STAGES), *WRITING, *PUBLISHING]
    for stage, point in points:
        for when in ("before", "after"):
            yield Fault("kill", stage, point, when, killed)
    for stage, point in [*((stage, stage) for stage in STAGES), *WRITING, *PUBLISHING[:2]]:
        yield Fault("disk_full", stage, point, "before", failed)
    for stage, point in (("anonymize", "anonymize"), ("synthesize", "synthesize"), WRITING[3], PUBLISHING[1]):
        yield Fault("interrupt", stage, point, "before", failed)
    for stage in ("anonymize", "synthesize", "evaluate-synthetic"):
        yield Fault("out_of_memory", stage, stage, "before", failed)
    yield Fault("source_gone", "read", WRITING[0][1], "before", (2,))
    yield Fault("policy_gone", "read", WRITING[0][1], "before", (0,))
    for stage in ("anonymize", "evaluate-synthetic"):
        yield Fault("clock_back", stage, stage, "before", (0,))
    yield Fault("store_gone", "transition", "transition", "after", (0,))
    for stage in ("anonymize", "evaluate-synthetic"):
        yield Fault("source_gone", stage, stage, "before", (0, 2))


FAULTS = tuple(_faults())
UNNEEDED = "nationality|occupation|cost|emergency|smoker|bmi|length_of_stay|discharge"
"""Columns that the nights do without: a hundred of them are run, and faults do not depend on columns or constraints."""
Night = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    script = Path(__file__).with_name("night_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdin is not None
        assert it.stdout is not None

        def ask(request: dict[str, Any]) -> dict[str, Any]:
            assert it.stdin is not None
            assert it.stdout is not None
            it.stdin.write(json.dumps(request) + "\n")
            it.stdin.flush()
            found: dict[str, Any] = json.loads(it.stdout.readline())
            return found

        yield ask
        it.stdin.close()


def a_night(
    server: Callable[[dict[str, Any]], dict[str, Any]], folder: Path, fault: Fault | None = None
) -> dict[str, Any]:
    request: dict[str, Any] = {"folder": str(folder), "arguments": ["release", "config.yaml"]}
    if fault is not None:
        request |= {"fault": fault.fault, "point": fault.point, "when": fault.when}
        request |= {"source": str(folder / "admissions.csv")}
    return server(request)


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory, server: Any) -> Path:
    """One good release; then some more people come."""
    folder = tmp_path_factory.mktemp("nights")
    write_whole_demo(folder, 330)
    config = (folder / "config.yaml").read_text()
    config = re.sub(rf"^    ({UNNEEDED}): .*$", r"    \1: {role: excluded}", config, flags=re.MULTILINE)
    config = config.replace("split: {control: 0.3}", "split: {control: 0.3, stable: true}")
    config = config.replace("targets: [readmitted], secrets: [diagnosis]", "metrics: [identical_match, dcr_share]")
    config = re.sub(r"^constraints:\n(  - .*\n)+", "", config, flags=re.MULTILINE)
    (folder / "config.yaml").write_text(config.replace("seed:", "# seed:") + "\npolicy: policy.yaml\n")
    (folder / "policy.yaml").write_text(POLICY)
    lines = (folder / "admissions.csv").read_text().splitlines(keepends=True)
    (folder / "admissions.csv").write_text("".join(lines[:-10]))
    night = a_night(server, folder)
    assert night["code"] == 0, night["printed"]
    (folder / "admissions.csv").write_text("".join(lines))
    return folder


def kept(folder: Path) -> set[tuple[str, str, str]]:
    """Stage, fingerprint and time of computing of every result in the store."""
    return {(entry.stage, entry.key, entry.created) for entry in Store(folder / "work" / "store").entries()}


def released(folder: Path) -> list[str]:
    return sorted(
        path.name for path in (folder / "releases").iterdir() if path.name[0] != "." and not path.is_symlink()
    )


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_next_night_works(fault: Fault, first_night: Path, server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "nights"
    shutil.copytree(first_night, folder, symlinks=True)
    source = (folder / "admissions.csv").read_bytes()
    (before,) = released(folder)

    struck = a_night(server, folder, fault)
    assert struck["code"] in fault.codes, struck["printed"]
    assert "Traceback" not in struck["printed"]
    for name in released(folder):
        assert verify(folder / "releases" / name) == []
    if struck["code"] != 0:
        assert (folder / "releases" / "latest").resolve().name in released(folder)
        assert fault.stage in ("latest", "ledger confirmed", "release in place") or released(folder) == [before]
        if struck["code"] > 0:
            said = [
                line
                for line in struck["printed"].splitlines()
                if line.startswith(("output", "data", "config", "bug", "Cancelled", "memory"))
            ]
            assert len(said) == 1, struck["printed"]
    finished = kept(folder)

    (folder / "admissions.csv").write_bytes(source)
    (folder / "policy.yaml").write_text(POLICY)
    again = a_night(server, folder)
    assert again["code"] == 0, again["printed"]
    names = released(folder)
    assert len(names) == 2
    assert (folder / "releases" / "latest").resolve().name == next(name for name in names if name != before)
    assert [verify(folder / "releases" / name) for name in names] == [[], []]
    assert finished <= kept(folder), "a finished stage was computed again"
    assert sorted(entry.release for entry in Ledger(folder / "work").entries()) == names
    hidden = [path.name for zone in ("releases", "runs") for path in (folder / zone).iterdir() if path.name[0] == "."]
    assert hidden == [".publish.lock"]
    # That of a run which was killed before it was published goes after some weeks.
    assert len(list((folder / "work" / "memberships").iterdir())) <= (struck["code"] != 0)


def test_two_nights_at_once_make_one_release(first_night: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nights"
    shutil.copytree(first_night, folder, symlinks=True)
    (before,) = released(folder)
    command = [sys.executable, "-m", "hybrid", "release", "config.yaml"]
    both = [
        subprocess.Popen(
            [*command, "--runs", f"runs{at}"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for at in range(2)
    ]
    assert [night.communicate()[0] and night.returncode for night in both] == [0, 0]
    assert len(released(folder)) == 2
    assert (folder / "releases" / "latest").resolve().name != before
    assert sorted(entry.release for entry in Ledger(folder / "work").entries()) == released(folder)


def test_the_matrix_is_large_enough() -> None:
    assert len(FAULTS) >= 40
