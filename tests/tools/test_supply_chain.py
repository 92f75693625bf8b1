"""Locks, licence report and bill of materials cover what the project depends on."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.licences import PAGE, PERMISSIVE, kind_of
from tools.locks import CORE, LOCKS, PYTHONS, ROOT, extras, requirements
from tools.packages import locked
from tools.sbom import bill

NAMES = (CORE, *extras())
LINUX = {"sys_platform": "linux", "platform_python_implementation": "CPython", "platform_machine": "x86_64"}


def environments(name: str) -> list[dict[str, str]]:
    pythons = ("3.11", "3.12") if name in PYTHONS else ("3.11", "3.12", "3.13")
    return [LINUX | {"python_version": one, "python_full_version": f"{one}.9"} for one in pythons]


def holds(marker: str, environment: dict[str, str]) -> bool:
    return not marker or Marker(marker).evaluate(environment | {"extra": ""})


def pins() -> dict[str, set[str]]:
    """Versions in ``constraints.txt``, by normalized name."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition(";")[0].strip().partition("==")
            found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def test_there_is_a_lock_of_the_core_and_of_each_extra() -> None:
    assert {path.stem for path in LOCKS.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_holds_each_requirement_once_at_the_constrained_version(name: str) -> None:
    packages, versions = locked(name), pins()
    for environment in environments(name):
        active = [one for one in packages if holds(one.marker, environment)]
        assert len({one.name for one in active}) == len(active)
        chosen = {one.name: one.version for one in active}
        for needed in requirements(name):
            if holds(str(needed.marker or ""), environment):
                assert needed.specifier.contains(Version(chosen[canonicalize_name(needed.name)])), str(needed)
    assert {one.name for one in packages if one.version not in versions.get(one.name, {one.version})} == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_hashes_every_file_and_names_no_index(name: str) -> None:
    assert all(len(found) == 64 for one in locked(name) for found in one.hashes)
    assert all(one.hashes for one in locked(name))
    assert not re.search(r"://|--(extra-)?index|--find-links", (LOCKS / f"{name}.txt").read_text(encoding="utf-8"))


def test_the_page_of_licences_lists_every_locked_package() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", text.partition("## All packages")[2], re.MULTILINE))
    assert set(rows) - {"package"} == {one.name for name in NAMES for one in locked(name)}
    assert all(licence.strip() for licence in rows.values())
    duties = text.partition("## Licences with duties")[2].partition("## All packages")[0]
    marked = {name for name, licence in rows.items() if kind_of(name, licence.strip()) != PERMISSIVE}
    assert {"python-stdnum", "psycopg", "sdv", "certifi"} <= marked
    assert all(f"| {name} |" in duties for name in marked)


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", PERMISSIVE),
        ("Apache-2.0 OR BSD-3-Clause", PERMISSIVE),
        ("BUSL-1.1", "source-available"),
        ("GNU Lesser General Public License v2 or later (LGPLv2+)", "weak copyleft (library)"),
        ("MPL-2.0 AND MIT", "weak copyleft (file)"),
        ("GNU General Public License v3 (GPLv3)", "copyleft"),
        ("AGPL-3.0-only", "copyleft"),
        ("NVIDIA software licence (proprietary)", "proprietary"),
    ],
)
def test_kinds_of_licences(licence: str, kind: str) -> None:
    assert kind_of("a-package", licence) == kind


def test_the_bill_of_materials_fits_its_schema_and_its_lock() -> None:
    document = json.loads(bill(CORE, Path(sys.prefix)))
    components = {one["name"]: one for one in document["components"]}
    active = {one.name: one for one in locked(CORE) if not one.marker or Marker(one.marker).evaluate()}
    assert document["bomFormat"] == "CycloneDX"
    assert {name: one["version"] for name, one in components.items()} == {n: one.version for n, one in active.items()}
    assert all(one["licenses"] and one["purl"].startswith("pkg:pypi/") for one in components.values())
    hashes = {found["value"] for found in components["cryptography"]["properties"]}
    assert hashes == set(active["cryptography"].hashes)
    graph = {one["ref"]: set(one.get("dependsOn", ())) for one in document["dependencies"]}
    assert f"cffi=={active['cffi'].version}" in graph[components["cryptography"]["bom-ref"]]
    assert {components["numpy"]["bom-ref"], components["securesystemslib"]["bom-ref"]} <= graph["hybrid-release"]


def test_no_bill_is_made_of_an_environment_that_lacks_packages(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not hold"):
        bill(CORE, tmp_path)
