"""Simulated comparisons with known scores: what the first box says is true (benchmarks/recommendation.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "recommendation.py"
    spec = importlib.util.spec_from_file_location("recommendation_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_hundred_comparisons(benchmark: ModuleType) -> None:
    """25 of each truth with five seeds: the first is within the margins of the best in 95, and what is so is said."""
    rng = np.random.default_rng(5)
    found = {name: benchmark.counted(name, 5, 25, rng) for name in benchmark.TRUTHS}
    assert sum(counts.within for counts in found.values()) >= 95
    settled = sum(counts.settled for counts in found.values())
    assert settled and sum(counts.settled_within for counts in found.values()) >= 0.95 * settled
    assert found["nothing differs"].alike >= 22 and found["nothing differs"].uniform <= 3
    assert found["uniform is bad"].uniform == 25 and found["uniform is bad"].alike == 0
