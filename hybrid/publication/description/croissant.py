"""``croissant.json``: description for machine learning, Croissant 1.1 with the responsible-AI fields.

Sources: Croissant format specification 1.1 (MLCommons, 2026), Croissant RAI specification 1.0 (MLCommons, 2024).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from hybrid.publication.description.description import (
    DescribedColumn,
    DescribedTable,
    Description,
    PartyOptions,
    ReleasedFile,
)
from hybrid.publication.description.statement import Statement
from hybrid.publication.private_words import NOT_COMPARED, NOT_PUBLISHED
from hybrid.table import Kind

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
RECORDS = "records"
READ_AS = {"application/vnd.apache.parquet": "application/x-parquet"}
"""Media types by the names that readers of Croissant know."""
_OWN_TERMS = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty"),
    *("fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
CONTEXT = {term: f"cr:{term}" for term in _OWN_TERMS} | {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
}
"""Context that the specification recommends (appendix 1)."""


_RECORDS = "The source holds records of people."
_ATTACKS = (
    "Which attacks on the released table were measured, and with which result, is in the certificate and in the report."
)


def croissant(about: Description) -> dict[str, Any]:
    """Describe a release as a Croissant dataset; what the publisher has not stated is left out, never made up."""
    said = about.said
    content: dict[str, Any] = {
        "@context": CONTEXT | ({"@language": said.language} if said.language else {}),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.title,
        "description": about.text,
        "version": f"1.0.0+{about.release}",
        "datePublished": about.date,
        "isLiveDataset": False,
        "citeAs": _citation(about),
    }
    if about.base is not None:
        content["url"] = about.base
    if said.license is not None:
        content["license"] = about.license_url or said.license
    if about.publisher is not None:
        content |= {"creator": _party(about.publisher), "publisher": _party(about.publisher)}
    if about.keywords:
        content["keywords"] = list(about.keywords)
    if said.language:
        content["inLanguage"] = said.language
    files = [_file(about, file) for file in (*(table.file for table in about.tables), *about.others)]
    records = [_records(about, table) for table in about.tables]
    return content | _responsible(about) | {"distribution": files, "recordSet": records}


def _records(about: Description, table: DescribedTable) -> dict[str, Any]:
    name = _set_of(about, table)
    text = about.text if len(about.tables) == 1 else f"Table {table.name}. {about.text}"
    content = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": text}
    key = {} if table.key is None else {"key": {"@id": _field_id(name, table.key)}}
    return content | key | {"field": [_field(about, table, column) for column in table.columns]}


def _set_of(about: Description, table: DescribedTable) -> str:
    return RECORDS if len(about.tables) == 1 else table.name


def _field_id(records: str, column: str) -> str:
    return f"{records}/{quote(column, safe='')}"


def _responsible(about: Description) -> dict[str, Any]:
    """Fields of responsible AI, from the sentences of the certificate and the statement of the release."""
    page, said = about.page, Statement.of(about)
    # schema.org has the property; its own list of values has no term for data.
    marks = {"digitalSourceType": list(said.digital_source_type)} if said.synthetic else {}
    return marks | {
        "rai:dataCollection": " ".join((about.nature, said.source, *page.table)).strip(),
        "rai:hasSyntheticData": about.synthetic,
        "rai:dataManipulationProtocol": " ".join((*said.made, *page.protection)),
        "rai:dataPreprocessingProtocol": list(page.protection),
        "rai:dataLimitations": [*said.limits_of_use, *about.limits, *said.open_rules],
        "rai:dataBiases": [
            "Protection of people and learning from samples can represent small groups less well than large ones. "
            + (NOT_COMPARED if about.private else "The report gives the measured differences."),
        ],
        "rai:personalSensitiveInformation": [
            *page.promise,
            page.answer,
            f"{_RECORDS} {NOT_PUBLISHED if about.private else _ATTACKS}",
        ],
        "rai:dataUseCases": list(said.uses),
        "rai:dataReleaseMaintenancePlan": "A release is never changed; a newer one has another name and certificate.",
    }


def _citation(about: Description) -> str:
    by = "" if about.publisher is None else f"{about.publisher.name}: "
    return f"{by}{about.title}. Release {about.release}, {about.date}."


def _party(party: PartyOptions) -> dict[str, Any]:
    stated = {"@type": "sc:Organization", "name": party.name, "email": party.email, "url": party.url}
    return {key: value for key, value in stated.items() if value is not None}


def _file(about: Description, file: ReleasedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": file.meaning,
        "contentUrl": f"{about.base or ''}{file.name}",
        "encodingFormat": READ_AS.get(file.media_type, file.media_type),
        "contentSize": f"{file.bytes} B",
        "sha256": file.sha256,
    }


def _data_type(table: DescribedTable, column: DescribedColumn) -> str:
    # Truth values that a file writes in words of its own are text: readers would take every text as true.
    own_words = table.has_own_words and {column.true.lower(), column.false.lower()} != {"true", "false"}
    return "sc:Text" if column.kind is Kind.BOOLEAN and own_words else column.kind.type.croissant


def _field(about: Description, table: DescribedTable, column: DescribedColumn) -> dict[str, Any]:
    words = column.words if column.description is None else f"{column.description} ({column.words})"
    source: dict[str, Any] = {"fileObject": {"@id": table.file.name}, "extract": {"column": column.name}}
    if table.is_csv and column.kind.type.has_date_format:
        source["format"] = column.date_format
    return _reference(about, table, column) | {
        "@type": "cr:Field",
        "@id": _field_id(_set_of(about, table), column.name),
        "name": column.name,
        "description": words,
        "dataType": _data_type(table, column),
        "source": source,
    }


def _reference(about: Description, table: DescribedTable, column: DescribedColumn) -> dict[str, Any]:
    other = about.table(table.references[column.name]) if column.name in table.references else None
    if other is None or other.key is None:
        return {}
    return {"references": {"field": {"@id": _field_id(_set_of(about, other), other.key)}}}
