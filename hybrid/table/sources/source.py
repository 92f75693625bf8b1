"""The protocol of a table source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from hybrid.table.files import File
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table


class Source(ABC):
    """A kind of place that tables are read from: one key of the section ``data``."""

    key: ClassVar[str]
    """The key under ``data``."""
    type: ClassVar[Any]
    """Type of the key's value: a scalar, or an option model."""
    unset: ClassVar[Any] = None
    """Value of the key where the table comes from another source; false in a condition."""
    description: ClassVar[str]
    """What the key means, for the configuration reference."""

    @abstractmethod
    def read(self, place: Any, options: ReadOptions, folder: Path) -> Table:
        """Read the table.

        Parameters
        ----------
        place : object of ``type``
            The value of the key.
        options : ReadOptions
            Roles, kinds and text conventions; :func:`hybrid.table.typed_table.typed_table` applies them.
        folder : Path
            What relative paths are relative to.

        Raises
        ------
        ConfigError, MissingExtraError
            The place is not well-formed, or reading needs a package that is not installed.
        DataError
            The source cannot be reached or read, or as :func:`hybrid.table.typed_table.typed_table`. Messages hold no
            cell value and no credentials.
        """

    def validate(self, place: Any) -> None:  # noqa: B027 - optional
        """Check the key's value while the configuration is read.

        Raises
        ------
        ValueError
            The value can never be read.
        """

    def file(self, place: Any, folder: Path) -> File | None:  # noqa: ARG002 - for sources that are files
        """The file that the table is read from; None if the source is not a file."""
        return None
