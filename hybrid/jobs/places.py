"""Folders of the three zones that a release goes through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybrid.base.errors import ConfigError
from hybrid.base.ownership import check_growing
from hybrid.store import Store


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
