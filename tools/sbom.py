"""Software bill of materials (CycloneDX 1.6): ``python -m tools.sbom EXTRA OUTPUT ENVIRONMENT``.

Components are the packages of a lock that an environment holds, with version, package URL, licence, the SHA-256 of
every file that the lock accepts, and what each depends on. The document is validated against the schema of
CycloneDX, offline, before it is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from tools.locks import project, requirements
from tools.packages import Pinned, installed, licence_of, locked, requirements_of

VERSION = SchemaVersion.V1_6


def bill(extra: str, environment: Path) -> str:
    """Bill of materials of the core or of an extra, as JSON.

    Raises
    ------
    ValueError
        The environment lacks a package of the lock or holds another version, or the document does not fit its schema.
    """
    about = project()
    pinned = {one.name: one for one in locked(extra) if not one.marker or Marker(one.marker).evaluate()}
    found = installed([environment])
    wrong = [name for name, one in pinned.items() if name not in found or _base(found[name].version) != one.version]
    if wrong:
        raise ValueError(f"{environment} does not hold locks/{extra}.txt; other or missing: {', '.join(wrong)}")
    root = Component(
        name=about["name"],
        version=about["version"],
        type=ComponentType.APPLICATION,
        bom_ref=about["name"],
        description=about["description"],
        purl=PackageURL("pypi", None, about["name"], about["version"]),
        licenses=[LicenseFactory().make_from_string(about["license"])],
    )
    document = Bom()
    document.metadata.component = root
    document.metadata.properties.add(Property(name="hybrid-release:extra", value=extra))
    components = {name: _component(one, licence_of(name, found[name])) for name, one in pinned.items()}
    document.components.update(components.values())
    direct = {canonicalize_name(one.name) for one in requirements(extra)} & set(components)
    document.register_dependency(root, [components[name] for name in sorted(direct)])
    for name, component in components.items():
        needed = [components[other] for other in requirements_of(found[name]) if other in components]
        document.register_dependency(component, needed)
    text = make_outputter(document, OutputFormat.JSON, VERSION).output_as_string(indent=2)
    if error := JsonStrictValidator(VERSION).validate_str(text):
        raise ValueError(f"the document does not fit CycloneDX: {error}")
    return text


def _component(one: Pinned, licence: str) -> Component:
    acknowledged = LicenseAcknowledgement.DECLARED
    return Component(
        name=one.name,
        version=one.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{one.name}=={one.version}",
        purl=PackageURL("pypi", None, one.name, one.version),
        licenses=[LicenseFactory().make_from_string(licence, license_acknowledgement=acknowledged)],
        properties=[Property(name="hybrid-release:accepted-sha256", value=value) for value in one.hashes],
    )


def _base(version: str) -> str:
    """Version without the label of a local build, such as ``+cpu``."""
    return version.partition("+")[0]


if __name__ == "__main__":
    extra, output, environment = sys.argv[1:4]
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(bill(extra, Path(environment)) + "\n", encoding="utf-8")
