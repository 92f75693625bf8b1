"""The commands of the documentation that verify a release without this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.documentation_pages import blocks, written

_WITHOUT_PROJECT = "import sys\nsys.modules['hybrid'] = None\n"
"""Makes every import of this project fail."""


def by_python(release: Path, key: Path) -> int:
    """Exit code of the Python program of the page."""
    (code,) = blocks(written()["guides/verify.md"], "python")
    arguments = [sys.executable, "-I", "-c", _WITHOUT_PROJECT + code, str(release), str(key)]
    return subprocess.run(arguments, capture_output=True).returncode


def by_openssl(release: Path, key: Path, options: str = "") -> int:
    """Exit code of the shell commands of the page, with further options of ``openssl pkeyutl``."""
    (code,) = blocks(written()["guides/verify.md"], "bash")
    folder = key.with_name("tools")
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"RELEASE": str(release), "KEY": str(key)}
    command = ["bash", "-c", code.replace(" -rawin ", f" -rawin {options} ")]
    return subprocess.run(command, capture_output=True, cwd=folder, env=environment).returncode
