"""Inputs of a run's report: aggregates only, never a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hybrid.base.arrays import Array
from hybrid.base.language import ENGLISH, Language
from hybrid.evaluation.measure import Direction, Evaluation, Family, Subject
from hybrid.evaluation.trust import TrustLeague
from hybrid.publication.verdict import Verdict
from hybrid.report.side_by_side import TableComparison


@dataclass(frozen=True)
class ReportedStage:
    """One stage of the run."""

    name: str
    rows: int
    """Rows that came out of it."""
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True)
class TradeOffPoint:
    """Information loss at one suppression limit."""

    limit: float
    """Share of records that may be suppressed, 0..1."""
    suppressed: float
    """Share that was, 0..1."""
    loss: float
    """Information loss of the best solution, 0 (none) .. 1 (everything)."""
    chosen: bool = False


@dataclass(frozen=True)
class LossCurve:
    """One loss curve of the generator's training."""

    name: str
    points: tuple[tuple[int, float], ...]
    """Step or epoch, and value, in order."""


@dataclass(frozen=True)
class MetricText:
    """Explanation of a metric for readers."""

    title: str
    sentence: str
    """What the number says, in one plain sentence."""
    reference: str = "control set"
    """Who scores the reference value."""
    family: Family | None = None
    direction: Direction | None = None
    """Direction in which the metric improves."""


class DescribedMetric(Protocol):
    """A registered metric, as far as explanations need it."""

    @property
    def name(self) -> str:
        """As in ``evaluation.json``."""

    @property
    def sentence(self) -> str:
        """Meaning of the number as a sentence."""

    @property
    def no_leak(self) -> float | None:
        """Value of fresh data of the same population; None if it depends."""

    @property
    def family(self) -> Family:
        """Family of the metric."""

    @property
    def direction(self) -> Direction:
        """Direction in which the metric improves."""

    @property
    def predictor(self) -> bool:
        """True for a metric about a model."""


_SHORT = {
    "tstr": "TSTR",
    "dcr": "DCR",
    "nndr": "NNDR",
    "knn": "k-NN",
    "gtcap": "GTCAP",
    "domias": "DOMIAS",
    "nnaa": "NNAA",
    "mmd": "MMD",
}


def describe(metrics: Iterable[DescribedMetric]) -> dict[str, MetricText]:
    """Explanations of a registry's metrics, by name."""
    return {
        metric.name: MetricText(
            title_of(metric.name),
            metric.sentence,
            _reference_of(metric),
            metric.family,
            metric.direction,
        )
        for metric in metrics
    }


def _reference_of(metric: DescribedMetric) -> str:
    if metric.predictor:
        return "model trained on real data"
    if metric.no_leak is None:
        return "control set"
    return "value without any leak" if metric.family == "privacy" else "value of fresh real data"


def title_of(name: str) -> str:
    """A metric's name as a heading: "dcr_share" becomes "DCR share"."""
    words = " ".join(_SHORT.get(word, word) for word in name.split("_"))
    return words[:1].upper() + words[1:] if words[:2] != "k-" else words


@dataclass(frozen=True)
class ReportedChange:
    """One difference from the last release."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class HistoryPoint:
    """One metric of one release, with its interval."""

    day: str
    """ISO 8601."""
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class MetricHistory:
    """One metric over all releases, oldest first.

    The last night is this run.
    """

    title: str
    direction: Direction
    nights: tuple[HistoryPoint, ...]


@dataclass(frozen=True)
class ReportInputs:
    """Inputs of a run's report.

    A section without input says so or is left out.
    """

    name: str
    created: datetime
    """Which run, and when."""
    guarantee: str
    """One honest sentence: what is guaranteed about this table, and what is not."""
    verdict: Verdict | None = None
    """What the gate said; None if no policy was asked."""
    draw: str = ""
    """Which draw of the data under the policy the verdict is about; empty if it was not counted."""
    steps: tuple[ReportedStage, ...] = ()
    """The rooms in order, with the rows that came out of each."""
    files: tuple[ReportedStage, ...] = ()
    """Files of an audit, of whose making nothing is known, with their rows."""
    anonymization: Mapping[str, Any] | None = None
    """``AnonymizationResult.to_json()``."""
    top_levels: Mapping[str, int] = field(default_factory=dict)
    """Highest level of each quasi-identifier's hierarchy."""
    sharing_before: Array | None = None
    sharing_after: Array | None = None
    """People in the class of equal quasi-identifiers of each record (:func:`hybrid.table.holders.sharing`): of the
    values as they came, and of the labels; shape (n_records,), int, optional."""
    trade_off: tuple[TradeOffPoint, ...] = ()
    """Suppression against information loss."""
    losses: tuple[LossCurve, ...] = ()
    """The generator's loss curves; empty if it has none."""
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    """Cells the transition filled at each step of its fallback chain."""
    give_away: Mapping[str, Any] | None = None
    """``GiveAway.to_json()``: how much of the originals the transition repeats."""
    comparison: TableComparison | None = None
    """Real beside synthetic (``hybrid.report.compare_tables``)."""
    evaluation: Evaluation = field(default_factory=lambda: Evaluation(()))
    """All metrics."""
    league: TrustLeague | None = None
    """What a laboratory found about the metrics."""
    stage_verdicts: Mapping[Subject, Verdict] = field(default_factory=dict)
    """What the gate would say of each stage's table."""
    metric_texts: Mapping[str, MetricText] = field(default_factory=dict)
    """Explanations by metric name; a metric without one is shown under its name."""
    changes: tuple[ReportedChange, ...] | None = None
    """What changed since the last release; None leaves the section out."""
    history: tuple[MetricHistory, ...] = ()
    """The gate's metrics over all releases of the data set, this run last."""
    limits: tuple[str, ...] = ()
    """What this evaluation does not show, one sentence each."""
    licences: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """Licences of what was used, versions of packages, and other facts of the manifest (seed, commit, ...)."""
    config: str = ""
    """The configuration as resolved, YAML."""
    collected: Mapping[str, Any] = field(default_factory=dict)
    """Aggregates that sections take from the run themselves, by anchor
    (:func:`hybrid.report.run.sections.collect_sections`)."""
    language: Language = ENGLISH
    """Of the page, for sections that draw charts."""
