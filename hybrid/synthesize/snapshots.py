"""Snapshots: models of one training at several levels of overfitting.

A generator with the options ``overfit`` and ``snapshots`` trains once up to the highest level and keeps the weights at
each. Configurations that only differ in the level then share that training (:mod:`hybrid.synthesize.kept`), and their
models are comparable: the same records held back, the same batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hybrid.base.options import Options
from hybrid.synthesize.protocol import DrawnColumns, SavedModel


@dataclass(frozen=True)
class Snapshots:
    """Models of one training, by level of overfitting in ascending order. Private."""

    models: Mapping[str, SavedModel]

    def at(self, level: str) -> SavedModel:
        return self.models[level]

    def draw(self, n: int, seed: int) -> DrawnColumns:
        """Draw at the highest level."""
        return list(self.models.values())[-1].draw(n, seed)

    def save(self, folder: Path) -> None:
        """Write each model into a folder of its level, whole in itself."""
        for level, model in self.models.items():
            (folder / level).mkdir(mode=0o700)
            model.save(folder / level)


def named(level: float) -> str:
    """Name of a level, and of its folder."""
    return f"{level:g}"


def refuse_unordered(snapshots: tuple[float, ...], overfit: float | None) -> None:
    """Check a generator's options ``snapshots`` and ``overfit``."""
    if list(snapshots) != sorted(set(snapshots)):
        raise ValueError("snapshots must rise")
    if overfit not in snapshots:
        raise ValueError(f"overfit must be one of the snapshots, {', '.join(map(named, snapshots))}")


def training_options(options: Options) -> Options:
    """Options of the training that all levels share."""
    levels = getattr(options, "snapshots", None)
    return options.model_copy(update={"overfit": levels[-1]}) if levels else options


def drawn_level(options: Options) -> str | None:
    """Level that the options draw from; None without snapshots."""
    return named(getattr(options, "overfit")) if getattr(options, "snapshots", None) else None  # noqa: B009 - any options
