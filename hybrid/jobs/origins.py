"""Places of kept models, one note per run in the private zone.

A note has the folder that paths of the configuration start at, the store, and the seed of the split.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from hybrid.base.errors import ConfigError
from hybrid.pipeline.pipeline import Pipeline
from hybrid.store import Store, StorePlace, keep_private

FOLDER = "origins"
KEPT_DAYS = 30
"""Longest time between a run and a further draw from its model."""


@dataclass(frozen=True)
class KeptOrigin:
    """Note of a run for further draws from its model."""

    folder: str
    """Base folder of relative paths of its configuration."""
    store: str
    """Folder or address of the store that keeps its model."""
    encrypted: bool
    split_seed: int
    """Seed of the split into training and control records."""

    def open_store(self) -> Store:
        """The store, with the key of the environment if it is encrypted."""
        return StorePlace(self.store).open() if self.encrypted else Store(Path(self.store))


def keep_origin(private_dir: Path, run_id: str, run: Pipeline) -> None:
    """Keep the note of a run (mode 0600), if its store keeps the model."""
    pipeline = run.person
    store = pipeline.store
    if store.place is None or pipeline.is_unsynthesized:
        return
    folder = str(pipeline.config.folder.resolve())
    kept = KeptOrigin(folder, store.place, store.cipher is not None, pipeline.split_seed)
    keep_private(_path(private_dir, run_id), json.dumps(asdict(kept)).encode(), KEPT_DAYS)


def read_origin(private_dir: Path, run_id: str) -> KeptOrigin:
    """Read the note of a run."""
    try:
        return KeptOrigin(**json.loads(_path(private_dir, run_id).read_bytes()))
    except (OSError, ValueError, TypeError):
        raise ConfigError(
            f"{private_dir}: no model of this run is kept in this private zone",
            hint=f"a run keeps its model for {KEPT_DAYS} days if it has a store and a generator: "
            f"hybrid run CONFIG --store {private_dir}/store, or hybrid release CONFIG",
        ) from None


def _path(private_dir: Path, run_id: str) -> Path:
    return private_dir / FOLDER / f"{run_id}.json"
