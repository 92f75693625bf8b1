"""Leaves of the trees of `cart` follow the number of people: records, persons, and persons of rows alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.generators.cart import CartModel, CartOptions, CartSequenceModel, leaf_of_sampled
from hybrid.synthesize.generators.trees import DonorTree
from hybrid.table import Column, Kind, Role, Schema, Table

OPTIONS = SynthesizeOptions(generator="cart")


@pytest.mark.parametrize(
    ("people", "leaf"), [(1, 10), (350, 10), (500, 10), (1_000, 20), (1_750, 35), (2_500, 50), (10**6, 50)]
)
def test_leaves_follow_the_number_of_people_unless_configured(people: int, leaf: int) -> None:
    assert CartOptions().limits(people)[0].least == leaf
    assert CartOptions(min_leaf=3).limits(people)[0].least == 3


@pytest.mark.parametrize(
    ("people", "leaf"), [(1, 10), (350, 10), (1_000, 20), (2_500, 50), (2_600, 50), (10_000, 100), (10**6, 1000)]
)
def test_leaves_of_sampled_people_follow_the_number_of_all(people: int, leaf: int) -> None:
    assert leaf_of_sampled(people) == leaf


def _table(rows: int, persons: int | None = None) -> Table:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, rows)
    frame = pd.DataFrame({"age": age, "cost": age * 10 + rng.integers(0, 5, rows)}).astype("Int64")
    schema = Schema((Column("age", Role.INSENSITIVE, Kind.INTEGER), Column("cost", Role.INSENSITIVE, Kind.INTEGER)))
    return Table(frame, schema, None if persons is None else np.arange(rows) % persons)


def _smallest(model: object) -> int:
    """Fewest donors of a node that rows are drawn from, over all trees of rows."""
    assert isinstance(model, CartModel | CartSequenceModel)
    grown = [step for step in model.steps if isinstance(step, DonorTree) and step.tree is not None]
    return int(min(step.count[step.reach > 0].min() for step in grown))


@pytest.mark.parametrize(("rows", "least"), [(400, 10), (1_500, 30)])
def test_records_are_people_where_nothing_else_is_said(rows: int, least: int) -> None:
    assert least <= _smallest(fit(_table(rows), OPTIONS, 1).model) < 2 * least


def test_persons_and_not_rows_decide() -> None:
    """Leaves of 50 persons in 350 erased every relation, of rows too."""
    few = replace(_table(3_000, persons=300))
    drawn = fit(few, OPTIONS, 1, static=[]).model
    assert isinstance(drawn, CartSequenceModel) and 10 <= _smallest(drawn) < 50
    of_parents = replace(_table(900), named_persons=np.arange(900) % 300)
    assert 10 <= _smallest(fit(of_parents, OPTIONS, 1, parents=_table(300)).model) < 50
