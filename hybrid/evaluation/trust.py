"""Trust in metrics: a laboratory's verdicts, read from its league."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field

from hybrid.base.config_files import validated
from hybrid.base.errors import ConfigError
from hybrid.base.sentence import sentence, with_sentences

SCHEMA: Literal["hybrid-league/1"] = "hybrid-league/1"
Word = Literal["trusted", "usable", "coarse", "unknown", "blind", "misleading"]
WORDS: tuple[Word, ...] = get_args(Word)
"""Verdicts on a metric, from the best to the worst."""
Needed = Literal["trusted", "usable", "coarse"]
"""Verdicts that a rule of a policy may ask for."""
COPIES = ("leaky", "copy")
"""Risk models of copied records, whose sensitivity is a share of records."""


@dataclass(frozen=True)
class Trust:
    """Verdict of a laboratory on one metric."""

    word: Word
    reasons: tuple[str, ...] = ()
    """Why it is not better."""
    copies: float | None = None
    """Least share of copied records, 0..1, that it noticed; None: none, or not tried."""

    @property
    def sentence(self) -> str:
        """The verdict, what it rests on, and the smallest leak noticed."""
        noticed = () if self.copies is None else (sentence("trust.copies", share=100 * self.copies),)
        said = (*noticed, *self.reasons)
        return sentence("trust.said", word=self.word, said=said) if said else self.word

    def reaches(self, needed: Needed) -> bool:
        """True if the verdict is the needed one or a better one."""
        return WORDS.index(self.word) <= WORDS.index(needed)


class _Series(BaseModel):
    model_config = ConfigDict(frozen=True)
    risk: str
    sensitivity: float | None = None


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)
    metric: str
    column: str | None = None
    printed: str | None = None
    verdict: Word
    reasons: tuple[str, ...] = ()
    series: tuple[_Series, ...] = ()

    @property
    def copies(self) -> float | None:
        return next((each.sensitivity for each in self.series if each.risk in COPIES), None)


class TrustLeague(BaseModel):
    """A laboratory's league: which metric noticed which leaks, on which tables."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)
    form: Literal["hybrid-league/1"] = Field(alias="schema")
    """Version of the file's format."""
    name: str
    tables: tuple[str, ...]
    """Tables that the metrics were tried on."""
    metrics: tuple[_Entry, ...]
    """Verdicts, one per table and contestant."""
    sentences: dict[str, Any] = Field(default_factory=dict)
    """Templates and facts of the reasons, by their English texts."""

    def of(self, metric: str, column: str | None) -> Trust | None:
        """Verdict on a metric, the worst over the tables.

        None if it was not tried. A column that was not tried there has the worst verdict of the metric on any column.
        """
        mine = [each for each in self.metrics if each.metric == metric and each.printed is None]
        same = [each for each in mine if each.column == column]
        return _worst(
            Trust(each.verdict, tuple(with_sentences(list(each.reasons), self.sentences)), each.copies)
            for each in same or mine
        )

    def about(self, metrics: Collection[str]) -> Self:
        """The league's verdicts on some metrics, without numbers as papers print them."""
        mine = tuple(each for each in self.metrics if each.metric in metrics and each.printed is None)
        return self.model_copy(update={"metrics": mine})

    @property
    def words(self) -> str:
        return sentence("trust.league", name=self.name, tables=self.tables)

    def to_json(self, metrics: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
        """Verdicts on some metrics and columns, for ``evaluation.json``."""
        found = [(name, column, self.of(name, column)) for name, column in metrics]
        return {
            "league": self.name,
            "tables": list(self.tables),
            "metrics": [
                {"name": name, "column": column, "verdict": trust and trust.word, "said": trust and trust.sentence}
                for name, column, trust in found
            ],
        }


def load_trust(path: Path) -> TrustLeague:
    """Read a league that ``hybrid lab`` wrote."""
    hint = "a league is the league.json that hybrid lab writes"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})", hint=hint) from None
    except ValueError:
        raise ConfigError(f"{path}: is no JSON", hint=hint) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ConfigError(f"{path}: is no league of the form {SCHEMA}", hint=hint)
    return validated(TrustLeague, content, str(path))


def _worst(found: Iterable[Trust]) -> Trust | None:
    """The worst verdict; of equal ones that which notices least."""

    def badness(trust: Trust) -> tuple[int, float]:
        return WORDS.index(trust.word), 2.0 if trust.copies is None else trust.copies

    return max(found, key=badness, default=None)
