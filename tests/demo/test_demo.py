from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from hybrid.base.errors import ConfigError, OutputError
from hybrid.demo import write, write_demo
from hybrid.hierarchy.load import load_hierarchies
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.table import Kind, Role
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from tests.helpers.kept import assert_kept


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert write_demo(folder, rows=20_000) == folder / "config.yaml"
    return folder


@pytest.fixture(scope="module")
def frame(demo: Path) -> pd.DataFrame:
    return pd.read_csv(demo / "admissions.csv", dtype={"postcode": str})


@pytest.fixture(scope="module")
def config(demo: Path) -> dict:
    return yaml.safe_load((demo / "config.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("rows", [100, 101])
def test_only_small_tables_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(write, "COMPARED_ROWS", 100)
    options = load_config(write_demo(tmp_path, rows=rows)).evaluate
    assert (options.original, options.baseline) == (rows == 100, rows == 100)


def digest(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_same_seed_same_bytes_and_another_seed_other_people(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_demo(tmp_path / name, rows=500, seed=seed)
    first, second, other = (digest(tmp_path / name) for name in "abc")
    assert first == second
    assert {name for name in first if first[name] != other[name]} == {"admissions.csv"}


def test_chunks_join_without_seams(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(write, "CHUNK", 400)
    write_demo(tmp_path, rows=1001)
    frame = pd.read_csv(tmp_path / "admissions.csv")
    assert len(frame) == 1001
    assert frame["patient_id"].is_unique
    assert not frame.iloc[:400].drop(columns="patient_id").equals(frame.iloc[400:800].drop(columns="patient_id"))


def test_config_declares_every_column_with_its_kind(demo: Path, config: dict) -> None:
    table = read_table(demo / "admissions.csv", DataOptions.model_validate(config["data"]))
    assert set(config["data"]["columns"]) == set(table.schema.names)
    assert len(table.schema) >= 14
    assert {column.kind for column in table.schema} == set(Kind) - {Kind.DATETIME, Kind.TIME}
    assert {column.role for column in table.schema} == set(Role) - {Role.UNDECIDED, Role.EXCLUDED, Role.WEIGHT}
    assert table.schema["cost"].format.decimals == 2
    assert table.schema["cost"].format.fixed_decimals
    assert (table.frame["postcode"].dropna().str.len() == 5).all()
    assert table.frame["postcode"].str.startswith("0").any()


def test_parquet_holds_the_same_table(tmp_path: Path, config: dict) -> None:
    write_demo(tmp_path, rows=800)
    path = write_demo(tmp_path / "parquet", rows=800, format="parquet")
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["data"]["path"] == "admissions.parquet"
    options = DataOptions.model_validate(config["data"])
    text = read_table(tmp_path / "admissions.csv", options)
    typed = read_table(tmp_path / "parquet" / "admissions.parquet", options)
    assert [column.kind for column in text.schema] == [column.kind for column in typed.schema]
    pd.testing.assert_frame_equal(text.frame, typed.frame, rtol=1e-12)


def test_hierarchies_cover_every_value(demo: Path, config: dict) -> None:
    table = read_table(demo / "admissions.csv", DataOptions.model_validate(config["data"]))
    paths = {name: demo / c["hierarchy"] for name, c in config["data"]["columns"].items() if "hierarchy" in c}
    hierarchies = load_hierarchies(table, paths)
    assert list(hierarchies) == ["age", "sex", "postcode", "nationality", "occupation", "admission_date"]
    assert {name: tree.n_levels for name, tree in hierarchies.items()} == {
        "age": 6,
        "sex": 2,
        "postcode": 6,
        "nationality": 4,
        "occupation": 5,
        "admission_date": 5,
    }


def test_diagnosis_taxonomy_covers_every_code(demo: Path, frame: pd.DataFrame) -> None:
    lines = (demo / "hierarchies" / "diagnosis.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(";") for line in lines]
    assert {(len(row), row[-1]) for row in rows} == {(4, "*")}
    assert set(frame["diagnosis"]) <= {row[0] for row in rows}


def test_rare_people_exist(frame: pd.DataFrame) -> None:
    for name in ("nationality", "occupation", "diagnosis"):
        assert (frame[name].value_counts() < 5).any(), name
    assert frame["cost"].max() > 20 * frame["cost"].median()
    assert frame.groupby(["age", "sex", "postcode", "admission_date"], dropna=False).size().eq(1).mean() > 0.9


def test_missing_values_stand_where_people_leave_gaps(frame: pd.DataFrame) -> None:
    share = frame.isna().mean()
    assert set(share[share > 0].index) == {"postcode", "nationality", "occupation", "smoker", "bmi", "cost"}
    assert share.max() < 0.3
    emergency = frame.groupby("emergency")["bmi"].apply(lambda values: values.isna().mean())
    assert emergency[True] > 1.5 * emergency[False]


def test_columns_depend_on_each_other(frame: pd.DataFrame) -> None:
    chapter = frame["diagnosis"].str[0]
    readmitted = frame["readmitted"].eq("yes")
    assert frame[chapter.eq("O")]["sex"].eq("female").all()
    assert frame[chapter.eq("O")]["age"].between(12, 55).all()
    assert not frame[frame["diagnosis"].isin(["C61", "N40"])]["sex"].eq("female").any()
    assert frame["age"].corr(frame["length_of_stay"], method="spearman") > 0.15
    assert frame["length_of_stay"].corr(frame["cost"], method="spearman") > 0.4
    assert frame.loc[readmitted, "age"].mean() > frame.loc[~readmitted, "age"].mean() + 3
    assert not readmitted[frame["discharge"].eq("died")].any()
    poles = frame.groupby(frame["postcode"].str[:2])["nationality"].apply(lambda values: values.eq("Poland").mean())
    assert poles["15"] > 2 * poles["66"]
    smokers = frame.groupby(frame["diagnosis"].eq("J44"))["smoker"].apply(lambda values: values.eq("yes").mean())
    assert smokers[True] > 2 * smokers[False]


def test_identifiers_are_unique_and_no_row_numbers(frame: pd.DataFrame) -> None:
    assert frame["patient_id"].is_unique
    assert frame["patient_id"].str.fullmatch(r"P\d{9}").all()
    number = frame["patient_id"].str[1:].astype(np.int64)
    assert abs(number.corr(pd.Series(np.arange(len(frame))))) < 0.05


@pytest.mark.parametrize(("rows", "seed"), [(0, 1), (-3, 1), (2_000_000_000, 1), (10, -1)])
def test_impossible_requests_are_config_errors(tmp_path: Path, rows: int, seed: int) -> None:
    with pytest.raises(ConfigError):
        write_demo(tmp_path / "demo", rows=rows, seed=seed)
    assert not (tmp_path / "demo").exists()


def test_one_row(tmp_path: Path) -> None:
    write_demo(tmp_path, rows=1)
    assert len(pd.read_csv(tmp_path / "admissions.csv")) == 1


def test_a_failed_write_leaves_the_earlier_table(tmp_path: Path, monkeypatch) -> None:
    write_demo(tmp_path, rows=10)
    before = digest(tmp_path)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "write_batches", full_disk)
    with pytest.raises(OutputError):
        write_demo(tmp_path, rows=20)
    assert digest(tmp_path) == before


def test_quickstart_is_the_demo_config_seen_from_the_repository(tmp_path: Path) -> None:
    config = yaml.safe_load(write_demo(tmp_path, rows=10, several=True).read_text(encoding="utf-8"))
    text = (Path(__file__).parents[2] / "configs" / "quickstart.yaml").read_text(encoding="utf-8")
    quickstart = yaml.safe_load(text.replace("../demo/", ""))
    assert quickstart | {"name": config["name"]} == config


def test_patients_with_several_admissions(tmp_path: Path) -> None:
    config = load_config(write_demo(tmp_path, rows=3000, several=True))
    table = config.load_table()
    frame, static = table.frame, ["age", "sex", "postcode", "nationality", "occupation", "bmi"]
    admissions = frame["patient_id"].value_counts()
    assert 1.5 < admissions.mean() < 2.4
    assert admissions.max() > 6
    for name in static:
        assert frame.groupby("patient_id", observed=True)[name].nunique().max() <= 1
    assert frame.groupby("patient_id", observed=True)["diagnosis"].nunique().max() > 1
    ends = frame["admission_date"] + pd.to_timedelta(frame["length_of_stay"], unit="D")
    last = ends.groupby(frame["patient_id"], observed=True).transform("max")
    assert (ends == last)[frame["discharge"] == "died"].all()
    assert not [finding for finding in diagnose(config) if finding.level == "error"]


def test_one_admission_each_names_no_person(tmp_path: Path) -> None:
    config = load_config(write_demo(tmp_path, rows=300))
    assert config.data.person is None
    assert config.load_table().frame["patient_id"].is_unique


@pytest.mark.parametrize("several", [True, False])
def test_the_simulated_people_are_those_that_were_looked_at(tmp_path: Path, several: bool) -> None:
    write_demo(tmp_path, 60, several=several)
    table = (tmp_path / "admissions.csv").read_text(encoding="utf-8")
    assert_kept(f"demo_{'several' if several else 'single'}.csv", table)


def test_the_demo_s_hierarchies_are_those_that_were_looked_at(demo: Path) -> None:
    files = sorted((demo / "hierarchies").iterdir())
    content = "".join(f"# {path.name}\n{path.read_text(encoding='utf-8')}" for path in files)
    digests = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n" for path in files)
    assert_kept("demo_hierarchies.txt", content if len(content) < 40_000 else digests)
