"""``datapackage.json``: description of the table, a Frictionless Data Package.

Source: Data Package Standard 2.0 (https://datapackage.org), of which all that is written here is in 1.0 too, but for
the missing values of a single field.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hybrid.publication.description.description import DescribedColumn, DescribedTable, Description, PartyOptions
from hybrid.publication.description.statement import Statement
from hybrid.table import Kind


def datapackage(about: Description) -> dict[str, Any]:
    """Describe a release as a data package, one resource per table; what the publisher has not stated is left out."""
    said = about.said
    content: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9._-]+", "-", about.data_set.lower()),
        "id": about.release,
        "title": about.title,
        "description": about.text,
        "version": f"1.0.0+{about.release}",
        "synthetic": about.synthetic,
        "statement": Statement.of(about).to_json(),
    }
    if "T" in about.created:  # the standard knows no day alone, which is all that a private release states
        content["created"] = re.sub(r"\.\d+", "", about.created).replace("+00:00", "Z")
    if said.license is not None:
        content["licenses"] = [_license(said.license, about.license_url)]
    people = [(said.publisher, "publisher"), (said.contact, "contact")]
    contributors = [_contributor(party, role) for party, role in people if party is not None]
    if contributors:
        content["contributors"] = contributors
    if about.keywords:
        content["keywords"] = list(about.keywords)
    if about.base is not None:
        content["homepage"] = about.base
    return content | {"resources": [_table(about, table) for table in about.tables]}


def _license(stated: str, url: str | None) -> dict[str, str]:
    return {"path": stated} if "://" in stated else {"name": stated} | ({} if url is None else {"path": url})


def _contributor(party: PartyOptions, role: str) -> dict[str, Any]:
    stated = {"title": party.name, "email": party.email, "path": party.url}
    return {key: value for key, value in stated.items() if value is not None} | {"role": role, "roles": [role]}


def _table(about: Description, table: DescribedTable) -> dict[str, Any]:
    file = table.file
    content: dict[str, Any] = {
        "type": "table",
        "name": _resource(table),
        "path": file.name,
        "format": Path(file.name).suffix.removeprefix("."),
        "mediatype": file.media_type,
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
        "description": file.meaning,
        "synthetic": about.synthetic and not table.public,
    }
    if table.is_csv:
        padded = any(column.padding for column in table.columns)
        dialect = {"csv": {"delimiter": table.separator} | ({"skipInitialSpace": True} if padded else {})}
        content |= {"encoding": table.encoding, "dialect": dialect}
    fields = {"fields": [_field(column, table.has_own_words) for column in table.columns]}
    return content | {"schema": fields | _links(about, table)}


def _resource(table: DescribedTable) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", table.name.lower())


def _links(about: Description, table: DescribedTable) -> dict[str, Any]:
    content: dict[str, Any] = {} if table.key is None else {"primaryKey": [table.key]}
    others = {column: about.table(name) for column, name in table.references.items()}
    keys = [
        {"fields": [column], "reference": {"resource": _resource(other), "fields": [other.key]}}
        for column, other in others.items()
    ]
    return content | ({"foreignKeys": keys} if keys else {})


def _field(column: DescribedColumn, own_words: bool) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": column.kind.type.datapackage}
    if column.description is not None:
        field["description"] = column.description
    if column.unit is not None:
        field["unit"] = column.unit
    return field | _written(column) if own_words else field


def _written(column: DescribedColumn) -> dict[str, Any]:
    """Format of a column's values in a file with words of its own."""
    form: dict[str, Any] = {"missingValues": sorted({"", column.missing})}
    if column.kind.type.has_decimals and column.decimal_mark != ".":
        form["decimalChar"] = column.decimal_mark
    if column.kind is Kind.BOOLEAN:
        form |= {"trueValues": [column.true], "falseValues": [column.false]}
    if column.kind.type.has_date_format:
        form["format"] = column.date_format
    return form
