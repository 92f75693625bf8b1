"""Seeded random bits in the place of those of the operating system."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.privacy import noise


def seed_bits(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Draw the exact noise from a seeded generator, as no claim may."""
    monkeypatch.setattr(noise, "urandom", np.random.default_rng(seed).bytes)
