"""Privacy models: what every class of records with equal quasi-identifiers must have.

Each model says what a class reaches (``reached``) and whether that is enough (``holds``). What the exact search
may conclude from one generalization about the finer ones rests on two properties, proven here once:

*Record-monotone* (k, distinct l, k-map): a record in a violating class is in a violating class under every finer
generalization, because its class only loses members, values, or population.

*Convex* (all models): if every class holds, every union of classes holds. So if one class violates under some
generalization, at least one does under every finer one. Entropy is concave and recursive (c,l)-diversity is closed
under union (Machanavajjhala et al. 2007, theorems 4.1 and 4.2); the largest frequency, the relative gain over a
fixed reference and the earth mover's distance to it are convex in the class's distribution.

A convex model that is not record-monotone still implies a record-monotone one, ``least_distinct`` values per class:
entropy <= log(number of values), recursive diversity needs an l-th value, frequencies of at most alpha need 1/alpha
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.options import AlphaK, BetaLikeness, KMap, LDiversity, ModelOptions, TCloseness
from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import Hierarchy

TOLERANCE = 1e-12
"""Rounding that a comparison of real numbers forgives."""


@dataclass(frozen=True)
class Model:
    """One model on one sensitive column.

    Parameters
    ----------
    name : str
        What to call it in messages, such as ``"distinct 2-diversity of 'occupation'"``.
    attribute : str
        The sensitive column.
    reached : callable
        From a :class:`Histogram` to what each class reaches, shape (n_classes,), float64.
    threshold : float
        The value of ``reached`` that is just enough.
    larger_is_safer : bool
        Whether a class holds when it reaches at least (else: at most) the threshold.
    least_distinct : int
        A class that holds has at least this many distinct values.
    record_monotone : bool
        Whether the model is nothing but ``least_distinct``.
    strict : bool
        Whether a class must stay below the threshold instead of at most reaching it.
    """

    name: str
    attribute: str
    reached: Callable[[Histogram], Array]
    threshold: float
    larger_is_safer: bool
    least_distinct: int = 1
    record_monotone: bool = False
    strict: bool = False

    def holds(self, histogram: Histogram) -> Array:
        """Which classes meet the model; shape (n_classes,), bool."""
        reached = self.reached(histogram)
        if self.strict:
            below: Array = reached < self.threshold * (1 - TOLERANCE)
            return below
        slack = TOLERANCE * max(1.0, abs(self.threshold))
        enough: Array = reached >= self.threshold - slack if self.larger_is_safer else reached <= self.threshold + slack
        return enough

    def worst(self, histogram: Histogram) -> float:
        """What the least protected class reaches; the threshold itself if there is no class."""
        reached = self.reached(histogram)
        if not len(reached):
            return self.threshold
        return float(reached.min() if self.larger_is_safer else reached.max())


def distinct_l(histogram: Histogram) -> Array:
    """Distinct values per class."""
    return histogram.distinct().astype(np.float64)


def entropy_l(histogram: Histogram) -> Array:
    """exp(Shannon entropy) per class: the effective number of values, 1 or more."""
    shares = histogram.frequencies()
    effective: Array = np.exp(-histogram.per_class(shares * np.log(shares)))
    return effective


def recursive_c(histogram: Histogram, least: int) -> Array:
    """r_1 / (r_l + r_(l+1) + ...) per class, r_i the i-th largest count; inf if there is no l-th value."""
    counts, rank = histogram.descending()
    tail = histogram.per_class(np.where(rank >= least - 1, counts, 0))
    with np.errstate(divide="ignore"):
        ratio: Array = histogram.largest(histogram.counts) / tail
    return ratio


def largest_share(histogram: Histogram) -> Array:
    """Relative frequency of the most frequent value per class, in (0, 1]."""
    return histogram.largest(histogram.frequencies())


def relative_gain(histogram: Histogram) -> Array:
    """Largest (q - p) / p per class: q in the class, p in the reference."""
    return histogram.largest(histogram.frequencies() / histogram.reference[histogram.values] - 1)


def enhanced_gain(histogram: Histogram) -> Array:
    """Largest (q - p) / p per class over the values whose gain exceeds -ln(p), else that of the others.

    Returned as the beta that the class needs: infinite when a gain exceeds -ln(p).
    """
    reference = histogram.reference[histogram.values]
    gain = histogram.frequencies() / reference - 1
    return histogram.largest(np.where(gain > -np.log(reference) + TOLERANCE, np.inf, gain))


def equal_distance(histogram: Histogram) -> Array:
    """Earth mover's distance to the reference when all values are equally far apart: total variation, 0..1."""
    reference = histogram.reference[histogram.values]
    inside = histogram.per_class(np.abs(histogram.frequencies() - reference) - reference)
    distance: Array = 0.5 * (inside + histogram.reference.sum())
    return distance


def ordered_distance(histogram: Histogram) -> Array:
    """Earth mover's distance to the reference when values are as far apart as their ranks, 0..1."""
    steps = max(histogram.n_values - 1, 1)
    return histogram.by_blocks(lambda difference: np.abs(np.cumsum(difference, axis=1)).sum(axis=1) / steps)


def hierarchical_distance(histogram: Histogram, covers: Array, height: Array) -> Array:
    """Earth mover's distance when moving mass to another subtree costs the height of the common node, 0..1.

    Li et al. 2007, section 5.2, with costs added up along the tree: mass that leaves a node pays the height from
    the node to its parent once.

    Parameters
    ----------
    covers : numpy.ndarray, shape (n_nodes, n_values), float64
        Which value is under which node.
    height : numpy.ndarray, shape (n_nodes,), float64
        Height difference between each node and its parent, over the height of the tree; 0 for the root.
    """
    return histogram.by_blocks(lambda difference: 0.5 * np.abs(difference @ covers.T) @ height)


def build(options: ModelOptions, hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Array]) -> Model:
    """The model that these options describe.

    Parameters
    ----------
    options : ModelOptions
        Anything but k-map, which looks at no sensitive column.
    hierarchies : mapping of str to Hierarchy
        Of sensitive columns; only hierarchical t-closeness needs one.
    values : mapping of str to numpy.ndarray
        Leaf, in the column's hierarchy, of each value number of a histogram; same.

    Raises
    ------
    ConfigError
        Hierarchical t-closeness of a column without a hierarchy.
    """
    column = options.attribute if not isinstance(options, KMap) else ""
    match options:
        case LDiversity(kind="distinct", l=least):
            name = f"distinct {least:g}-diversity of {column!r}"
            return Model(name, column, distinct_l, least, True, int(least), record_monotone=True)
        case LDiversity(kind="entropy", l=least):
            name = f"entropy {least:g}-diversity of {column!r}"
            return Model(name, column, entropy_l, least, True, math.ceil(least - 1e-9))
        case LDiversity(c=float(factor), l=least):
            return _recursive(column, factor, int(least))
        case AlphaK(alpha=alpha):
            name = f"alpha = {alpha:g} of {column!r}"
            return Model(name, column, largest_share, alpha, False, math.ceil(1 / alpha - 1e-9))
        case BetaLikeness(beta=beta, kind=kind):
            gain = relative_gain if kind == "basic" else enhanced_gain
            return Model(f"{kind} {beta:g}-likeness of {column!r}", column, gain, beta, False)
        case TCloseness(t=t, distance=distance):
            name = f"{t:g}-closeness ({distance}) of {column!r}"
            return Model(name, column, _distance(options, hierarchies, values), t, False)
    raise TypeError(f"no class-wise model: {options.model}")


def _recursive(column: str, factor: float, least: int) -> Model:
    name = f"recursive ({factor:g},{least})-diversity of {column!r}"
    return Model(name, column, lambda histogram: recursive_c(histogram, least), factor, False, least, strict=True)


def _distance(
    options: TCloseness, hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Array]
) -> Callable[[Histogram], Array]:
    if options.distance == "equal":
        return equal_distance
    if options.distance == "ordered":
        return ordered_distance
    if options.attribute not in hierarchies:
        raise ConfigError(
            f"t_closeness with distance hierarchical: the column {options.attribute!r} has no hierarchy",
            hint="give the sensitive column a hierarchy, or use distance equal",
        )
    hierarchy = hierarchies[options.attribute]
    covers = hierarchy.covers()[:, values[options.attribute]].astype(np.float64)
    level, parents = hierarchy.level_of(), hierarchy.parents()
    rise = np.where(parents < 0, 0, level[parents] - level)
    height = rise / max(hierarchy.n_levels - 1, 1)
    return lambda histogram: hierarchical_distance(histogram, covers, height)
