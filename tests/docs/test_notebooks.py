"""Notebooks of the site: their runner, and their cells as far as they can be checked without a run."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.hooks.notebooks import FOLDER, page_of, sources
from hybrid.synthesize.isolation.environments import install, interpreter
from tests.docs.documentation_pages import blocks

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def _notebook(path: Path, *cells: str) -> Path:
    content = [{"cell_type": "markdown", "source": ["# Title"]}]
    content += [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(json.dumps({"cells": content}))
    return path


def test_a_page_shows_what_a_cell_prints_and_its_last_value(tmp_path: Path) -> None:
    before = Path.cwd()
    cells = (
        "import pandas as pd\nopen('made', 'w').close()\nprint('printed')",
        "pd.DataFrame({'a': [7]})",
        "1 + 41",
    )
    page = page_of(_notebook(tmp_path / "n.ipynb", *cells))
    assert "# Title" in page and "docs/notebooks/n.ipynb" in page
    assert "```text\nprinted\n```" in page and "<td>7</td>" in page and "```text\n42\n```" in page
    assert Path.cwd() == before and not (tmp_path / "made").exists()


def test_a_cell_that_fails_fails_the_build(tmp_path: Path) -> None:
    before = Path.cwd()
    with pytest.raises(ZeroDivisionError):
        page_of(_notebook(tmp_path / "n.ipynb", "1 / 0"))
    assert Path.cwd() == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_are_python_and_hold_no_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown" and len(cells) > 4
    assert all(cell.get("outputs", []) == [] for cell in cells)
    for block in blocks(sources()[f"notebooks/{path.name.replace('.ipynb', '.md')}"], "python"):
        ast.parse(block)


def test_cells_use_what_the_package_has(tmp_path: Path) -> None:
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        (tmp_path / f"{path.stem.replace('-', '_')}.py").write_text("\n\n".join(code) + "\n")
    unneeded = "--disable-error-code=import-not-found", "--disable-error-code=arg-type"
    command = sys.executable, "-m", "mypy", *unneeded, *map(str, tmp_path.glob("*.py"))
    checked = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_notebooks_are_known() -> None:
    beside = ["beside-mostlyai", "beside-sdv", "beside-synthcity"]
    assert [path.stem for path in NOTEBOOKS] == ["audit", *beside, "conclusions", "first-release", "strategies"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["beside-mostlyai", "beside-sdv", "beside-synthcity"])
def test_tables_beside_other_tools_are_judged(name: str) -> None:
    page = page_of(FOLDER / f"{name}.ipynb")
    assert "identical_match" in page and "<svg" in page and "reference 0.5" in page


@pytest.mark.filterwarnings("ignore")
@pytest.mark.generators
@pytest.mark.slow
def test_a_table_of_sdv_is_judged() -> None:
    assert "300 rows, made by SDV 1." in page_of(FOLDER / "beside-sdv.ipynb")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.engines
@pytest.mark.slow
def test_a_table_of_synthcity_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install("synthcity").state == "ready"
    monkeypatch.setenv("SYNTHCITY_PYTHON", str(interpreter("synthcity")))
    assert "rows, made by synthcity" in page_of(FOLDER / "beside-synthcity.ipynb")
