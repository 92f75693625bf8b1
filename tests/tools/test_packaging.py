"""Archives for publishing: the same twice, with the pages that hints name; container and conda recipe."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from hybrid.base import errors
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.pages import command_of, page, topics

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILD = "import hatchling.build as build, sys; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"
COPIED = ("hybrid", "flows", "docs", "locks", "pyproject.toml", "README.md", "LICENSE", "constraints.txt")
COPIED += ("CHANGELOG.md", "SECURITY.md")


def _build(tree: Path, out: Path, backend: Path) -> dict[str, str]:
    """SHA-256 of each archive of a copy of the tree."""
    out.mkdir()
    env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "PYTHONPATH": str(backend)}
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=tree, env=env, check=True, capture_output=True)
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(out.iterdir())}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], dict[str, str]]:
    """Folder of the archives, and their hashes by two builds of two copies, the files of which have other times."""
    folder = tmp_path_factory.mktemp("archives")
    backend = folder / "backend"
    if find_spec("hatchling") is None:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(backend), "hatchling>=1.25"]
        subprocess.run(install, check=True, capture_output=True)
    hashes = []
    for number in ("one", "two"):
        tree = folder / number
        for name in COPIED:
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=ignored, copy_function=shutil.copyfile)
            else:
                tree.mkdir(exist_ok=True)
                shutil.copyfile(source, tree / name)
        hashes.append(_build(tree, folder / f"dist-{number}", backend))
    return folder / "dist-one", hashes[0], hashes[1]


def test_two_builds_give_the_same_archives(archives: tuple[Path, dict[str, str], dict[str, str]]) -> None:
    _, first, second = archives
    assert len(first) == 2 and first == second


def test_the_wheel_has_its_pages_its_licence_and_its_metadata(
    archives: tuple[Path, dict[str, str], dict[str, str]], tmp_path: Path
) -> None:
    (wheel,) = archives[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        content.extractall(tmp_path / "installed")
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = content.read(about).decode()
    assert "License-Expression: Apache-2.0" in metadata and "Requires-Python: >=3.11" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith("tests") or "__pycache__" in name]
    assert {f"hybrid/pages/{topic}.md" for topic in topics()} <= set(names)
    script = "import hybrid.base.pages as p; print(p.folder().name, len(p.topics()))"
    env = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    shown = subprocess.run([sys.executable, "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert shown.stdout.split() == ["pages", str(len(topics()))], shown.stderr


def test_the_sdist_builds_the_wheel(archives: tuple[Path, dict[str, str], dict[str, str]]) -> None:
    (sdist,) = archives[0].glob("*.tar.gz")
    with tarfile.open(sdist) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "hybrid/__init__.py", "docs/guides/python.md"} <= names
    assert not [name for name in names if name.startswith(("tests/", "work/", ".venv"))]


def test_every_hint_leads_to_a_page_that_every_installation_has() -> None:
    pages = [one.page for one in vars(errors).values() if isinstance(one, type) and issubclass(one, HybridError)]
    texts = [one.read_text(encoding="utf-8") for one in (ROOT / "hybrid").rglob("*.py")]
    named = [found for text in texts for found in re.findall(r"see (hybrid help \w+)", text)]
    commands = [*(command_of(one) for one in pages if one), *named]
    assert len(commands) > 10
    for command in commands:
        assert page(command.removeprefix("hybrid help ")).startswith("# ")
    with pytest.raises(ConfigError, match="did you mean 'nights'"):
        page("nigths")


def _lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("name", ["Containerfile", "deploy/Dockerfile"])
def test_an_image_comes_from_the_lock_and_runs_without_rights(name: str) -> None:
    lines = _lines(name)
    words = [line.split(maxsplit=1) for line in lines]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENV", "ENTRYPOINT", "CMD"}
    assert {one[0] for one in words} <= known and words[0][0] == "FROM"
    installs = [part for line in lines for part in line.split("&&") if "pip install" in part]
    assert all("--no-deps" in part for part in installs)
    assert any("--require-hashes" in part and "locks/" in part for part in installs)
    users = [one[1] for one in words if one[0] == "USER"]
    assert users and users[-1] not in ("root", "0")
    assert [one[0] for one in words].index("USER") > [one[0] for one in words].index("RUN")
    for _, text in (one for one in words if one[0] == "COPY"):
        for source in text.split()[:-1]:
            assert (ROOT / source).exists(), source


def test_the_conda_recipe_has_the_requirements_of_the_project() -> None:
    recipe: dict[str, Any] = yaml.safe_load((ROOT / "deploy/conda/recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"] and recipe["about"]["license"] == PROJECT["license"]
    wanted = {one.name: str(one.specifier) for one in map(Requirement, PROJECT["dependencies"])}
    wanted["python"] = PROJECT["requires-python"]
    given = dict(one.split(maxsplit=1) for one in recipe["requirements"]["run"])
    assert {name: sorted(text.split(",")) for name, text in given.items()} == {
        name: sorted(text.split(",")) for name, text in wanted.items()
    }
