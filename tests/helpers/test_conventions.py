"""Rules that every test module keeps."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def _imported(path: Path) -> set[str]:
    """Modules that a file imports, the names it takes from packages included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_test_module_is_imported_and_helpers_bear_their_full_name() -> None:
    helpers = {path.stem for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "__"))}
    for path in TESTS.rglob("*.py"):
        for name in _imported(path):
            parts = name.split(".")
            assert not any(part.startswith("test_") for part in parts[:-1]), f"{path} imports from {name}"
            assert not (parts[0] in helpers or parts[-1].startswith("test_")), f"{path} imports {name}"


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in TESTS.rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]
