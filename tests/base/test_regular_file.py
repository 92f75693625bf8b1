"""Whatever lies in the place of a file: the reader ends, with an error that every caller knows."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid.base.hashing import file_sha256
from hybrid.base.regular_file import DEEPEST, parse_json, read_json, read_regular


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10**12)


def listening(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(path))


ODD: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "link": lambda path: path.symlink_to("/etc/hosts"),
    "loop": lambda path: path.symlink_to(path.name),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": listening,
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_is_an_error_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    monkeypatch.chdir(tmp_path)
    ODD[odd](Path("odd"))
    for read in (read_regular, read_json, file_sha256):
        with pytest.raises(OSError):
            read(Path("odd"))


def test_a_file_without_end_is_not_read(tmp_path: Path) -> None:
    endless(tmp_path / "odd")
    with pytest.raises(OSError, match="larger than"):
        read_json(tmp_path / "odd")
    (tmp_path / "some").write_bytes(b"12345")
    assert read_regular(tmp_path / "some", most=5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(tmp_path / "some", most=4)


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 200_000, b'{"a":[' * DEEPEST + b"]}" * DEEPEST])
def test_deep_json_is_no_json(deep: bytes) -> None:
    with pytest.raises(ValueError, match=f"more than {DEEPEST} deep"):
        parse_json(deep)


@pytest.mark.parametrize(
    "text", ['{"[0, 10)": "[[[\\"]"}', '["\\\\", "[", {"a": ["\\u005b"]}]', "[" * DEEPEST + "]" * DEEPEST, "3", '""']
)
def test_brackets_in_texts_are_no_depth(text: str) -> None:
    import json

    assert parse_json(text.encode()) == json.loads(text)
    assert parse_json(json.dumps({"text": "[{" * 1000}).encode()) == {"text": "[{" * 1000}


def test_texts_that_never_end_take_no_longer_than_their_length() -> None:
    with pytest.raises(ValueError):
        parse_json(b'"' + b'\\"' * 1_000_000)
