"""The code behind a result is found from import statements, whatever form they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.base import source_code
from hybrid.base.source_code import Roots, code_behind, libraries_behind, modules_behind

FILES = {
    "__init__": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made_up.lazy import Lazy\n",
    "root": """
        from __future__ import annotations
        import json
        import sklearn.tree
        from typing import TYPE_CHECKING
        from made_up import Lazy
        from made_up.pack import inner
        from . import relative
        if TYPE_CHECKING:
            from made_up.types_only import T
            import torch
        def work():
            from made_up.late import f
            try:
                import yaml
            except ImportError:
                pass
            return f
        """,
    "lazy": "class Lazy: ...",
    "late": "def f(): ...",
    "relative": "x = 1",
    "types_only": "T = int",
    "unrelated": "import numpy",
    "registry": "from made_up.plugins.one import One\nfrom made_up.plugins.two import Two\n",
    "pack/__init__": "import made_up.around",
    "around": "",
    "pack/inner": "",
    "plugins/__init__": "",
    "plugins/one": "import scipy",
    "plugins/two": "import made_up.unrelated",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package ``made_up`` that can be found, but is never imported."""
    for name, text in FILES.items():
        path = tmp_path / "made_up" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.splitlines()
        path.write_text("\n".join(line.removeprefix("        ") for line in lines))
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    return tmp_path / "made_up"


def _forget() -> None:
    for cached in vars(source_code).values():
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def _names(roots: Roots) -> set[str]:
    return {name.removeprefix("made_up.") for name in modules_behind(roots)}


def test_every_form_of_import_is_followed_but_not_what_only_type_checkers_see(folder: Path) -> None:
    found = _names(Roots(("made_up.root",)))
    assert found == {"made_up", "root", "lazy", "late", "relative", "pack", "pack.inner", "around"}
    assert libraries_behind(Roots(("made_up.root",))) == ("PyYAML", "scikit-learn")


def test_of_a_registry_only_the_chosen_plugin_counts(folder: Path) -> None:
    cuts = (("made_up.registry", "made_up.plugins"),)
    assert "unrelated" in _names(Roots(("made_up.registry",)))
    roots = Roots(("made_up.registry", "made_up.plugins.one"), cuts=cuts)
    assert _names(roots) == {"made_up", "registry", "plugins", "plugins.one"}
    assert libraries_behind(roots) == ("scipy",)


def test_counted_modules_count_and_are_not_followed(folder: Path) -> None:
    roots = Roots(("made_up.late",), counted=("made_up.registry",))
    assert _names(roots) == {"made_up", "late", "registry"}


def test_the_version_moves_with_each_file_and_each_new_import(folder: Path) -> None:
    roots = Roots(("made_up.root",))
    seen = {code_behind(roots)}
    for name, text in (("around", "y = 2"), ("types_only", "T = str"), ("late", "import made_up.unrelated")):
        (folder / f"{name}.py").write_text(text)
        _forget()
        seen.add(code_behind(roots))
    assert len(seen) == 3, "a file for type checkers counts, or another does not"


def test_modules_that_are_imported_by_name_count(folder: Path) -> None:
    (folder / "late.py").write_text('import importlib\nimportlib.import_module("hybrid.table.split")\n')
    _forget()
    assert "hybrid.table.split" in modules_behind(Roots(("made_up.late",)))


def test_a_module_without_a_source_is_no_reason_to_keep_a_result() -> None:
    with pytest.raises(ModuleNotFoundError, match="no source"):
        code_behind(Roots(("hybrid.no_such_module",)))
