"""Folders of the three zones that a release goes through, and the folder of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hybrid.base.atomic import atomic_folder
from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_growing, check_replaceable
from hybrid.store import Store

LABELS = "anonymized.parquet"


def labels_file(table: str = "") -> str:
    """File of the labels of a table; those of a table below the person table have its name."""
    name = Path(LABELS)
    return f"{name.stem}-{table}{name.suffix}" if table else LABELS


def new_folder(name: str, runs: Path = Path("runs")) -> Path:
    """Name of the folder of a run that starts now; it is not made yet."""
    return runs / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a hidden private folder that replaces ``folder`` when the block ends without an error.

    Nothing is changed if what is in ``folder`` by then must not be replaced
    (:func:`~hybrid.base.ownership.check_replaceable`), or if it cannot be written.
    """
    with atomic_folder(folder, private=True) as temporary:
        yield temporary
        check_replaceable(folder)


@dataclass(frozen=True)
class Places:
    """Folders of the three zones: private (``work``), operator (``runs``), public (``releases``)."""

    work: Path = Path("work")
    runs: Path = Path("runs")
    releases: Path = Path("releases")

    @property
    def store(self) -> Store:
        """Store of stage results, in the private zone."""
        return Store(self.work / "store")

    def check_writable(self) -> None:
        """Check before the work that runs and releases can be written."""
        private = [("runs", self.runs.resolve()), ("work", self.work.resolve())]
        public = self.releases.resolve()
        for name, place in private:
            if place.is_relative_to(public) or public.is_relative_to(place):
                raise ConfigError(
                    f"--{name} {place} and the releases in {public} lie within each other",
                    hint="releases are for readers, the others are not: give each a folder of its own",
                )
        check_growing(self.runs)
        check_growing(self.releases)
