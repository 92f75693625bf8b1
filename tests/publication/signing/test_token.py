"""A release signed by a key that never leaves a hardware security module (SoftHSM)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError, HybridError
from hybrid.publication.publish import publish
from hybrid.publication.signing.keyring import make_key, public_pem, signing_keys
from hybrid.publication.verify import verify
from tests.publication.signing.standard_tools import by_openssl, by_python

pytestmark = pytest.mark.engines
LIBRARY = next(Path("/usr/lib").glob("*/softhsm/libsofthsm2.so"), Path("/usr/lib/softhsm/libsofthsm2.so"))
PIN = "271828"
SOURCE = "hsm:7?label=publisher"


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An initialized token with an ECDSA key; gives its source."""
    if not LIBRARY.exists():
        pytest.skip("SoftHSM is not installed: apt-get install softhsm2")
    import pkcs11
    import pkcs11.util.ec

    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
    monkeypatch.setenv("PYKCS11LIB", str(LIBRARY))
    monkeypatch.setenv("HYBRID_SIGNING_PIN", PIN)
    initialize = ["softhsm2-util", "--init-token", "--free", "--label", "publisher", "--so-pin", "1234", "--pin", PIN]
    subprocess.run(initialize, check=True, capture_output=True, env=os.environ)
    library = pkcs11.lib(str(LIBRARY))
    library.reinitialize()
    with library.get_token(token_label="publisher").open(user_pin=PIN, rw=True) as session:
        curve = {pkcs11.Attribute.EC_PARAMS: pkcs11.util.ec.encode_named_curve_parameters("secp256r1")}
        session.create_domain_parameters(pkcs11.KeyType.EC, curve, local=True).generate_keypair(
            store=True, id=bytes([7]), label="releases"
        )
    return SOURCE


def test_a_release_is_signed_in_the_token(token: str, make_run: Callable[..., Path], tmp_path: Path) -> None:
    key = make_key(tmp_path / "work", token)
    assert key.public.scheme == "ecdsa-sha2-nistp256"
    assert list((tmp_path / "work" / "signing").glob("*.pem")) == []
    release = publish(make_run(), tmp_path / "releases", tmp_path / "work")
    assert verify(release, [found.public for found in signing_keys(tmp_path / "work")]) == []
    (tmp_path / "publisher.pem").write_text(public_pem(key.public))
    assert by_python(release, tmp_path / "publisher.pem") == 0
    assert by_openssl(release, tmp_path / "publisher.pem", "-digest sha256") == 0


def test_a_wrong_pin_publishes_nothing(
    token: str, make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_key(tmp_path / "work", token)
    monkeypatch.setenv("HYBRID_SIGNING_PIN", "314159")
    with pytest.raises(HybridError, match="key cannot be used") as caught:
        publish(make_run(), tmp_path / "releases", tmp_path / "work")
    assert "314159" not in str(caught.value)
    monkeypatch.delenv("HYBRID_SIGNING_PIN")
    with pytest.raises(ConfigError, match="HYBRID_SIGNING_PIN is not set"):
        publish(make_run("second"), tmp_path / "releases", tmp_path / "work")
    assert [path for path in (tmp_path / "releases").iterdir() if path.name[0] != "."] == []


def test_a_key_that_is_not_on_the_token_is_refused(token: str, tmp_path: Path) -> None:
    with pytest.raises(HybridError, match="key cannot be used"):
        make_key(tmp_path / "work", "hsm:9?label=publisher")
    with pytest.raises(HybridError, match="key cannot be used"):
        make_key(tmp_path / "work", "hsm:7?label=another")
    assert signing_keys(tmp_path / "work") == ()
