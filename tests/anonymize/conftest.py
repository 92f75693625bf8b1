"""Fixtures of the anonymizer's tests."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.fixture(params=["numpy", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to group rows."""
    if request.param == "compiled":
        importlib.import_module("hybrid.anonymize.search.kernels")
    else:
        monkeypatch.delitem(sys.modules, "hybrid.anonymize.search.kernels", raising=False)
    return request.param
