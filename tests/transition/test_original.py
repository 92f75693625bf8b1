"""The control: kept records have their own values again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.transition.choices import restore, shuffled_combinations
from tests.transition.transition_tables import mixed_table


def test_every_kept_record_is_itself_again() -> None:
    for local in (False, True):
        anonymized = mixed_table(150, local=local)
        names = anonymized.quasi_identifiers
        found, truth = (
            frame.astype(str).sort_values(list(frame)).reset_index(drop=True)
            for frame in (restore(anonymized, "original", {}).table.frame, anonymized.originals.frame)
        )
        pd.testing.assert_frame_equal(found[names], truth[names])


def test_labels_of_nobody_fall_back_to_their_class_or_label() -> None:
    anonymized = mixed_table(150)
    labels = shuffled_combinations(anonymized.labels)
    restored = restore(anonymized, "original", {}, labels=labels)
    assert restored.fallbacks["class"] < labels.nodes.size
    assert restored.fallbacks["label"] > 0 and restored.fallbacks["uniform"] == 0


def test_twins_are_each_taken_once() -> None:
    anonymized = mixed_table(30)
    twins = anonymized.take(np.repeat(np.arange(30), 2))
    restored = restore(twins, "original", {})
    names = anonymized.quasi_identifiers
    counts = restored.table.frame[names].astype(str).value_counts()
    expected = twins.originals.frame[names].astype(str).value_counts()
    assert counts.sort_index().equals(expected.sort_index())
