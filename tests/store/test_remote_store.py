"""The store on a file system without locks: whole entries or none, damage, temporaries, addresses."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from hybrid.base.errors import ConfigError, OutputError
from hybrid.base.hashing import fingerprint
from hybrid.store.cipher import Cipher, new_key
from hybrid.store.place import ABANDONED, HEADER_BYTES, TEMPORARY, SharedStore

KEY = fingerprint("inputs")


@pytest.fixture
def store(tmp_path: Path) -> SharedStore:
    return SharedStore(f"file://{tmp_path}/store", Cipher(new_key()))


def only_file(tmp_path: Path) -> Path:
    [path] = (tmp_path / "store").iterdir()
    return path


def test_what_is_known_about_an_entry(store: SharedStore, tmp_path: Path) -> None:
    assert store.entry("fit", KEY) is None and store.entries() == []
    assert store.get_or_compute("fit", KEY, lambda: [1, 2]) == [1, 2]
    found = store.entry("fit", KEY)
    assert found is not None and store.entries() == [found]
    assert found.stage == "fit" and found.key != KEY
    content = only_file(tmp_path).read_bytes()
    assert found.n_bytes == len(content) - HEADER_BYTES
    assert json.loads(content[:HEADER_BYTES])["sha256"] == found.sha256


@pytest.mark.parametrize("damage", ["payload", "header", "cut"])
def test_a_damaged_entry_is_computed_again_and_replaced(store: SharedStore, tmp_path: Path, damage: str) -> None:
    store.get_or_compute("fit", KEY, lambda: "first")
    path = only_file(tmp_path)
    content = path.read_bytes()
    changed = {"payload": content[:-1] + b"!", "header": b"x" + content[1:], "cut": content[: HEADER_BYTES + 5]}[damage]
    path.write_bytes(changed)
    assert store.get_or_compute("fit", KEY, lambda: "second") == "second"
    assert store.get_or_compute("fit", KEY, lambda: "third") == "second"


def test_cleaning_removes_old_entries_and_abandoned_temporaries_only(store: SharedStore, tmp_path: Path) -> None:
    store.get_or_compute("fit", KEY, lambda: 1)
    folder = tmp_path / "store"
    entry = only_file(tmp_path)
    foreign, fresh, old = folder / "notes.txt", folder / f"{TEMPORARY}a", folder / f"{TEMPORARY}b"
    for path in (foreign, fresh, old):
        path.write_text("x")
    long_ago = time.time() - 2 * ABANDONED.total_seconds()
    os.utime(old, (long_ago, long_ago))
    assert store.clean(timedelta(days=1)) == 0
    assert sorted(folder.iterdir()) == sorted([entry, foreign, fresh])
    assert store.clean(timedelta(0)) == 1
    assert sorted(folder.iterdir()) == sorted([foreign, fresh])


def test_a_store_that_cannot_be_written_keeps_nothing_and_hands_the_result_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = SharedStore(f"file://{tmp_path}/file/store", Cipher(new_key()))
    with pytest.raises(OutputError, match="cannot be read"):
        store.get_or_compute("fit", KEY, lambda: 1)
    store._write(f"{tmp_path}/file/store/fit-{KEY}", "fit", 1, 0.0)
    assert "the result of stage fit was computed but not kept" in caplog.text


def test_another_key_finds_nothing(store: SharedStore, tmp_path: Path) -> None:
    store.get_or_compute("fit", KEY, lambda: 1)
    other = SharedStore(store.url, Cipher(new_key()))
    assert other.entry("fit", KEY) is None
    assert other.get_or_compute("fit", KEY, lambda: 2) == 2
    assert len(store.entries()) == 2


def test_unknown_addresses() -> None:
    with pytest.raises(ConfigError, match="there is no such kind of address"):
        SharedStore("nonsense://here", Cipher(new_key()))
