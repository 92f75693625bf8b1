"""Attacks on a signed release: none is accepted, and each is named."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from securesystemslib.signer import CryptoSigner, SSlibKey

from hybrid.publication.certificate import checksum
from hybrid.publication.verify import verify
from tests.publication.signing.forging import CERTIFICATE, ENVELOPE, seal_by

Attack = Callable[[Path], object]


def edit_envelope(change: Callable[[Any], None]) -> Attack:
    def attack(release: Path) -> None:
        content = json.loads((release / ENVELOPE).read_text())
        change(content)
        (release / ENVELOPE).write_text(json.dumps(content, indent=2) + "\n")

    return attack


def edit_statement(change: Callable[[Any], None]) -> Attack:
    def attack(content: Any) -> None:
        statement = json.loads(base64.b64decode(content["payload"]))
        change(statement)
        content["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()

    return edit_envelope(attack)


def edit_certificate(change: Callable[[Any], None]) -> Attack:
    def attack(release: Path) -> None:
        content = json.loads((release / CERTIFICATE).read_text())
        change(content)
        (release / CERTIFICATE).write_text(json.dumps(content | {"checksum": checksum(content)}, indent=2) + "\n")

    return attack


def rewrite(name: str, change: Callable[[bytes], bytes]) -> Attack:
    return lambda release: (release / name).write_bytes(change((release / name).read_bytes()))


def as_link(name: str) -> Attack:
    def attack(release: Path) -> None:
        target = release.with_name(f"{name}.elsewhere")
        shutil.move(release / name, target)
        (release / name).symlink_to(target)

    return attack


def as_folder(release: Path) -> None:
    (release / "report.html").unlink()
    (release / "report.html").mkdir()


def renamed(release: Path) -> None:
    (release / "report.html").rename(release / "Report.html")


def swapped(release: Path) -> None:
    (release / "report.html").rename(release / "x")
    (release / "manifest.json").rename(release / "report.html")
    (release / "x").rename(release / "manifest.json")


ATTACKS: Mapping[str, tuple[Attack, str]] = {
    "table cut off": (rewrite("synthetic.csv", lambda data: data[:-4]), "synthetic.csv was changed"),
    "table emptied": (rewrite("synthetic.csv", lambda _: b""), "synthetic.csv was changed"),
    "row added": (rewrite("synthetic.csv", lambda data: data + b"17,low\n"), "synthetic.csv was changed"),
    "line ends changed": (
        rewrite("synthetic.csv", lambda data: data.replace(b"\n", b"\r\n")),
        "synthetic.csv was changed",
    ),
    "byte order mark": (rewrite(CERTIFICATE, lambda data: b"\xef\xbb\xbf" + data), f"{CERTIFICATE} was changed"),
    "space added to certificate": (rewrite(CERTIFICATE, lambda data: data + b" "), f"{CERTIFICATE} was changed"),
    "certificate nested deeply": (rewrite(CERTIFICATE, lambda _: b"[" * 200_000), f"{CERTIFICATE} was changed"),
    "envelope nested deeply": (rewrite(ENVELOPE, lambda _: b"[" * 200_000), f"{ENVELOPE} is damaged"),
    "envelope not text": (rewrite(ENVELOPE, lambda _: b"\xff\xfe"), f"{ENVELOPE} is damaged"),
    "space added to envelope": (rewrite(ENVELOPE, lambda data: data + b" "), f"{ENVELOPE} was changed"),
    "envelope as one line": (
        rewrite(ENVELOPE, lambda data: json.dumps(json.loads(data)).encode()),
        f"{ENVELOPE} was changed",
    ),
    "owner of the policy": (
        edit_certificate(lambda content: content["policy"].update(owner="us")),
        f"{CERTIFICATE} differs from what was signed, in: checksum, policy",
    ),
    "metric": (
        edit_certificate(lambda content: content["metrics"][0].update(value=0.0)),
        f"{CERTIFICATE} differs from what was signed, in: checksum, metrics",
    ),
    "date": (
        edit_certificate(lambda content: content.update(created="2031-01-01T00:00:00+00:00")),
        f"{CERTIFICATE} differs from what was signed, in: checksum, created",
    ),
    "entry added": (
        edit_certificate(lambda content: content.update(approved_by="the ministry")),
        f"{CERTIFICATE} differs from what was signed, in: approved_by, checksum",
    ),
    "claim of a signature removed": (
        edit_certificate(lambda content: content.pop("signing")),
        f"{CERTIFICATE} differs from what was signed, in: checksum, signing",
    ),
    "format of later versions": (
        edit_certificate(lambda content: content.update(format=2)),
        f"{CERTIFICATE} has format 2",
    ),
    "signature list emptied": (edit_envelope(lambda e: e.update(signatures=[])), "holds no signature"),
    "signature list removed": (edit_envelope(lambda e: e.pop("signatures")), f"{ENVELOPE} is damaged"),
    "signature zeroed": (
        edit_envelope(lambda e: e["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode())),
        "the signature does not fit",
    ),
    "signature cut off": (
        edit_envelope(lambda e: e["signatures"][0].update(sig="AAAA")),
        "the signature does not fit",
    ),
    "signature twice": (edit_envelope(lambda e: e["signatures"].append(e["signatures"][0])), f"{ENVELOPE} is damaged"),
    "entry in envelope": (edit_envelope(lambda e: e.update(note="x")), f"{ENVELOPE} was changed"),
    "other payload type": (edit_envelope(lambda e: e.update(payloadType="text/plain")), "as text/plain"),
    "other statement type": (edit_statement(lambda s: s.update(_type="x")), "in x as"),
    "other predicate type": (edit_statement(lambda s: s.update(predicateType="x")), f"{ENVELOPE} holds x"),
    "subject removed": (edit_statement(lambda s: s["subject"].pop()), "the signature does not fit"),
    "subject twice": (edit_statement(lambda s: s["subject"].append(s["subject"][0])), f"{ENVELOPE} was changed"),
    "subject changed": (
        edit_statement(lambda s: s["subject"][-1]["digest"].update(sha256="0" * 64)),
        "the signature does not fit",
    ),
    "statement of a list": (edit_envelope(lambda e: e.update(payload="W10=")), f"{ENVELOPE} is damaged"),
    "table as link": (as_link("synthetic.csv"), "synthetic.csv was changed"),
    "certificate as link": (as_link(CERTIFICATE), f"{CERTIFICATE} was changed"),
    "envelope as link": (as_link(ENVELOPE), f"{ENVELOPE} was changed"),
    "file as folder": (as_folder, "report.html was changed"),
    "file renamed": (renamed, "report.html is missing"),
    "files swapped": (swapped, "report.html was changed: it is manifest.json"),
    "hidden file": (lambda release: (release / ".x").write_text(""), ".x is not part of the release"),
    "folder with a file": (
        lambda release: ((release / "raw").mkdir(), (release / "raw" / "x").write_text("")),
        "raw/x is not part of the release",
    ),
    "pipe": (lambda release: os.mkfifo(release / "pipe"), "pipe is not part of the release"),
    "signed by another": (
        lambda release: seal_by(release, CryptoSigner.generate_ed25519()),
        "is signed by another key",
    ),
    "signed by another kind of key": (
        lambda release: seal_by(release, CryptoSigner.generate_ecdsa()),
        "is signed by another key",
    ),
}


@pytest.fixture
def restored(release: Path, tmp_path: Path) -> Callable[[], Path]:
    """Give the release as it was published, whatever was done to it."""
    original = tmp_path / "original"
    shutil.copytree(release, original)

    def restore() -> Path:
        shutil.rmtree(release)
        return Path(shutil.copytree(original, release))

    return restore


def test_each_attack_is_refused_and_named(restored: Callable[[], Path], keys: list[SSlibKey]) -> None:
    for name, (attack, message) in ATTACKS.items():
        release = restored()
        attack(release)
        messages = [problem.message for problem in verify(release, keys)]
        assert any(message in found for found in messages), f"{name}: {messages}"
    assert verify(restored(), keys) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def put(content: Any, value: Any, data: st.DataObject) -> None:
    """Replace an entry somewhere in a JSON object or array."""
    while True:
        places = list(content) if isinstance(content, dict) else list(range(len(content)))
        place = data.draw(st.sampled_from(places))
        if not isinstance(content[place], dict | list) or not content[place] or data.draw(st.booleans()):
            content[place] = value
            return
        content = content[place]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=JSON, name=st.sampled_from([CERTIFICATE, ENVELOPE]), data=st.data())
def test_no_other_content_of_an_entry_ends_in_a_bug_or_is_accepted(
    release: Path, keys: list[SSlibKey], value: Any, name: str, data: st.DataObject
) -> None:
    original = (release / name).read_bytes()
    content = json.loads(original)
    put(content, value, data)
    changed = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
    try:
        (release / name).write_bytes(changed)
        assert (verify(release, keys) == []) == (changed == original)
        assert verify(release) is not None
    finally:
        (release / name).write_bytes(original)
