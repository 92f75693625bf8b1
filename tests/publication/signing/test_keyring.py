"""Keys are made once, private, and rotated without forgetting the earlier ones."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner

from hybrid.base.errors import ConfigError, OutputError
from hybrid.publication.signing.keyring import (
    make_key,
    public_key,
    public_pem,
    read_public_keys,
    release_signer,
    rotate_key,
    signing_keys,
)


def write_private(path: Path, signer: CryptoSigner, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(signer.private_bytes)
    path.chmod(mode)
    return path


def test_the_first_use_makes_one_private_key(tmp_path: Path) -> None:
    key, signer = release_signer(tmp_path / "work")
    again, _ = release_signer(tmp_path / "work")
    folder = tmp_path / "work" / "signing"
    assert key == again == signing_keys(tmp_path / "work")[0]
    assert signer.public_key.keyid == key.keyid
    private = folder / f"{key.keyid[:16]}.pem"
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    assert stat.S_IMODE(private.stat().st_mode) == stat.S_IMODE((folder / "keys.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_key_is_made_once_and_rotated_only_if_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no signing key yet"):
        rotate_key(tmp_path)
    make_key(tmp_path)
    with pytest.raises(ConfigError, match="a signing key already"):
        make_key(tmp_path)


def test_rotation_keeps_public_keys_and_removes_the_private_key_made_here(tmp_path: Path) -> None:
    first = make_key(tmp_path)
    second = rotate_key(tmp_path)
    assert [key.keyid for key in signing_keys(tmp_path)] == [first.keyid, second.keyid]
    assert [key.retired is None for key in signing_keys(tmp_path)] == [False, True]
    assert [path.name for path in (tmp_path / "signing").glob("*.pem")] == [f"{second.keyid[:16]}.pem"]
    assert release_signer(tmp_path)[0] == second


def test_a_key_file_of_the_user_is_used_and_never_removed(tmp_path: Path) -> None:
    signer = CryptoSigner.generate_ed25519()
    path = write_private(tmp_path / "safe" / "own.pem", signer)
    assert make_key(tmp_path / "work", f"file:{path}").keyid == signer.public_key.keyid
    rotate_key(tmp_path / "work")
    assert path.exists()
    with pytest.raises(ConfigError, match="in use already"):
        rotate_key(tmp_path / "work", f"file:{path}")


def test_a_key_of_the_environment_must_stay_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer, other = CryptoSigner.generate_ed25519(), CryptoSigner.generate_ed25519()
    with pytest.raises(ConfigError, match="environment variable OWN_KEY holds no signing key"):
        make_key(tmp_path, "env:OWN_KEY")
    assert signing_keys(tmp_path) == ()
    monkeypatch.setenv("OWN_KEY", signer.private_bytes.decode())
    key = make_key(tmp_path, "env:OWN_KEY")
    assert release_signer(tmp_path)[1].public_key.keyid == key.keyid == signer.public_key.keyid
    assert list((tmp_path / "signing").glob("*.pem")) == []
    monkeypatch.setenv("OWN_KEY", other.private_bytes.decode())
    with pytest.raises(ConfigError, match="another key than the current one"):
        release_signer(tmp_path)


def readable(path: Path) -> None:
    path.chmod(0o640)


def damaged(path: Path) -> None:
    path.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")


def elliptic(path: Path) -> None:
    path.write_bytes(CryptoSigner.generate_ecdsa().private_bytes)


def released(path: Path) -> None:
    (path.parent / "certificate.json").write_text("{}")


def missing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (readable, "others may read this signing key"),
        (damaged, "no private key in PEM format"),
        (elliptic, "not an Ed25519 key"),
        (released, "must not be in a release"),
        (missing, "cannot be read"),
    ],
)
def test_an_unsafe_or_unusable_key_file_is_refused(
    tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    path = write_private(tmp_path / "safe" / "own.pem", CryptoSigner.generate_ed25519())
    change(path)
    with pytest.raises(ConfigError, match=message):
        make_key(tmp_path / "work", f"file:{path}")
    assert signing_keys(tmp_path / "work") == ()


@pytest.mark.parametrize("source", ["", "file:", "env:", "ftp:somewhere"])
def test_an_unknown_place_of_a_key_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(ConfigError, match="no such place"):
        make_key(tmp_path, source)


@pytest.mark.parametrize("content", ["", "[]", '{"keys": []}', '{"keys": [{}]}'])
def test_a_damaged_key_ring_is_refused(tmp_path: Path, content: str) -> None:
    make_key(tmp_path)
    (tmp_path / "signing" / "keys.json").write_text(content)
    with pytest.raises(OutputError, match="key ring"):
        release_signer(tmp_path)


def test_public_keys_are_read_from_one_file_or_several(tmp_path: Path) -> None:
    keys = [make_key(tmp_path).public, CryptoSigner.generate_ecdsa().public_key]
    path = tmp_path / "both.pem"
    path.write_text("".join(map(public_pem, keys)))
    assert [key.keyid for key in read_public_keys([path])] == [key.keyid for key in keys]
    assert [public_key(public_pem(key).encode()) for key in keys] == keys


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CryptoSigner.generate_ed25519().private_bytes, "this is a private key"),
        (b"ssh-ed25519 AAAA", "no public key"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be used"),
        (public_pem(CryptoSigner.generate_rsa(size=2048).public_key).encode(), "cannot be used"),
    ],
)
def test_other_files_are_no_public_keys(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_public_keys([tmp_path / "key.pem"])
    with pytest.raises(ConfigError, match="cannot be read"):
        read_public_keys([tmp_path / "none.pem"])
