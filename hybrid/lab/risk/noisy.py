"""Risk model "noisy": training records with noise."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from hybrid.base.options import Options
from hybrid.lab.risk.model import Level, RiskModel, Series, Shares, leak
from hybrid.pipeline.risk import Scale

KINDS = {"sigma": "amounts", "lambda": "counts", "p": "categories"}
"""Noise and what it moves."""
NO_NOISE = "no noise"


class NoisyOptions(Options):
    """Section ``risk.noisy`` of a plan."""

    levels: Shares = (0.0, 0.05, 0.2, 0.5, 1.0)
    """Shares of the table's records that are training records with noise, from 0."""
    noise: Literal["all", "each"] = "all"
    """all: every combination of the three noises, eight settings; each: none, one at a time, and all three."""
    size: Annotated[float, Field(gt=0, le=1)] = 0.05
    """Of each noise: standard deviation, mean number of steps, probability."""
    scale: Scale = "relative"
    """As ``risk.scale`` of a run configuration."""


class Noisy(RiskModel):
    """Training records with noise among fresh ones (thesis, section 3.3.5)."""

    name = "noisy"
    title = "Copied records with noise"
    sentence = "A known share of the table are training records whose values were moved a little."
    Options = NoisyOptions

    def series(self, options: NoisyOptions) -> tuple[Series, ...]:
        """One series over the shares per combination of noises."""
        chosen = [on for on in product((False, True), repeat=3) if options.noise == "all" or sum(on) != 2]
        return tuple(self._of(options, on) for on in chosen)

    def _of(self, options: NoisyOptions, on: tuple[bool, ...]) -> Series:
        noise = {key: options.size for key, is_on in zip(KINDS, on, strict=True) if is_on}
        if noise:
            keys = {"model": "noisy", "scale": options.scale, **noise}
            settings = {f: leak(f) | {"risk": {"leak": f, **keys}} if f else leak(f) for f in options.levels}
        else:
            settings = {f: leak(f) for f in options.levels}
        moved = [KINDS[key] for key in noise]
        name = f"noise on {', '.join(moved)}" if moved else NO_NOISE
        levels = tuple(Level(f, each) for f, each in settings.items())
        return Series(name, "share of records leaked", "share", levels)


NOISY = Noisy()
