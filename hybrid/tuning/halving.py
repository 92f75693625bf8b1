"""Successive halving: many settings with few trainings, more trainings for the best, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid.analysis.ranking import pareto_front
from hybrid.tuning.measured import Measured

AS_USEFUL = 0.01
"""Settings whose usefulness differs by no more are as useful as each other: the least disclosing is taken."""
AS_SAFE = 0.02
"""Settings whose upper ends differ by no more disclose as much as each other: the most useful is taken."""


class Rung(NamedTuple):
    """One round of halving."""

    settings: int
    """Settings, at most."""
    trainings: int
    """Trainings of the attacker of each."""
    draws: int
    """Tables of each whose usefulness is measured, each of other training people."""


LADDER = (Rung(20, 20, 1), Rung(8, 32, 2), Rung(4, 64, 4))
"""Rounds of a tune, with about as much work in each (Jamieson and Talwalkar 2016, arXiv 1502.07943)."""
SLOW = Rung(3, 20, 1)
"""The only round with a generator that takes more than ten times as long as ``cart``."""


def ladder(pace: float) -> tuple[Rung, ...]:
    """Rounds for a generator: with a slower one, fewer settings are tried.

    Parameters
    ----------
    pace : float
        Time that ``cart`` takes as a share of the generator's, above 0.
    """
    if pace < 0.1:
        return (SLOW,)
    share = min(pace, 1.0)
    return tuple(rung._replace(settings=max(int(rung.settings * share), SLOW.settings)) for rung in LADDER)


def survivors(found: Sequence[Measured], keep: int) -> list[str]:
    """Settings of the next round: front by front of disclosure and usefulness, in the order of ``found``.

    Those that lose more than the policy allows come last. Of a front that does not fit as a whole, those spread evenly
    along it stay, both ends first.

    Parameters
    ----------
    found : sequence of Measured
        Of one round.
    keep : int
        How many, 1 or more.
    """
    is_useful = np.array([each.is_useful for each in found], dtype=bool)
    left = np.ones(len(found), dtype=bool)
    safe = -np.array([each.disclosure for each in found])
    useful = np.array([each.usefulness for each in found])
    chosen: list[int] = []
    while len(chosen) < keep and left.any():
        at = np.flatnonzero(left & is_useful if (left & is_useful).any() else left)
        front = at[pareto_front(safe[at], useful[at])]
        room = keep - len(chosen)
        if len(front) > room:
            along = front[np.lexsort((front, -safe[front]))]
            places = np.linspace(0, len(along) - 1, room) if room > 1 else np.array([(len(along) - 1) / 2])
            front = along[np.round(places).astype(int)]
        chosen += [int(one) for one in front]
        left[front] = False
    return [found[one].name for one in sorted(chosen)]


@dataclass(frozen=True)
class Choice:
    """The chosen setting.

    Parameters
    ----------
    chosen : Measured
    passing : tuple of str
        Settings of the last round that are expected to pass.
    alike : tuple of str
        Others of the last round that cannot be told from the chosen one, neither by disclosure nor by usefulness.
    """

    chosen: Measured
    passing: tuple[str, ...]
    alike: tuple[str, ...]


def choose(found: Sequence[Measured]) -> Choice:
    """The most useful setting that is expected to pass; if there is none, the least disclosing.

    Of settings that are as useful as the most useful one (:data:`AS_USEFUL`) the one with the lowest upper end. Of
    those that disclose as much as the least disclosing one (:data:`AS_SAFE`) the most useful. A setting that loses more
    than the policy allows is chosen only where all do.

    Parameters
    ----------
    found : sequence of Measured
        Of the last round, one or more.
    """
    passing = [each for each in found if each.passes]
    if passing:
        best = max(each.usefulness for each in passing)
        passing_well = [each for each in passing if each.usefulness >= best - AS_USEFUL]
        chosen = min(passing_well, key=lambda each: each.beyond)
    else:
        kept = [each for each in found if each.is_useful] or list(found)
        least = min(each.beyond for each in kept)
        chosen = max((each for each in kept if each.beyond <= least + AS_SAFE), key=lambda each: each.usefulness)
    alike = tuple(each.name for each in found if each is not chosen and _alike(each, chosen))
    return Choice(chosen, tuple(each.name for each in passing), alike)


def _alike(one: Measured, other: Measured) -> bool:
    """True if all intervals of both overlap: those of the attack, and twice the standard error of usefulness."""
    apart = abs(one.usefulness - other.usefulness) > 2 * float(np.hypot(one.error, other.error))
    pairs = zip(one.attack, other.attack, strict=True)
    return not apart and all(a.low <= b.high and b.low <= a.high for a, b in pairs)
