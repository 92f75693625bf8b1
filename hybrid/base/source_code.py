"""Code and libraries behind a result, from its root modules' imports.

A kept result may be used again only while the code that computed it is unchanged. Which modules that is, is not
written down by hand, where one would be forgotten, but read from the import statements of the sources (imports
inside functions and lazily exported names of packages included), without importing anything.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hybrid.base.hashing import fingerprint, library_versions

NEUTRAL: Mapping[str, str] = {
    "hybrid": "lists public names for users; no module of the package imports them from there",
    "hybrid.base.progress": "reports how far a computation is",
    "hybrid.base.logs": "formats log lines",
    "hybrid.base.manifest": "describes a finished run",
    "hybrid.base.locks": "decides who computes first, not what is computed",
    "hybrid.store": "returns results byte for byte as they were kept, or computes them anew",
}
"""Modules (and packages with all that is in them) that cannot change a result, with the reason. Not followed."""
NEUTRAL_LIBRARIES: Mapping[str, str] = {
    "cloudpickle": "moves a model between two processes",
    "cryptography": "encrypts what is kept",
    "filelock": "decides who computes first",
    "fsspec": "moves bytes; what was read is fingerprinted",
    "s3fs": "moves bytes; what was read is fingerprinted",
    "psutil": "measures memory and processes",
    "sqlalchemy": "moves rows; what was read is fingerprinted",
    "threadpoolctl": "limits the number of threads",
}
"""Imported packages whose version cannot change a result, with the reason."""
DISTRIBUTIONS: Mapping[str, str] = {"ruamel": "ruamel.yaml", "sklearn": "scikit-learn", "yaml": "PyYAML"}
"""Distributions that are not called as the package they bring."""
ENGINES: Mapping[str, tuple[str, ...]] = {
    "sdv": ("sdv", "copulas", "ctgan", "rdt"),
    "synthcity": ("synthcity", "torch"),
}
"""Further distributions that do the work of an imported package."""
_PACKAGE = "hybrid"
_NAMED = re.compile(rf"""["']({_PACKAGE}(?:\.\w+)+)["']""")
"""A module's full name as a text: counts where modules are imported by name."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Roots:
    """Root modules of the code behind a result.

    Parameters
    ----------
    modules : tuple of str
        Modules whose imports are followed.
    counted : tuple of str
        Modules that count, but whose imports are not followed: code that calls stages one after the other.
    cuts : tuple of (str, str)
        Imports that are not followed, from a module into a module or package: a registry imports every plugin, and
        one of them, which is among ``modules``, does the work.
    """

    modules: tuple[str, ...]
    counted: tuple[str, ...] = ()
    cuts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Imports:
    """Imports of one source file."""

    modules: frozenset[str]
    """Modules by full name."""
    names: frozenset[tuple[str, str]]
    """Names taken from modules: (module, name)."""
    exported: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Names that a package imports for type checkers alone and for others when they are first used."""


def code_behind(roots: Roots) -> str:
    """SHA-256 of a result's modules, and versions of the libraries they import.

    Returns
    -------
    str
        64 hexadecimal digits. Moves when one of the source files changes, or the set of them, or one installed
        version.
    """
    hashes = [(module, module_hash(module)) for module in sorted(modules_behind(roots))]
    return fingerprint(hashes, library_versions(*libraries_behind(roots)))


@cache
def modules_behind(roots: Roots) -> frozenset[str]:
    """Modules that the roots import, directly or not.

    Of this package and of the roots' own packages.
    """
    found: set[str] = set(roots.counted)
    waiting = list(roots.modules)
    while waiting:
        module = waiting.pop()
        if module in found or _neutral(module):
            continue
        found.add(module)
        waiting += [target for target in _own_imports(module) if not _is_cut(module, target, roots.cuts)]
    return frozenset(found)


@cache
def libraries_behind(roots: Roots) -> tuple[str, ...]:
    """Distributions that the modules of :func:`modules_behind` import, but for counted ones; sorted."""
    own = {module.partition(".")[0] for module in (*roots.modules, _PACKAGE)}
    followed = modules_behind(roots) - (set(roots.counted) - set(roots.modules))
    tops = {name.partition(".")[0] for module in followed for name in _imports(module).modules}
    outside = tops - own - sys.stdlib_module_names - set(NEUTRAL_LIBRARIES)
    return tuple(sorted({each for name in outside for each in ENGINES.get(name, (DISTRIBUTIONS.get(name, name),))}))


@cache
def module_hash(module: str) -> str:
    """The SHA-256 of a module's source file.

    Raises
    ------
    ModuleNotFoundError
        It has no source file.
    """
    path = _source(module)
    if path is None:
        raise ModuleNotFoundError(f"no source for module {module!r}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _neutral(module: str) -> bool:
    return module in NEUTRAL or any(module.startswith(f"{name}.") for name in NEUTRAL if name != _PACKAGE)


def _is_cut(source: str, target: str, cuts: Iterable[tuple[str, str]]) -> bool:
    return any(source == before and f"{target}.".startswith(f"{after}.") for before, after in cuts)


@cache
def _own_imports(module: str) -> frozenset[str]:
    """Modules with own sources, and their parent packages.

    Python imports the packages first.
    """
    own = {_PACKAGE, module.partition(".")[0]}
    imports = _imports(module)
    direct = {name for name in imports.modules if name.partition(".")[0] in own}
    direct |= {each for name in direct for each in _exports(name)} if module not in direct else set()
    direct |= {each for source, name in imports.names if source.partition(".")[0] in own for each in _of(source, name)}
    return frozenset(each for name in (*direct, module) for each in _with_packages(name)) - {module}


def _exports(package: str) -> Iterator[str]:
    """Modules of all names that a package exports lazily.

    After ``import package`` any of them can be used.
    """
    if _source(package) is not None and package not in NEUTRAL:
        for source, name in _imports(package).exported.values():
            yield from _of(source, name)


def _of(source: str, name: str) -> Iterator[str]:
    """The modules behind ``from source import name``."""
    inner = f"{source}.{name}"
    if _source(inner) is not None:
        yield inner
        return
    yield source
    exported = _imports(source).exported.get(name) if _source(source) is not None else None
    if exported is not None:
        yield from _of(*exported)


def _with_packages(module: str) -> Iterator[str]:
    while module:
        if _source(module) is not None:
            yield module
        module = module.rpartition(".")[0]


@cache
def _imports(module: str) -> _Imports:
    path = _source(module)
    if path is None:
        return _Imports(frozenset(), frozenset())
    text = path.read_text(encoding="utf-8")
    inside = path.name == "__init__.py"
    package = module if inside else module.rpartition(".")[0]
    by_name = _NAMED.findall(text) if "import_module(" in text else ()
    modules = {name for name in by_name if _source(name) is not None}
    names: set[tuple[str, str]] = set()
    exported: dict[str, tuple[str, str]] = {}
    for node, for_types in _import_statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            modules |= set() if for_types else {alias.name for alias in node.names}
            continue
        source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        if for_types:
            exported |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
        elif source.partition(".")[0] in (_PACKAGE, module.partition(".")[0]):
            names |= {(source, alias.name) for alias in node.names}
        else:
            modules.add(source)
    return _Imports(frozenset(modules), frozenset(names), exported if inside else {})


def _import_statements(
    body: Iterable[ast.AST], for_types: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Import statements of a block and its inner blocks.

    Each with a flag for those that only type checkers see.
    """
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, for_types
            continue
        typing = isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for name in _BLOCKS:
            yield from _import_statements(getattr(node, name, ()), for_types or (typing and name == "body"))


@cache
def _source(module: str) -> Path | None:
    """The source file of a module; None where there is none.

    Imports nothing.
    """
    top, *inner = module.split(".")
    if top == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return None if file is None else Path(file)
    for folder in _folders(top):
        path = folder.joinpath(*inner)
        for candidate in (path / "__init__.py", path.with_suffix(".py") if inner else folder / "__init__.py"):
            if candidate.is_file():
                return candidate
    return _single_file(top) if not inner else None


@cache
def _folders(top: str) -> tuple[Path, ...]:
    if top == _PACKAGE:
        return (Path(__file__).parents[1],)
    spec = importlib.util.find_spec(top)
    return () if spec is None else tuple(map(Path, spec.submodule_search_locations or ()))


def _single_file(top: str) -> Path | None:
    spec = importlib.util.find_spec(top)
    origin = None if spec is None else spec.origin
    return Path(origin) if origin is not None and origin.endswith(".py") else None
