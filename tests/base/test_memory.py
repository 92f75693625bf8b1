"""How much memory is free, and how much was taken at most."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from hybrid.base import resources

MIB = 2**20


def test_what_is_available_is_what_the_system_says_within_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_CGROUPS", ())
    assert 0.5 < resources.available_bytes() / psutil.virtual_memory().available < 2
    files = [tmp_path / name for name in ("max", "current")]
    for path, text in zip(files, ("1000\n", "400\n"), strict=True):
        path.write_text(text)
    monkeypatch.setattr(resources, "_CGROUPS", (tuple(map(str, files)),))
    assert resources.available_bytes() == 600
    files[1].write_text("1200\n")
    assert resources.available_bytes() == 0
    files[0].write_text("max\n")
    assert resources.available_bytes() > 1200


def test_a_peak_is_counted_from_its_restart() -> None:
    gc.collect()  # what other tests left may be freed at any time
    resources.restart_peak()
    before = resources.peak_bytes()
    block = np.ones(400 * MIB, dtype=np.uint8)
    del block
    assert resources.peak_bytes() - before > 200 * MIB
    resources.restart_peak()
    assert resources.peak_bytes() - before < 100 * MIB


def test_a_child_does_not_inherit_the_peak_of_its_parent() -> None:
    block = np.ones(400 * MIB, dtype=np.uint8)
    code = "from hybrid.base.resources import peak_bytes; print(peak_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 * MIB < len(block)


def test_a_worker_needs_no_psutil() -> None:
    """Managed environments hold a generator's packages and few others."""
    code = "import sys; sys.modules['psutil'] = sys.modules['filelock'] = sys.modules['ruamel'] = None; "
    code += "import hybrid.synthesize.isolation.worker as w; assert w.peak_bytes() > 0"
    subprocess.run([sys.executable, "-c", code], check=True)


READERS = {
    "the command line": "from hybrid.cli import main\ntry: main(['policies'])\nexcept SystemExit: pass",
    "a worker of a generator": "from hybrid.synthesize.isolation.worker import main\n"
    "try: main(__import__('pathlib').Path('nowhere'))\nexcept FileNotFoundError: pass",
    "a flow of Prefect": "import flows.stages",
    "a worker of a comparison": "from hybrid.comparison import local\nfrom hybrid.comparison.local import _begin\n"
    "local.parent_process = lambda: __import__('threading').Thread(target=input)\n"
    "try: _begin()\nexcept Exception: pass",
}
STATE = """
import ctypes, resource
print("state", resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
@pytest.mark.parametrize("program", READERS)
def test_no_process_that_reads_records_leaves_a_core_file(program: str, tmp_path: Path) -> None:
    if program == "a flow of Prefect":
        pytest.importorskip("prefect")
    code = READERS[program] + STATE
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "state (0, 0) 0", done.stderr


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="changes the user")
def test_a_peak_is_restarted_where_dumps_are_forbidden() -> None:
    """Files below /proc/self are those of root then, and most operators are not root."""
    code = """
import os, sys
from hybrid.base import resources
resources.restart_peak()
os.setgid(65534); os.setuid(65534)
resources.forbid_dumps()
block = b"x" * 300_000_000
del block
before = resources.peak_bytes()
resources.restart_peak()
print(before - resources.peak_bytes() > 200_000_000, resources._prctl(3))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]
