"""Columns that go together are restored given each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.constraints import Rules
from hybrid.protect import ProtectOptions
from hybrid.protect.below_labels import restorable
from hybrid.table import Column, Kind, Role
from hybrid.transition import REGISTRY, fit_transition
from tests.constraints.small_tables import declared
from tests.transition.transition_tables import QI, anonymized_table, category_hierarchy

COLUMNS = (
    Column("town", QI, Kind.CATEGORICAL),
    Column("state", QI, Kind.CATEGORICAL),
    Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
)
BIG = {"Ulm": "BW", "Bonn": "NW", "Hof": "BY"}


def people(seed: int = 0) -> pd.DataFrame:
    """Three states of 200 people: half of each in its town, the others in villages of one person."""
    rng = np.random.default_rng(seed)
    rows = [
        {"town": town if at % 2 else f"{state}-village{at}", "state": state, "ill": "no"}
        for town, state in BIG.items()
        for at in range(200)
    ]
    return pd.DataFrame(rows).assign(ill=rng.choice(["yes", "no"], len(rows)))


def labelled(frame: pd.DataFrame, levels: dict[str, int]):
    villages = sorted(set(frame["town"]) - set(BIG))
    trees = {
        "town": category_hierarchy("town", {"Other": villages, **{f"{town} area": [town] for town in BIG}}),
        "state": category_hierarchy("state", {"south": ["BW", "BY"], "north": ["NW"]}),
    }
    return anonymized_table(frame, COLUMNS, trees, levels)


def restored(method: str, levels: dict[str, int], *, together: bool) -> pd.DataFrame:
    frame = people()
    found = labelled(frame, levels)
    values = restorable(found, ["town", "state"], ProtectOptions(), 5, np.random.default_rng(0))
    rules = Rules.fit(
        declared(*[{"combinations": ["town", "state"]}] * together), found.originals, 5, {"town": ["Other"]}
    )
    strategy = REGISTRY[method]
    fitted = fit_transition(strategy, found, strategy.Options(), np.random.default_rng(0), values, rules)
    return fitted.restore(found.labels, np.random.default_rng(1)).table.frame.astype(object)


def share_in_its_state(frame: pd.DataFrame) -> float:
    real = frame[frame["town"].isin(BIG)]
    return float((real["town"].map(BIG) == real["state"]).mean())


@pytest.mark.parametrize("method", ["tree", "conditional", "marginal"])
def test_a_town_lies_in_its_state_and_none_gains_people(method: str) -> None:
    """Both labels are roots. Before, a town lay in its state by chance."""
    levels = {"town": 2, "state": 2}
    if method != "tree":  # A tree reads the state before it restores the town.
        assert share_in_its_state(restored(method, levels, together=False)) < 0.6
    frame = restored(method, levels, together=True)
    assert share_in_its_state(frame) == 1
    shares = frame["town"].value_counts(normalize=True)
    assert set(shares.index) == {*BIG, "Other"}
    assert abs(shares["Other"] - 0.5) < 0.08 and all(abs(shares[town] - 1 / 6) < 0.06 for town in BIG)
    states = frame["state"].value_counts(normalize=True)
    assert all(abs(states[state] - 1 / 3) < 0.07 for state in BIG.values())


def test_what_is_drawn_stays_below_its_label() -> None:
    frame = people()
    found = labelled(frame, {"town": 1, "state": 2})
    labels = np.array(found.hierarchies["town"].labels, dtype=object)[found.labels.nodes[:, 0]]
    drawn = restored("tree", {"town": 1, "state": 2}, together=True)["town"]
    assert (drawn[labels == "Other"] == "Other").all()
    assert all((drawn[labels == f"{town} area"] == town).all() for town in BIG)


def test_a_transition_that_reads_no_original_is_left_alone() -> None:
    levels = {"town": 2, "state": 2}
    for method in ("uniform", "single"):
        pd.testing.assert_frame_equal(restored(method, levels, together=True), restored(method, levels, together=False))


def test_whole_records_stay_as_they_are() -> None:
    """Equal draws with and without the constraint: no combination is one that no record has."""
    levels = {"town": 0, "state": 0}
    pd.testing.assert_frame_equal(
        restored("original", levels, together=True), restored("original", levels, together=False)
    )
