"""Paired differences of strategies, stages, and a pipeline and its baseline; the verdict on the transition paradox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import Estimate, average, complete, estimates
from hybrid.analysis.results import STAGES, STRONGEST, ResultColumn, Results
from hybrid.base.arrays import Array
from hybrid.evaluation.display import Range, spans
from hybrid.evaluation.measure import Family

Judgement = Literal["better", "worse", "perhaps better", "perhaps worse", "open"]


@dataclass(frozen=True)
class PairedDifference:
    """Paired difference of one metric."""

    column: ResultColumn
    """The metric, at the stage of the one."""
    one: float
    other: float
    """Means of both over the same pairs and seeds."""
    estimate: Estimate
    """One minus other; the wide interval holds for all metrics of the list together."""
    pairs: int
    """Pairs of configurations in each seed."""

    @property
    def judgement(self) -> Judgement:
        """Better, worse, or open; perhaps: by its own interval alone, as one in twenty would be by chance."""
        if not self.estimate.differs:
            return "open"
        if self.estimate.value * self.column.sign > 0:
            return "better" if self.estimate.found else "perhaps better"
        return "worse" if self.estimate.found else "perhaps worse"


@dataclass(frozen=True)
class Paradox:
    """Conditional against uniform transition, all else equal (thesis, chapter 5)."""

    differences: list[PairedDifference]
    """Conditional minus uniform at the stage synthetic; empty if the plan has no such pair."""
    by: dict[tuple[str, str], list[PairedDifference]]
    """The same within one level of another facet, by (facet, level)."""
    alone: list[PairedDifference]
    """Pipelines with the conditional transition minus their generator alone."""


@dataclass(frozen=True)
class StageMeans:
    """Means of one metric at each stage, over all configurations."""

    column: ResultColumn
    """The metric, at the stage synthetic."""
    means: dict[str, Estimate]
    """Per stage with a value its mean over all configurations."""
    steps: dict[str, Estimate]
    """Differences by name: ``anonymized - original``, ``synthetic - anonymized``, ``synthetic - baseline``."""


def headlines(results: Results) -> list[ResultColumn]:
    """Columns of the headline metrics of the synthetic table: privacy, utility, fidelity."""
    wanted = [STRONGEST, *(name for name, metric in results.metrics.items() if metric.headline)]
    columns = [column for column in results.columns.values() if column.stage == "synthetic" and column.metric in wanted]
    families = get_args(Family)
    return sorted(columns, key=lambda column: (families.index(column.family), wanted.index(column.metric)))


def paradox(results: Results, one: str = "conditional", other: str = "uniform") -> Paradox:
    """Compare two transition strategies in pairs that are equal in everything else and in the seed."""
    facets, columns = results.facet_table(), headlines(results)
    if "transition" not in facets:
        return Paradox([], {}, [])
    method = facets["transition"].str.partition(" ")[0]
    blocks = facets.drop(columns="transition").agg("\0".join, axis=1)
    everywhere = np.ones(len(facets), dtype=bool)
    found = _matched(results, columns, blocks, method == one, method == other, everywhere)
    by = {
        (facet, str(level)): _matched(results, columns, blocks, method == one, method == other, facets[facet] == level)
        for facet in facets.drop(columns=["transition", "rest"], errors="ignore")
        if facets[facet].nunique() > 1
        for level in dict.fromkeys(facets[facet])
    }
    return Paradox(found, {at: rows for at, rows in by.items() if rows}, _beside(results, columns, method == one))


def against_baseline(results: Results) -> list[PairedDifference]:
    """Differences of pipelines from their baselines (thesis, eq. 5.3, as a difference)."""
    return _beside(results, headlines(results), np.ones(len(results.configurations), dtype=bool))


def relative_change(ours: float, alone: float, sign: int, least: float) -> float | None:
    """Relative change from the generator alone to the pipeline in per cent, positive being better (thesis, eq. 5.3).

    None where ``alone`` is smaller than ``least``: the ratio has no meaning then.
    """
    return None if abs(alone) < least else sign * 100 * (ours - alone) / alone


def stage_means(results: Results) -> list[StageMeans]:
    found = []
    for column in headlines(results):
        matrices = {
            stage: results.matrix(column.at_stage(stage))
            for stage in STAGES
            if column.at_stage(stage) in results.columns
        }
        known = {stage: values for stage, values in matrices.items() if np.isfinite(values).any()}
        means = {stage: _averages([known[stage]], results.overlap, column.range, logit=True)[0] for stage in known}
        pairs = [("anonymized", "original"), ("synthetic", "anonymized"), ("synthetic", "baseline")]
        both = [pair for pair in pairs if set(pair) <= set(means)]
        steps = _averages([matrices[a] - matrices[b] for a, b in both], results.overlap, spans(column.range))
        named = {f"{a} - {b}": step for (a, b), step in zip(both, steps, strict=True) if step.seeds}
        found.append(StageMeans(column, means, named))
    return found


def _averages(matrices: Sequence[Array], overlap: float, within: Range, logit: bool = False) -> list[Estimate]:
    found = []
    for values in matrices:
        known = values[np.ix_(*complete(values))]
        found.append(
            average(known, len(matrices), overlap=overlap, within=within, logit=logit)
            if len(known)
            else Estimate(float("nan"), seeds=0)
        )
    return found


def _beside(results: Results, columns: Sequence[ResultColumn], chosen: Array | pd.Series) -> list[PairedDifference]:
    both = [column for column in columns if column.at_stage("baseline") in results.columns]
    found = []
    for column in both:
        ours, alone = results.matrix(column.name), results.matrix(column.at_stage("baseline"))
        rows, seeds = complete(np.where(np.asarray(chosen)[:, None], ours - alone, np.nan))
        if rows.any():
            ours, alone = (side[np.ix_(rows, seeds)] for side in (ours, alone))
            estimate = average(ours - alone, len(both), overlap=results.overlap, within=spans(column.range))
            found.append(PairedDifference(column, float(ours.mean()), float(alone.mean()), estimate, len(ours)))
    return found


def _matched(
    results: Results,
    columns: Sequence[ResultColumn],
    blocks: pd.Series,
    one: pd.Series,
    other: pd.Series,
    chosen: Array | pd.Series,
) -> list[PairedDifference]:
    found = []
    for column in columns:
        values = results.matrix(column.name)
        eligible = np.asarray(chosen) & np.asarray(one | other)
        rows, seeds = complete(np.where(eligible[:, None], values, np.nan))
        sides = [_block_means(blocks, rows & np.asarray(side)) for side in (one, other)]
        shared = sorted(sides[0].keys() & sides[1].keys())
        if not shared:
            continue
        weights = [np.mean([side[block] for block in shared], axis=0) for side in sides]
        whole = values[:, seeds].copy()
        whole[~rows] = 0.0
        contrast = (weights[0] - weights[1])[None]
        within = spans(column.range)
        estimate = estimates(contrast, whole, len(columns), overlap=results.overlap, within=within)[0]
        means = [float((side @ whole).mean()) for side in weights]
        found.append(PairedDifference(column, means[0], means[1], estimate, len(shared)))
    return found


def _block_means(blocks: pd.Series, rows: Array) -> Mapping[str, Array]:
    """Weights that average the chosen configurations of each block."""
    members = {block: np.asarray(blocks == block) & rows for block in dict.fromkeys(blocks[rows])}
    return {block: member / member.sum() for block, member in members.items()}


Answer = Literal["paradox", "trade", "no paradox", "open"]


@dataclass(frozen=True)
class ParadoxVerdict:
    """Verdict on the paradox, and the metrics it rests on."""

    answer: Answer
    """paradox: a loss of privacy was found, and every metric of utility and fidelity excludes a gain beyond the margin.
    trade: a loss and a gain were found. no paradox: a gain was found and no loss, or every privacy metric excludes a
    loss beyond the margin. open: neither found nor excluded."""
    margin: float
    """Largest difference that counts as none, in each metric's unit."""
    losses: list[PairedDifference]
    gains: list[PairedDifference]
    """Privacy metrics by which conditional is found worse; others by which it is found better."""
    unsure_losses: list[PairedDifference]
    unsure_gains: list[PairedDifference]
    """Metrics that do not exclude a loss, or a gain, beyond the margin."""


def paradox_verdict(differences: Sequence[PairedDifference], margin: float) -> ParadoxVerdict:
    """Judge conditional against uniform.

    A gain is excluded by the upper half of the two one-sided tests (Schuirmann 1987): the one-sided 95 % bound of the
    difference lies below the margin. All metrics must exclude it, each at its own level (intersection-union test,
    Berger 1982), so that a true gain of the margin or more in any one of them is missed with a probability of 5 % at
    most. A loss of utility does not speak against the paradox, so the lower half is not asked for. Differences are
    conditional minus uniform, a metric each, and their wide intervals hold together; the margin is in each metric's
    unit.
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


def _below(difference: PairedDifference, sign: int, margin: float) -> bool:
    bound = difference.estimate.most if sign > 0 else difference.estimate.least
    return bound is not None and sign * bound < margin
