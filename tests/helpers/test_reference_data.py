"""The reference tables are the published ones, and all that are kept are listed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.helpers.reference_data import DATA, checksums, unpack


def test_every_table_is_listed_and_unchanged(tmp_path: Path) -> None:
    for name, digest in checksums().items():
        path = DATA / name if (DATA / name).exists() else unpack(name, tmp_path)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, name
    kept = {path.relative_to(DATA).as_posix().removesuffix(".xz") for path in DATA.rglob("*.csv*")}
    assert {name for name in kept if name.startswith(("adult_census/", "diabetes130", "evaluation_"))} == set(
        checksums()
    )
