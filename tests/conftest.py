"""Fixtures that every room's tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines under load are slow, not wrong.
settings.register_profile("project", deadline=None)
settings.load_profile("project")


@pytest.fixture
def shared() -> Path:
    """The development material beside the project; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the development data beside the project (../shared) is not here")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240501)
