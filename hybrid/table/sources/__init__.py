"""Registry of table sources: one file per source, one line here."""

from hybrid.table.sources.file import FileSource
from hybrid.table.sources.source import Source
from hybrid.table.sources.sql import SqlSource

SOURCES: dict[str, Source] = {
    source.key: source
    for source in (
        FileSource(),
        SqlSource(),
    )
}
"""Every source by its key under ``data``."""
