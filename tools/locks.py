"""Locks of the core and of every extra, pinned and hashed: ``python -m tools.locks``.

Each ``locks/NAME.txt`` lists what ``pip install --require-hashes --no-deps -r`` installs, transitive packages included,
at the versions of ``constraints.txt``, with the SHA-256 of every file that the index offers for them. The locks hold
for Linux and macOS and every supported Python; where packages end earlier, :data:`PYTHONS` says so. Needs ``uv`` and
a package index; the locks name no index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "locks"
CORE = "core"
LOWEST = "3.11.5"
"""Lowest Python of the locks: pymdown-extensions needs it."""
PYTHONS = {"realtabformer": "python_version < '3.13'", "all": "python_version < '3.13'"}
"""Extras that are locked for some versions of Python only: datasets has no release for the fsspec of the others."""
HEADER = """\
# Written by make locks; do not edit. Install with:
#   pip install --require-hashes --no-deps -r locks/{name}.txt && pip install --no-deps .
"""


def project() -> dict[str, Any]:
    """Section ``project`` of ``pyproject.toml``."""
    content: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def extras() -> list[str]:
    """Extras of the project, in the order of ``pyproject.toml``."""
    return list(project()["optional-dependencies"])


def requirements(name: str) -> list[Requirement]:
    """Requirements of the core, and with them those of an extra and of the extras it includes."""
    about = project()
    pending = [*about["dependencies"], *([] if name == CORE else about["optional-dependencies"][name])]
    found = []
    while pending:
        read = Requirement(pending.pop(0))
        if canonicalize_name(read.name) == canonicalize_name(about["name"]):
            pending += [text for extra in sorted(read.extras) for text in about["optional-dependencies"][extra]]
        else:
            found.append(read)
    return found


def lock(name: str) -> str:
    """Lock of one extra, or of the core."""
    markers = " and ".join(["sys_platform != 'win32'", *([PYTHONS[name]] if name in PYTHONS else [])])
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "pyproject.toml"
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        copy.write_text(f'{text}\n[tool.uv]\nenvironments = ["{markers}"]\n', encoding="utf-8")
        extra = [] if name == CORE else ["--extra", name]
        made = subprocess.run(
            [
                *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"),
                *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
                *("--python-version", LOWEST, "--constraints", str(ROOT / "constraints.txt")),
                *("--output-file", "lock.txt", *extra, "pyproject.toml"),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            sys.exit(f"{name}: {made.stderr}")
        lines = (Path(folder) / "lock.txt").read_text(encoding="utf-8").replace(" \\\n    ", " ")
        return HEADER.format(name=name) + lines


def main() -> None:
    """Write all locks."""
    LOCKS.mkdir(exist_ok=True)
    for name in (CORE, *extras()):
        (LOCKS / f"{name}.txt").write_text(lock(name), encoding="utf-8")


if __name__ == "__main__":
    main()
