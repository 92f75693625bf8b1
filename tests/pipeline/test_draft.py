"""Drafts of configurations: guessed from tables in memory, edited, undone, written."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hybrid
from hybrid.base.errors import ConfigError, DataError
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.config import load_config
from hybrid.pipeline.draft import Draft
from hybrid.table.data_options import DataOptions
from hybrid.table.typed_table import read_frame

N = 60


class Views:
    """A table as polars hands it over: texts and categories of texts as views."""

    def __init__(self, table: pa.Table) -> None:
        fields = [pa.field(f.name, pa.string_view() if f.type == pa.string() else f.type) for f in table.schema]
        self.table = table.cast(pa.schema(fields))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "person_id": [f"P{at:04d}" for at in range(N)],
            "age": [20 + at % 50 for at in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "a.b": [("x", "y", "z")[at % 3] for at in range(N)],
            "diagnosis": [f"{'ABC'[at % 3]}0{at % 4}" for at in range(N)],
        }
    )


@pytest.fixture
def draft(frame: pd.DataFrame) -> Draft:
    return hybrid.guess(frame)


def test_every_kind_of_table_is_guessed_alike(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    coded = arrow.set_column(2, "sex", arrow["sex"].dictionary_encode())
    guessed = [hybrid.guess(data).to_frame() for data in (frame, arrow, coded, Views(arrow), tmp_path / "t.csv")]
    assert [list(one["role"]) for one in guessed] == [list(guessed[0]["role"])] * 5
    assert list(guessed[0]["role"])[:3] == ["identifier", "quasi_identifier", "quasi_identifier"]
    assert not guessed[0]["decided"].any()


def test_categories_of_views_are_read(frame: pd.DataFrame) -> None:
    indices = pa.array([0, 1, None], pa.uint32())
    values = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"], pa.string_view()))
    read = read_frame(pa.table({"c": values}), DataOptions(path="<DataFrame>"))
    assert list(read.frame["c"].astype(object))[:2] == ["a", "b"] and read.frame["c"].isna().sum() == 1


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="data is a list, not a table"):
        hybrid.guess([1, 2])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be read as Arrow columns"):
        hybrid.guess(pa.chunked_array([[1, 2]]))  # type: ignore[arg-type]


def test_a_changed_role_gets_a_hierarchy_and_is_decided(draft: Draft, frame: pd.DataFrame) -> None:
    column = draft.columns["a.b"]
    column.role = "quasi_identifier"
    assert column.is_decided and "a.b" not in draft.undecided
    config = draft.config
    table = read_frame(frame, config.data)
    assert set(load_hierarchies(table, config.hierarchy_sources)) == {"age", "sex", "a.b"}
    assert draft.undo() and draft.columns["a.b"].role == "insensitive" and not draft.undo()


def test_what_was_declared_of_a_column_goes_with_it(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(2), 300
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "D")
    joined = born + pd.to_timedelta(rng.integers(6_000, 16_000, n), "D")
    town = rng.integers(0, 20, n)
    people = {"birth_date": born, "customer_since": joined, "town": [f"T{at}" for at in town]}
    people["county"] = [f"C{at % 4}" for at in town]
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    draft = hybrid.guess(tmp_path / "people.csv")
    order, places = {"le": ["birth_date", "customer_since"]}, {"combinations": ["county", "town"]}
    assert draft["constraints"] == [places, order]
    draft.columns["town"].role = "excluded"
    assert draft["constraints"] == [order]
    draft.columns["customer_since"].role = "identifier"
    assert draft["constraints"] is None
    assert draft.undo() and draft.undo() and draft["constraints"] == [places, order]


def test_keys_are_set_removed_and_undone(draft: Draft) -> None:
    draft["anonymize.k"] = 7
    draft["data", "columns", "a.b", "kind"] = "categorical"
    del draft["anonymize.recoding"]
    assert draft.config.k == 7 and draft["anonymize.recoding"] is None
    assert "+  k: 7" in draft.difference
    assert draft.undo() and draft["anonymize.recoding"] == "local"
    with pytest.raises(ConfigError, match="is no role"):
        draft.columns["age"].role = "quasi"


def test_what_a_column_does_not_have_cannot_be_set(draft: Draft) -> None:
    with pytest.raises(ConfigError, match=r"no 'rol' that can be set  hint: did you mean 'role'"):
        draft.columns["age"].rol = "sensitive"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="a column is changed by its attributes"):
        draft.columns["age"] = "sensitive"  # type: ignore[assignment]
    assert not draft.undo()


def test_a_signature_needs_decided_roles(draft: Draft) -> None:
    draft.columns["a.b"].role = "undecided"
    with pytest.raises(ConfigError, match=r"undecided columns: a\.b"):
        draft.sign("A. Meier")
    with pytest.raises(ConfigError, match=r"'a\.b' is undecided"):
        draft.columns["a.b"].accept()
    draft.columns["a.b"].role = "insensitive"
    with pytest.raises(ConfigError, match="the name is empty"):
        draft.sign("  ")
    draft.sign("A. Meier", datetime.date(2026, 11, 22))
    roles = draft.config.roles
    assert roles is not None and roles.decided_by == "A. Meier" and draft.undecided == ()
    assert "# review: 2 different" not in draft.text


def test_a_written_draft_is_what_was_drafted(draft: Draft, frame: pd.DataFrame, tmp_path: Path) -> None:
    draft.columns["a.b"].role = "quasi_identifier"
    draft["anonymize.k"] = 3
    *hierarchies, written = draft.write(tmp_path / "own" / "config.yaml")
    assert len(hierarchies) == 3 and all(path.is_file() for path in hierarchies)
    again = load_config(written).with_frame(frame)
    assert again.model_dump() == draft.config.with_frame(frame).model_dump()
    assert set(load_hierarchies(again.load_table(), again.hierarchy_sources)) == {"age", "sex", "a.b"}
    with pytest.raises(ConfigError, match="the file exists"):
        draft.write(written)


def test_a_file_is_edited_in_place_of_a_guess(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "sub").mkdir()
    hybrid.guess(tmp_path / "t.csv").write(tmp_path / "sub" / "config.yaml")
    draft = Draft.read(tmp_path / "sub" / "config.yaml")
    assert draft.config.load_table().schema.names == list(frame.columns)
    draft.columns["sex"].accept()
    draft.write(tmp_path / "sub" / "config.yaml", force=True)
    assert Draft.read(tmp_path / "sub" / "config.yaml").columns["sex"].is_decided


def test_the_short_forms_hold_no_value(draft: Draft, frame: pd.DataFrame) -> None:
    shown = (
        repr(draft) + draft._repr_html_() + draft.to_frame().to_string() + repr(read_frame(frame, draft.config.data))
    )
    assert "5 to decide" in shown and "<table>" in shown
    assert not any(value in shown for value in ("P0001", "A00", "C02"))
    hostile = hybrid.guess(frame.rename(columns={"age": "<script>alert(1)</script>"}))
    assert "<script>" not in hostile._repr_html_()
