"""Rows drawn for given rows of a parent table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.synthesize import FittedGenerator, SynthesizeOptions, fit
from hybrid.synthesize.generators.cart import CartSequenceModel
from hybrid.table import Table
from hybrid.table.persons import with_order
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame

COUNTS = np.array([0, 1, 4] * 60)
KIND = np.array(["none", "one", "four"] * 60)


def _rows() -> Table:
    owners = np.repeat(np.arange(len(COUNTS)), COUNTS)
    day = 10 * owners + np.concatenate([np.arange(count) for count in COUNTS])
    frame = pd.DataFrame({"day": day, "same": KIND[owners]})
    return with_order(replace(read_frame(frame, ReadOptions()), named_persons=owners), "day")


@pytest.fixture(scope="module")
def parents() -> Table:
    return read_frame(pd.DataFrame({"kind": KIND, "at": np.arange(len(KIND))}), ReadOptions())


@pytest.fixture(scope="module")
def fitted(parents: Table) -> FittedGenerator:
    return fit(_rows(), SynthesizeOptions(options={"min_leaf": 5}), 1, parents=parents)


def test_rows_follow_their_parents(fitted: FittedGenerator, parents: Table) -> None:
    drawn = fitted.sample_below(parents, 2)
    assert not drawn.rows_are_persons
    counts = np.bincount(drawn.persons, minlength=len(parents))
    assert [counts[kind == KIND].mean().round() for kind in ("none", "one", "four")] == [0, 1, 4]
    assert (drawn.frame["same"].to_numpy() == KIND[drawn.persons]).mean() > 0.95
    assert drawn.frame["day"].notna().all(), "the empty parents do not lend their missing first day"
    assert abs(np.corrcoef(drawn.frame["day"], drawn.persons)[0, 1]) > 0.9


def test_the_extent_of_rows_is_learned_from_parents_who_have_some() -> None:
    """One parent in ten has rows, and no column tells which: fewer than a leaf holds."""
    owners = np.repeat(np.arange(0, 200, 10), 2)
    rows = read_frame(pd.DataFrame({"day": 1000 + np.arange(40)}), ReadOptions())
    parents = read_frame(pd.DataFrame({"at": np.arange(200) % 7}), ReadOptions())
    rows = with_order(replace(rows, named_persons=owners), "day")
    drawn = fit(rows, SynthesizeOptions(options={"min_leaf": 60}), 1, parents=parents).sample_below(parents, 2)
    assert len(drawn) > 10 and drawn.frame["day"].notna().all()


def test_no_tree_is_grown_for_columns_of_the_parents(fitted: FittedGenerator) -> None:
    model = fitted.model
    assert isinstance(model, CartSequenceModel) and model.ends is not None
    counts = model.plan.counts_at
    assert [step.target for step in model.people.steps] == [counts]
    assert sorted(step.target for step in model.ends.steps) == [counts + 1, counts + 2]


def test_rows_are_in_order_and_repeatable(fitted: FittedGenerator, parents: Table) -> None:
    drawn, again = fitted.sample_below(parents, 2), fitted.sample_below(parents, 2)
    pd.testing.assert_frame_equal(drawn.frame, again.frame)
    steps = np.diff(drawn.frame["day"].to_numpy(dtype=float))[np.diff(drawn.persons) == 0]
    assert (np.diff(drawn.persons) >= 0).all() and (steps >= 0).all()


def test_parents_with_values_never_seen_have_rows(fitted: FittedGenerator) -> None:
    strange = read_frame(pd.DataFrame({"kind": ["many"] * 50, "at": [7] * 50}), ReadOptions())
    assert len(fitted.sample_below(strange, 3)) > 0


def test_a_generator_of_single_rows_is_refused(parents: Table) -> None:
    with pytest.raises(GeneratorError, match="draws single rows"):
        fit(_rows(), SynthesizeOptions(generator="mst"), 1, parents=parents)


def test_rows_do_not_drift_away_from_their_parents() -> None:
    """Who was in another town's hospital goes home again, which neither the home nor the hospital says alone."""
    rng = np.random.default_rng(4)
    home = rng.integers(0, 10, 1000)
    towns, at = [], home
    for _ in range(6):
        stays = rng.random(len(home)) < np.where(at == home, 0.5, 0.05)
        at = np.where(stays, at, np.where(rng.random(len(home)) < 0.8, home, rng.integers(0, 10, len(home))))
        towns.append(at)
    owners = np.repeat(np.arange(len(home)), len(towns))
    frame = pd.DataFrame({"day": np.tile(np.arange(len(towns)), len(home)), "town": np.stack(towns, axis=1).ravel()})
    rows = read_frame(frame.assign(town="T" + frame["town"].astype(str)), ReadOptions())
    parents = read_frame(pd.DataFrame({"home": [f"H{one}" for one in home]}), ReadOptions())
    learned = with_order(replace(rows, named_persons=owners), "day")
    drawn = fit(learned, SynthesizeOptions(), 1, parents=parents).sample_below(parents, 2)

    def by_place(table: Table) -> Array:
        """Town of each person's rows; shape (n_people, n_rows)."""
        town = table.frame["town"].astype(str).str[1].astype(int).to_numpy()
        return town[np.lexsort((table.frame["day"], table.persons))].reshape(len(home), len(towns))

    real, made = by_place(learned), by_place(drawn)
    assert (made == home[:, None]).mean(axis=0) == pytest.approx((real == home[:, None]).mean(axis=0), abs=0.03)
    stay = [(table[:, 1:] == table[:, :-1]).mean() for table in (real, made)]
    assert stay[1] == pytest.approx(stay[0], abs=0.03)
