"""Whatever happens to a release after publishing is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid.publication.certificate import checksum
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish
from hybrid.publication.verify import verify


@pytest.fixture
def release(make_run: Callable[..., Path], tmp_path: Path, policy: Policy) -> Path:
    """A release as a recipient has it: copied elsewhere, and writable."""
    published = publish(make_run(), tmp_path / "releases", tmp_path / "work")
    copy = tmp_path / "received" / "table"
    shutil.copytree(published, copy)
    for path in copy.iterdir():
        path.chmod(0o644)
    return copy


def found(release: Path) -> list[str]:
    return [problem.message for problem in verify(release)]


def rewrite(release: Path, change: Callable[[Any], None], *, reseal: bool = True) -> None:
    path = release / "certificate.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content | ({"checksum": checksum(content)} if reseal else {})))


def test_a_copy_under_another_name_is_fine(release: Path) -> None:
    assert verify(release) == []


def test_a_link_is_fine(release: Path) -> None:
    link = release.with_name("link")
    link.symlink_to(release)
    assert verify(link) == []


def test_a_reformatted_certificate_is_found(release: Path) -> None:
    rewrite(release, lambda content: None, reseal=False)
    assert found(release) == ["certificate.json was changed"]


@pytest.mark.parametrize("name", ["synthetic.csv", "report.html", "evaluation.json", "manifest.json"])
def test_changes_and_losses_are_found(release: Path, name: str) -> None:
    content = (release / name).read_bytes()
    (release / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    assert found(release) == [f"{name} was changed"]
    (release / name).unlink()
    assert found(release) == [f"{name} is missing"]
    (release / name).mkdir()
    assert found(release) == [f"{name} was changed"]


def test_a_link_in_place_of_a_file_is_found(release: Path, tmp_path: Path) -> None:
    shutil.move(release / "report.html", tmp_path / "report.html")
    (release / "report.html").symlink_to(tmp_path / "report.html")
    assert found(release) == ["report.html was changed"]


def test_extra_files_are_found_wherever_they_are(release: Path) -> None:
    (release / ".hidden").write_text("")
    (release / "folder").mkdir()
    (release / "folder" / "raw.csv").write_text("")
    assert found(release) == [f"{name} is not part of the release" for name in (".hidden", "folder", "folder/raw.csv")]


def test_several_problems_are_told_at_once(release: Path) -> None:
    (release / "report.html").unlink()
    (release / "extra").write_text("")
    (release / "synthetic.csv").write_text("")
    assert len(verify(release)) == 3


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "3", '{"format": 1, "checksum": "", "files": 1, "verdict": 2}']
)
def test_a_broken_certificate_is_found(release: Path, content: str) -> None:
    (release / "certificate.json").write_text(content)
    assert found(release)[0].startswith("certificate.json")
    (release / "certificate.dsse.json").unlink()
    assert any("damaged" in message for message in found(release))


def test_a_missing_certificate_and_a_missing_folder_are_found(release: Path) -> None:
    (release / "certificate.json").unlink()
    assert found(release) == ["certificate.json is missing"]
    (release / "certificate.dsse.json").unlink()
    assert found(release) == ["certificate.json is missing or cannot be read"]
    assert "no such folder" in found(release / "none")[0]


def test_a_newer_format_is_told(release: Path) -> None:
    rewrite(release, lambda content: content.update(format=2))
    assert "has format 2" in found(release)[0]


def test_a_changed_entry_is_found(release: Path) -> None:
    rewrite(release, lambda content: content["policy"].update(owner="somebody else"), reseal=False)
    assert found(release) == [
        "certificate.json was changed: its checksum differs",
        "certificate.json differs from what was signed, in: policy",
    ]


def better_metric(content: Any) -> None:
    content["metrics"][0]["value"] = 0.0


def blocked(content: Any) -> None:
    content["verdict"]["checks"][0]["status"] = "block"
    content["verdict"]["status"] = "block"


def hidden_block(content: Any) -> None:
    content["verdict"]["checks"][0]["status"] = "block"


def unaccepted(content: Any) -> None:
    content["verdict"]["checks"][0]["status"] = "review"
    content["verdict"]["status"] = "review"


def no_table(content: Any) -> None:
    del content["files"]["synthetic.csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (better_metric, "other metrics than evaluation.json"),
        (blocked, "did not let this release out (block)"),
        (hidden_block, "the verdict is pass, the worst check block"),
        (unaccepted, "did not let this release out (review)"),
        (no_table, "names no synthetic table"),
    ],
)
def test_a_certificate_that_contradicts_itself_is_found(
    release: Path, change: Callable[[Any], None], message: str
) -> None:
    rewrite(release, change)
    assert any(message in problem for problem in found(release))


def test_entries_of_another_kind_are_found(release: Path) -> None:
    rewrite(release, lambda content: content.update(metrics=None, acceptance=[]))
    assert found(release)
    rewrite(release, lambda content: content["files"].update({"report.html": None}))
    assert any("damaged" in problem for problem in found(release))
