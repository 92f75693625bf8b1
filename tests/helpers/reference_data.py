"""Reference tables of `tests/data`, unpacked and checked against their published checksums."""

from __future__ import annotations

import hashlib
import lzma
import re
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
LEAKY = ("train", "control", "syn_indep", "syn_leak0", "syn_leak0.5", "syn_leak1")


def checksums() -> dict[str, str]:
    """SHA-256 of each reference table, by its path under `tests/data`."""
    lines = re.findall(r"^([0-9a-f]{64})  (\S+)$", (DATA / "README.md").read_text(), re.MULTILINE)
    return {name: digest for digest, name in lines}


def unpack(name: str, folder: Path) -> Path:
    """Write one reference table into a folder.

    Parameters
    ----------
    name : str
        Path under `tests/data`, without the suffix of the compression.
    folder : Path
        The table gets its own base name there.
    """
    content = lzma.decompress((DATA / f"{name}.xz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == checksums()[name], name
    target = folder / Path(name).name
    target.write_bytes(content)
    return target
