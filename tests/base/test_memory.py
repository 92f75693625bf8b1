"""How much memory is free, and how much was taken at most."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from hybrid.base import memory

MIB = 2**20


def test_what_is_available_is_what_the_system_says_within_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CGROUPS", ())
    assert 0.5 < memory.available_bytes() / psutil.virtual_memory().available < 2
    files = [tmp_path / name for name in ("max", "current")]
    for path, text in zip(files, ("1000\n", "400\n"), strict=True):
        path.write_text(text)
    monkeypatch.setattr(memory, "_CGROUPS", (tuple(map(str, files)),))
    assert memory.available_bytes() == 600
    files[1].write_text("1200\n")
    assert memory.available_bytes() == 0
    files[0].write_text("max\n")
    assert memory.available_bytes() > 1200


def test_a_peak_is_counted_from_its_restart() -> None:
    memory.restart_peak()
    before = memory.peak_bytes()
    block = np.ones(200 * MIB, dtype=np.uint8)
    del block
    assert memory.peak_bytes() - before > 150 * MIB
    memory.restart_peak()
    assert memory.peak_bytes() - before < 100 * MIB


def test_a_child_does_not_inherit_the_peak_of_its_parent() -> None:
    block = np.ones(400 * MIB, dtype=np.uint8)
    code = "from hybrid.base.memory import peak_bytes; print(peak_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 * MIB < len(block)


def test_a_worker_needs_no_psutil() -> None:
    """Managed environments hold a generator's packages and few others."""
    code = "import sys; sys.modules['psutil'] = sys.modules['filelock'] = sys.modules['ruamel'] = None; "
    code += "import hybrid.synthesize.isolation.worker as w; assert w.peak_bytes() > 0"
    subprocess.run([sys.executable, "-c", code], check=True)
