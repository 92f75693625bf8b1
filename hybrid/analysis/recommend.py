"""Recommended configuration: the first of the ranking, with its alternatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.order import Contest, Question
from hybrid.analysis.pareto import pareto_front
from hybrid.analysis.precision import Needed, next_found
from hybrid.analysis.ranking import verdict_of
from hybrid.analysis.results import Column
from hybrid.base.arrays import Array, Mask


@dataclass(frozen=True)
class Candidate:
    """A configuration in the choice, with its means over the seeds.

    The wide intervals hold for all configurations that ended well together, so whichever of them was chosen.
    """

    configuration: str
    privacy: Estimate
    utility: Estimate
    closeness: Estimate | None


@dataclass(frozen=True)
class Recommendation:
    """Recommended configuration, with its alternatives.

    Parameters
    ----------
    privacy, utility, closeness : Column
        The metrics that decided, each the mean over its columns; None where closeness was not measured.
    chosen : Candidate or None
        The first of the ranking; None where the gate blocks everything.
    verdict : str
        What the gate says of it, its worst over the seeds; empty where no gate was asked.
    ended, admitted : int
        Configurations that ended well with every seed, and those of them with this verdict.
    most_useful, safest : Candidate
        Of the admitted ones.
    as_useful : int
        Admitted ones as useful as the most useful one, itself included.
    as_safe : int
        Those of them as safe as the safest of them.
    refused : Candidate or None
        The most useful of those with a worse verdict, if it is more useful than the chosen one.
    on_front : bool
        Whether nothing admitted is both safer and more useful.
    seeds : int
    apart : dict
        By question the admitted configurations that the seeds tell from the chosen one, all pairs tested together.
    needed : Needed or None
        What it takes to tell one more from it by use or attack.
    again_privacy, again_utility : float or None
        Means over the seeds of what the configuration has that this rule chooses by the other seeds: unlike the means
        of the chosen one, not the better for the choice. The gate's verdicts are those of all seeds. None with fewer
        than three seeds.
    """

    privacy: Column
    utility: Column
    closeness: Column | None
    chosen: Candidate | None
    verdict: str
    ended: int
    admitted: int
    most_useful: Candidate
    safest: Candidate
    as_useful: int
    as_safe: int
    refused: Candidate | None
    on_front: bool
    seeds: int
    apart: dict[Question, list[str]]
    needed: Needed | None
    again_privacy: float | None = None
    again_utility: float | None = None


def recommend(found: Contest | None) -> Recommendation | None:
    """Recommend what the rule of :mod:`hybrid.analysis.order` puts first.

    None without a privacy and a utility metric of every seed.
    """
    if found is None:
        return None
    use, attack, close = found.criterion("use"), found.criterion("attack"), found.criterion("closeness")
    if use is None or attack is None:
        return None
    everyone = np.ones(len(found.names), dtype=bool)
    first = found.first(everyone)
    kept, verdict = found.kept(everyone), verdict_of(found, first)
    admitted = kept["verdict"]
    family, seeds = len(found.names), use.values.shape[1]

    def candidate(at: int) -> Candidate:
        return Candidate(
            found.names[at],
            attack.at(at, family, found.overlap),
            use.at(at, family, found.overlap),
            None if close is None else close.at(at, family, found.overlap),
        )

    front = pareto_front(attack.means[admitted], use.means[admitted])
    others = ~admitted & (use.means > use.means[first])
    again = _again(found, admitted)
    return Recommendation(
        attack.column,
        use.column,
        None if close is None else close.column,
        None if verdict == "block" else candidate(first),
        verdict,
        family,
        int(admitted.sum()),
        candidate(_best(use.means, admitted)),
        candidate(_best(attack.means, admitted)),
        int(kept["use"].sum()),
        int(kept["attack"].sum()),
        candidate(_best(use.means, others)) if others.any() else None,
        bool(front[np.flatnonzero(np.flatnonzero(admitted) == first)[0]]),
        seeds,
        _apart(found, first, admitted),
        next_found(found, first),
        again and again[0],
        again and again[1],
    )


def _apart(found: Contest, first: int, admitted: Mask) -> dict[Question, list[str]]:
    return {
        each.question: [
            found.names[at]
            for at, behind in enumerate(each.behind(first, found.pairs, found.overlap))
            if behind.found and admitted[at]
        ]
        for each in found.criteria
    }


def _again(found: Contest, admitted: Mask) -> tuple[float, float] | None:
    """Mean attack and use of the choices by the other seeds.

    In the metrics' units.
    """
    attack, use = found.criterion("attack"), found.criterion("use")
    assert attack is not None and use is not None
    seeds = use.values.shape[1]
    if seeds < 3:
        return None
    chosen = [found.without(seed).first(admitted) for seed in range(seeds)]
    return float(attack.values[chosen, range(seeds)].mean()), float(use.values[chosen, range(seeds)].mean())


def _best(values: Array, among: Mask) -> int:
    return int(np.argmax(np.where(among, values, -np.inf)))
