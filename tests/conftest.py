"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines under load are slow, not wrong.
# What CI draws is the same every time: a new counterexample is found by whoever changes something, not by a release.
settings.register_profile("project", deadline=None, derandomize="CI" in os.environ)
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
