"""``datapackage.json``: description of the table, a Frictionless Data Package.

Source: Data Package Standard 2.0 (https://datapackage.org), of which all that is written here is in 1.0 too, but for
the missing values of a single field.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hybrid.publication.description.columns import DescribedColumn
from hybrid.publication.description.description import Description
from hybrid.publication.description.options import PartyOptions
from hybrid.table import Kind

TYPES = {
    Kind.INTEGER: "integer",
    Kind.DECIMAL: "number",
    Kind.CATEGORICAL: "string",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime",
}


def datapackage(about: Description) -> dict[str, Any]:
    """Describe a release as a data package of one table.

    Returns
    -------
    dict
        JSON types. What the publisher has not stated is left out.
    """
    said = about.said
    content: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9._-]+", "-", about.data_set.lower()),
        "id": about.release,
        "title": about.title,
        "description": about.text,
        "created": re.sub(r"\.\d+", "", about.created).replace("+00:00", "Z"),
        "version": f"1.0.0+{about.release}",
    }
    if said.license is not None:
        content["licenses"] = [_license(said.license, about.license_url)]
    people = [(said.publisher, "publisher"), (said.contact, "contact")]
    contributors = [_contributor(party, role) for party, role in people if party is not None]
    if contributors:
        content["contributors"] = contributors
    if said.keywords:
        content["keywords"] = list(said.keywords)
    if about.base is not None:
        content["homepage"] = about.base
    return content | {"resources": [_table(about)]}


def _license(stated: str, url: str | None) -> dict[str, str]:
    return {"path": stated} if "://" in stated else {"name": stated} | ({} if url is None else {"path": url})


def _contributor(party: PartyOptions, role: str) -> dict[str, Any]:
    stated = {"title": party.name, "email": party.email, "path": party.url}
    return {key: value for key, value in stated.items() if value is not None} | {"role": role, "roles": [role]}


def _table(about: Description) -> dict[str, Any]:
    file = about.table
    content: dict[str, Any] = {
        "type": "table",
        "name": re.sub(r"[^a-z0-9_-]+", "-", Path(file.name).stem.lower()),
        "path": file.name,
        "format": Path(file.name).suffix.removeprefix("."),
        "mediatype": file.media_type,
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
        "description": file.meaning,
    }
    if about.is_csv:
        padded = any(column.padding for column in about.columns)
        dialect = {"csv": {"delimiter": about.separator} | ({"skipInitialSpace": True} if padded else {})}
        content |= {"encoding": about.encoding, "dialect": dialect}
    return content | {"schema": {"fields": [_field(column, about.is_csv) for column in about.columns]}}


def _field(column: DescribedColumn, csv: bool) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": TYPES[column.kind]}
    if column.description is not None:
        field["description"] = column.description
    if column.unit is not None:
        field["unit"] = column.unit
    return field | _written(column) if csv else field


def _written(column: DescribedColumn) -> dict[str, Any]:
    """Format of a column's values in a CSV file."""
    form: dict[str, Any] = {"missingValues": sorted({"", column.missing})}
    if column.kind is Kind.DECIMAL and column.decimal_mark != ".":
        form["decimalChar"] = column.decimal_mark
    if column.kind is Kind.BOOLEAN:
        form |= {"trueValues": [column.true], "falseValues": [column.false]}
    if column.kind.is_temporal:
        form["format"] = column.date_format
    return form
