"""A synthetic table in one call: kinds of tables, guesses, verdict, further rows, pages, files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

import hybrid
from hybrid.demo import write_linked_demo
from hybrid.errors import ConfigError, NotReleasableWarning
from hybrid.python.status import KEY
from tests.conftest import MISSING_EXTRA

FEW: dict[str, Any] = {"evaluate.metrics": ["identical_match", "total_variation"], "evaluate.original": False}
FEW |= {"evaluate.baseline": False, "evaluate.power": False, "split.control": 0.3}


def _made(data: Any, **options: Any) -> hybrid.Synthesis:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotReleasableWarning)
        return hybrid.synthesize(data, judge=False, seed=1, progress=False, **options)


@pytest.fixture(scope="module")
def made(admissions: pd.DataFrame) -> hybrid.Synthesis:
    return _made(admissions)


def test_a_frame_comes_back_as_a_frame_with_its_types(admissions: pd.DataFrame, made: hybrid.Synthesis) -> None:
    table = made.table
    assert isinstance(table, pd.DataFrame) and list(table.columns) == list(admissions.columns)
    assert table.dtypes.to_dict() == admissions.dtypes.to_dict()
    assert set(table["readmitted"].dropna()) <= set(admissions["readmitted"].dropna())  # yes and no, not True and False
    assert not set(table["patient_id"]) & set(admissions["patient_id"])
    assert abs(table["age"].mean() - admissions["age"].mean()) < 5


def test_rare_values_are_replaced_in_values_categories_and_notes(admissions: pd.DataFrame) -> None:
    frame = admissions.head(300).astype({"diagnosis": "category"})
    held = frame["diagnosis"].value_counts()
    rare = set(held[held < 5].index)
    result = _made(frame)
    assert len(rare) > 10 and not rare & set(result.table["diagnosis"])
    assert not rare & set(result.table["diagnosis"].cat.categories)  # a dtype can name values that no row has
    (said,) = [note for note in result.notes if "few people have" in note]
    assert "diagnosis" in said and not any(value in said for value in rare)


def test_a_table_that_was_not_judged_says_so(admissions: pd.DataFrame, made: hybrid.Synthesis) -> None:
    assert made.table.attrs[KEY] == {"verdict": "not judged", "releasable": False, "open": []}
    assert "NOT JUDGED" in repr(made) and "guessed: " in repr(made)
    with pytest.warns(NotReleasableWarning, match="NOT JUDGED") as caught:
        hybrid.synthesize(admissions.head(60), judge=False, progress=False)
    assert caught[0].filename == __file__


def test_a_verdict_is_carried_and_blocks_nothing_silently(admissions: pd.DataFrame, tmp_path: Path) -> None:
    settings = FEW | {"protect": "off", "synthesize.generator": "none", "anonymize": False, "transition": False}
    with pytest.warns(NotReleasableWarning, match="BLOCK"):
        result = hybrid.synthesize(
            admissions.drop(columns="patient_id"),
            settings=settings,
            seed=1,
            progress=False,
            roles={"diagnosis": "sensitive"},
        )
    assert result.verdict.status == "block" and result.table.attrs[KEY]["verdict"] == "block"
    assert not result.table.attrs[KEY]["releasable"] and result.table.attrs[KEY]["open"]
    with pytest.raises(ConfigError, match="decided_by"):
        hybrid.release(
            result.draft,
            data=admissions.drop(columns="patient_id"),
            releases=tmp_path / "releases",
            work=tmp_path / "work",
            runs=tmp_path / "runs",
        )
    assert not (tmp_path / "releases").exists()


def test_report_and_saved_folder(admissions: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = admissions.drop(columns="patient_id")
    with pytest.warns(NotReleasableWarning, match="REVIEW"):
        result = hybrid.synthesize(frame, settings=FEW, seed=1, progress=False)
    assert list(tmp_path.iterdir()) == []  # nothing leaves memory
    assert result.evaluation.find("total_variation", "synthetic") is not None
    page = result.report()
    assert (
        page.html.startswith("<!doctype html>") and "srcdoc=" in page._repr_html_() and "sandbox" in page._repr_html_()
    )
    folder = result.save("out")
    assert {"synthetic.parquet", "report.html", "manifest.json"} <= {one.name for one in folder.iterdir()}
    assert json.loads((folder / "manifest.json").read_text())["draw"] == 1
    assert "sex" in repr(result.plot("sex"))


@pytest.mark.parametrize("kind", ["arrow", "duckdb", "narwhals", "path", "polars", "lazy"])
def test_other_tables_come_back_as_they_came(admissions: pd.DataFrame, kind: str, tmp_path: Path) -> None:
    frame = admissions[["age", "sex", "readmitted", "bmi"]].head(200)
    frame.to_csv(tmp_path / "table.csv", index=False)
    connection = duckdb.connect()
    reason = MISSING_EXTRA.format("test")
    polars = pytest.importorskip("polars", reason=reason) if kind in ("polars", "lazy") else None
    kinds: dict[str, Any] = {
        "arrow": lambda: pa.Table.from_pandas(frame),
        "duckdb": lambda: connection.from_df(frame),
        "narwhals": lambda: nw.from_native(frame),
        "path": lambda: tmp_path / "table.csv",
        "polars": lambda: polars.DataFrame(pa.Table.from_pandas(frame)),
        "lazy": lambda: polars.scan_csv(tmp_path / "table.csv"),
    }
    data = kinds[kind]()
    table = _made(data).table
    if kind == "duckdb":
        assert isinstance(table, duckdb.DuckDBPyRelation) and table.columns == list(frame.columns)
        assert table.count("*").fetchall() == [(200,)]
    elif polars is not None:
        assert isinstance(table, polars.DataFrame) and table.height == 200
        assert dict(table.schema) == dict(data.collect_schema())
    elif kind == "path":
        assert isinstance(table, pd.DataFrame) and set(table["readmitted"].dropna()) <= {"yes", "no"}
    else:
        assert isinstance(table, pa.Table) and table.column_names == list(frame.columns)
        assert json.loads(table.schema.metadata[KEY.encode()])["verdict"] == "not judged"
        assert table.schema.field("age").type == pa.int64()


def test_further_rows_are_new_and_meet_the_condition(made: hybrid.Synthesis) -> None:
    first, second = (made.sample(20, where="sex = 'female'", progress=False) for _ in range(2))
    assert len(first) == 20 and set(first["sex"]) == {"female"} and not first.equals(second)
    ids = [set(one["patient_id"]) for one in (made.table, first, second)]
    assert len(set.union(*ids)) == sum(map(len, ids))
    assert first.attrs[KEY]["verdict"] == "not judged"
    with pytest.raises(ConfigError, match="fewer than 5 training"):
        made.sample(5, where="age > 100", progress=False)
    with pytest.raises(ConfigError, match="whole number"):
        made.sample(0, progress=False)


def test_roles_that_are_said_hold(admissions: pd.DataFrame) -> None:
    result = _made(
        admissions.head(200),
        quasi_identifiers=["ward"],
        roles={"sex": "insensitive", "bmi": "excluded"},
        targets=["readmitted"],
        k=3,
        rows=50,
    )
    schema = result.run.table.schema
    assert (
        "ward" in schema.quasi_identifiers
        and "sex" not in schema.quasi_identifiers
        and schema.targets == ["readmitted"]
    )
    assert "age" in schema.quasi_identifiers  # guessed, and not taken back
    assert "bmi" not in result.table and len(result.table) == 50
    assert result.run.config.anonymize is not None and result.run.config.anonymize.k == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi_identifiers": ["agee"]}, "no column 'agee'  hint: did you mean 'age'"),
        ({"quasi_identifiers": "age"}, "is one text"),
        ({"k": 1}, "k is no whole number of 2"),
        ({"rows": 0}, "rows is no whole number of 1"),
        ({"roles": ["age"]}, r"roles is a list, not a dict  hint: roles=\{"),
        ({"sensitive": ["age"], "quasi_identifiers": ["age"]}, "both sensitive and quasi-identifier"),
        ({"settings": {"anonymize.kk": 3}}, "unknown key"),
        ({"roles": {"age": "secret"}}, "is no role"),
    ],
)
def test_wrong_arguments_are_named(admissions: pd.DataFrame, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _made(admissions.head(50), **options)


def test_completion_shows_at_most_a_dozen_names(made: hybrid.Synthesis) -> None:
    labels = hybrid.Anonymized(made.run, lambda table: table)  # type: ignore[arg-type]
    for result in (made, labels, made.run):
        assert 5 <= len(dir(result)) <= 12 and not [name for name in dir(result) if name.startswith("_")]
        assert all(hasattr(type(result), name) or name in vars(result) for name in dir(result))


def test_a_seed_is_a_number(admissions: pd.DataFrame) -> None:
    for seed in ("a", -1, 0.5):
        with pytest.raises(ConfigError, match="the seed is no whole number"):
            hybrid.synthesize(admissions.head(60), judge=False, seed=seed, progress=False)  # type: ignore[arg-type]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="data is a int, not a table"):
        _made(5)


def test_linked_tables(tmp_path: Path) -> None:
    write_linked_demo(tmp_path, 250, 3, "csv")
    frames = {path.stem: pd.read_csv(path) for path in tmp_path.glob("*.csv")}
    result = _made(frames)
    tables = result.table
    assert set(tables) == set(frames)
    assert set(tables["admissions"]["patient_id"]) <= set(tables["patients"]["patient_id"])
    assert tables["hospitals"].equals(frames["hospitals"])
    assert all(one.attrs[KEY]["verdict"] == "not judged" for one in tables.values())
    assert repr(result.plot("patients.sex")).startswith("Figure: patients.sex")
    further = result.sample(5, progress=False)
    assert len(further["patients"]) == 5 and set(further) == set(frames)
    assert set(further["admissions"]["patient_id"]) <= set(further["patients"]["patient_id"])
