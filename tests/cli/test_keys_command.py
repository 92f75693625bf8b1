"""hybrid keys, as a publisher calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner

from tests.cli.cli_jobs import Run


def test_keys_are_made_shown_and_rotated(hybrid: Run, capsys: Any) -> None:
    assert hybrid("keys", "show") == 2
    assert hybrid("keys", "rotate") == 2
    assert hybrid("keys", "make") == 0
    assert hybrid("keys", "make") == 2
    assert hybrid("keys", "rotate") == 0
    capsys.readouterr()
    assert hybrid("keys", "show") == 0
    current = capsys.readouterr().out
    assert current.count("BEGIN PUBLIC KEY") == 1
    assert hybrid("keys", "show", "--all") == 0
    both = capsys.readouterr().out
    assert both.count("BEGIN PUBLIC KEY") == 2
    assert both.endswith(current)
    assert hybrid("keys", "show", "--all", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [key["retired"] is None for key in shown] == [False, True]
    assert "PRIVATE" not in json.dumps(shown)


def test_a_key_of_the_environment_is_named_and_never_shown(
    hybrid: Run, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = CryptoSigner.generate_ed25519().private_bytes.decode()
    monkeypatch.setenv("PUBLISHER_KEY", private)
    assert hybrid("keys", "make", "--from", "env:PUBLISHER_KEY") == 0
    assert hybrid("keys", "show", "--json") == 0
    assert "env:PUBLISHER_KEY" in (output := capsys.readouterr().out)
    files = "".join(path.read_text() for path in Path("work").rglob("*") if path.is_file())
    for line in private.splitlines()[1:-1]:
        assert line not in output + files


def test_a_private_key_is_no_public_key(hybrid: Run, capsys: Any) -> None:
    Path("release").mkdir()
    Path("key.pem").write_bytes(CryptoSigner.generate_ed25519().private_bytes)
    assert hybrid("verify", "release", "--key", "key.pem") == 2
    assert "this is a private key" in capsys.readouterr().err
