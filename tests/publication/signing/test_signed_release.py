"""Whatever was done to a signed release, verification names it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from securesystemslib.signer import CryptoSigner, SSlibKey

from hybrid.publication.certificate import checksum
from hybrid.publication.ledger import LEDGER
from hybrid.publication.publish import publish
from hybrid.publication.signing.keyring import rotate_key, signing_keys
from hybrid.publication.status import releases_state
from hybrid.publication.verify import verify
from tests.publication.signing.forging import CERTIFICATE, ENVELOPE, forge, seal_by, sha256, statement_of


def found(release: Path, keys: list[SSlibKey]) -> list[str]:
    return [problem.message for problem in verify(release, keys)]


def test_a_release_verifies_with_its_key_and_without(release: Path, keys: list[SSlibKey]) -> None:
    assert found(release, keys) == []
    assert found(release, []) == []


def test_the_statement_names_every_file_and_holds_the_certificate(release: Path) -> None:
    statement = statement_of(release)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:hybrid-release:certificate:1"
    assert statement["predicate"] == json.loads((release / CERTIFICATE).read_text())
    assert {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]} == {
        path.name: sha256(path) for path in release.iterdir() if path.name != ENVELOPE
    }


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), data=st.data())
def test_any_flipped_bit_is_found_in_its_file(
    release: Path, keys: list[SSlibKey], place: float, bit: int, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(path.name for path in release.iterdir())))
    original = (release / name).read_bytes()
    changed = bytearray(original)
    changed[int(place * len(changed))] ^= 1 << bit
    try:
        (release / name).write_bytes(changed)
        messages = found(release, keys)
        assert messages
        assert all(message.startswith((name, f"{ENVELOPE}", f"{CERTIFICATE}")) for message in messages)
        assert any(message.startswith(name) for message in messages)
    finally:
        (release / name).write_bytes(original)


def test_an_exchanged_file_is_named(release: Path, keys: list[SSlibKey]) -> None:
    shutil.copy(release / "report.html", release / "synthetic.csv")
    assert found(release, keys) == ["synthetic.csv was changed: it is report.html"]


def test_an_unlisted_file_is_named(release: Path, keys: list[SSlibKey]) -> None:
    (release / "raw.csv").write_text("")
    assert found(release, keys) == ["raw.csv is not part of the release"]


def test_a_forged_certificate_is_named_also_without_a_key(release: Path) -> None:
    forge(release)
    assert found(release, []) == [
        "certificate.json differs from what was signed, in: checksum, files",
        "synthetic.csv was changed",
    ]


def test_a_forgery_signed_by_another_key_is_named(release: Path, keys: list[SSlibKey]) -> None:
    forge(release)
    content = json.loads((release / CERTIFICATE).read_text())
    other = CryptoSigner.generate_ed25519()
    content["signing"]["keyid"] = other.public_key.keyid
    content["checksum"] = checksum(content)
    (release / CERTIFICATE).write_text(json.dumps(content))

    def fit(statement: Any) -> None:
        statement["predicate"] = content
        for subject in statement["subject"]:
            subject["digest"]["sha256"] = sha256(release / subject["name"])

    seal_by(release, other, fit)
    assert found(release, []) == []
    assert found(release, keys) == [
        f"{ENVELOPE} is signed by another key: {other.public_key.keyid[:16]}, not {keys[0].keyid[:16]}"
    ]


def test_another_key_under_the_right_key_id_is_named(release: Path, keys: list[SSlibKey]) -> None:
    impostor = CryptoSigner.generate_ed25519(keyid=keys[0].keyid)
    seal_by(release, impostor)
    assert found(release, keys) == [f"{ENVELOPE}: the signature does not fit: it, or what it signs, was changed"]


def test_a_changed_key_id_is_named(release: Path, keys: list[SSlibKey]) -> None:
    content = json.loads((release / ENVELOPE).read_text())
    content["signatures"][0]["keyid"] = "0" * 64
    (release / ENVELOPE).write_text(json.dumps(content, indent=2) + "\n")
    assert found(release, keys) == [
        f"{ENVELOPE} was changed: it names key {'0' * 16}, and is signed by {keys[0].keyid[:16]}"
    ]
    assert "names" in found(release, [])[0]


@pytest.mark.parametrize("with_key", [True, False])
def test_a_removed_signature_is_named(release: Path, keys: list[SSlibKey], with_key: bool) -> None:
    content = json.loads((release / ENVELOPE).read_text()) | {"signatures": []}
    (release / ENVELOPE).write_text(json.dumps(content, indent=2) + "\n")
    assert found(release, keys if with_key else []) == [f"{ENVELOPE} holds no signature: it was removed"]
    (release / ENVELOPE).unlink()
    assert found(release, keys if with_key else []) == [f"{ENVELOPE} is missing: the signature was removed"]


def test_an_unsigned_release_passes_only_without_a_key(release: Path, keys: list[SSlibKey]) -> None:
    content = json.loads((release / CERTIFICATE).read_text())
    del content["signing"]
    (release / CERTIFICATE).write_text(json.dumps(content | {"checksum": checksum(content)}))
    (release / ENVELOPE).unlink()
    assert found(release, []) == []
    assert found(release, keys) == ["the release was published without a signature"]


def test_a_replayed_envelope_of_another_release_is_named(published: Callable[..., Path], work: Path) -> None:
    older, newer = published("older"), published("newer", data_fingerprint="ab" * 32, rows="age,income\n9,low\n")
    shutil.copy(older / ENVELOPE, newer / ENVELOPE)
    keys = [key.public for key in signing_keys(work)]
    messages = found(newer, keys)
    assert len(messages) == 1
    assert messages[0].endswith("a certificate was replayed")
    assert statement_of(older)["predicate"]["release"] in messages[0]


def test_a_replayed_certificate_with_its_envelope_is_named(published: Callable[..., Path], work: Path) -> None:
    older, newer = published("older"), published("newer", data_fingerprint="ab" * 32, rows="age,income\n9,low\n")
    for name in (ENVELOPE, CERTIFICATE):
        shutil.copy(older / name, newer / name)
    messages = found(newer, [key.public for key in signing_keys(work)])
    assert messages[0].endswith("its certificate was replayed here")
    assert "synthetic.csv was changed" in messages


def test_an_older_release_in_the_folder_of_a_newer_one_is_named(published: Callable[..., Path], work: Path) -> None:
    older, newer = published("older"), published("newer", data_fingerprint="ab" * 32, rows="age,income\n9,low\n")
    place = older.with_name(statement_of(newer)["predicate"]["release"])
    shutil.copytree(older, place)
    link = older.with_name("latest")
    link.symlink_to(place.name)
    for reached in (place, link):
        messages = found(reached, [key.public for key in signing_keys(work)])
        assert len(messages) == 1
        assert messages[0].startswith(f"the folder is named {place.name}, its certificate is of release ")


def test_releases_before_and_after_a_rotation_verify_with_all_public_keys(
    published: Callable[..., Path], work: Path
) -> None:
    older = published("older")
    rotate_key(work)
    newer = published("newer", data_fingerprint="ab" * 32)
    first, second = (key.public for key in signing_keys(work))
    assert found(older, [first, second]) == found(newer, [first, second]) == []
    assert "signed by another key" in found(older, [second])[0]
    assert "signed by another key" in found(newer, [first])[0]


def test_a_forged_release_is_neither_kept_nor_reported_as_whole(
    make_run: Callable[..., Path], work: Path, tmp_path: Path
) -> None:
    run, releases = make_run(), tmp_path / "releases"
    original = publish(run, releases, work)
    original.chmod(0o755)
    for path in original.iterdir():
        path.chmod(0o644)
    forge(original)
    content = json.loads((original / CERTIFICATE).read_text())
    del content["signing"]
    (original / CERTIFICATE).write_text(json.dumps(content | {"checksum": checksum(content)}))
    (original / ENVELOPE).unlink()
    assert found(original, []) == []
    state = releases_state(releases, work, None, datetime.now(UTC))
    assert [problem.message for problem in state.problems] == [
        f"{original.name}: the release was published without a signature"
    ]
    assert publish(run, releases, work) != original


def test_a_release_from_before_the_first_key_stays_published(
    make_run: Callable[..., Path], work: Path, tmp_path: Path
) -> None:
    run, releases = make_run(), tmp_path / "releases"
    original = publish(run, releases, work)
    original.chmod(0o755)
    (original / CERTIFICATE).chmod(0o644)
    content = json.loads((original / CERTIFICATE).read_text())
    del content["signing"]
    (original / CERTIFICATE).write_text(json.dumps(content | {"checksum": checksum(content)}))
    (original / ENVELOPE).unlink()
    ring = work / "signing" / "keys.json"
    ring.write_text(ring.read_text().replace('"made": "20', '"made": "21'))
    with closing(sqlite3.connect(work / LEDGER)) as database, database:
        database.execute("DELETE FROM certificates")
    assert publish(run, releases, work) == original


def test_a_release_is_not_made_when_its_key_is_gone(
    make_run: Callable[..., Path], published: Callable[..., Path], work: Path, tmp_path: Path
) -> None:
    published("first")
    (key,) = signing_keys(work)
    (work / "signing" / f"{key.keyid[:16]}.pem").unlink()
    with pytest.raises(Exception, match="signing key cannot be read"):
        publish(make_run("second", data_fingerprint="ab" * 32), tmp_path / "releases", work)
    assert len([path for path in (tmp_path / "releases").iterdir() if path.name[0] == "2"]) == 1
    assert signing_keys(work) == (key,)
