"""Columns that decision trees may read: without sensitive columns and targets where these are to be left out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.table import Column, Kind, Role
from hybrid.transition.drawing.domain import domains_of
from hybrid.transition.drawing.features import features
from tests.transition.choices import restore
from tests.transition.transition_tables import QI, anonymized_table, category_hierarchy


def _records(told_by: str):
    """Records whose job one of the columns beside it tells, and the others say nothing about."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 2, 400) for name in ("ward", "ill", "rich")}
    frame = {"job": np.where(columns[told_by] == 1, "Doctor", "Nurse"), **columns}
    kinds = [
        Column("job", QI, Kind.CATEGORICAL),
        Column("ward", Role.INSENSITIVE, Kind.INTEGER),
        Column("ill", Role.SENSITIVE, Kind.INTEGER),
        Column("rich", Role.INSENSITIVE, Kind.INTEGER, target=True),
    ]
    hierarchies = {"job": category_hierarchy("job", {"Health": ["Doctor", "Nurse"]})}
    return anonymized_table(pd.DataFrame(frame), kinds, hierarchies, {"job": 1})


def test_sensitive_columns_and_targets_are_left_out_and_no_other():
    anonymized = _records("ward")
    domains, labels = domains_of(anonymized), anonymized.labels
    without, whole = (features(domains, labels, sensitive=sensitive) for sensitive in (False, True))
    assert [column.name for column in without.columns] == ["ward"]
    assert [column.name for column in whole.columns] == ["ward", "ill", "rich"]
    assert without.matrix(labels)[:, 2].tolist() == anonymized.originals.frame["ward"].tolist()


def test_a_tree_without_sensitive_columns_learns_from_the_others_alone():
    told = {}
    for name in ("ward", "ill", "rich"):
        anonymized = _records(name)
        drawn = restore(anonymized, "tree", {"min_records": 50, "sensitive": False}).table.frame["job"]
        told[name] = float((drawn.astype(object) == anonymized.originals.frame["job"].astype(object)).mean())
    assert told["ward"] == 1
    assert told["ill"] < 0.65 and told["rich"] < 0.65
