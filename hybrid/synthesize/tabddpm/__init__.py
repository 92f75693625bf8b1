"""TabDDPM of our own on torch (Kotelnikov et al., ICML 2023, arXiv:2209.15421).

It departs from the paper: numbers with few distinct values are learned as categories, the others become normal
scores spread over ties, the network predicts velocities and clean states, categories diffuse to their
frequencies, sampling takes 50 exact strides. Most of these choices have not been ablated; what was tried is too
little (one seed each, one table) to call them better. ``preset: paper`` takes the paper's choices where they are
options.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hybrid.options import Options
from hybrid.progress import Progress
from hybrid.synthesize.base import Encoded, Encoding, Model
from hybrid.synthesize.tabddpm.options import TabddpmOptions


class Tabddpm:
    """The generator ``tabddpm``."""

    name: ClassVar[str] = "tabddpm"
    title: ClassVar[str] = "diffusion model for tables (Kotelnikov et al. 2023), our own: minutes on a laptop"
    licence: ClassVar[str] = "Apache-2.0 (ours, on torch, BSD-3-Clause)"
    requires: ClassVar[tuple[str, ...]] = ("torch",)
    extra: ClassVar[str | None] = "tabddpm"
    Options: ClassVar[type[Options]] = TabddpmOptions
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        "quick": {"steps": 1500},
        "paper": {
            "max_levels": 0,
            "prior": "uniform",
            "likelihood": False,
            "sampling_steps": 1000,
            "batch_size": 4096,
            "lr": 1e-3,
            "steps": 30_000,
        },
        "thesis": {"epochs": 1000, "lr": 1e-4, "layers": (256, 256, 256), "dropout": 0.1},
    }

    def encoding(self, options: TabddpmOptions) -> Encoding:
        """Numbers with few distinct values come as categories, missing values as flags."""
        return Encoding(max_levels=options.max_levels, flag_missing=True)

    def learn(self, data: Encoded, options: TabddpmOptions, seed: int, progress: Progress) -> Model:
        """Train; see :class:`TabddpmOptions`. The same seed repeats on a CPU with the same number of threads."""
        from hybrid.synthesize.tabddpm.model import learn_model

        return learn_model(data, options, seed, progress)

    def load(self, folder: Path) -> Model:
        """As :class:`hybrid.synthesize.base.Generator`."""
        from hybrid.synthesize.tabddpm.model import load_model

        return load_model(folder)
