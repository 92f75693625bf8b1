"""Recommended configuration.

The safest of those not shown less useful than the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import Estimate, mean_spread
from hybrid.analysis.pareto import pareto_front
from hybrid.analysis.ranking import chosen_mean
from hybrid.analysis.results import STRONGEST, Column, Results
from hybrid.base.arrays import Array
from hybrid.evaluation.engine.intervals import quantile

SEVERITY = ("pass", "review", "block")


@dataclass(frozen=True)
class Candidate:
    """A configuration in the choice, with its means over the seeds.

    The wide intervals hold for all configurations that ended well together, so whichever of them was chosen.
    """

    configuration: str
    privacy: Estimate
    utility: Estimate


@dataclass(frozen=True)
class Recommendation:
    """Recommended configuration, with its alternatives.

    Parameters
    ----------
    privacy, utility : Column
        The metrics that decided; the utility is the mean over all targets.
    chosen : Candidate or None
        None where the gate blocks everything.
    verdict : str
        What the gate says of it, its worst over the seeds; empty where no gate was asked.
    ended, admitted : int
        Configurations that ended well with every seed, and those of them with this verdict.
    most_useful, safest : Candidate
        Of the admitted ones.
    near : int
        Admitted ones within one standard error of the most useful, itself included.
    refused : Candidate or None
        The most useful of those with a worse verdict, if it is more useful than the chosen one.
    on_front : bool
        Whether nothing admitted is both safer and more useful.
    seeds : int
    again_privacy, again_utility : float or None
        Means over the seeds of what the configuration has that this rule chooses by the other seeds: unlike the means
        of the chosen one, not the better for the choice. The gate's verdicts are those of all seeds. None with fewer
        than three seeds.
    """

    privacy: Column
    utility: Column
    chosen: Candidate | None
    verdict: str
    ended: int
    admitted: int
    most_useful: Candidate
    safest: Candidate
    near: int
    refused: Candidate | None
    on_front: bool
    seeds: int
    again_privacy: float | None = None
    again_utility: float | None = None


def recommend(results: Results) -> Recommendation | None:
    """Choose a configuration; None without a complete privacy and utility metric.

    Of the configurations with the best verdict of the gate, those within one standard error of the most useful one (the
    rule of Breiman et al. 1984, section 3.4.3, for trees); of these the one with the lowest privacy risk. The standard
    error is that of the difference over the seeds; with one seed, that of the metric itself.
    """
    privacy, utility = (_first(results, names) for names in _deciding(results))
    if not privacy or not utility:
        return None
    risk = privacy[0].sign * -_mean(results, privacy)
    useful = utility[0].sign * _mean(results, utility)
    whole = np.isfinite(risk).all(axis=1) & np.isfinite(useful).all(axis=1)
    if not whole.any():
        return None
    verdicts = _verdicts(results)
    status = next((one for one in SEVERITY if (whole & (verdicts == one)).any()), "")
    admitted = whole & (verdicts == status)
    means = useful.mean(axis=1)
    best = _best(means, admitted)
    several = risk.shape[1] > 1
    errors = _errors(useful, best, results.overlap) if several else _own_errors(results, utility, best)
    near = admitted & (means[best] - means <= errors)
    chosen = _best(-risk.mean(axis=1), near)
    again = _again(risk, useful, admitted, results.overlap)
    front = pareto_front(-risk.mean(axis=1)[admitted], means[admitted])

    def candidate(at: int) -> Candidate:
        values = privacy[0].sign * -risk[at : at + 1], utility[0].sign * useful[at : at + 1]
        means = (chosen_mean(each, int(whole.sum()), results.overlap) for each in values)
        return Candidate(str(results.configurations.index[at]), *means)

    others = whole & ~admitted & (means > means[chosen])
    return Recommendation(
        privacy[0],
        utility[0],
        None if status == "block" else candidate(chosen),
        status,
        int(whole.sum()),
        int(admitted.sum()),
        candidate(best),
        candidate(_best(-risk.mean(axis=1), admitted)),
        int(near.sum()),
        candidate(_best(means, others)) if others.any() else None,
        bool(front[np.flatnonzero(np.flatnonzero(admitted) == chosen)[0]]),
        risk.shape[1],
        again and privacy[0].sign * -again[0],
        again and utility[0].sign * again[1],
    )


def _again(risk: Array, useful: Array, admitted: Array, overlap: float) -> tuple[float, float] | None:
    """Mean risk and usefulness when the other seeds choose."""
    seeds = risk.shape[1]
    if seeds < 3:
        return None
    found = []
    for seed in range(seeds):
        others = np.arange(seeds) != seed
        means = useful[:, others].mean(axis=1)
        best = _best(means, admitted)
        near = admitted & (means[best] - means <= _errors(useful[:, others], best, overlap))
        chosen = _best(-risk[:, others].mean(axis=1), near)
        found.append((risk[chosen, seed], useful[chosen, seed]))
    private, use = np.mean(found, axis=0)
    return float(private), float(use)


def _deciding(results: Results) -> tuple[list[str], list[str]]:
    """Names of the deciding metrics: of privacy, and of the other families.

    Both in order of preference.
    """
    ranked = [(metric.decides, name) for name, metric in results.metrics.items() if metric.decides is not None]
    names = [name for _, name in sorted(ranked)]
    privacy = [name for name in names if results.metrics[name].family == "privacy"]
    return [STRONGEST, *privacy], [name for name in names if name not in privacy]


def _first(results: Results, names: Sequence[str]) -> list[Column]:
    """Columns of the first measured metric, one per target or secret."""
    for name in names:
        found = [c for c in results.columns.values() if c.stage == "synthetic" and c.metric == name]
        if found:
            return found
    return []


def _mean(results: Results, columns: Sequence[Column]) -> Array:
    values: Array = np.mean([results.matrix(column.name) for column in columns], axis=0)
    return values


def _verdicts(results: Results) -> Array:
    """Worst verdict of each configuration; empty where no policy was applied."""
    worst: dict[str, int] = {}
    given = results.ok.get("verdict", pd.Series("", index=results.ok.index))
    for name, verdict in zip(results.ok["configuration"], given, strict=True):
        severity = SEVERITY.index(verdict) if verdict in SEVERITY else -1
        worst[name] = max(worst.get(name, -1), severity)
    return np.array(["" if worst.get(n, -1) < 0 else SEVERITY[worst[n]] for n in results.configurations.index])


def _errors(useful: Array, best: int, overlap: float) -> Array:
    """Standard errors of the differences from the best configuration, shape (n_configurations,)."""
    spread: Array = np.nan_to_num((useful[best] - useful).std(axis=1, ddof=1))
    return spread * mean_spread(useful.shape[1], overlap)


def _own_errors(results: Results, columns: Sequence[Column], best: int) -> Array:
    """The same with one seed, from the metric's own intervals."""
    halves = [results.matrix(c.name, "high") - results.matrix(c.name, "low") for c in columns]
    own = np.nan_to_num(np.mean(halves, axis=0)[:, 0]) / (2 * quantile(0.95))
    return np.where(np.arange(len(own)) == best, 0.0, np.hypot(own, own[best]))


def _best(values: Array, among: Array) -> int:
    return int(np.argmax(np.where(among, values, -np.inf)))
