"""Licence report of every extra: ``python -m tools.licences ENVIRONMENT...`` writes ``docs/developing/licences.md``.

The packages are those of the locks; the licences are what their metadata in the environments state.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.locks import CORE, ROOT, extras
from tools.packages import installed, licence_of, locked

PAGE = ROOT / "docs" / "developing" / "licences.md"
PERMISSIVE = "permissive"
KINDS = {
    "source-available": re.compile(r"BUSL", re.IGNORECASE),
    "proprietary": re.compile(r"proprietary", re.IGNORECASE),
    "weak copyleft (library)": re.compile(r"LGPL|Lesser", re.IGNORECASE),
    "weak copyleft (file)": re.compile(r"MPL|Mozilla", re.IGNORECASE),
    "copyleft": re.compile(r"\bA?GPL|General Public License", re.IGNORECASE),
}
"""Kinds of licences with duties beyond naming the author; the first that matches counts."""
CHOICES = {
    "text-unidecode": "Artistic License",
    "docutils": "Public Domain; BSD License",
}
"""Packages under several licences of which the user chooses one, or whose copyleft part is not used here."""
DUTIES = {
    "source-available": "BUSL-1.1: use inside your organization is free; offering synthesis to others as a service "
    "needs a contract with the vendor. Only these extras bring it; nothing in the core depends on it.",
    "proprietary": "Libraries that torch brings to Linux machines with a GPU of NVIDIA. They may be used and not be "
    "passed on separately; the CPU builds of torch do without.",
    "weak copyleft (library)": "LGPL: imported unchanged. Who passes the package on also passes on its licence and "
    "source, and lets others exchange it, which a Python environment does.",
    "weak copyleft (file)": "MPL-2.0: who changes its files and passes them on publishes the changed files.",
    "copyleft": "GPL: who passes on a work that contains it licenses the whole under the GPL.",
}


def kind_of(name: str, licence: str) -> str:
    """Kind of a licence: one of :data:`KINDS`, or permissive."""
    chosen = CHOICES.get(name, licence)
    return next((kind for kind, pattern in KINDS.items() if pattern.search(chosen)), PERMISSIVE)


def report(environments: Sequence[Path]) -> str:
    """Text of the page.

    Raises
    ------
    SystemExit
        The licence of a package is unknown.
    """
    found = installed(environments)
    names = (CORE, *extras())
    contents = {extra: {one.name for one in locked(extra)} for extra in names}
    licences = {name: licence_of(name, found.get(name)) for name in sorted(set().union(*contents.values()))}
    if unknown := [name for name, licence in licences.items() if not licence]:
        sys.exit(f"the licence is unknown of: {', '.join(unknown)}")
    return "\n".join([*_start(contents, licences), *_duties(contents, licences), *_all(contents, licences)]) + "\n"


def _start(contents: Mapping[str, set[str]], licences: Mapping[str, str]) -> Iterator[str]:
    yield "# Licences of the packages\n"
    yield "The project is under the Apache License 2.0. This page lists what it depends on: every package of the hashed"
    yield "locks in `locks/`, with the licence that its metadata state. `make licences` writes it.\n"
    yield "| extra | packages | beyond the core | other than permissive |\n|---|---|---|---|"
    for extra, packages in contents.items():
        beyond = packages - contents[CORE] if extra != CORE else packages
        marked = sorted(name for name in beyond if kind_of(name, licences[name]) != PERMISSIVE)
        brought = [name for name in marked if kind_of(name, licences[name]) != "proprietary"]
        shown = ", ".join(brought) + (", libraries of NVIDIA" if len(brought) < len(marked) else "")
        count = "" if extra == CORE else len(beyond)
        yield f"| {'the core' if extra == CORE else f'`{extra}`'} | {len(packages)} | {count} | {shown.lstrip(', ')} |"


def _duties(contents: Mapping[str, set[str]], licences: Mapping[str, str]) -> Iterator[str]:
    yield "\n## Licences with duties\n"
    for kind, duty in DUTIES.items():
        names = [name for name, licence in licences.items() if kind_of(name, licence) == kind]
        if names:
            yield f"**{kind.capitalize()}.** {duty}\n\n| package | licence | extras |\n|---|---|---|"
            yield from (f"| {name} | {licences[name]} | {_extras(name, contents)} |" for name in names)
            yield ""
    for name, chosen in CHOICES.items():
        yield f"{name} states several licences ({licences[name]}); what is used here is under: {chosen}.\n"


def _all(contents: Mapping[str, set[str]], licences: Mapping[str, str]) -> Iterator[str]:
    yield "## All packages\n\n| package | licence | extras |\n|---|---|---|"
    for name, licence in licences.items():
        yield f"| {name} | {licence} | {_extras(name, contents)} |"


def _extras(name: str, contents: Mapping[str, set[str]]) -> str:
    """Extras that bring a package; the core brings it to all."""
    if name in contents[CORE]:
        return "core"
    return ", ".join(f"`{extra}`" for extra, packages in contents.items() if name in packages and extra != "all")


if __name__ == "__main__":
    PAGE.write_text(report([Path(name) for name in sys.argv[1:]]), encoding="utf-8")
