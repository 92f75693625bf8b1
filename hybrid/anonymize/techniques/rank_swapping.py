"""Rank swapping: values exchanged between records of similar rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from hybrid.anonymize.techniques.loss import changed_shares, changed_words
from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.base.arrays import Numbers, Rows
from hybrid.base.errors import Problem
from hybrid.base.sentence import sentence, sentences
from hybrid.table import Column
from hybrid.table.codings import numbers_of


class RankSwapping(ValueTechnique):
    """Values of numbers and dates exchanged in pairs, column by column.

    Moore 1996 (Controlled data-swapping techniques for masking public use microdata sets, US Census Bureau RR 96-04).
    Partners are drawn at random within blocks of successive ranks, whose first block has a random length, so that no
    value moves by more than the stated share of the ranks.
    """

    name: Literal["rank_swapping"] = "rank_swapping"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns to swap, each by itself; none: all quasi-identifiers."""
    share: float = Field(default=0.1, gt=0, le=1)
    """Ranks by which a value moves, at most, as a share of the records with a value; at least one rank."""

    random: ClassVar[bool] = True

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:
        for column in columns:
            if not column.kind.is_continuous:
                yield Problem(
                    f"rank_swapping: {column.name!r} has categories, which have no ranks",
                    "use pram or microaggregation for it",
                )

    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:
        values = {}
        for name, stream in zip(task.columns, rng.spawn(len(task.columns)), strict=True):
            before = task.table.frame[name]
            there = np.flatnonzero(before.notna())
            ranked = there[np.argsort(numbers_of(before)[there], kind="stable")]
            source = np.arange(len(before))
            source[ranked] = ranked[_partners(len(ranked), self._window(len(ranked)), stream)]
            values[name] = before.take(source).reset_index(drop=True)
        return Masked(values, {"changed": changed_shares(task.table.frame, values)})

    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        found: list[str] = []
        for name in task.columns:
            before, after = (numbers_of(one) for one in (task.table.frame[name], masked.values[name]))
            ordered = np.sort(before[~np.isnan(before)])
            if not np.array_equal(ordered, np.sort(after[~np.isnan(after)])):
                found.append(sentence("broken.values", column=name))
            elif (np.isnan(before) != np.isnan(after)).any():
                found.append(sentence("broken.missing", column=name))
            elif (_ranks_between(ordered, before, after) > self._window(len(ordered))).any():
                found.append(sentence("broken.ranks", column=name))
        return found

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        return sentences(
            sentence("technique.swapped", columns=columns, n=f"{100 * self.share:g}"),
            changed_words(facts),
            sentence("technique.swapped.stay"),
        )

    def _window(self, n: int) -> int:
        return max(1, int(self.share * n))


def _partners(n: int, window: int, rng: np.random.Generator) -> Rows:
    """Partner of each rank; shape (n,), its own inverse."""
    block = (np.arange(n) + int(rng.integers(window + 1))) // (window + 1)
    order = np.lexsort((rng.random(n), block))
    place = np.arange(n) - np.searchsorted(block, block)
    partner = np.arange(n) + np.where(place % 2 == 0, 1, -1)
    alone = (partner >= n) | (block[np.minimum(partner, n - 1)] != block)
    partner[alone] = np.flatnonzero(alone)
    found = np.empty(n, dtype=np.int64)
    found[order] = order[partner]
    return found


def _ranks_between(ordered: Numbers, before: Numbers, after: Numbers) -> Numbers:
    """Fewest ranks between the values before and after, ties considered; shape (n_known,)."""
    known = ~np.isnan(before)
    low, high = (np.minimum(before, after)[known], np.maximum(before, after)[known])
    gap = np.searchsorted(ordered, high, side="left") - (np.searchsorted(ordered, low, side="right") - 1)
    found: Numbers = np.maximum(gap, 0).astype(np.float64)
    return found
