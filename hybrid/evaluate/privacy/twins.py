"""Training records and the table around them: adversarial accuracy, authenticity, identifiability."""

from __future__ import annotations

import math

import numpy as np

from hybrid.arrays import Array
from hybrid.evaluate.context import Context, Part, Role
from hybrid.evaluate.encoding import Encoded
from hybrid.evaluate.intervals import quantile, risk, share_interval, wilson
from hybrid.evaluate.measure import Measure, NotComputable, Outcome
from hybrid.evaluate.metric import Metric
from hybrid.evaluate.neighbours import TIE, Space, nearest

ROLES: tuple[Role, ...] = ("train", "control", "table")


def farther(mine: Array, other: Array) -> Array:
    """Whether ``mine`` is the larger distance, by more than rounding; shape (n,), bool."""
    result: Array = mine > other + TIE * (1 + other)
    return result


def nnaa(context: Context) -> Measure:
    """Nearest-neighbour adversarial accuracy of control minus that of train (Yale et al. 2020), -1..1.

    AA_XS = (P[d_XS > d_XX] + P[d_SX > d_SS]) / 2 in E1, all sets cut to the same size; 0.5 is ideal, 0 a copy. The
    difference is 0 without a leak and 0.5 for a copy.
    """
    train_scores, differences, spread = [], [], []
    for train, control, table in context.parts(ROLES):
        outward = [_beyond(context, part, table) for part in (train, control)]
        inward = [_beyond(context, table, part) for part in (train, control)]
        of_train, of_control = ((o.mean() + i.mean()) / 2 for o, i in zip(outward, inward, strict=True))
        train_scores.append(float(of_train))
        differences.append(float(of_control - of_train))
        independent = (*outward, inward[1] - inward[0])
        spread.append(math.sqrt(sum(float(x.var()) / len(x) for x in independent)) / 2)
    value = float(np.mean(differences))
    error = quantile(context.options.confidence) * float(np.mean(spread))
    accuracy_train = float(np.mean(train_scores))
    details = {"accuracy_train": accuracy_train, "accuracy_control": accuracy_train + value, "parts": len(differences)}
    return Measure(value, value - error, value + error, 0.0, len(context.train), details)


def _beyond(context: Context, queries: Part, references: Part) -> Array:
    """Whether the nearest reference is farther than the nearest of the queries' own kind, as numbers."""
    across, within = context.distances(queries, references)[:, 0], context.distances(queries, queries)[:, 0]
    return farther(across, within).astype(float)


def authenticity(context: Context) -> Outcome:
    """Share of training records that lie at least as close to the table as to another training record, 0..1.

    1 - authenticity of Alaa et al. 2022, the other way round (METRICS F, Auth'), in E1, sets cut to the same size.
    About 0.5 without a leak; the reference is the share for control records among themselves.
    """
    train, control, n = [], [], 0
    for mine, other, table in context.parts(ROLES):
        train.append(float(1 - _beyond_own(context, mine, table).mean()))
        control.append(float(1 - _beyond_own(context, other, table).mean()))
        n += len(mine.rows)
    return _compared(context, float(np.mean(train)), float(np.mean(control)), n, len(other.rows))


def _beyond_own(context: Context, part: Part, table: Part) -> Array:
    return farther(context.distances(part, table)[:, 0], context.distances(part, part)[:, 0])


def _compared(context: Context, train: float, control: float, n_train: int, n_control: int) -> Measure:
    confidence = context.options.confidence
    low, high = share_interval(train, n_train, confidence)
    excess = risk(wilson(train * n_train, n_train, confidence), wilson(control * n_control, n_control, confidence))
    details = {} if excess is None else {"risk": excess.value, "risk_interval": [excess.low, excess.high]}
    return Measure(train, low, high, control, n_train, details)


def _entropies(context: Context) -> Array:
    """Shannon entropy (nats) of every column in train; numbers in 20 equal bins. Shape (p,)."""
    train, result = context.encoded("train"), []
    for at in range(len(context.encoding.columns)):
        values = train.ranks[:, at] + 1
        if context.encoding.continuous[at]:
            known = train.numbers[~np.isnan(train.numbers[:, at]), at]
            counts = np.histogram(known, bins=20)[0] if len(known) else np.zeros(1)
        else:
            counts = np.bincount(values)
        shares = counts[counts > 0] / max(counts.sum(), 1)
        result.append(float(-(shares * np.log(shares)).sum()))
    return np.array(result)


def _weighted(context: Context) -> Space:
    """E1 with every column divided by its entropy: agreement on a column with few surprises weighs more."""
    space = context.space
    entropy = np.maximum(_entropies(context)[space.columns], 1e-6)
    p = len(space.center)
    return space._replace(scale=space.scale * entropy[:p], weights=space.weights / entropy[p:] ** 2)


def identifiability(context: Context) -> Outcome:
    """Identifiability (Yoon et al. 2020): as :func:`authenticity`, each column weighted by 1 / its entropy, strictly.

    Share of training records whose nearest row of the table is nearer than the nearest other training record, 0..1.
    Numbers are binned for the entropy; columns whose entropy vanishes would dominate and are left out.
    """
    entropy = _entropies(context)
    if not (entropy > 0.01).any():
        return NotComputable("no column has enough variety")
    space = _weighted(context)
    keep = entropy[space.columns] > 0.01
    p = len(space.center)
    space = Space(space.columns[keep], space.center[keep[:p]], space.scale[keep[:p]], space.weights[keep[p:]], True)

    def within(part: Part, table: Part) -> float:
        people: Encoded = context.encoded(part.role).take(part.rows)
        mine, rows = space.place(people), space.place(context.encoded("table").take(table.rows))
        own = nearest(space, mine, mine, same=True)[0][:, 0]
        return float(farther(own, nearest(space, mine, rows)[0][:, 0]).mean())

    parts = context.parts(ROLES)
    train = float(np.mean([within(part[0], part[2]) for part in parts]))
    control = float(np.mean([within(part[1], part[2]) for part in parts]))
    return _compared(context, train, control, sum(len(part[0].rows) for part in parts), len(parts[0][1].rows))


METRICS = (
    Metric(
        name="nnaa",
        family="privacy",
        direction="lower",
        sentence="Whether the table sits closer around training people than around people never seen; 0 is no closer.",
        low=-1,
        high=1,
        no_leak=0.0,
        copy=0.5,
        compute=nnaa,
        needs=("control",),
    ),
    Metric(
        name="authenticity",
        family="privacy",
        direction="lower",
        sentence="The share of training people to whom a row is nearer than any other training person; .5 is chance.",
        low=0,
        high=1,
        no_leak=0.5,
        copy=1.0,
        compute=authenticity,
        needs=("control",),
    ),
    Metric(
        name="identifiability",
        family="privacy",
        direction="lower",
        sentence="As authenticity, where agreeing on columns with few surprises weighs more.",
        low=0,
        high=1,
        no_leak=0.5,
        copy=1.0,
        compute=identifiability,
        needs=("control",),
    ),
)
