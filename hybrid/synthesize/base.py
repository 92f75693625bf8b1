"""The protocol of every generator: learn a table, sample rows of the same shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol

from hybrid.options import Options
from hybrid.progress import Progress
from hybrid.table import Table


class FittedGenerator(Protocol):
    """A trained model; private, since it may remember records."""

    def sample(self, n_rows: int, seed: int) -> Table:
        """Draw exactly ``n_rows`` new rows with the schema and the dtypes of the table learned from.

        Raises
        ------
        GeneratorError
            The model cannot give that many rows.
        """

    def save(self, folder: Path) -> None:
        """Write the model into a folder of the private zone."""


class Generator(Protocol):
    """A kind of generator: its options, what it needs, and how it learns."""

    name: ClassVar[str]
    Options: ClassVar[type[Options]]
    requires: ClassVar[tuple[str, ...]]
    """Import names of the packages it needs beyond the core."""
    extra: ClassVar[str | None]
    """The extra of this package that installs them."""

    def fit(self, table: Table, options: Any, seed: int, progress: Progress) -> FittedGenerator:
        """Learn a table without identifiers.

        Parameters
        ----------
        table : Table, n rows
            Kinds and dtypes as ``hybrid.table`` documents them; missing values allowed everywhere.
        options : Options
            An instance of this generator's ``Options``.
        seed : int
            The same seed, table, options and versions give the same model where the library allows it.
        progress : Progress
            Told about every epoch or column.

        Raises
        ------
        GeneratorError
            Training failed.
        """

    def load(self, folder: Path) -> FittedGenerator:
        """Read a model that ``save`` wrote."""
