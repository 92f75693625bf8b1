"""Data files, on this machine or behind a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid.table.files import File, file_at, holds_credentials
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table
from hybrid.table.sources.source import Source


class FileSource(Source):
    """A data file, whose suffix says its format."""

    key = "path"
    type = str
    unset = ""
    description = (
        "CSV (.csv, .tsv, .txt, .asc), Parquet (.parquet, .pq), Stata (.dta), SPSS (.sav, .zsav, .por), SAS "
        "(.sas7bdat, .xpt) or Excel (.xlsx), relative to the config file, or a URL (s3://...)."
    )

    def read(self, place: Any, options: ReadOptions, folder: Path) -> Table:
        return read_table(file_at(place, folder), options)

    def validate(self, place: Any) -> None:
        if holds_credentials(place):
            raise ValueError("path holds a user name or a password: leave them out, and set them in the environment")

    def file(self, place: Any, folder: Path) -> File:
        return file_at(place, folder)
