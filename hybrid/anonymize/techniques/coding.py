"""Top and bottom coding: extreme values become values that enough persons reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, PositiveInt

from hybrid.anonymize.techniques.protocol import Masked, MaskingTask, ValueTechnique
from hybrid.base.errors import Problem
from hybrid.base.sentence import sentence, sentences
from hybrid.table import Column
from hybrid.table.codings import numbers_of
from hybrid.table.holders import people_bounds, row_persons


class Coding(ValueTechnique):
    """Ends of numbers become values that k persons reach.

    Values beyond those of the k-th smallest and the k-th largest person become these: the rule by which value
    protection codes both ends, with the persons of the configuration.
    """

    name: Literal["coding"] = "coding"
    """Chooses this technique."""
    columns: tuple[str, ...] = ()
    """Columns of numbers and dates; none: all quasi-identifiers."""
    holders: PositiveInt | None = Field(default=None)
    """Persons at each end who get the same value, at least; null: ``anonymize.k``."""

    def problems(self, columns: Sequence[Column]) -> Iterator[Problem]:
        for column in columns:
            if not column.kind.is_continuous:
                yield Problem(
                    f"coding: {column.name!r} has categories, which have no ends", "use pram or microaggregation for it"
                )

    def mask(self, task: MaskingTask, rng: np.random.Generator) -> Masked:  # noqa: ARG002
        values, persons = {}, row_persons(task.table)
        for name in task.columns:
            before = task.table.frame[name]
            codes, distinct = pd.factorize(before, sort=True)
            ends = people_bounds(codes, self._least(task), persons)
            if ends is None:
                values[name] = before.mask(before.notna())
            else:
                kept = pd.Series(distinct).take(np.clip(codes, *ends)).reset_index(drop=True)
                values[name] = kept.astype(before.dtype).mask(codes < 0)
        emptied = [name for name in task.columns if values[name].isna().all() and task.table.frame[name].notna().any()]
        return Masked(values, {"holders": self._least(task), "emptied": emptied})

    def failures(self, task: MaskingTask, masked: Masked) -> list[str]:
        found: list[str] = []
        least = self._least(task)
        for name in task.columns:
            after = numbers_of(masked.values[name])
            whose = pd.Series(task.table.persons)
            for end in (np.nanmin, np.nanmax):
                reached = whose[after == end(after)] if (~np.isnan(after)).any() else whose.iloc[:0]
                if len(reached) > 0 and reached[reached >= 0].nunique() < least:
                    found.append(sentence("broken.end", column=name, least=least))
        return found

    def words(self, columns: str, facts: Mapping[str, Any]) -> str:
        holders = facts.get("holders", self.holders)
        least = sentence("technique.coding.k") if holders is None else sentence("count", n=holders)
        emptied = ", ".join(facts.get("emptied", ()))
        return sentences(
            sentence("technique.coding", columns=columns, least=least),
            sentence("technique.coding.emptied", columns=emptied) if emptied else "",
            sentence("technique.coding.between"),
        )

    def _least(self, task: MaskingTask) -> int:
        return task.k if self.holders is None else self.holders
