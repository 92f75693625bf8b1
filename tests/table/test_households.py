"""Households stay together in split and sample, and a person is in one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError, DataError
from hybrid.sample import SampleOptions, sample_table
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import kept_together, with_households, with_persons
from hybrid.table.split import SplitOptions, split

SCHEMA = Schema(
    (
        Column("home", Role.IDENTIFIER, Kind.CATEGORICAL),
        Column("person", Role.IDENTIFIER, Kind.CATEGORICAL),
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
    )
)


def residents(seed: int, n: int = 40, missing: float = 0.1, rows: int = 3) -> Table:
    """Households of one to five persons with up to ``rows`` rows each; some without a household."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), rng.integers(1, 6, n))
    nowhere = rng.random(len(home)) < missing
    person = np.repeat(np.arange(len(home)), rng.integers(1, rows + 1, len(home)))
    name = pd.Series(home[person]).map("h{}".format).mask(nowhere[person])
    frame = pd.DataFrame(
        {
            "home": pd.Categorical(name),
            "person": pd.Categorical([f"p{one}" for one in person]),
            "age": pd.array(rng.integers(0, 90, len(person)), dtype="Int64"),
        }
    ).sample(frac=1, random_state=seed, ignore_index=True)
    return Table(frame, SCHEMA)


def known(table: Table) -> Table:
    return with_households(with_persons(table, ["person"]), ["home"])


def homes(table: Table) -> set[str]:
    """Households by name; persons without one by theirs."""
    return set(table.frame["home"].astype(object).fillna(table.frame["person"].astype(object)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), stable=st.booleans(), share=st.floats(0.2, 0.8))
def test_split_and_sample_keep_households_together(seed: int, stable: bool, share: float) -> None:
    table = known(residents(seed))
    options = SplitOptions(control=share, stable=stable)
    train, control, _ = split(table, options, np.random.default_rng(seed), ["person"], ["home"])
    assert control is not None and not homes(train) & homes(control)
    assert len(homes(control)) == round(share * len(homes(table)))
    assert train.has_households and len(train.households) == len(train)
    drawn = sample_table(table, SampleOptions(method="simple", beta=share), np.random.default_rng(seed))
    rest = set(table.frame.index) - set(drawn.frame.index)
    assert len(rest) > 0
    counts = (part.frame.groupby("home", observed=True).size() for part in (drawn, table))
    of_drawn, of_all = counts
    assert (of_drawn == of_all[of_drawn.index]).all()


def test_households_without_persons() -> None:
    table = with_households(residents(3, rows=1), ["home"])
    train, control, _ = split(table, SplitOptions(control=0.4), np.random.default_rng(1), (), ["home"])
    assert control is not None and not homes(train) & homes(control)


def test_a_person_is_in_one_household() -> None:
    table = residents(1, missing=0)
    frame = table.frame.copy()
    twice = np.flatnonzero(frame["person"].duplicated(keep=False))
    frame.loc[twice[0], "home"] = next(home for home in frame["home"].cat.categories if home != frame["home"][twice[0]])
    with pytest.raises(DataError, match="1 times a person is in another household"):
        known(Table(frame, SCHEMA))


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(ConfigError, match=r"data\.household names columns that the data does not have: 'house'"):
        with_households(residents(1), ["house"])


def test_who_has_no_household_is_one_alone_with_all_rows() -> None:
    table = known(residents(5, missing=0.5))
    groups = kept_together(table)
    assert groups is not None
    pairs = pd.DataFrame({"group": groups, "person": table.frame["person"]}).drop_duplicates()
    assert not pairs["person"].duplicated().any()
    assert len(set(groups)) == len(homes(table))
    alone = residents(5)
    assert kept_together(alone).tolist() == list(range(len(alone)))


def test_codes_follow_the_rows() -> None:
    table = known(residents(2))
    taken = table.take(np.array([5, 3])).only(["age"])
    assert table.has_households and taken.has_households
    assert list(taken.households) == list(table.households[[5, 3]])
    with pytest.raises(ValueError, match="household"):
        Table(table.frame, SCHEMA, None, np.arange(3))
