"""``NAME.csv-metadata.json``: sidecar of a CSV file, which has no place of its own for what its rows are.

Source: Metadata Vocabulary for Tabular Data (CSV on the Web, W3C Recommendation, 2015), which looks for a file of this
name beside a CSV file.
"""

from __future__ import annotations

from typing import Any

from hybrid.publication.description.description import DescribedTable, Description
from hybrid.publication.description.statement import Statement

SUFFIX = "-metadata.json"
SOURCE_TYPE = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/DigitalSourceType"
"""Property of the IPTC whose values are digital source types."""
PUBLIC = "A public table, as it was given."


def csvw(about: Description, table: DescribedTable) -> dict[str, Any]:
    """Describe a CSV file; a public table of several linked ones is not called synthetic."""
    said = Statement.of(about)
    content: dict[str, Any] = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": table.file.name,
        "dc:title": about.title if len(about.tables) == 1 else f"{about.title}: {table.name}",
        "dc:description": PUBLIC if table.public else said.rows,
        "dc:issued": {"@value": said.made_on, "@type": "xsd:date"},
        "dialect": {"delimiter": table.separator, "encoding": table.encoding},
        "tableSchema": {"columns": [_column(column.name, column.description) for column in table.columns]},
    }
    if about.license_url is not None:
        content["dc:license"] = {"@id": about.license_url}
    if table.public:
        return content
    if said.synthetic:
        content[SOURCE_TYPE] = [{"@id": term} for term in said.digital_source_type]
    return content | {
        "dc:provenance": list(said.made),
        "dc:source": said.source,
        "rdfs:comment": [
            *(f"For: {use}" for use in said.uses),
            *said.limits_of_use,
            said.decision,
            *said.open_rules,
        ],
    }


def _column(name: str, description: str | None) -> dict[str, Any]:
    return {"titles": name} | ({} if description is None else {"dc:description": description})
