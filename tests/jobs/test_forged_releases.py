"""Every place that reads releases, against everything that somebody with the right to write there can do to them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hybrid.base import atomic
from hybrid.base.hashing import file_sha256
from hybrid.cli import main
from hybrid.publication.certificate import checksum
from hybrid.publication.folder import named_latest
from hybrid.publication.ledger import Ledger
from hybrid.publication.own_release import OwnReleases
from hybrid.publication.signing.envelope import signing_entry, write_envelope
from hybrid.publication.signing.keyring import public_pem, release_signer, rotate_key, signing_keys
from hybrid.publication.verify import verify
from tests.desk.open_desk import opened
from tests.helpers.whole_demo import write_whole_demo

FORGED = "pid,name\nP1,a person of the source\n"
RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "no copies"}
FOREIGN = "2099-01-01-deadbeef"


@dataclass
class Zones:
    """A copy of a project with two releases, and what was done to it."""

    root: Path
    older: Path
    newest: Path
    untrue: set[str] = field(default_factory=set)
    """Folders that are no true release any more, or never were."""
    true_tables: dict[str, bytes] = field(default_factory=dict)

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def present(self) -> set[str]:
        return {path.name for path in self.releases.iterdir()}

    @property
    def zones(self) -> list[str]:
        return ["--releases", str(self.releases), "--work", str(self.root / "work")]

    def call(self, *words: object) -> int:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        return int(caught.value.code or 0)

    def own(self) -> OwnReleases:
        return OwnReleases(self.releases, Ledger(self.root / "work"))

    @property
    def true(self) -> list[str]:
        """True releases, oldest first."""
        return [one.name for one in (self.older, self.newest) if one.name not in self.untrue]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with two releases, its newest run, and a folder that the releases are delivered to."""
    root = tmp_path_factory.mktemp("project")
    demo = write_whole_demo(root / "demo", rows=400, seed=5, several=False)
    content: dict[str, Any] = yaml.safe_load(demo.read_text())
    for column in content["data"]["columns"].values():
        if "hierarchy" in column:
            column["hierarchy"] = str(demo.parent / column["hierarchy"])
    content["evaluate"] |= {"metrics": ["identical_match"], "baseline": False}
    content |= {"name": "clinic", "policy": "policy.yaml", "nightly": {"deliver": {"folder": "delivered"}}}
    content["data"]["path"] = "admissions.csv"
    (root / "config.yaml").write_text(yaml.safe_dump(content))
    (root / "policy.yaml").write_text(yaml.safe_dump({"name": "t", "version": "1", "owner": "tests", "rules": [RULE]}))
    frame = pd.read_csv(demo.parent / "admissions.csv", dtype=str, keep_default_na=False)
    for rows in (frame, frame.iloc[:-3]):
        rows.to_csv(root / "admissions.csv", index=False)
        assert Zones(root, root, root).call("nightly", root / "config.yaml", *places(root)) == 0
    return root


def places(root: Path) -> list[str]:
    return ["--releases", str(root / "releases"), "--work", str(root / "work"), "--runs", str(root / "runs")]


@pytest.fixture
def at(project: Path, tmp_path: Path) -> Iterator[Zones]:
    """A copy that may be attacked, and an end for whoever waits."""
    root = tmp_path / "project"
    shutil.copytree(project, root, symlinks=True)
    with closing(sqlite3.connect(root / "work" / "ledger.sqlite")) as database, database:
        for table in ("releases", "certificates"):
            database.execute(f"UPDATE {table} SET folder = ?", (str((root / "releases").resolve()),))
    older, newest = (root / "releases" / name for name in Ledger(root / "work").outs("clinic"))
    found = Zones(root, older, newest)
    for release in (older, newest):
        release.chmod(0o755)
        for path in release.iterdir():
            path.chmod(0o644)
        found.true_tables[release.name] = (release / "synthetic.csv").read_bytes()

    def late(*_: object) -> None:
        raise AssertionError("a command waits for somebody")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield found
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def rewritten(folder: Path, **entries: Any) -> None:
    """Exchange the table, strip signature and claim, renew hashes and checksum."""
    (folder / "synthetic.csv").write_text(FORGED)
    content = json.loads((folder / "certificate.json").read_text()) | {"signing": None} | entries
    content = {key: entry for key, entry in content.items() if entry is not None or key != "signing"}
    for name, about in content["files"].items():
        about |= {"sha256": file_sha256(folder / name), "bytes": (folder / name).stat().st_size}
    content["checksum"] = checksum(content)
    (folder / "certificate.json").write_text(json.dumps(content))
    (folder / "certificate.dsse.json").unlink()


def other_byte(release: Path) -> None:
    table = release / "synthetic.csv"
    table.write_bytes(table.read_bytes()[:-2] + b"#\n")


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hosts")


def endless(path: Path) -> None:
    path.unlink()
    with path.open("wb") as file:
        file.truncate(10**13)


def turned(at: Zones, target: str | Path) -> None:
    (at.releases / "latest").unlink()
    (at.releases / "latest").symlink_to(target)


def foreign(at: Zones) -> Path:
    folder = at.releases / FOREIGN
    shutil.copytree(at.newest, folder)
    rewritten(folder, release=FOREIGN, created="2099-01-01T00:00:00+00:00")
    at.untrue.add(FOREIGN)
    return folder


def replace_latest_by_a_folder(at: Zones) -> None:
    (at.releases / "latest").unlink()
    shutil.copytree(at.newest, at.releases / "latest")
    rewritten(at.releases / "latest")


def signed_with_a_retired_key(at: Zones) -> None:
    """Exchange the table and sign it all with a key that was stolen, and replaced since."""
    work = at.root / "work"
    key, signer = release_signer(work)
    rotate_key(work)
    rewritten(at.newest, signing=signing_entry(key))
    write_envelope(at.newest, json.loads((at.newest / "certificate.json").read_text()), key, signer)
    assert verify(at.newest, [one.public for one in signing_keys(work)]) == []


def fake_workplace(at: Zones) -> None:
    folder = at.releases / f"{atomic.PREFIX}{atomic._boot()}-0123456789abcdef"
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "old").symlink_to(at.root / "work")
    at.untrue.add(folder.name)


def false_mark(release: Path) -> None:
    about = {"format": 1, "release": release.name, "at": "2026-01-01T00:00:00+00:00", "by": "Eve", "reason": "x"}
    (release / "withdrawn.json").write_text(json.dumps(about))


FORGERIES: dict[str, tuple[str, Callable[[Zones], object]]] = {
    "newest rewritten, signature stripped": ("newest", lambda at: rewritten(at.newest)),
    "older rewritten, dated in the future": (
        "older", lambda at: rewritten(at.older, created="2099-01-01T00:00:00+00:00")
    ),
    "a byte in the newest": ("newest", lambda at: other_byte(at.newest)),
    "a byte in the older": ("older", lambda at: other_byte(at.older)),
    "another file in the older": ("older", lambda at: (at.older / "raw.csv").write_text(FORGED)),
    "the older in the folder of the newest": (
        "newest", lambda at: (shutil.rmtree(at.newest), shutil.copytree(at.older, at.newest))
    ),
    "pipe as certificate of the newest": ("newest", lambda at: pipe(at.newest / "certificate.json")),
    "pipe as envelope of the older": ("older", lambda at: pipe(at.older / "certificate.dsse.json")),
    "pipe as table of the newest": ("newest", lambda at: pipe(at.newest / "synthetic.csv")),
    "pipe as mark of the older": ("older", lambda at: pipe(at.older / "withdrawn.json")),
    "folder as mark of the newest": ("newest", lambda at: (at.newest / "withdrawn.json").mkdir()),
    "mark that nobody gave": ("newest", lambda at: false_mark(at.newest)),
    "endless table of the newest": ("newest", lambda at: endless(at.newest / "synthetic.csv")),
    "endless certificate of the older": ("older", lambda at: endless(at.older / "certificate.json")),
    "deep certificate of the newest": (
        "newest", lambda at: (at.newest / "certificate.json").write_text("[" * 100_000)
    ),
    "link as table of the older": ("older", lambda at: linked(at.older / "synthetic.csv")),
    "newest is a link to a folder elsewhere": (
        "newest", lambda at: (at.newest.rename(at.root / "aside"), at.newest.symlink_to(at.root / "aside"))
    ),
    "newest signed again with a key that was retired": ("newest", lambda at: signed_with_a_retired_key(at)),
    "folder in which this program seems to write": ("", lambda at: fake_workplace(at)),
    "foreign folder": ("", foreign),
    "foreign folder with a pipe": ("", lambda at: pipe(foreign(at) / "certificate.json")),
    "foreign folder with a deep certificate": (
        "", lambda at: (foreign(at) / "certificate.json").write_text('{"a":' * 100_000)
    ),
    "latest names a foreign folder": ("", lambda at: turned(at, foreign(at).name)),
    "latest names the older": ("", lambda at: turned(at, at.older.name)),
    "latest names a place elsewhere": ("", lambda at: turned(at, "/etc")),
    "latest names itself": ("", lambda at: turned(at, "latest")),
    "latest is a folder": ("", replace_latest_by_a_folder),
    "latest is gone": ("", lambda at: (at.releases / "latest").unlink()),
}  # fmt: skip


@pytest.fixture(params=FORGERIES)
def forged(request: pytest.FixtureRequest, at: Zones) -> Zones:
    changed, act = FORGERIES[request.param]
    act(at)
    at.untrue |= {getattr(at, changed).name} if changed else set()
    return at


def test_nothing_is_found_where_nothing_was_done(at: Zones, capsys: pytest.CaptureFixture[str]) -> None:
    assert at.call("status", *at.zones) == 0
    assert "2 releases were compared byte by byte" in capsys.readouterr().out
    assert at.call("nightly", at.root / "config.yaml", *places(at.root)) == 0
    assert at.own().foreign() == [] and named_latest(at.releases) == at.newest.name


def test_a_name_stays_in_its_line(at: Zones, capsys: pytest.CaptureFixture[str]) -> None:
    (at.releases / "2099\nok      all is well\x1b[2J\u202e").mkdir()
    assert at.call("status", *at.zones) == 1
    assert r"error   '2099\nok      all is well\x1b[2J\u202e' is not in the ledger" in capsys.readouterr().out


def test_status_names_it(forged: Zones, capsys: pytest.CaptureFixture[str]) -> None:
    assert forged.call("status", *forged.zones) == 1
    said = capsys.readouterr().out
    assert all(name in said for name in forged.untrue or {"latest"})


def test_a_night_says_it_and_leaves_a_true_release_as_the_latest(
    forged: Zones, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forged.call("nightly", forged.root / "config.yaml", *places(forged.root)) == 1
    said = capsys.readouterr()
    assert all(name in said.out + said.err for name in forged.untrue or {"latest"})
    own, latest = forged.own(), named_latest(forged.releases)
    assert latest is not None and latest not in forged.untrue and own.problems(latest) == []
    assert latest == own.right_latest() and latest != forged.older.name
    assert FORGED.encode() not in (forged.releases / "latest" / "synthetic.csv").read_bytes()
    delivered = forged.root / "delivered"
    newest = (delivered / "latest").read_text().strip()
    assert not forged.present & {"release.key", "signing", "ledger.sqlite"}
    assert newest == latest and FORGED.encode() not in (delivered / newest / "synthetic.csv").read_bytes()


def test_retention_removes_nothing_that_is_not_true(forged: Zones) -> None:
    before = forged.present
    assert forged.call("retain", "--keep", "1", *forged.zones) == 0
    gone = before - forged.present
    kept_by_link = {named_latest(forged.releases)}
    assert gone == set(forged.true[:-1]) - kept_by_link


def test_the_desk_calls_no_forgery_verified_and_serves_none(forged: Zones) -> None:
    with opened(None, forged.root) as desk:
        visitor = desk.visitor()
        visitor.enter(desk.address)
        listed = visitor.get("/releases")
        assert listed.status == 200 and all(name in listed.text for name in forged.untrue)
        for name in {forged.older.name, forged.newest.name, FOREIGN} & forged.present:
            page = visitor.get(f"/releases/{name}")
            table = visitor.get(f"/releases/{name}/files/synthetic.csv")
            assert page.status == 200
            assert ("Verified." in page.text) == (name not in forged.untrue)
            assert (table.status == 200) == (name not in forged.untrue)
            assert name in forged.untrue or table.text.encode() == forged.true_tables[name]
        assert visitor.get("/runs").status == 200


def test_only_a_true_release_is_delivered(forged: Zones) -> None:
    shutil.rmtree(forged.root / "delivered")
    shutil.rmtree(forged.root / "work" / "delivered")
    forged.call("deliver", forged.root / "config.yaml", *forged.zones)
    found = {one.parent.name: one.read_bytes() for one in (forged.root / "delivered").rglob("synthetic.csv")}
    expected = (
        {} if forged.newest.name in forged.untrue else {forged.newest.name: forged.true_tables[forged.newest.name]}
    )
    assert found == expected


def test_a_withdrawal_never_turns_latest_to_a_forgery(forged: Zones) -> None:
    assert forged.call("withdraw", forged.newest.name, "--by", "Ada", "--reason", "wrong load", *forged.zones) == (
        2 if forged.newest.is_symlink() else 0
    )
    if forged.newest.is_symlink():
        return
    older = forged.older.name
    assert named_latest(forged.releases) == (None if older in forged.untrue else older)


def test_a_difference_is_to_a_true_release(forged: Zones, capsys: pytest.CaptureFixture[str]) -> None:
    run = max((forged.root / "runs").iterdir())
    assert forged.call("difference", run, *forged.zones) == 0
    assert ("compared with" in capsys.readouterr().out) == (forged.newest.name not in forged.untrue)


def test_verify_with_the_key_refuses_it(forged: Zones, tmp_path: Path) -> None:
    """A mark of a withdrawal is no part of what is signed: verify repeats it, and ends with 1 as well."""
    key = tmp_path / "public.pem"
    *retired, current = signing_keys(forged.root / "work")
    key.write_text(public_pem(current.public))
    moved = forged.newest.is_symlink()
    for name in {forged.newest.name, FOREIGN, *(() if retired else (forged.older.name,))} & forged.present:
        code = forged.call("verify", forged.releases / name, "--key", key)
        assert code == (1 if name in forged.untrue and not (moved and name == forged.newest.name) else 0), name


def test_what_could_not_be_compared_byte_by_byte_is_said(at: Zones) -> None:
    other_byte(at.older)
    look = at.own().inspect(most_bytes=0)
    assert (look.whole, look.others, look.problems) == (1, 1, ())
    assert "of 1 older one signature, certificate, names and sizes" in look.words
    (at.older / "synthetic.csv").write_bytes(b"")
    assert [problem.message for problem in at.own().inspect(most_bytes=0).problems] == [
        f"{at.older.name}: synthetic.csv was changed"
    ]


def test_a_second_draw_is_refused_where_the_ledger_was_lost(at: Zones, capsys: pytest.CaptureFixture[str]) -> None:
    (at.root / "work" / "ledger.sqlite").unlink()
    assert verify(at.newest, [key.public for key in signing_keys(at.root / "work")]) == []
    assert at.call("release", at.root / "config.yaml", "--out", at.releases, *places(at.root)[2:]) == 1
    assert "signed by this installation" in capsys.readouterr().err
