"""A linked run that is killed, wherever it is, leaves all tables or none, and the next one continues."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from hybrid.publication.finished_run import read_whole_run
from hybrid.publication.verify import verify
from tests.jobs import night_server
from tests.pipeline.tables.hospital import POLICY, content, frames, write

STAGES = ("protect", "anonymize", "transition", "synthesize")
PLACES = (
    *((stage, when) for stage in STAGES for when in ("before", "after")),
    ("hybrid.pipeline.child_draw:ChildDraw.__call__", "before"),
    ("hybrid.synthesize.kept:fit", "before"),
    ("hybrid.pipeline.child_draw:ChildDraw.__call__", "after"),
    ("evaluate-synthetic", "before"),
    ("evaluate-synthetic", "after"),
    ("hybrid.pipeline.pipeline:with_keys", "after"),
    ("hybrid.jobs.run:_write_tables", "before"),
    ("hybrid.jobs.run:_write_tables", "after"),
    ("hybrid.jobs.run:_write_manifest", "before"),
    ("hybrid.jobs.run:_write_manifest", "after"),
    ("hybrid.publication.publish:_build", "before"),
    ("hybrid.publication.publish:_write_json", "before"),
    ("hybrid.publication.publish:_look_once_more", "after"),
    ("hybrid.publication.publish:place", "before"),
    ("hybrid.publication.publish:place", "after"),
)
"""One after the other, each later than the one before: what was kept by then is not computed again."""
WRITTEN, PUBLISHED = PLACES.index(("hybrid.publication.publish:_build", "before")), len(PLACES) - 1


def whole_folders(folder: Path) -> int:
    """Runs and releases that are visible, all of them whole."""
    found = [path for path in folder.glob("[!.]*") if not path.is_symlink()]
    for path in found:
        assert {table.stem for table in path.glob("*.csv")} == {"patients", "visits"}
        if folder.name == "releases":
            assert verify(path) == []
        else:
            read_whole_run(path)
    return len(found)


def test_killed_at_23_places(tmp_path: Path) -> None:
    settings = content() | {"policy": "policy.yaml"}
    settings["evaluate"] |= {"metrics": ["orphans"]}
    settings["tables"] = {name: settings["tables"][name] for name in ("patients", "visits")}
    del settings["tables"]["visits"]["references"]
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    write(tmp_path, {name: frames(60)[name] for name in settings["tables"]}, settings)
    whole: dict[str, Any] = {"folder": str(tmp_path), "arguments": ["release", "config.yaml"]}
    with subprocess.Popen(
        [sys.executable, str(Path(night_server.__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def night(request: dict[str, Any]) -> dict[str, Any]:
            assert server.stdin is not None and server.stdout is not None
            print(json.dumps(request), file=server.stdin, flush=True)
            answer: dict[str, Any] = json.loads(server.stdout.readline())
            return answer

        for number, (point, when) in enumerate(PLACES):
            killed = night(whole | {"fault": "kill", "source": "", "point": point, "when": when})
            assert killed["code"] == -signal.SIGKILL, (point, when, killed["printed"])
            visible = whole_folders(tmp_path / "runs"), whole_folders(tmp_path / "releases")
            assert visible == (int(number >= WRITTEN), int(number == PUBLISHED)), (point, when)
        last = night(whole)
        server.communicate()
    assert last["code"] == 0, last["printed"]
    assert whole_folders(tmp_path / "runs") == whole_folders(tmp_path / "releases") == 1
    assert (tmp_path / "releases" / "latest").is_symlink()
