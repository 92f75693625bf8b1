"""Empty cells of a user's rows: where they are copied from, and what is left as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.constraints import Rules
from hybrid.constraints.registry import KINDS
from hybrid.jobs.impute import complete
from hybrid.table import Column, Kind, Role, Schema, Table

KIND = {"id": Kind.CATEGORICAL, "age": Kind.INTEGER, "sex": Kind.CATEGORICAL, "height": Kind.DECIMAL}


def _table(**columns: Any) -> Table:
    schema = Schema(
        tuple(Column(name, Role.IDENTIFIER if name == "id" else Role.INSENSITIVE, KIND[name]) for name in columns)
    )
    frame = {name: pd.Series(values).astype(KIND[name].type.dtype) for name, values in columns.items()}
    return Table(pd.DataFrame(frame), schema)


def _draw(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return _table(age=rng.integers(0, 90, n), sex=rng.choice(["f", "m"], n), height=rng.integers(100, 200, n) / 1)


def test_a_cell_comes_from_the_nearest_row() -> None:
    draw = _table(age=[1, 2, 80, 81], sex=["f", "m", "f", "m"], height=[80.0, 81.0, 170.0, None])
    rows = _table(id=["p", "q"], age=[1, None], sex=["f", None], height=[None, 170.0])
    found = complete(rows, draw.take(np.array([0])), Rules(), 1).table.frame
    assert found["height"].tolist() == [80.0, 170.0]
    assert found["age"].tolist() == [1, 1] and found["sex"].tolist() == ["f", "f"] and list(found["id"]) == ["p", "q"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 60))
def test_known_cells_stay_and_the_others_are_those_of_one_drawn_row(seed: int, n: int, m: int) -> None:
    draw, rng = _draw(m, seed), np.random.default_rng(seed + 1)
    whole = _draw(n, seed + 2)
    gaps = rng.random((n, 3)) < 0.5
    rows = Table(whole.frame.mask(gaps), whole.schema)
    found = complete(rows, draw, Rules(), seed)
    assert found.empty == 0 and found.filled == gaps.sum() and found.donors == m
    drawn = draw.frame.astype(object).to_numpy()
    for made, before, gap in zip(
        found.table.frame.astype(object).to_numpy(), whole.frame.to_numpy(), gaps, strict=True
    ):
        assert (made[~gap] == before[~gap]).all()
        assert (drawn[:, gap] == made[gap]).all(axis=1).any()
    assert complete(rows, draw, Rules(), seed).table.frame.equals(found.table.frame)


def test_columns_that_the_rows_lack_are_added_and_constraints_hold() -> None:
    draw = _draw(300, 5)
    rule = KINDS["formula"].model_validate({"formula": "height >= 100 + age"})
    rows = _table(age=[10, 60, 89], sex=["f", None, "m"])
    found = complete(rows, draw, Rules.fit([rule], draw, 1), 2)
    frame = found.table.frame
    assert list(frame) == ["age", "sex", "height"]
    made = frame["height"].notna()
    assert made.any() and (frame["height"][made] >= 100 + frame["age"][made]).all()
    assert frame["sex"].isna().sum() + (~made).sum() == found.empty


def test_a_gap_of_the_draw_is_no_value() -> None:
    draw = _table(age=[1, 1, 1, 50], sex=["f", "f", "f", "f"], height=[None, None, None, 150.0])
    found = complete(_table(age=[1], sex=["f"], height=[None]), draw, Rules(), 1)
    assert found.table.frame["height"].tolist() == [150.0]
    assert found.words == "one cell of one row completed from a draw of 4 rows"


def test_rows_without_a_common_column_are_refused() -> None:
    with pytest.raises(DataError, match="no column of the draw"):
        complete(_table(id=["a"]), _draw(5, 1), Rules(), 1)
