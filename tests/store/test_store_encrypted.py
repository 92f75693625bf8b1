"""Encrypted, shared and in-memory stores: computed once, opaque to others, never read from who has no key."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.arrow import ArrowFSWrapper

from hybrid.base.errors import ConfigError, OutputError
from hybrid.base.hashing import fingerprint
from hybrid.base.s3 import s3
from hybrid.store import Store, StorePlace, memory_store
from hybrid.store.cipher import KEY_VARIABLE, Cipher, new_key
from tests.helpers.s3_server import bucket

KEY = fingerprint("inputs")
SECRET = "Mrs. Smith, 1950-02-03"


class Counter:
    def __init__(self, result: object = SECRET) -> None:
        self.result = result
        self.calls = 0

    def __call__(self) -> Any:
        self.calls += 1
        return self.result


@pytest.fixture(params=["folder", "memory", "file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePlace]:
    own = uuid.uuid4().hex
    places = {
        "folder": str(tmp_path / "s"),
        "memory": f"memory://{own}",
        "file": f"file://{tmp_path}/s",
        "s3": f"s3://{own}/deep/down",
    }
    with bucket(own) if request.param == "s3" else nullcontext():
        yield StorePlace(places[request.param], new_key())


def contents(place: StorePlace) -> list[tuple[str, bytes]]:
    if place.place.startswith("s3://"):
        fs, root = ArrowFSWrapper(s3(), skip_instance_cache=True), place.place.removeprefix("s3://")
    else:
        fs, root = fsspec.core.url_to_fs(place.place)
    return [(name, fs.cat_file(name)) for name in fs.find(root)]


def test_computed_once_and_opaque(place: StorePlace) -> None:
    store, compute = place.open(), Counter()
    assert [store.get_or_compute("fit", KEY, compute) for _ in range(2)] == [SECRET] * 2
    assert place.open().get_or_compute("fit", KEY, compute) == SECRET
    assert compute.calls == 1
    assert store.get_or_compute("sample", KEY, Counter(None)) is None
    for name, content in contents(place):
        assert KEY[:16] not in name and KEY[:16].encode() not in content and b"Smith" not in content
    assert place.key is not None and place.key not in repr(place)


def test_entries_and_clean(place: StorePlace) -> None:
    store = place.open()
    assert store.entries() == [] and store.entry("fit", KEY) is None
    store.get_or_compute("fit", KEY, Counter())
    [entry] = store.entries()
    assert entry == store.entry("fit", KEY) and entry.stage == "fit" and entry.n_bytes > 0
    assert store.clean(timedelta(days=1)) == 0
    assert store.clean(timedelta(0)) == 1
    assert store.entries() == []


def test_another_key_finds_nothing_and_a_planted_result_is_refused(place: StorePlace) -> None:
    """A result under the right name, but encrypted by somebody else: reading it would run their code."""
    mine, other = place.open(), StorePlace(place.place, new_key()).open()
    mine.get_or_compute("fit", KEY, Counter())
    compute = Counter("other")
    assert other.get_or_compute("fit", KEY, compute) == "other" and compute.calls == 1
    planted = Counter("planted")
    assert other.cipher is not None and mine.cipher is not None
    other.cipher.name = mine.cipher.name  # type: ignore[method-assign]
    mine.clean(timedelta(0))
    other.get_or_compute("fit", KEY, planted)
    with pytest.raises(OutputError, match="not encrypted under this key"):
        mine.get_or_compute("fit", KEY, Counter())


def test_a_damaged_shared_result_is_computed_again(tmp_path: Path) -> None:
    store = StorePlace(f"file://{tmp_path}/s", new_key()).open()
    store.get_or_compute("fit", KEY, Counter())
    [path] = (tmp_path / "s").iterdir()
    path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    compute = Counter()
    assert store.get_or_compute("fit", KEY, compute) == SECRET and compute.calls == 1


def test_an_interrupted_write_leaves_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = StorePlace(f"file://{tmp_path}/s", new_key()).open()

    def fails(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(store._fs, "mv", fails)
    assert store.get_or_compute("fit", KEY, Counter()) == SECRET
    assert store.entries() == [] and store.clean(timedelta(0)) == 0


def test_an_address_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(ConfigError, match="always encrypted"):
        StorePlace("memory://x").open()
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(ConfigError, match="not 32 bytes"):
        StorePlace("memory://x").open()
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    assert StorePlace("memory://x").open().cipher is not None
    with pytest.raises(ConfigError, match="no such kind of address"):
        StorePlace("nowhere://x").open()


def test_the_memory_store_is_gone_afterwards_also_that_of_a_killed_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid.store.place.MEMORY_FOLDER", tmp_path)
    killed = "import os, signal; from pathlib import Path; from hybrid.store import memory_store, place"
    killed += f"; place.MEMORY_FOLDER = Path({str(tmp_path)!r}); held = memory_store(); held.__enter__()"
    subprocess.run([sys.executable, "-c", f"{killed}; os.kill(os.getpid(), signal.SIGKILL)"], check=False)
    [left] = tmp_path.iterdir()
    with memory_store() as place:
        assert not left.exists()
        place.open().get_or_compute("fit", KEY, Counter())
        [folder] = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not any(b"Smith" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert not list(tmp_path.iterdir())


def test_seconds_of_a_result_are_its_own(tmp_path: Path) -> None:
    import time

    store = Store(tmp_path)

    def outer() -> str:
        store.get_or_compute("inner", KEY, lambda: time.sleep(0.2))
        return "outer"

    store.get_or_compute("outer", KEY, outer)
    inner, whole = store.entry("inner", KEY), store.entry("outer", KEY)
    assert inner is not None and whole is not None
    assert inner.seconds >= 0.2 > whole.seconds


def test_nothing_unfinished_is_kept_in_the_clear(tmp_path: Path) -> None:
    assert Store(tmp_path, Cipher(new_key())).unfinished("fit", KEY) is None
    assert pickle.loads(pickle.dumps(StorePlace("x", "k"))) == StorePlace("x", "k")


@pytest.mark.parametrize("stage", ["anonymize", "evaluate"])
def test_an_entry_that_was_exchanged_for_another_is_computed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    """A mild result under the name of a strict one would pass the gate on foreign numbers."""
    other_key = fingerprint("other inputs")
    shared = StorePlace(f"file://{tmp_path}/shared", new_key())
    local = StorePlace(str(tmp_path / "local"), shared.key)
    for place in (shared, local):
        store = place.open()
        store.get_or_compute("anonymize", KEY, Counter("strict"))
        store.get_or_compute(stage, other_key, Counter("mild"))
        names = [f"anonymize-{Cipher(str(place.key)).name(KEY)}", f"{stage}-{Cipher(str(place.key)).name(other_key)}"]
        root = tmp_path / ("shared" if place is shared else "local")
        if place is shared:
            (root / names[0]).write_bytes((root / names[1]).read_bytes())
        else:
            strict, mild = (root / name for name in names)
            (strict / "result.pickle").write_bytes((mild / "result.pickle").read_bytes())
            about = json.loads((mild / "entry.json").read_bytes())
            about |= {"stage": "anonymize", "key": names[0].removeprefix("anonymize-")}
            (strict / "entry.json").write_text(json.dumps(about))
        again = Counter("strict")
        assert place.open().get_or_compute("anonymize", KEY, again) == "strict"
        assert again.calls == 1 and "of another entry: computing it again" in caplog.text.replace(")", "")
        caplog.clear()


def test_a_folder_moved_to_another_name_is_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.get_or_compute("anonymize", KEY, Counter("strict"))
    (tmp_path / f"anonymize-{KEY}").rename(tmp_path / f"anonymize-{fingerprint('others')}")
    again = Counter("other")
    assert store.get_or_compute("anonymize", fingerprint("others"), again) == "other" and again.calls == 1
