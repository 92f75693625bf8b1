"""A DataFrame passes the checks of a file, and becomes the same table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.table import Kind, Role
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.typed_table import DATA_FRAME, read_frame

FRAME = pd.DataFrame(
    {
        "age": [34, 51, 28],
        "weight": [70.5, np.nan, 61.0],
        "sex": pd.Categorical(["f", "m", "f"]),
        "name": ["Ada", None, "Eva"],
        "seen": pd.to_datetime(["2024-05-01", "2024-05-02", None]),
        "smoker": [True, False, True],
    }
)


def options(**changes: object) -> DataOptions:
    return DataOptions.model_validate({"path": DATA_FRAME, **changes})


def test_kinds_and_roles_are_those_of_a_file(tmp_path: Path) -> None:
    chosen = options(columns={"name": {"role": "identifier"}, "age": {"role": "quasi_identifier"}})
    table = read_frame(FRAME, chosen)
    assert {column.name: column.kind for column in table.schema} == {
        "age": Kind.INTEGER,
        "weight": Kind.DECIMAL,
        "sex": Kind.CATEGORICAL,
        "name": Kind.CATEGORICAL,
        "seen": Kind.DATETIME,
        "smoker": Kind.BOOLEAN,
    }
    assert table.schema["name"].role is Role.IDENTIFIER
    FRAME.to_parquet(tmp_path / "table.parquet", index=False)
    from_file = read_table(tmp_path / "table.parquet", chosen)
    pd.testing.assert_frame_equal(table.frame, from_file.frame)


@given(st.lists(st.tuples(st.integers(-9, 9), st.sampled_from(["a", "b", None])), min_size=1, max_size=20))
def test_the_index_is_not_data(rows: list[tuple[int, str | None]]) -> None:
    frame = pd.DataFrame(rows, columns=["number", "letter"])
    frame["letter"] = frame["letter"].astype("string")
    moved = frame.set_axis(range(100, 100 + len(frame)))
    pd.testing.assert_frame_equal(read_frame(frame, options()).frame, read_frame(moved, options()).frame)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.rename(columns={"age": "sex"}), "more than once: 'sex'"),
        (FRAME.rename(columns={"age": 7}), "must be texts"),
        (FRAME.drop(columns="age"), "the column 'age'"),
        (FRAME.iloc[:0], "no rows"),
        (FRAME.assign(age=[1, "canary-value", 3]), "column 'age' mixes types"),
        (FRAME.assign(age=[{1}, {2}, {3}]), "column 'age' has the type list<item: int64>"),
        (FRAME.assign(age=[object(), 2, 3]), "column 'age' mixes types"),
    ],
)
def test_what_is_wrong_names_the_column_and_no_value(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_frame(frame, options(columns={"age": {"role": "quasi_identifier"}}))
    assert words in str(caught.value)
    assert DATA_FRAME in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_all_mixed_columns_are_told_at_once() -> None:
    frame = FRAME.assign(age=[1, "a", 3], weight=[b"x", 1.0, "y"])
    with pytest.raises(DataError) as caught:
        read_frame(frame, options())
    assert len(caught.value.problems) == 2
