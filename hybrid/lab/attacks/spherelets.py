"""Spherelet distance between the neighbourhoods of a row (experimental, never judged).

A spherelet is the sphere that fits a few near points best, in the plane of their largest variance (Li, Mukhopadhyay and
Dunson 2022). Printed formulas are read as ||x_i - c|| where they have a product, and the undefined Riemannian
divergence is taken as an arc: mean radius times the largest angle between the planes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.intervals import mean_interval, quantile
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.price import Price
from hybrid.lab.attacks.contrastive import in_space
from hybrid.lab.encoder.embed import Embedding

DIMENSION = 2
"""Intrinsic dimension d of a neighbourhood."""
NEIGHBOURS = 2 * (DIMENSION + 2)
MOST_ROWS = 500
"""Rows whose neighbourhoods are compared, at most."""


class Spherelets(NamedTuple):
    """Spheres of n sets of points in D dimensions, their planes (n, D, d + 1), and mean squared distances to them."""

    means: Array
    planes: Array
    centres: Array
    radii: Array
    errors: Array


def spherelets(points: Array) -> Spherelets:
    """Fit a sphere to each set of points.

    Points have shape (n, k, D); spheres d dimensions (:data:`DIMENSION`), and their planes d + 1, or D where that is
    smaller. With x the points, V the top d + 1 eigenvectors of their covariance and z = V'(x - mean): centre c = mean +
    V H^+ xi / 2, H = sum z z', xi = sum (|z|^2 - mean |z|^2) z; radius mean |z - c|.
    """
    means = points.mean(axis=1)
    centred = points - means[:, None]
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    planes = np.swapaxes(axes[:, : DIMENSION + 1], 1, 2)
    z = centred @ planes
    squares = (z**2).sum(axis=2)
    spread = np.swapaxes(z, 1, 2) @ z
    lean = ((squares - squares.mean(axis=1, keepdims=True))[:, :, None] * z).sum(axis=1)
    own = (np.linalg.pinv(spread, hermitian=True) @ lean[:, :, None])[:, :, 0] / 2
    radii = np.linalg.norm(z - own[:, None], axis=2).mean(axis=1)
    centres = means + (planes @ own[:, :, None])[:, :, 0]
    errors = ((np.linalg.norm(points - centres[:, None], axis=2) - radii[:, None]) ** 2).mean(axis=1)
    return Spherelets(means, planes, centres, radii, errors)


def spherelet_distances(first: Spherelets, second: Spherelets) -> Array:
    """Distance of the means plus mean radius times the largest angle (radians) of the planes; 0 for equal points."""
    cosines = np.linalg.svd(np.swapaxes(first.planes, 1, 2) @ second.planes, compute_uv=False)
    angles = np.arccos(np.clip(cosines.min(axis=1), -1, 1))
    return np.asarray(np.linalg.norm(first.means - second.means, axis=1) + (first.radii + second.radii) / 2 * angles)


def _compared(context: Context, embedding: Embedding) -> Outcome:
    space = embedding.space
    table = space.whole("table")
    order = context.encoded("table").order
    rows = Part("table", "spherelets", context.random("spherelet_distance").permutation(order)[:MOST_ROWS])
    found = []
    for train, control in space.parts(("train", "control")):
        if min(len(table.rows), len(train.rows)) < NEIGHBOURS:
            return NotComputable(sentence("metric.few.neighbours", n=NEIGHBOURS), "too_few")
        mine, near, other = (_around(space, rows, part) for part in (table, train, control))
        found.append((spherelet_distances(mine, near), spherelet_distances(mine, other)))
    near, other = (np.mean([pair[side] for pair in found], axis=0) for side in range(2))
    value, low, high = mean_interval(near, context.options.confidence)
    reference = float(other.mean())
    if reference <= 0:
        return NotComputable("the rows' neighbourhoods are those of people never seen")
    excess = (reference - value) / reference
    gap = (other - near - excess * other) / reference
    error = quantile(context.options.confidence) * float(gap.std()) / len(gap) ** 0.5
    details: dict[str, object] = {"experimental": True, "neighbours": NEIGHBOURS, "dimension": DIMENSION}
    bounds = (excess, excess - error, excess + error)
    return Measure(value, max(low, 0.0), high, reference, len(near), details, bounds)


def _around(space: Context, rows: Part, part: Part) -> Spherelets:
    """Spherelets of the part's records nearest to each row."""
    _, index = nearest(space.space, space.place(rows), space.place(part), NEIGHBOURS)
    return spherelets(space.encoded(part.role).numbers[part.rows][index])


def spherelet_distance(context: Context) -> Outcome:
    """Mean distance of rows' neighbourhoods to those of training records.

    Around each of at most 500 rows a sphere is fitted to the nearest rows of the table and one to the nearest training
    records, among the points of an encoder. The reference is the same with control records; the excess is what is
    missing of it, 0 without a leak and 1 for a copy. Its interval takes the rows as independent.
    """
    return in_space(context, _compared)


BEFORE = "canary"
PRICES = {"spherelet_distance": Price(searches=0.2)}
METRICS = (
    indicator(
        spherelet_distance,
        "Experimental: how far the rows' neighbourhoods are from those of training records.",
        direction="higher",
        high=None,
        copy=0.0,
        needs=("control", "encoder"),
        mechanism="embedding",
        unit="distance",
        experimental=True,
    ),
)
