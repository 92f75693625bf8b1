"""The public names stay what they are, whatever else is imported."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest

import hybrid

CALLED = ("synthesize", "anonymize")
"""Packages that are functions, too."""
FUNCTIONS = (
    "check",
    "trade_off",
    "audit",
    "guess",
    "run",
    "release",
    "compare",
    "tune",
    "estimate",
    "combine",
    "load_config",
)


def _modules() -> list[str]:
    return [found.name for found in walk_packages(hybrid.__path__, "hybrid.")]


@pytest.fixture(scope="module")
def everything() -> list[ModuleType]:
    """Every module of the package; those of optional generators need their library."""
    imported = []
    for name in _modules():
        try:
            imported.append(import_module(name))
        except ImportError as error:
            assert (error.name or "").partition(".")[0] != "hybrid", f"{name}: {error}"
    assert len(imported) > 200
    return imported


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_stays_one(everything: list[ModuleType], name: str) -> None:
    function = getattr(hybrid, name)
    assert inspect.isfunction(function)
    with pytest.raises(TypeError, match=rf"{name}\(\) missing \d+ required (positional|keyword-only) argument"):
        function()


@pytest.mark.parametrize("name", CALLED)
def test_a_package_stays_one_that_can_be_called(everything: list[ModuleType], name: str) -> None:
    package = getattr(hybrid, name)
    assert isinstance(package, ModuleType) and package is sys.modules[f"hybrid.{name}"]
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional argument"):
        package()


def test_every_public_name_is_a_function_a_class_or_a_module(everything: list[ModuleType]) -> None:
    assert set(hybrid.__all__) <= set(dir(hybrid))
    for name in hybrid.__all__:
        found = getattr(hybrid, name)
        # hybrid.mock takes a table or a configuration, and needs neither of both alone.
        assert inspect.isclass(found) or name in (*FUNCTIONS, "mock") or not hybrid._HOME[name], name
        assert inspect.getdoc(found), name


def test_no_submodule_takes_the_place_of_an_exported_name(everything: list[ModuleType]) -> None:
    shadowed = [
        f"{module.__name__}.{name}"
        for module in everything
        for name in getattr(module, "__all__", ())
        if isinstance(getattr(module, name), ModuleType) and module is not hybrid
    ]
    assert shadowed == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'nonsense'"):
        hybrid.nonsense  # noqa: B018


def test_importing_the_package_imports_no_library() -> None:
    script = "import sys; before = set(sys.modules); import hybrid; print(*set(sys.modules) - before)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert {name.partition(".")[0] for name in printed.split()} <= {"hybrid", *sys.stdlib_module_names}


def test_the_help_of_the_command_line_imports_no_heavy_library() -> None:
    script = (
        "import sys, contextlib, io, hybrid.cli\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): hybrid.cli.main(['--help'])\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    heavy = {
        "numpy",
        "pandas",
        "pyarrow",
        "scipy",
        "sklearn",
        "numba",
        "pydantic",
        "ruamel",
        "jinja2",
        "fastapi",
        "torch",
    }
    assert not heavy & set(printed.split())
