"""``dcat.jsonld``: description for data catalogues, DCAT-AP 3 and StatDCAT-AP as JSON-LD.

Sources: DCAT-AP 3.0 and StatDCAT-AP 1.0 (SEMIC, European Commission), DCAT 3 (W3C, 2024). Addresses are relative to the
release's folder unless the publisher states one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybrid.base.ownership import CERTIFICATE
from hybrid.publication.description.description import DescribedTable, Description, PartyOptions, ReleasedFile
from hybrid.publication.description.statement import Statement
from hybrid.publication.nature import KEYWORD

CONTEXT = {
    "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dpv": "https://w3id.org/dpv#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "oa": "http://www.w3.org/ns/oa#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "stat": "http://data.europa.eu/m8g/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
IANA = "https://www.iana.org/assignments/media-types/"
FILE_TYPES = "http://publications.europa.eu/resource/authority/file-type/"
_FORMS = {".parquet": "PARQUET", ".pq": "PARQUET", ".xlsx": "XLSX"}
"""File types of the European Commission; those of Stata, SPSS and SAS are not among them."""
FOLDER = "./"


def dcat(about: Description) -> dict[str, Any]:
    """Describe a release as a dataset of a catalogue (JSON-LD); what the publisher has not stated is left out."""
    said, found = about.said, [_distribution(about, table) for table in about.tables]
    statement, page = Statement.of(about), about.page
    content: dict[str, Any] = {
        "@context": CONTEXT | ({} if about.base is None else {"@base": about.base}),
        "@id": FOLDER,
        "@type": "dcat:Dataset",
        "dct:title": _text(about, about.title),
        "dct:description": _text(about, about.text),
        "dct:identifier": about.release,
        "dct:issued": {"@type": "xsd:date", "@value": about.date},
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "rdfs:label": {"@language": "en", "@value": " ".join((*statement.made, *page.table, *page.protection))},
        },
        "dct:source": {"@type": "rdfs:Resource", "rdfs:label": statement.source},
        "dpv:hasPurpose": [_text(about, use) for use in statement.uses],
        "dqv:hasQualityAnnotation": [
            _annotation("dqv:QualityCertificate", {"@id": CERTIFICATE}),
            *(_annotation("dqv:QualityAnnotation", _remark(text)) for text in _remarks(statement)),
        ],
        "foaf:page": [_document(file) for file in about.others],
        "dcat:distribution": found[0] if len(found) == 1 else found,
    }
    if statement.synthetic:
        content["Iptc4xmpExt:DigitalSourceType"] = [{"@id": term} for term in statement.digital_source_type]
    if about.keywords:
        content["dcat:keyword"] = [word if word == KEYWORD else _text(about, word) for word in about.keywords]
    if said.contact is not None:
        content["dcat:contactPoint"] = _contact(said.contact)
    if about.publisher is not None:
        content["dct:publisher"] = _agent(about.publisher)
    units = list(_units(about))
    return content | ({"stat:statUnitMeasure": units} if units else {})


def _remarks(statement: Statement) -> Iterator[str]:
    yield from (*statement.limits_of_use, statement.decision, *statement.open_rules)


def _remark(text: str) -> dict[str, Any]:
    return {"@type": "oa:TextualBody", "rdf:value": {"@language": "en", "@value": text}}


def _annotation(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    motive = {"oa:motivatedBy": {"@id": "dqv:qualityAssessment"}}
    return {"@type": kind, **motive, "oa:hasTarget": {"@id": FOLDER}, "oa:hasBody": body}


def _text(about: Description, text: str) -> Any:
    return text if about.said.language is None else {"@language": about.said.language, "@value": text}


def _document(file: ReleasedFile) -> dict[str, Any]:
    return {"@id": file.name, "@type": "foaf:Document", "dct:title": file.meaning}


def _distribution(about: Description, described: DescribedTable) -> dict[str, Any]:
    table, form = described.file, "CSV" if described.is_csv else _FORMS.get(Path(described.file.name).suffix)
    content: dict[str, Any] = {
        "@id": f"#{Path(table.name).stem}",
        "@type": "dcat:Distribution",
        "dct:title": table.name,
        "dcat:accessURL": {"@id": FOLDER},
        "dcat:downloadURL": {"@id": table.name},
        "dcat:mediaType": {"@id": f"{IANA}{table.media_type}", "@type": "dct:MediaType"},
        **({} if form is None else {"dct:format": {"@id": f"{FILE_TYPES}{form}", "@type": "dct:MediaTypeOrExtent"}}),
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(table.bytes)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": table.sha256},
        },
    }
    if about.said.license is not None:
        content["dct:license"] = _license(about.said.license, about.license_url)
    return content


def _license(stated: str, url: str | None) -> dict[str, Any]:
    document = {"@type": "dct:LicenseDocument", "rdfs:label": stated}
    return document if url is None else {"@id": url} | document


def _contact(party: PartyOptions) -> dict[str, Any]:
    content: dict[str, Any] = {"@type": "vcard:Kind", "vcard:fn": party.name}
    if party.email is not None:
        content["vcard:hasEmail"] = {"@id": f"mailto:{party.email}"}
    if party.url is not None:
        content["vcard:hasURL"] = {"@id": party.url}
    return content


def _agent(party: PartyOptions) -> dict[str, Any]:
    homepage = {} if party.url is None else {"foaf:homepage": {"@id": party.url, "@type": "foaf:Document"}}
    return {"@type": "foaf:Agent", "foaf:name": party.name} | homepage


def _units(about: Description) -> Iterator[dict[str, Any]]:
    for unit in dict.fromkeys(column.unit for column in about.columns if column.unit is not None):
        yield {"@type": "skos:Concept", "skos:prefLabel": unit}
