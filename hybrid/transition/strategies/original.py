"""Original: the values that the record itself had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, Slices, draw_records, restore_columns
from hybrid.transition.protocol import FittedTransition, Restored, Transition


class OriginalOptions(base.Options):
    """Options of ``original``: none."""


@dataclass(frozen=True)
class FittedOriginal:
    """The records themselves. Private."""

    records: Donors
    labels: LabelTable

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values of the record with equal labels and equal other columns, each of several such records once.

        Rows that are no record's fall back to one record of their class.
        """
        own = _places(self.labels, labels)
        lost = np.flatnonzero(own < 0)
        classes = self.records.classes.find(labels.nodes[lost])
        own[lost] = draw_records([self.records.class_fallback(classes)], len(lost), rng).records

        def runs(rows: Array) -> Slices:
            return Slices(own, rows, (own[rows] >= 0).astype(np.int64))

        return restore_columns(self.records, labels, lambda at, nodes: [("class", runs)], rng)  # noqa: ARG005


def _places(learned: LabelTable, asked: LabelTable) -> Array:
    """Position among the learned records of each asked one; -1: none."""
    frames = [
        pd.concat([pd.DataFrame(table.nodes), table.rest.frame.astype(object).reset_index(drop=True)], axis=1)
        for table in (learned, asked)
    ]
    whole = pd.concat(frames, ignore_index=True)
    content = whole.groupby(list(whole), dropna=False, sort=False, observed=True).ngroup().to_numpy()
    known, wanted = content[: len(learned)], content[len(learned) :]
    times = np.bincount(known, minlength=content.max(initial=-1) + 1)
    order = np.argsort(known, kind="stable")
    starts = np.cumsum(times) - times
    turn = pd.Series(wanted).groupby(wanted).cumcount().to_numpy()
    there = times[wanted] > 0
    places = np.full(len(asked), -1, dtype=np.int64)
    places[there] = order[starts[wanted[there]] + turn[there] % times[wanted[there]]]
    return places


class Original(Transition):
    """Nothing is generalized in the end: only the suppressed records are missing.

    A control for comparisons, which tells what suppression protects from what labels and draws protect. A generator
    then learns the kept records as they were.
    """

    name = "original"
    Options = OriginalOptions

    def fit(self, anonymized: AnonymizedTable, options: OriginalOptions, rng: np.random.Generator) -> FittedTransition:  # noqa: ARG002
        return FittedOriginal(Donors(anonymized), anonymized.labels)
