"""An output folder is replaced only if everything in it was written by this program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_growing, check_replaceable, claim, seal, why_kept


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder of results as this program writes them."""
    folder = tmp_path / "run"
    (folder / "figures").mkdir(parents=True)
    (folder / "synthetic.csv").write_text("a\n1\n")
    (folder / "figures" / "age.svg").write_text("<svg/>")
    seal(folder, "demo", "run")
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path, why: str) -> None:
    before = snapshot(folder)
    with pytest.raises(ConfigError, match=rf"{why}.*left as it is"):
        check_replaceable(folder)
    assert snapshot(folder) == before


def test_own_unchanged_results_and_empty_folders_may_be_replaced(run: Path, tmp_path: Path) -> None:
    check_replaceable(run)
    (tmp_path / "empty").mkdir()
    check_replaceable(tmp_path / "empty")
    check_replaceable(tmp_path / "new" / "one")
    assert why_kept(run) == ""


def add_file(run: Path) -> None:
    (run / "notes.txt").write_text("mine")


def add_hidden_file(run: Path) -> None:
    (run / "figures" / ".git").write_text("mine")


def add_folder(run: Path) -> None:
    (run / "mine").mkdir()


def add_link(run: Path) -> None:
    (run / "synthetic.csv").unlink()
    (run / "synthetic.csv").symlink_to("figures/age.svg")


@pytest.mark.parametrize("add", [add_file, add_hidden_file, add_folder, add_link])
def test_what_the_manifest_does_not_list_protects_a_folder(run: Path, add: Callable[[Path], None]) -> None:
    add(run)
    refused(run, "does not list")


def test_a_changed_file_protects_a_folder(run: Path) -> None:
    (run / "synthetic.csv").write_text("a\n2\n")
    refused(run, "1 of its files was changed.*synthetic.csv")


def test_a_missing_file_does_not(run: Path) -> None:
    (run / "synthetic.csv").unlink()
    check_replaceable(run)


@pytest.mark.parametrize(
    "manifest",
    [
        "{}",
        "[]",
        "not json",
        '{"name": "an extension", "manifest_version": 3}',
        '{"written_by": "hybrid-release"}',
        '{"written_by": "other", "kind": "run", "files": {}}',
        '{"written_by": "hybrid-release", "files": {"a": 1}}',
    ],
)
def test_a_stranger_s_manifest_protects_a_folder(tmp_path: Path, manifest: str) -> None:
    folder = tmp_path / "extension"
    folder.mkdir()
    (folder / "manifest.json").write_text(manifest)
    (folder / "only copy.csv").write_text("a\n")
    refused(folder, "did not write")


def test_a_release_is_never_replaced(run: Path) -> None:
    (run / "certificate.json").write_text("{}")
    seal(run, "demo", "run")
    refused(run, "published release")


def test_links_files_and_the_working_folder_are_no_place_for_results(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(run)
    (tmp_path / "file").touch()
    monkeypatch.chdir(run / "figures")
    for name, said in (("link", "a link"), ("file", "a file"), ("file/x", "cannot be written")):
        with pytest.raises(ConfigError, match=said):
            check_replaceable(tmp_path / name)
    for place in (Path(), Path(".."), Path("/"), run):
        with pytest.raises(ConfigError, match="the folder you work in"):
            check_replaceable(place)
    with pytest.raises(ConfigError, match="a file"):
        check_growing(tmp_path / "file")
    check_growing(tmp_path)


def test_a_growing_folder_is_claimed_once_and_only_when_empty(tmp_path: Path, run: Path) -> None:
    out = tmp_path / "comparison"
    claim(out, "plan", "comparison")
    (out / "rows.jsonl").write_text("")
    claim(out, "plan", "comparison")
    refused(out, "does not list")
    seal(out, "plan", "comparison")
    assert json.loads((out / "manifest.json").read_text())["kind"] == "comparison"
    check_replaceable(out)
    for foreign in (run, tmp_path):
        with pytest.raises(ConfigError, match="other files than a comparison"):
            claim(foreign, "plan", "comparison")
