"""Conditional: values as the equivalence class of the record holds them, by one of four estimators; or the own ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.table.codings import exact_numbers
from hybrid.transition.drawing.domain import Domain
from hybrid.transition.drawing.donors import (
    Donors,
    DrawnRecords,
    Fallback,
    RankedPools,
    Slices,
    draw_records,
    pair_fallback,
    pools,
    ranked_pools,
    restore_columns,
)
from hybrid.transition.drawing.features import Features, TreeCells, features, grow
from hybrid.transition.protocol import FittedTransition, Restored, Transition


@dataclass(frozen=True)
class FittedHistogram:
    """Original values by class. Private."""

    records: Donors

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a random record of the row's class, drawn anew for every attribute."""
        in_class = self.records.class_fallback(self.records.classes.find(labels.nodes))
        return restore_columns(self.records, labels, lambda at, nodes: [in_class], rng)  # noqa: ARG005


@dataclass(frozen=True)
class FittedJoint:
    """Original values by class. Private."""

    records: Donors

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values of one record of the row's class for all attributes.

        Correlations inside a class survive, and so do whole original combinations of values.
        """
        classes = self.records.classes.find(labels.nodes)
        chosen = draw_records([self.records.class_fallback(classes)], len(labels), rng).records

        def runs(rows: Array) -> Slices:
            return Slices(chosen, rows, (chosen[rows] >= 0).astype(np.int64))

        return restore_columns(self.records, labels, lambda at, nodes: [("class", runs)], rng)  # noqa: ARG005


_IQR_OF_NORMAL = 1.349


@dataclass(frozen=True)
class FittedKde:
    """Original values by class and their bandwidths. Private."""

    records: Donors
    bandwidths: dict[int, Array]
    """Per number or date column, by its position: the bandwidth of each class on the domain's axis."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Draw from a Gaussian kernel around a value of the class, cut off at the label's range.

        Each kernel is truncated to the range and renormalized, so that every record of the class is as likely a centre
        as every other. Integers, decimals and dates are rounded to what the column can write. Categories and booleans,
        and cells that no class serves, are drawn as by the histogram.
        """
        records = self.records
        classes = records.classes.find(labels.nodes)
        in_class = records.class_fallback(classes)

        def cells(at: int, draw: DrawnRecords, nodes: Array) -> Array:
            found, domain = records.cells(at, draw, nodes, rng), records.domain(at)
            if at in self.bandwidths:
                centre = domain.axis[records.leaves[draw.records, at]]
                smooth = np.flatnonzero((classes >= 0) & ~np.isnan(centre))
                width = self.bandwidths[at][classes[smooth]]
                found[smooth] = _near(domain, nodes[smooth], centre[smooth], width, rng)
            return found

        return restore_columns(records, labels, lambda at, nodes: [in_class], rng, cells)  # noqa: ARG005


def fit_kde(records: Donors, class_ids: Array, factor: float) -> FittedKde:
    """Bandwidth of every class and number or date column.

    Silverman's rule of thumb, ``factor * 0.9 * min(sd, IQR / 1.349) * n ** (-1/5)`` over the n non-missing values
    of the class (Silverman 1986, Density Estimation, eq. 3.31), with sd alone where the IQR is 0. 0 for classes
    of one distinct value.
    """
    bandwidths = {}
    for at, domain in enumerate(records.domains.values()):
        if domain.kind.is_continuous:
            values = domain.axis[records.leaves[:, at]]
            present = ~np.isnan(values)
            n_classes = len(records.by_class.sizes)
            bandwidths[at] = factor * _silverman(values[present], class_ids[present], n_classes)
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
    return 0.9 * np.where(iqr > 0, np.minimum(spread, iqr), spread) * n**-0.2


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
    """Bounds of each node on the axis, widened by half a step, so that rounding is fair to the outermost values."""
    edges = [exact_numbers(edge) for edge in (domain.hierarchy.low, domain.hierarchy.high)]
    half = 0.5 if domain.grid is None else 0.5 * domain.grid.step
    return edges[0][nodes].astype(np.float64) - half, edges[1][nodes].astype(np.float64) + half


@dataclass(frozen=True)
class FittedGiven:
    """Original values by class and tree cell. Private."""

    records: Donors
    features: Features
    cells: tuple[TreeCells, ...]
    """One partition per quasi-identifier."""
    pools: tuple[RankedPools, ...]
    """Per quasi-identifier: records by class and cell."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a record in the row's class and tree cell; of the class where the cell has none."""
        classes = self.records.classes.find(labels.nodes)
        matrix = self.features.matrix(labels)

        def own(at: int, nodes: Array) -> list[Fallback]:  # noqa: ARG001
            alike = pair_fallback("given", self.pools[at], classes, self.cells[at].of(matrix))
            return [alike, self.records.class_fallback(classes)]

        return restore_columns(self.records, labels, own, rng)


def fit_given(anonymized: AnonymizedTable, min_records: int, rng: np.random.Generator) -> FittedGiven:
    """Grow one tree per quasi-identifier over the whole table, on the labels and the record's other columns."""
    records = Donors(anonymized)
    learned = features(records.domains, anonymized.labels, sensitive=True)
    matrix = learned.matrix(anonymized.labels)
    cells, by_class_and_cell = [], []
    for at in range(anonymized.leaves.shape[1]):
        found = grow(matrix, records.ranks(at), min_records, int(rng.integers(2**31)))
        cells.append(found)
        by_class_and_cell.append(ranked_pools(anonymized.class_ids, found.of(matrix), found.n_cells))
    return FittedGiven(records, learned, tuple(cells), tuple(by_class_and_cell))


class ConditionalOptions(base.Options):
    """Options of ``conditional``."""

    estimator: Literal["histogram", "kde", "joint", "given"] = "histogram"
    """histogram: each attribute by itself, by its frequencies in the class; kde: the same smoothed by a kernel for
    numbers and dates; joint: all quasi-identifiers of one record together; given: each attribute by itself, from
    those records of the class that a decision tree finds alike in the record's other columns."""
    bandwidth: float = Field(default=1.0, gt=0.0)
    """kde: factor on the bandwidth of Silverman's rule of thumb."""
    min_records: int = Field(default=5, ge=1)
    """given: least number of records (of all classes together) that count as alike."""


class Conditional(Transition):
    """Distributions of every equivalence class; discloses some original values.

    Under a root label (a suppressed value) missing is drawn as often as the class holds it. Rows whose
    combination of labels no class has fall back, column by column, to records with the same label, then to
    records whose value lies below it, then to a uniform draw; ``Restored.fallbacks`` counts the cells of each.
    """

    name = "conditional"
    Options = ConditionalOptions

    def fit(
        self, anonymized: AnonymizedTable, options: ConditionalOptions, rng: np.random.Generator
    ) -> FittedTransition:
        if options.estimator == "kde":
            return fit_kde(Donors(anonymized), anonymized.class_ids, options.bandwidth)
        if options.estimator == "joint":
            return FittedJoint(Donors(anonymized))
        if options.estimator == "given":
            return fit_given(anonymized, options.min_records, rng)
        return FittedHistogram(Donors(anonymized))


class OriginalOptions(base.Options):
    """Options of ``original``: none."""


@dataclass(frozen=True)
class FittedOriginal:
    """The records themselves. Private."""

    records: Donors
    labels: LabelTable

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values of the record with equal labels and equal other columns, each of several such records once.

        Rows that are no record's fall back to one record of their class.
        """
        own = _places(self.labels, labels)
        lost = np.flatnonzero(own < 0)
        classes = self.records.classes.find(labels.nodes[lost])
        own[lost] = draw_records([self.records.class_fallback(classes)], len(lost), rng).records

        def runs(rows: Array) -> Slices:
            return Slices(own, rows, (own[rows] >= 0).astype(np.int64))

        return restore_columns(self.records, labels, lambda at, nodes: [("class", runs)], rng)  # noqa: ARG005


def _places(learned: LabelTable, asked: LabelTable) -> Array:
    """Position among the learned records of each asked one; -1: none."""
    frames = [
        pd.concat([pd.DataFrame(table.nodes), table.rest.frame.astype(object).reset_index(drop=True)], axis=1)
        for table in (learned, asked)
    ]
    whole = pd.concat(frames, ignore_index=True)
    content = whole.groupby(list(whole), dropna=False, sort=False, observed=True).ngroup().to_numpy()
    known, wanted = content[: len(learned)], content[len(learned) :]
    times = np.bincount(known, minlength=content.max(initial=-1) + 1)
    order = np.argsort(known, kind="stable")
    starts = np.cumsum(times) - times
    turn = pd.Series(wanted).groupby(wanted).cumcount().to_numpy()
    there = times[wanted] > 0
    places = np.full(len(asked), -1, dtype=np.int64)
    places[there] = order[starts[wanted[there]] + turn[there] % times[wanted[there]]]
    return places


class Original(Transition):
    """Nothing is generalized in the end: only the suppressed records are missing.

    A control for comparisons, which tells what suppression protects from what labels and draws protect. A generator
    then learns the kept records as they were.
    """

    name = "original"
    Options = OriginalOptions

    def fit(self, anonymized: AnonymizedTable, options: OriginalOptions, rng: np.random.Generator) -> FittedTransition:  # noqa: ARG002
        return FittedOriginal(Donors(anonymized), anonymized.labels)
