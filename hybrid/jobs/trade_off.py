"""Loss at several k and suppression limits, by the exact search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from hybrid.anonymize.search.tradeoff import RuleCosts, TradeoffPoint, rule_costs, tradeoff
from hybrid.base.errors import ConfigError, Problem
from hybrid.base.hashing import code_version, file_stamp, fingerprint, library_versions
from hybrid.base.notebook import NotebookResult
from hybrid.base.progress import Progress, silent
from hybrid.base.sentence import sentence
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.level_costs import LevelWords, column_words, rule_sentences
from hybrid.pipeline.level_findings import trial_seed
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.placement import placed
from hybrid.pipeline.stages import libraries
from hybrid.pipeline.starter.column_names import ages_among
from hybrid.report.charts.figures import trade_off_chart
from hybrid.report.charts.svg import Figure
from hybrid.report.run.inputs import TradeOffPoint
from hybrid.store import Store

KS = (2, 3, 5, 10, 20, 50)
"""Class sizes that are compared, beside the configured one."""
LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Suppression limits that are compared, beside the configured one: shares of the records, 0..1."""
WHY = {
    "private": Problem(
        "a differentially private table has no trade-off between k and suppression: noise protects, and no record is "
        "generalized or left out",
        "privacy.epsilon is what is paid: hybrid compare runs a plan of several",
    ),
    "search": Problem(
        "the trade-off needs anonymize.engine: exact and anonymize.recoding: global, which search all levels",
        "for local recoding hybrid check says what is left of each column; --set anonymize.recoding=global shows what "
        "one level for all records would cost; hybrid compare runs a plan of any configurations",
    ),
}
"""What to say of the reasons of :func:`no_curve`."""


@dataclass(frozen=True, repr=False)
class TradeOff(NotebookResult):
    """Least loss at every pair of k and suppression limit."""

    LISTED = frozenset({"plot", "sentences", "to_frame"})

    of: str
    """Fingerprint of the configuration, but for k and the limit, and of its files (:func:`basis`)."""
    loss: str
    """Name of the loss; of "loss" the values are shares of the information, 0..1."""
    k: int
    limit: float
    """As configured."""
    records: int
    """Training records that the search was about."""
    points: tuple[TradeoffPoint, ...]
    """By k, then by limit, ascending."""
    words: LevelWords
    costs: RuleCosts
    """At the configured k and limit: with all rules, with k alone, and with k and each rule."""

    def at(self, k: int, limit: float) -> TradeoffPoint:
        """Nearest searched point that is at least as strict; beyond the largest k, the largest."""
        ks = sorted({one.k for one in self.points})
        limits = sorted({one.suppression_limit for one in self.points})
        found_k = next((one for one in ks if one >= k), ks[-1])
        found_limit = max((one for one in limits if one <= limit), default=limits[0])
        return next(one for one in self.points if (one.k, one.suppression_limit) == (found_k, found_limit))

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types; no cell value."""
        of = {"of": self.of, "loss": self.loss, "k": self.k, "limit": self.limit, "records": self.records}
        points = [one.to_json() for one in self.points]
        return of | {"points": points, "words": self.words.of, "costs": self.costs.to_json()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TradeOff:
        points = tuple(TradeoffPoint.from_json(one) for one in content["points"])
        words = LevelWords({name: tuple(levels) for name, levels in content["words"].items()})
        return cls(**content | {"points": points, "words": words, "costs": RuleCosts.from_json(content["costs"])})

    def to_frame(self) -> pd.DataFrame:
        """A row per pair: k, suppression_limit, loss, suppressed (share, 0..1), classes, and words for each column.

        The loss is missing where no levels meet k within the limit.
        """
        rows = []
        for one in self.points:
            words = {} if one.levels is None else {name: self.words.at(one, name) for name in self.words.of}
            share = None if one.suppressed is None else one.suppressed / self.records
            about = {"k": one.k, "suppression_limit": one.suppression_limit, "loss": one.loss}
            rows.append(about | {"suppressed": share, "classes": one.classes} | words)
        return pd.DataFrame(rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Price of k for each column, and of each rule, in words."""
        return tuple(". ".join(said) for said in self.prices)

    @property
    def prices(self) -> Iterator[list[str]]:
        """Price of k for each column, in a sentence or several, and that of each rule."""
        for name in self.words.of:
            how = column_words(self.costs, self.words, name)
            yield [sentence("price.of", column=name, how=how), *self.across(name)]
        yield from ([said] for said in rule_sentences(self.costs, self.words, self.loss))

    def plot(self) -> Figure:
        """Loss against the suppression limit, a chart for each k; aggregates only."""
        return Figure(tuple((f"k = {k}", trade_off_chart(points)) for k, points in self._curves().items()))

    def _curves(self) -> dict[int, list[TradeOffPoint]]:
        curves: dict[int, list[TradeOffPoint]] = {}
        for one in self.points:
            points = curves.setdefault(one.k, [])
            if one.loss is not None and one.suppressed is not None:
                share = one.suppressed / self.records
                points.append(TradeOffPoint(one.suppression_limit, share, one.loss, chosen=False))
        return curves

    def __repr__(self) -> str:
        wide = self.to_frame().pivot_table(index="k", columns="suppression_limit", values="loss", observed=True)
        lines = [f"{self.loss} by k (down) and suppression limit (across):", wide.round(4).to_string()]
        return "\n".join([*lines, *self.sentences, ".to_frame()  .plot()  .sentences"])

    def _repr_html_(self) -> str:
        return str(self.to_frame()._repr_html_()) + "".join(f"<p>{escape(one)}</p>" for one in self.sentences)

    def across(self, column: str) -> Iterator[str]:
        """Sentences about a column at other k, and at other limits.

        Each sentence lists the points at which it changes; none where nothing changes.
        """
        for what, points in (
            ("k", [(str(one.k), one) for one in self.points if one.suppression_limit == self.limit]),
            ("limit", [(f"{one.suppression_limit:.0%}", one) for one in self.points if one.k == self.k]),
        ):
            said = [(name, self.words.at(one, column)) for name, one in points]
            changes = [pair for at, pair in enumerate(said) if at == 0 or pair[1] != said[at - 1][1]]
            if len(changes) > 1:
                yield "; ".join(f"from {what} = {name}: {words}" for name, words in changes)


def trade_off_of(
    config: RunConfig,
    ks: Sequence[int] = KS,
    limits: Sequence[float] = LIMITS,
    progress: Progress = silent,
    store: Store | None = None,
) -> TradeOff:
    """Search the least loss at every pair of k and suppression limit.

    The configuration has a curve (:func:`no_curve`); of linked tables, the person table is searched. All but k and the
    limit stays: models, hierarchies, protection of values. The configured k and limit are added to those asked for.
    From ``store``, where runs keep their stages, the protected records are taken.
    """
    if placed(config).rows_stay:
        raise ConfigError(
            "the trade-off is searched on rows in memory, and these stay in their source",
            hint="name a table or file with a sample that fits into memory, or raise anonymize.memory_limit",
        )
    reason = no_curve(config)
    if reason is not None:
        raise ConfigError(WHY[reason])
    if not all(isinstance(k, int) and k >= 1 for k in ks) or not all(0 <= limit <= 1 for limit in limits):
        raise ConfigError(
            "a k is no whole number of 1 or more, or a limit no share", hint="ks=[5, 10], limits=[0, 0.05]"
        )
    seed = trial_seed(config.seed, store)
    stages = Pipeline(config, seed, store, progress).person.anonymization
    assert stages is not None
    options, known = stages.options, (stages.coarsened, stages.hierarchies, stages.options)
    asked = sorted({*ks, options.k}), sorted({*limits, options.suppression_limit})
    points = tradeoff(*known, *asked, progress, stages.population)
    here = options.k, options.suppression_limit
    chosen = next(one for one in points if (one.k, one.suppression_limit) == here)
    costs = rule_costs(*known, stages.population, chosen)
    words = LevelWords.named(stages.hierarchies, ages_among(stages.hierarchies))
    return TradeOff(basis(config), options.loss.name, *here, len(known[0]), tuple(points), words, costs)


def no_curve(config: RunConfig) -> Literal["private", "search"] | None:
    """Reason why a configuration has no trade-off; None if it has.

    "private": it is differentially private, and noise protects instead of k. "search": it does not generalize by the
    exact global search.
    """
    if config.privacy is not None:
        return "private"
    return None if config.has_tradeoff else "search"


def basis(config: RunConfig) -> str:
    """Fingerprint of all that a trade-off depends on: what is searched (:func:`searched`), and the code."""
    return fingerprint(searched(config), code_version(), library_versions(*libraries()))


def searched(config: RunConfig) -> str:
    """Fingerprint of what a search is about.

    That is the configuration but k and the limit, and size and time of the files of data and hierarchies.
    """
    content = config.model_dump(mode="json")
    for key in ("roles", "publish", "policy", "evaluate", "synthesize", "nightly", "output"):
        content.pop(key, None)
    content["anonymize"] = {**(content["anonymize"] or {}), "k": None, "suppression_limit": None}
    files = [config.folder / source.path for source in config.sources.values() if source.path]
    files += [source for source in config.hierarchy_sources.values() if isinstance(source, Path)]
    return fingerprint(content, [file_stamp(file) for file in files])
