"""Options of the section ``publish``: the publisher's own words about a release."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from hybrid.base.options import Options

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/@:]+(:\d+)?(/[^\s@]*)?$")]
"""Address of the web, without a user name or a password."""


class PartyOptions(Options):
    """A person or an organization."""

    name: Text
    """As readers know it."""
    email: Annotated[str, StringConstraints(pattern=r"^[^\s@]+@[^\s@]+$")] | None = None
    """Address for questions; a function's rather than a person's."""
    url: Address | None = None
    """Home page."""


class ColumnDescription(Options):
    """Meaning of one column."""

    description: Text | None = None
    """What a value means, in plain words."""
    unit: Text | None = None
    """Unit of a number, such as kg or EUR."""


class PublishOptions(Options):
    """Texts for the readers of a release; public as they are written.

    What is set here does not change a release's rows.
    """

    title: Text | None = None
    """Title of the table; null: the configuration's name."""
    description: Text | None = None
    """What the table is about; null: a neutral sentence."""
    license: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9.+-]+|https?://[^\s@]+)$")] | None = None
    """Licence of the released rows: an SPDX identifier (CC-BY-4.0, LicenseRef-own), or the address of the terms."""
    contact: PartyOptions | None = None
    """Who answers questions."""
    publisher: PartyOptions | None = None
    """Who publishes."""
    keywords: tuple[Text, ...] = ()
    """Words that catalogues search for."""
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = None
    """Language of these texts (BCP 47), such as en or de-AT."""
    url: Address | None = None
    """Where readers find the folder of all releases; null: addresses are relative to the release's own folder."""
    columns: dict[str, ColumnDescription] = Field(default_factory=dict)
    """Meaning and unit of columns, by name."""
    provenance: bool = False
    """Whether the release holds its lineage as W3C PROV (`provenance.jsonld`)."""
