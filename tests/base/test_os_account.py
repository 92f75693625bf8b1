"""The account is the kernel's, and nobody's where whoever ran the command could choose it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid.base import os_account as module
from hybrid.base.os_account import account, is_chosen

ASK = [sys.executable, "-c", "from hybrid.base.os_account import account; print(account())"]


def test_names_in_the_environment_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = account()
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "grace")
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert account() == before

    def unknown(_: int) -> object:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert account().partition("@")[0].isdecimal()


@pytest.mark.parametrize(
    ("content", "chosen"),
    [
        ("         0          0 4294967295\n", False),
        ("0 1000 1\n", True),
        ("0 0 1\n1 100000 65536\n", True),
        ("", True),
    ],
)
def test_a_mapped_account_is_nobody_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, chosen: bool
) -> None:
    (tmp_path / "uid_map").write_text(content)
    monkeypatch.setattr(module, "_MAP", tmp_path / "uid_map")
    assert is_chosen(account()) == chosen
    monkeypatch.setattr(module, "_MAP", tmp_path / "no namespaces in this kernel")
    assert not is_chosen(account())


@pytest.mark.parametrize("options", [["-r"], ["-r", "-u"], ["--map-user=33"]])
def test_a_real_user_namespace_is_seen(options: list[str]) -> None:
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-U", "-r", "true"], capture_output=True).returncode
    ):
        pytest.skip("this machine lets nobody make user namespaces")
    done = subprocess.run(["unshare", "-U", *options, *ASK], capture_output=True, text=True, check=True)
    assert is_chosen(done.stdout.strip())
