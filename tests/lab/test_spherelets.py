"""Spherelets: points on a sphere, copies, movements and scales; and no policy judges them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.lab.attacks.spherelets import DIMENSION, NEIGHBOURS, spherelet_distances, spherelets


def on_a_sphere(rng: np.random.Generator, radius: float, n: int = 4) -> np.ndarray:
    """Sets of eight points on a sphere in a three-dimensional plane of five dimensions."""
    z = rng.normal(size=(n, 8, 3))
    z = radius * z / np.linalg.norm(z, axis=2, keepdims=True)
    plane = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    return z @ plane.T + rng.normal(size=5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), radius=st.floats(0.5, 5))
def test_points_on_a_sphere_are_fitted_exactly(seed: int, radius: float) -> None:
    found = spherelets(on_a_sphere(np.random.default_rng(seed), radius))
    assert found.errors == pytest.approx(0, abs=1e-8)
    assert found.radii == pytest.approx(radius, rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.1, 10))
def test_distances_move_and_scale_with_the_points(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 6, 8, 4))
    distances = spherelet_distances(spherelets(first), spherelets(second))
    assert (distances > 0).all()
    turn, move = np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=4)
    moved = [spherelets(scale * points @ turn + move) for points in (first, second)]
    assert spherelet_distances(*moved) == pytest.approx(scale * distances, rel=1e-6)
    assert spherelet_distances(moved[1], moved[0]) == pytest.approx(spherelet_distances(*moved))


def test_equal_points_are_no_distance_apart() -> None:
    points = np.random.default_rng(1).normal(size=(5, 8, 6))
    shuffled = points[:, ::-1]
    assert spherelet_distances(spherelets(points), spherelets(shuffled)) == pytest.approx(0, abs=1e-6)
    one = np.zeros((1, 8, 6))
    assert spherelet_distances(spherelets(one), spherelets(one)) == pytest.approx(0)


def test_a_neighbourhood_has_twice_the_points_that_fix_a_sphere() -> None:
    points = np.random.default_rng(2).normal(size=(1, DIMENSION + 2, 5))
    assert spherelets(points).errors == pytest.approx(0, abs=1e-8)
    assert 2 * points.shape[1] == NEIGHBOURS
