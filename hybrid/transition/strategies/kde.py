"""Conditional kernel density: numbers and dates near those of the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import Domain, assemble
from hybrid.transition.drawing.donors import Donors, add_counts, draw_records
from hybrid.transition.drawing.pools import pools
from hybrid.transition.protocol import Restored

_IQR_OF_NORMAL = 1.349


@dataclass(frozen=True)
class FittedKde:
    """Original values by class and their bandwidths. Private."""

    records: Donors
    bandwidths: dict[str, Array]
    """Per number or date column: the bandwidth of each class on the domain's axis."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Truncated Gaussian kernel draw around a value of the class.

        It is cut off at the label's range.

        Each kernel is truncated to the range and renormalized, so that every record of the class is as likely a
        centre as every other. Integers, decimals and dates are rounded to what the column can write. Categories
        and booleans, and cells that no class serves, are drawn as by the histogram.
        """
        records = self.records
        classes = records.classes.find(labels.nodes)
        columns, counts = {}, dict[str, int]()
        for at, (name, domain) in enumerate(records.domains.items()):
            nodes = labels.nodes[:, at]
            chain = [
                records.class_fallback(classes),
                records.label_fallback(at, nodes),
                records.ancestor_fallback(at, nodes),
            ]
            draw = draw_records(chain, len(labels), rng)
            cells = records.cells(at, draw, nodes, rng)
            if name in self.bandwidths:
                centre = domain.axis[records.leaves[draw.records, at]]
                smooth = np.flatnonzero((classes >= 0) & ~np.isnan(centre))
                width = self.bandwidths[name][classes[smooth]]
                cells[smooth] = _near(domain, nodes[smooth], centre[smooth], width, rng)
            columns[name] = domain.series(cells)
            counts = add_counts(counts, draw.counts)
        return Restored(assemble(labels, columns), counts)


def fit_kde(records: Donors, class_ids: Array, factor: float) -> FittedKde:
    """Bandwidth of every class and number or date column.

    Silverman's rule of thumb, ``factor * 0.9 * min(sd, IQR / 1.349) * n ** (-1/5)`` over the n non-missing values
    of the class (Silverman 1986, Density Estimation, eq. 3.31), with sd alone where the IQR is 0. 0 for classes
    of one distinct value.
    """
    bandwidths = {}
    for at, (name, domain) in enumerate(records.domains.items()):
        if domain.kind.is_continuous:
            values = domain.axis[records.leaves[:, at]]
            present = ~np.isnan(values)
            n_classes = len(records.by_class.sizes)
            bandwidths[name] = factor * _silverman(values[present], class_ids[present], n_classes)
    return FittedKde(records, bandwidths)


def _silverman(values: Array, classes: Array, n_classes: int) -> Array:
    order = np.argsort(values, kind="stable")
    by_class = pools(classes[order], n_classes)
    ascending = values[order][by_class.members]
    sizes = by_class.sizes
    n = np.maximum(sizes, 1)
    mean = np.bincount(classes, weights=values, minlength=n_classes) / n
    square = np.bincount(classes, weights=(values - mean[classes]) ** 2, minlength=n_classes)
    spread: Array = np.sqrt(square / np.maximum(n - 1, 1))
    if not len(values):
        return spread
    last = len(ascending) - 1
    quartiles = [np.minimum(by_class.starts[:-1] + np.floor(q * (n - 1)).astype(np.int64), last) for q in (0.25, 0.75)]
    iqr = (ascending[quartiles[1]] - ascending[quartiles[0]]) / _IQR_OF_NORMAL
    width: Array = 0.9 * np.where(iqr > 0, np.minimum(spread, iqr), spread) * n**-0.2
    return width


def _near(domain: Domain, nodes: Array, centre: Array, width: Array, rng: np.random.Generator) -> Array:
    """Cells drawn from truncated kernels by inverting their distribution function."""
    from scipy.special import ndtr, ndtri

    low, high = _edges(domain, nodes)
    scale = np.where(width > 0, width, 1.0)
    below, above = ndtr((low - centre) / scale), ndtr((high - centre) / scale)
    part = below + rng.random(len(nodes)) * (above - below)
    position = np.where(width > 0, centre + scale * ndtri(part), centre)
    return domain.nearest(nodes, np.clip(position, low, high))


def _edges(domain: Domain, nodes: Array) -> tuple[Array, Array]:
    """Bounds of each node on the axis, widened by half a step.

    So rounding is fair to the outermost values.
    """
    edges = [domain.hierarchy.low, domain.hierarchy.high]
    if domain.kind.is_temporal:
        edges = [edge.astype("datetime64[us]").astype(np.int64) for edge in edges]
    half = 0.5 if domain.grid is None else 0.5 * domain.grid.step
    return edges[0][nodes].astype(np.float64) - half, edges[1][nodes].astype(np.float64) + half
