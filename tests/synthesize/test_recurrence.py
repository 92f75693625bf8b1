"""A category comes as often among the rows of one parent as in the source, and what rows have in common stays so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.synthesize import FittedGenerator, SynthesizeOptions, fit
from hybrid.synthesize.generators.cart import CartSequenceModel
from hybrid.synthesize.generators.person_rows import CategoryRows, Recurrence, earlier_rows, fit_recurrence
from hybrid.table import Table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame

SUBJECTS = np.array(["art", "biology", "chemistry", "drawing", "english", "french"])
PUPILS = 400


def _fitted(rows: pd.DataFrame, owners: Array, parents: Table, least: int = 20) -> FittedGenerator:
    table = replace(read_frame(rows, ReadOptions()), named_persons=owners)
    return fit(table, SynthesizeOptions(options={"min_leaf": least}), 1, parents=parents)


def _parents(**columns: Array) -> Table:
    return read_frame(pd.DataFrame({"kind": np.arange(PUPILS) % 3, **columns}), ReadOptions())


def _most(values: Array, owners: Array) -> Array:
    """The largest number of rows of each parent with the same category."""
    counts = pd.DataFrame({"owner": owners, "value": values}).groupby(["owner", "value"], observed=True).size()
    return np.asarray(counts.groupby("owner").max())


def test_a_pupil_has_one_mark_in_each_subject() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(2, 6, PUPILS)
    subjects = np.concatenate([rng.permutation(SUBJECTS)[:count] for count in counts])
    parents = _parents()
    fitted = _fitted(pd.DataFrame({"subject": subjects}), np.repeat(np.arange(PUPILS), counts), parents)
    drawn = fitted.sample_below(parents, 2)
    assert (_most(drawn.frame["subject"].to_numpy(), drawn.persons) == 1).mean() > 0.99
    shares = drawn.frame["subject"].value_counts(normalize=True)
    assert len(shares) == len(SUBJECTS) and shares.min() > 0.12


def test_two_marks_are_two_and_not_three() -> None:
    rng = np.random.default_rng(2)
    twice = np.stack([rng.permutation(np.repeat(SUBJECTS, 2))[:6] for _ in range(PUPILS)])
    parents, owners = _parents(), np.repeat(np.arange(PUPILS), 6)
    drawn = _fitted(pd.DataFrame({"subject": twice.ravel()}), owners, parents).sample_below(parents, 2)
    real, found = _most(twice.ravel(), owners), _most(drawn.frame["subject"].to_numpy(), drawn.persons)
    assert (found <= 2).mean() > 0.99
    assert abs((found == 2).mean() - (real == 2).mean()) < 0.06


def test_categories_that_are_independent_have_no_weights() -> None:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"subject": rng.choice(SUBJECTS, 4 * PUPILS)})
    model = _fitted(rows, np.repeat(np.arange(PUPILS), 4), _parents()).model
    assert isinstance(model, CartSequenceModel) and not model.recurrences


def test_what_fewer_people_have_than_a_leaf_holds_is_not_drawn() -> None:
    """One person in 300 has a category twice: whoever sees one drawn twice would know of somebody."""
    rng = np.random.default_rng(4)
    values = np.stack([rng.permutation(6)[:4] for _ in range(300)])
    values[7, 3] = values[7, 0]
    persons, first = np.repeat(np.arange(300), 4), np.repeat(np.arange(0, 1200, 4), 4)
    later = np.flatnonzero(np.arange(1200) % 4)
    earlier = earlier_rows(values.ravel(), first, 6)
    assert earlier[:4].tolist() == [np.bincount(values[0, :at], minlength=6).tolist() for at in range(4)]
    rows = CategoryRows(values.ravel()[later], earlier[later], persons[later])
    found = fit_recurrence(rows, lambda places: rng.integers(6, size=len(places)), 10, rng)
    assert found is not None and not found.weights[:, 1].any() and found.weights[:, 0].all()


def test_a_category_that_is_avoided_is_not_drawn_while_there_are_others() -> None:
    rng = np.random.default_rng(5)
    weights, earlier = Recurrence(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])), np.tile([1, 0, 0], (500, 1))
    drawn = weights.draw(lambda places: rng.integers(3, size=len(places)), earlier, np.full(500, 2), rng)
    assert (drawn == 1).all()


def test_means_of_rows_follow_the_columns_of_the_person() -> None:
    """Seen in one row at a time, a column that says a tenth of a mean says next to nothing."""
    rng = np.random.default_rng(6)
    ability, owners = rng.normal(size=PUPILS), np.repeat(np.arange(PUPILS), 8)
    absences = np.clip(np.round(3 - 1.2 * ability + rng.normal(size=PUPILS)), 0, None).astype(int)
    points = np.round(50 + 8 * ability[owners] + 10 * rng.normal(size=8 * PUPILS)).astype(int)
    parents = _parents(absences=absences)
    drawn = _fitted(pd.DataFrame({"points": points}), owners, parents, 40).sample_below(parents, 2)
    means = drawn.frame["points"].astype(float).groupby(drawn.persons).mean()
    real = pd.Series(points).groupby(owners).mean()
    wanted, found = (float(np.corrcoef(absences, one)[0, 1]) for one in (real, means))
    assert wanted < -0.6 and abs(found - wanted) < 0.12
    assert abs(means.std() / real.std() - 1) < 0.12


def test_a_number_comes_again_with_its_category_whatever_lies_between() -> None:
    """A salary is the same every month, and of other payments no two are alike."""
    rng, owners = np.random.default_rng(7), np.repeat(np.arange(PUPILS), 9)
    kind = np.tile(["salary", "card", "rent"], 3 * PUPILS)
    salary, rent = (np.round(rng.normal(middle, middle / 5, PUPILS), 2)[owners] for middle in (3_000, 800))
    amount = np.where(
        kind == "salary", salary, np.where(kind == "rent", rent, np.round(rng.normal(40, 9, len(kind)), 2))
    )
    parents = _parents()
    drawn = _fitted(pd.DataFrame({"kind": kind, "amount": amount}), owners, parents).sample_below(parents, 2)
    frame = drawn.frame.assign(owner=drawn.persons, kind=drawn.frame["kind"].astype(str))
    different = (
        frame.groupby(["owner", "kind"])["amount"].agg(["nunique", "size"]).query("size > 1").groupby("kind").sum()
    )
    assert len(different) == 3 and different["size"].min() > PUPILS
    share = different["nunique"] / different["size"]
    assert share["salary"] < 0.45 and share["rent"] < 0.45 and share["card"] > 0.95
    means = frame.groupby("kind")["amount"].mean()
    assert abs(means["salary"] - 3_000) < 90 and abs(means["rent"] - 800) < 30 and abs(means["card"] - 40) < 3
