"""A signed release as a recipient has it, and the publisher's private zone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from securesystemslib.signer import SSlibKey

from hybrid.publication.publish import publish
from hybrid.publication.signing.keyring import signing_keys


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def published(make_run: Callable[..., Path], tmp_path: Path, work: Path) -> Callable[..., Path]:
    """Publish a run of this name and rows; gives a writable copy that was received elsewhere."""

    def let_out(name: str = "run", **changes: object) -> Path:
        original = publish(make_run(name, **changes), tmp_path / "releases", work)
        copy = tmp_path / "received" / name
        shutil.copytree(original, copy)
        for path in copy.iterdir():
            path.chmod(0o644)
        return copy

    return let_out


@pytest.fixture
def release(published: Callable[..., Path]) -> Path:
    return published()


@pytest.fixture
def keys(release: Path, work: Path) -> list[SSlibKey]:
    """The public keys that the reader of a release was given."""
    return [key.public for key in signing_keys(work)]
