"""A linked run that is killed leaves all tables or none, and the next one continues."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from hybrid.publication.verify import verify
from tests.jobs import night_server
from tests.pipeline.tables.hospital import POLICY, content, frames, write


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("[!.]*")) if folder.is_dir() else []


def test_killed_while_drawing_and_while_publishing(tmp_path: Path) -> None:
    settings = content() | {"policy": "policy.yaml"}
    settings["evaluate"] |= {"metrics": ["orphans"]}
    settings["tables"] = {name: settings["tables"][name] for name in ("patients", "visits")}
    del settings["tables"]["visits"]["references"]
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    write(tmp_path, {name: frames(60)[name] for name in settings["tables"]}, settings)
    whole: dict[str, Any] = {"folder": str(tmp_path), "arguments": ["release", "config.yaml"]}
    kill = whole | {"fault": "kill", "source": ""}
    drawing = kill | {"point": "hybrid.pipeline.child_draw:ChildDraw.__call__", "when": "after"}
    publishing = kill | {"point": "hybrid.publication.publish:place", "when": "before"}
    asked = "".join(json.dumps(request) + "\n" for request in (drawing, publishing, whole))
    ran = subprocess.run(
        [sys.executable, str(Path(night_server.__file__))], input=asked, capture_output=True, text=True, check=True
    )
    first, second, third = (json.loads(line) for line in ran.stdout.splitlines())
    assert [first["code"], second["code"]] == [-signal.SIGKILL] * 2
    assert third["code"] == 0, third["printed"]
    runs, releases = visible(tmp_path / "runs"), visible(tmp_path / "releases")
    assert len(runs) == 1, "killed while drawing there is no folder; killed while publishing, that run is published"
    assert len(releases) == 2 and "latest" in releases, "the release that was killed left nothing visible"
    release = (tmp_path / "releases" / "latest").resolve()
    assert verify(release) == []
    for folder in (release, *((tmp_path / "runs" / name) for name in runs)):
        assert {path.stem for path in folder.glob("*.csv")} == set(settings["tables"])
