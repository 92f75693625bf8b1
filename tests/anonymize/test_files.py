"""Files larger than the memory limit give the table that memory gives, byte for byte, and leave nothing behind."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from hybrid.anonymize.decide import Decision
from hybrid.anonymize.warehouse import anonymize_rows, write_labels
from hybrid.anonymize.warehouse.anonymize_files import FileTask, anonymize_files
from hybrid.anonymize.warehouse.anonymize_rows import WarehouseResult
from hybrid.anonymize.warehouse.write_labels import Classes
from hybrid.base.atomic import PREFIX
from hybrid.base.errors import (
    ConfigError,
    DataError,
    HierarchyError,
    InfeasibleError,
    MissingExtraError,
    VerificationError,
)
from hybrid.cli import main
from hybrid.jobs import anonymize_file
from hybrid.jobs.anonymize_file import is_for_duckdb, write_from_files
from hybrid.jobs.run import write_anonymized
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.table import csv_files
from tests.anonymize.people_job import L_DIVERSITY, QUASI_IDENTIFIERS, labels_of, people, result_of, write_job

MODELS: dict[str, dict[str, Any]] = {
    "k": {},
    "nothing suppressed": {"suppression_limit": 0},
    "distinct l": {"models": [L_DIVERSITY]},
    "two attributes": {"models": [L_DIVERSITY, {"model": "t_closeness", "t": 0.6, "attribute": "severity"}]},
    "entropy l": {"models": [{"model": "l_diversity", "kind": "entropy", "l": 1.5, "attribute": "severity"}]},
    "recursive": {"models": [{"model": "l_diversity", "kind": "recursive", "l": 2, "c": 4, "attribute": "diagnosis"}]},
    "ordered t": {"models": [{"model": "t_closeness", "t": 0.4, "distance": "ordered", "attribute": "severity"}]},
    "hierarchical t": {
        "models": [{"model": "t_closeness", "t": 0.5, "distance": "hierarchical", "attribute": "severity"}]
    },
    "alpha": {"models": [{"model": "alpha_k", "alpha": 0.7, "attribute": "diagnosis"}]},
    "beta": {"models": [{"model": "beta_likeness", "beta": 3, "attribute": "diagnosis"}]},
    "fixed levels": {"levels": {"age": 2, "born": 3, "zip": 4}, "suppression_limit": 1},
    "other loss": {"loss": {"name": "discernibility"}},
    "local": {"recoding": "local", "models": [L_DIVERSITY]},
    "coarsen": {"suppressed": "coarsen"},
}


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def assert_as_in_memory(config: RunConfig, folder: Path) -> WarehouseResult:
    """One table of labels and one result, whether the rows are in memory or not."""
    done = write_from_files(config, folder / "files", seed=None)
    result = write_anonymized(Pipeline(config), folder / "memory")
    assert result_of(folder / "files") == result_of(folder / "memory")
    assert done.result.verified["k"] == result.verified["k"] == (result.min_class_persons or result.min_class_size)
    for ours, theirs in zip(done.result.verified["models"], result.verified["models"], strict=True):
        assert ours == {**theirs, "reached": pytest.approx(theirs["reached"])}
    assert labels_of(folder / "files") == labels_of(folder / "memory")
    return done


@pytest.mark.parametrize("name", MODELS)
def test_as_in_memory(name: str, tmp_path: Path) -> None:
    """Every second model from CSV, where every value is a text."""
    path = "people.csv" if list(MODELS).index(name) % 2 else "people.parquet"
    config = load_config(write_job(tmp_path, people(700, seed=1), **MODELS[name]), {"data.path": path})
    done = assert_as_in_memory(config, tmp_path)
    assert done.engine == "duckdb"
    assert done.combinations > 100
    assert names_in(tmp_path / "files") == {"anonymized.parquet", "anonymization.json", "manifest.json"}


def test_k_map(tmp_path: Path) -> None:
    table = people(400, seed=3)
    path = write_job(tmp_path, table, models=[{"model": "k_map", "k": 12}], population="population.parquet")
    rng = np.random.default_rng(4)
    mixed = pa.table({name: table[name].take(pa.array(rng.integers(0, 400, 900))) for name in table.column_names})
    pq.write_table(pa.concat_tables([table, mixed]), tmp_path / "population.parquet")
    assert_as_in_memory(load_config(path), tmp_path)


def test_more_quasi_identifiers_than_fit_into_an_integer(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    names = [f"code{at}" for at in range(12)]
    table = pa.table({name: rng.integers(0, 60, 3000) for name in names})
    path = write_job(tmp_path, people(10, seed=1))
    pq.write_table(table, tmp_path / "people.parquet")
    columns = {name: {"role": "quasi_identifier", "hierarchy": "root.yaml"} for name in names}
    (tmp_path / "root.yaml").write_text("type: intervals\nwidths: [30]\n")
    for recoding in ("global", "local"):
        overrides = {"data.columns": columns, "anonymize.recoding": recoding, "anonymize.time_limit": 1}
        assert_as_in_memory(load_config(path, overrides), tmp_path)


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    table = people(700, seed=1)
    path = write_job(tmp_path, table)
    parts = tmp_path / "parts"
    (parts / "deep").mkdir(parents=True)
    pq.write_table(table.slice(0, 300), parts / "a.parquet")
    pq.write_table(table.slice(300), parts / "deep" / "b.parquet")
    (parts / "_SUCCESS").touch()
    config = load_config(path, {"data.path": "parts"})
    assert is_for_duckdb(config)
    write_from_files(load_config(path), tmp_path / "one", seed=None)
    write_from_files(config, tmp_path / "several", seed=None)
    assert labels_of(tmp_path / "one") == labels_of(tmp_path / "several")

    pq.write_table(table.set_column(1, "age", table["age"].cast(pa.int32())), parts / "deep" / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: column 'age' is int32, and int16"):
        write_from_files(config, tmp_path / "out", seed=None)


def test_a_long_parquet_file_is_read_by_duckdb_where_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_job(tmp_path, people(700, seed=1))
    assert not is_for_duckdb(load_config(path))
    monkeypatch.setattr("hybrid.jobs.anonymize_file.MANY_ROWS", 700)
    assert is_for_duckdb(load_config(path))
    refused_there = load_config(path, {"anonymize.engine": "anjana"})
    assert not is_for_duckdb(refused_there)
    pq.write_table(people(699, seed=1), tmp_path / "people.parquet")
    assert not is_for_duckdb(load_config(path))


def test_the_order_is_that_of_the_content(tmp_path: Path) -> None:
    """In parts, too, from rows in any order."""
    table = people(900, seed=1)
    path = write_job(tmp_path, table)
    written = []
    for at, rows in enumerate((table, table, table.take(pa.array(np.random.default_rng(2).permutation(900))))):
        pq.write_table(rows, tmp_path / "people.parquet")
        config = load_config(path, {"split.control": 0})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(write_labels, "_ROW_BYTES", 24 if at == 0 else 2**40)
            write_from_files(config, tmp_path / str(at), seed=at)
        written.append(labels_of(tmp_path / str(at)))
    assert written[0] == written[1] == written[2]
    labels = pq.read_table(tmp_path / "0" / "anonymized.parquet").select(QUASI_IDENTIFIERS)
    assert labels.equals(labels.sort_by([(name, "ascending") for name in QUASI_IDENTIFIERS]))


def test_copies_are_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1)), {"data.path": "people.csv"})
    modes: set[int] = set()

    def watched(task: FileTask, *arguments: Any) -> WarehouseResult:
        modes.update(stat.S_IMODE(folder.stat().st_mode) for folder in (task.work, task.work.parent.parent.parent))
        assert (task.work / "cells.parquet").is_file()
        return anonymize_files(task, *arguments)

    monkeypatch.setattr(anonymize_file, "anonymize_files", watched)
    before = names_in(tmp_path)
    write_from_files(config, tmp_path / "out", seed=None)
    assert modes == {0o700}
    assert names_in(tmp_path / "out") == {"anonymized.parquet", "anonymization.json", "manifest.json"}

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(anonymize_file, "anonymize_files", full)
    with pytest.raises(Exception, match="nothing was changed"):
        write_from_files(config, tmp_path / "out2", seed=None)
    assert names_in(tmp_path) == before | {"out"}


def test_labels_that_break_the_promise_are_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One combination of values is written with the labels of the class after its own."""
    config = load_config(write_job(tmp_path, people(700, seed=1), levels={"age": 1}, models=[L_DIVERSITY]))
    classes_of = Classes.of

    def mislabelled(decided: Decision) -> Classes:
        found = classes_of(decided)
        moved = found.of_row.copy()
        first = np.flatnonzero(moved >= 0)[0]
        moved[first] = (moved[first] + 1) % len(found.records)
        return replace(found, of_row=moved)

    monkeypatch.setattr(Classes, "of", mislabelled)
    with pytest.raises(VerificationError, match="the written labels do not keep"):
        write_from_files(config, tmp_path / "out", seed=None)
    assert not (tmp_path / "out").exists()


def test_a_file_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1)))

    def late(*arguments: Any) -> WarehouseResult:
        done = anonymize_files(*arguments)
        pq.write_table(people(700, seed=9), tmp_path / "people.parquet")
        return done

    monkeypatch.setattr(anonymize_file, "anonymize_files", late)
    with pytest.raises(DataError, match="changed while it was read"):
        write_from_files(config, tmp_path / "out", seed=None)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_done_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_job(tmp_path, people(400, seed=1))
    config = load_config(path, {"anonymize.models": [L_DIVERSITY]})
    monkeypatch.setattr(anonymize_rows, "most_combinations", lambda *_: 200)
    with pytest.raises(DataError, match=r"more than 200 distinct combinations of 'age'.*'diagnosis'.*memory_limit"):
        write_from_files(config, tmp_path / "out", seed=None)
    monkeypatch.undo()
    for name in ("id", "age", "nowhere"):
        overrides = {"anonymize.models": [{**L_DIVERSITY, "attribute": name}]}
        with pytest.raises(ConfigError, match=f"the attribute '{name}' is not among the columns that stay"):
            write_from_files(load_config(path, overrides), tmp_path / "out", seed=None)
    with pytest.raises(InfeasibleError, match="suppression_limit"):
        write_from_files(load_config(path, {"anonymize.levels": {"born": 0}}), tmp_path / "out", seed=None)
    (tmp_path / "sex.csv").write_text("f;*\n")
    (tmp_path / "smoker.csv").write_text("true;*\n")
    with pytest.raises(HierarchyError, match="'sex'") as files:
        write_from_files(load_config(path), tmp_path / "out", seed=None)
    with pytest.raises(HierarchyError, match="'smoker'") as whole:
        write_anonymized(Pipeline(load_config(path)), tmp_path / "out")
    assert [(p.message, p.values) for p in files.value.problems] == [
        (p.message, p.values) for p in whole.value.problems
    ]
    assert len(files.value.problems) == 2
    columns = {"data.columns.zip.kind": "integer", "data.columns.diagnosis.kind": "decimal"}
    wrong = load_config(path, columns | {"anonymize.models": [L_DIVERSITY]})
    with pytest.raises(DataError, match="'diagnosis' is declared decimal") as files:
        write_from_files(wrong, tmp_path / "out", seed=None)
    with pytest.raises(DataError, match="'zip' is declared integer") as whole:
        write_anonymized(Pipeline(wrong), tmp_path / "out")
    assert [p.message for p in files.value.problems] == [p.message for p in whole.value.problems]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["k", "nothing suppressed", "distinct l", "entropy l", "alpha", "local"])
@pytest.mark.parametrize("most", [None, 2])
def test_persons_as_in_memory(name: str, most: int | None, tmp_path: Path) -> None:
    table = people(700, seed=1)
    rng = np.random.default_rng(3)
    # Patients with one to many rows, some without a number; the column's text has spaces and a marker for missing.
    numbers = rng.choice(np.arange(180) ** 2 // 180, 700)
    texts = [
        ["?", None, f" P{number}", f"P{number}"][at]
        for at, number in zip(rng.integers(0, 16, 700).clip(max=3), numbers, strict=True)
    ]
    path = write_job(tmp_path, table.append_column("patient", pa.array(texts)), **MODELS[name])
    changes = {"data.person": "patient", "data.columns.patient.role": "identifier", "data.max_rows": most}
    config = load_config(path, changes | {"anonymize.k": 3, "data.path": "people.csv" if most else "people.parquet"})
    found = assert_as_in_memory(config, tmp_path).result
    assert found.min_class_persons >= 3
    pipeline = TableRun(config)
    train = pipeline.inputs.split(pipeline.seed)[0].frame["patient"]
    assert found.persons == len({text.strip() for text in train.dropna()})
    said, whole = (json.loads((tmp_path / at / "manifest.json").read_text()) for at in ("files", "memory"))
    assert said["explanation"] == whole["explanation"]


REFUSED = {
    "protect": ({"protect": {}}, "protect: off"),
    "loss": ({"anonymize.loss": {"name": "association"}}, "loss association"),
    "known rows": ({"anonymize.known_rows": 2, "data.person": "id"}, "known_rows"),
    "engine": ({"anonymize.engine": "anjana"}, "engine anjana"),
    "key": ({"split.key": "ward"}, "split.key"),
    "stable": ({"split.stable": True}, "split.stable"),
    "rows": ({"split.rows": 20}, "split.rows"),
    "sample": ({"sample": {"method": "beta", "beta": 0.5, "order": "pre"}}, "sample.order: pre"),
    "derived": ({"constraints": [{"derived": {"severity": "age + 1"}}]}, "would give its label away"),
    "nothing": ({"split.stable": True, "split.control": 0}, None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_whole_table_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    changes, said = REFUSED[name]
    config = load_config(write_job(tmp_path, people(60, seed=1)), changes)
    if said is None:
        write_from_files(config, tmp_path / "out", seed=None)
        return
    with pytest.raises(ConfigError, match=said) as caught:
        write_from_files(config, tmp_path / "out", seed=None)
    assert all("larger than anonymize.memory_limit" in problem.message for problem in caught.value.problems)
    assert not (tmp_path / "out").exists()


def anonymized(path: Path, out: Path, *settings: str) -> object:
    given = [part for setting in settings for part in ("--set", setting)]
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", str(path), "--out", str(out), *given])
    return ended.value.code


def test_the_memory_limit_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_job(tmp_path, people(700, seed=1))
    assert not anonymized(path, tmp_path / "memory")
    assert "duckdb" not in capsys.readouterr().out
    for name in ("people.parquet", "people.csv"):
        assert not anonymized(path, tmp_path / name[7:], f"data.path={name}", "anonymize.memory_limit=0.0005")
        assert "duckdb: 525 rows were not read into memory, " in capsys.readouterr().out
    assert labels_of(tmp_path / "memory") == labels_of(tmp_path / "parquet")
    assert anonymized(path, tmp_path / "out", "protect={}", "anonymize.memory_limit=0.0005") == 2
    assert "protect: off" in capsys.readouterr().err


def test_without_the_extra_a_command_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(60, seed=1)))
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(MissingExtraError, match="larger than the memory limit") as caught:
        write_from_files(config, tmp_path / "out", seed=None)
    assert caught.value.problems[0].hint == "pip install 'hybrid-release[warehouse]'"
    assert not (tmp_path / "out").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from hybrid.jobs import anonymize_file
from hybrid.pipeline.config import load_config

verify = anonymize_file.anonymize_files

def killed(task, target, *arguments):
    verify(task, target, *arguments)
    assert target.is_file() and any(task.work.iterdir())
    os.kill(os.getpid(), signal.SIGKILL)

anonymize_file.anonymize_files = killed
anonymize_file.write_from_files(load_config(Path(sys.argv[1]), {"data.path": "people.csv"}), Path(sys.argv[2]), None)
"""


def test_a_killed_run_leaves_no_labels_and_the_next_one_removes_its_copies(tmp_path: Path) -> None:
    path, out = write_job(tmp_path, people(300, seed=1)), tmp_path / "results" / "out"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(out)], check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = out.parent.iterdir()
    assert left.name.startswith(PREFIX) and stat.S_IMODE(left.stat().st_mode) == 0o700
    assert any(left.rglob("cells.parquet"))
    write_from_files(load_config(path), out, None)
    assert names_in(out.parent) == {"out"}


def strangers_csv(n: int) -> bytes:
    """A German export: quotes, line breaks, decimal commas, codes with leading zeros, two marks of missing values."""
    rng = np.random.default_rng(4)

    def some(*texts: str) -> list[str]:
        return [texts[at] for at in rng.integers(0, len(texts), n)]

    columns = {
        "PLZ": some("01067", "01069", "50667", " 00123", "", "k.A."),
        "Alter": [*map(str, rng.integers(18, 90, n - 1)), ""],
        "Ort": some(
            "Köln", "Zürich", '"Münster; Westf."', '"Bad ""Oeynhausen"""', '"Sankt\r\nAugustin"', " Bonn", "Bonn "
        ),
        "Größe": [f"{size:.2f}".replace(".", ",") for size in rng.uniform(1.5, 2, n)],
        "Geburt": [f"{day:02d}.{day % 12 + 1:02d}.19{day + 50}" for day in rng.integers(1, 29, n)],
        "Uhrzeit": [f"{hour:02d}:{hour + 7:02d}" for hour in rng.integers(0, 24, n)],
        "Raucher": some("ja", "nein", ""),
        "Diagnose": some("J18.9", "I10", "E11", "k.A.", " I10"),
        "Kosten": [*(f"{cost:.1f}".replace(".", ",") for cost in rng.uniform(-9, 9, n - 2)), "", "-0,0"],
        "Code": [f"{code:04d}" for code in rng.integers(0, 50, n)],
        "Text": some("", "NA", "null", "nan", '"a;b"', "  eingerückt", '"sagt ""gut"""'),
        "Zahl": some("1", "2,50", "-0", "0", ""),
        "Leer": [""] * n,
        "Ganz": list(map(str, rng.integers(-5, 10**12, n))),
    }
    lines = [";".join(columns), *(";".join(row) for row in zip(*columns.values(), strict=True))]
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def test_a_strangers_csv_is_read_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leute.csv").write_bytes(strangers_csv(600))
    for name, text in {"plz": "type: mask", "jahre": "type: intervals\nwidths: [10, 30]"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "geburt.yaml").write_text("type: dates\nlevels: [year]")
    names = {"PLZ": "plz.yaml", "Alter": "jahre.yaml", "Geburt": "geburt.yaml"}
    columns = {name: {"role": "quasi_identifier", "hierarchy": tree} for name, tree in names.items()}
    content = {
        "seed": 3,
        "data": {
            "path": "leute.csv",
            "separator": ";",
            "decimal": ",",
            "encoding": "latin-1",
            "missing": ["", "k.A."],
            "columns": columns | {"Diagnose": {"role": "sensitive"}},
        },
        "protect": "off",
        "anonymize": {"k": 4, "suppression_limit": 0.1, "models": [{**L_DIVERSITY, "attribute": "Diagnose"}]},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    monkeypatch.setattr(csv_files, "_PART", 100)  # read in parts
    assert_as_in_memory(load_config(path), tmp_path)
    kinds = [str(field.type) for field in pq.read_schema(tmp_path / "files" / "anonymized.parquet")]
    assert {"time64[us]", "double", "bool", "int64", "string"} <= set(kinds)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3\n4,5\n", "a row does not have the header's 2 fields"),
        ('a,b\n1,2\n3,"4\n', "opens a quote that is never closed|could not be read as CSV"),
        ("a,b\n1,2\n3", "line 3: the last line has 1 of 2 fields"),
        ("a,a\n1,2\n", "column names occur more than once"),
        ("a,A\n1,2\n", "differ in upper and lower case alone"),
        ("a,hybrid_class\n1,2\n", "begin with hybrid_"),
        ("a,b\n", "a header and no rows"),
        ("", "the file is empty"),
        ("a,b,c\n1,2,3\n4,5,6\nSumme,,9\n", "line 4: 1 lines seem to be totals"),
    ],
)
def test_a_csv_that_is_no_table_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(text)
    (tmp_path / "a.yaml").write_text("type: mask\n")
    columns = {"a": {"role": "quasi_identifier", "hierarchy": "a.yaml"}}
    content = {"data": {"path": "people.csv", "columns": columns}, "protect": "off", "anonymize": {"k": 1}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content | {"split": {"control": 0}}))
    with pytest.raises(DataError, match=said):
        write_from_files(load_config(tmp_path / "config.yaml"), tmp_path / "out", None)
    assert not (tmp_path / "out").exists()


def test_types_that_duckdb_lacks_are_read_as_in_memory(tmp_path: Path) -> None:
    table = people(300, seed=1)
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(300) < 0.1, np.nan, rng.integers(-1, 2, 300) * 0.5 * rng.choice([-1.0, 1.0], 300))
    odd = {
        "half": pa.array(gaps.astype(np.float16)),
        "single": pa.array(gaps.astype(np.float32)),
        "clock": pa.array(rng.integers(0, 86_400, 300) * 10**9, pa.time64("ns")),
        "milli": pa.array(rng.integers(0, 86_400, 300).astype(np.int32) * 1000, pa.time32("ms")),
        "nano": pa.array(rng.integers(0, 10**15, 300) * 1000, pa.timestamp("ns", tz="Europe/Berlin")),
        "day": pa.array(rng.integers(0, 9000, 300) * 86_400_000, pa.date64()),
        "nothing": pa.nulls(300),
        "large": pa.array(rng.choice(["x", None, "?"], 300), pa.large_string()),
        "wide": pa.array([*map(str, rng.integers(0, 99, 300))]).cast(pa.int64()).cast(pa.decimal256(20, 1)),
        "byte": pa.array(rng.integers(0, 9, 300).astype(np.uint8)),
    }
    path = write_job(tmp_path, table)
    for name, column in odd.items():
        table = table.append_column(name, column)
    pq.write_table(table, tmp_path / "people.parquet")
    assert_as_in_memory(load_config(path), tmp_path)
