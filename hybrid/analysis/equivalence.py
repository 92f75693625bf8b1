"""Verdict on the transition paradox by non-superiority tests with a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hybrid.analysis.differences import Difference

Answer = Literal["paradox", "trade", "no paradox", "open"]


@dataclass(frozen=True)
class ParadoxVerdict:
    """Verdict on the paradox, and the metrics it rests on.

    Parameters
    ----------
    answer : {"paradox", "trade", "no paradox", "open"}
        paradox: a loss of privacy was found, and every metric of utility and fidelity excludes a gain beyond the
        margin. trade: a loss and a gain were found. no paradox: a gain was found and no loss, or every privacy metric
        excludes a loss beyond the margin. open: neither found nor excluded.
    margin : float
        Largest difference that counts as none, in each metric's unit.
    losses, gains : list of Difference
        Privacy metrics by which conditional is found worse; others by which it is found better.
    unsure_losses, unsure_gains : list of Difference
        Metrics that do not exclude a loss, or a gain, beyond the margin.
    """

    answer: Answer
    margin: float
    losses: list[Difference]
    gains: list[Difference]
    unsure_losses: list[Difference]
    unsure_gains: list[Difference]


def paradox_verdict(differences: Sequence[Difference], margin: float) -> ParadoxVerdict:
    """Judge conditional against uniform.

    A gain is excluded by the upper half of the two one-sided tests (Schuirmann 1987): the one-sided 95 % bound of the
    difference lies below the margin. All metrics must exclude it, each at its own level (intersection-union test,
    Berger 1982), so that a true gain of the margin or more in any one of them is missed with a probability of 5 % at
    most. A loss of utility does not speak against the paradox, so the lower half is not asked for.

    Parameters
    ----------
    differences : sequence of Difference
        Conditional minus uniform, a metric each; the wide intervals hold for all of them together.
    margin : float
        Above 0, in each metric's unit.
    """
    private = [each for each in differences if each.column.family == "privacy"]
    useful = [each for each in differences if each.column.family != "privacy"]
    losses = [each for each in private if each.judgement == "worse"]
    gains = [each for each in useful if each.judgement == "better"]
    unsure_losses = [each for each in private if not _below(each, -each.column.sign, margin)]
    unsure_gains = [each for each in useful if not _below(each, each.column.sign, margin)]
    answer: Answer = "open"
    if losses and gains:
        answer = "trade"
    elif losses and useful and not unsure_gains:
        answer = "paradox"
    elif not losses and (gains or (private and not unsure_losses)):
        answer = "no paradox"
    return ParadoxVerdict(answer, margin, losses, gains, unsure_losses, unsure_gains)


def _below(difference: Difference, sign: int, margin: float) -> bool:
    """Check that sign times the difference is below the margin."""
    bound = difference.estimate.most if sign > 0 else difference.estimate.least
    return bound is not None and sign * bound < margin
