"""Streaming a Parquet file gives what reading it at once gives, and leaves nothing behind."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.anonymize.streaming import count_rows
from hybrid.anonymize.streaming.write_labels import ByColumn, LabelWriter
from hybrid.base.errors import ConfigError, DataError, HierarchyError, InfeasibleError, VerificationError
from hybrid.cli import main
from hybrid.jobs.anonymize_file import why_not_streamed, write_streamed
from hybrid.jobs.run import write_anonymized
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.table.read_batches import Shuffle
from tests.anonymize.streamed_people import L_DIVERSITY, QUASI_IDENTIFIERS, people, write_job

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
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches and several parts of the shuffle, although the tables are small."""
    of = count_rows.MemoryBudget.of
    monkeypatch.setattr(
        count_rows.MemoryBudget, "of", lambda *arguments: count_rows.MemoryBudget(100, 3, of(*arguments).combinations)
    )


def result_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "anonymization.json").read_text())
    for changing in ("seconds", "streamed", "verified", "left_out"):  # the last is counted in memory only
        content.pop(changing, None)
    content["loss"] = {name: pytest.approx(value) for name, value in content["loss"].items() if name == "value"}
    return content


def rows_of(path: Path) -> Counter[tuple[object, ...]]:
    table = pq.read_table(path / "anonymized.parquet")
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", MODELS)
def test_as_in_memory(name: str, tmp_path: Path) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1), **MODELS[name]))
    streamed = write_streamed(config, tmp_path / "streamed", seed=None)
    result = write_anonymized(Pipeline(config), tmp_path / "whole")
    assert result_of(tmp_path / "streamed") == result_of(tmp_path / "whole")
    assert streamed.result.verified["k"] == result.verified["k"] == result.min_class_size
    for ours, theirs in zip(streamed.result.verified["models"], result.verified["models"], strict=True):
        assert ours == {**theirs, "reached": pytest.approx(theirs["reached"])}
    assert rows_of(tmp_path / "streamed") == rows_of(tmp_path / "whole")
    written, whole = (pq.read_schema(tmp_path / name / "anonymized.parquet") for name in ("streamed", "whole"))
    assert written.names == whole.names == [name for name in people(1, seed=1).column_names if name != "id"]
    assert [field.type for field in written] == [field.type for field in whole]


def test_as_in_memory_from_csv(tmp_path: Path) -> None:
    path = write_job(tmp_path, people(700, seed=2), models=[L_DIVERSITY])
    streamed = write_streamed(load_config(path), tmp_path / "streamed", seed=None)
    in_memory = load_config(path, {"data.path": "people.csv"})
    assert why_not_streamed(in_memory) is not None
    result = write_anonymized(Pipeline(in_memory), tmp_path / "whole")
    assert result_of(tmp_path / "streamed") == result_of(tmp_path / "whole")
    assert streamed.result.levels == result.levels
    for name in QUASI_IDENTIFIERS:
        labels = [
            Counter(pq.read_table(tmp_path / folder / "anonymized.parquet")[name].to_pylist())
            for folder in ("streamed", "whole")
        ]
        assert {str(label).lower(): n for label, n in labels[0].items()} == {
            str(label).lower(): n for label, n in labels[1].items()
        }


def test_protection_needs_the_whole_table(tmp_path: Path) -> None:
    path = write_job(tmp_path, people(50, seed=2))
    assert why_not_streamed(load_config(path)) is None
    reason = why_not_streamed(load_config(path, {"protect": {}}))
    assert reason is not None
    assert "protect: off" in reason


def test_associations_need_the_whole_table(tmp_path: Path) -> None:
    path = write_job(tmp_path, people(200, seed=2), loss={"name": "association"})
    config = load_config(path)
    assert why_not_streamed(config) == "anonymize.loss: association looks at all columns"
    assert write_anonymized(Pipeline(config), tmp_path / "whole").loss["use"] == []


def test_k_map(tmp_path: Path) -> None:
    table = people(400, seed=3)
    path = write_job(tmp_path, table, models=[{"model": "k_map", "k": 12}], population="population.parquet")
    rng = np.random.default_rng(4)
    mixed = pa.table({name: table[name].take(pa.array(rng.integers(0, 400, 900))) for name in table.column_names})
    pq.write_table(pa.concat_tables([table, mixed]), tmp_path / "population.parquet")
    config = load_config(path)
    streamed = write_streamed(config, tmp_path / "streamed", seed=None)
    result = write_anonymized(Pipeline(config), tmp_path / "whole")
    assert result_of(tmp_path / "streamed") == result_of(tmp_path / "whole")
    assert streamed.result.verified["models"] == result.verified["models"]
    assert rows_of(tmp_path / "streamed") == rows_of(tmp_path / "whole")


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
        config = load_config(path, overrides)
        write_streamed(config, tmp_path / "streamed", seed=None)
        write_anonymized(Pipeline(config), tmp_path / "whole")
        assert rows_of(tmp_path / "streamed") == rows_of(tmp_path / "whole")


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    table = people(700, seed=1)
    path = write_job(tmp_path, table)
    parts = tmp_path / "parts"
    (parts / "deep").mkdir(parents=True)
    pq.write_table(table.slice(0, 300), parts / "a.parquet")
    pq.write_table(table.slice(300), parts / "deep" / "b.parquet")
    (parts / "_SUCCESS").touch()
    write_streamed(load_config(path), tmp_path / "one", seed=None)
    write_streamed(load_config(path, {"data.path": "parts"}), tmp_path / "several", seed=None)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "several")

    pq.write_table(table.set_column(1, "age", table["age"].cast(pa.int32())), parts / "deep" / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: column 'age' is int32, and int16"):
        write_streamed(load_config(path, {"data.path": "parts"}), tmp_path / "out", seed=None)


def test_the_order_says_nothing_and_follows_from_the_seed(tmp_path: Path) -> None:
    table = people(3000, seed=1)
    table = table.set_column(table.column_names.index("account"), "account", pa.array(range(3000)))
    config = load_config(write_job(tmp_path, table), {"split.control": 0})
    for folder, seed in (("first", 1), ("again", 1), ("other", 2)):
        write_streamed(config, tmp_path / folder, seed=seed)
    first, again, other = (
        (tmp_path / name / "anonymized.parquet").read_bytes() for name in ("first", "again", "other")
    )
    assert first == again != other
    order = pq.read_table(tmp_path / "first" / "anonymized.parquet")["account"].to_numpy()
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 5 / np.sqrt(len(order))
    neighbours = np.abs(np.diff(order))
    assert 0.9 < neighbours.mean() / (len(table) / 3) < 1.1


def test_the_parts_are_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1)))
    modes: set[int] = set()
    add = Shuffle.add

    def watched(self: Shuffle, *arguments: Any) -> None:
        modes.add(stat.S_IMODE(self._paths[0].parent.stat().st_mode))
        add(self, *arguments)

    monkeypatch.setattr(Shuffle, "add", watched)
    before = names_in(tmp_path)
    write_streamed(config, tmp_path / "out", seed=None)
    assert modes == {0o700}
    assert names_in(tmp_path / "out") == {"anonymized.parquet", "anonymization.json", "manifest.json"}

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Shuffle, "add", full)
    with pytest.raises(Exception, match="nothing was changed"):
        write_streamed(config, tmp_path / "out2", seed=None)
    assert names_in(tmp_path) == before | {"out"}


def test_labels_that_break_the_promise_are_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1), levels={"age": 1}, models=[L_DIVERSITY]))
    label = ByColumn.label

    def mislabelled(self: ByColumn, *arguments: Any) -> Any:
        kept, labels = label(self, *arguments)
        labels[0] = np.where((np.arange(len(kept)) == 7) & kept, (labels[0] + 1) % 5, labels[0])
        return kept, labels

    monkeypatch.setattr(ByColumn, "label", mislabelled)
    with pytest.raises(VerificationError, match="the written labels do not keep"):
        write_streamed(config, tmp_path / "out", seed=None)
    assert not (tmp_path / "out").exists()


def test_a_file_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(write_job(tmp_path, people(700, seed=1)))
    write = LabelWriter.write

    def late(self: LabelWriter, *arguments: Any) -> int:
        pq.write_table(people(700, seed=9), tmp_path / "people.parquet")
        return write(self, *arguments)

    monkeypatch.setattr(LabelWriter, "write", late)
    with pytest.raises(DataError, match="changed while it was read"):
        write_streamed(config, tmp_path / "out", seed=None)


def test_what_cannot_be_done_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_job(tmp_path, people(400, seed=1))
    config = load_config(path, {"anonymize.models": [L_DIVERSITY], "anonymize.memory_limit": 1e-4})
    monkeypatch.setattr(count_rows.MemoryBudget, "of", lambda *_: count_rows.MemoryBudget(100, 1, 200))
    with pytest.raises(DataError, match=r"more than 200 distinct combinations of 'age'.*'diagnosis'.*memory_limit"):
        write_streamed(config, tmp_path / "out", seed=None)
    monkeypatch.undo()
    for name in ("id", "age", "nowhere"):
        overrides = {"anonymize.models": [{**L_DIVERSITY, "attribute": name}]}
        with pytest.raises(ConfigError, match=f"the attribute '{name}' is not among the columns that stay"):
            write_streamed(load_config(path, overrides), tmp_path / "out", seed=None)
    with pytest.raises(InfeasibleError, match="suppression_limit"):
        write_streamed(load_config(path, {"anonymize.levels": {"born": 0}}), tmp_path / "out", seed=None)
    (tmp_path / "sex.csv").write_text("f;*\n")
    (tmp_path / "smoker.csv").write_text("true;*\n")
    with pytest.raises(HierarchyError, match="'sex'") as streamed:
        write_streamed(load_config(path), tmp_path / "out", seed=None)
    with pytest.raises(HierarchyError, match="'smoker'") as whole:
        write_anonymized(Pipeline(load_config(path)), tmp_path / "out")
    assert [(p.message, p.values) for p in streamed.value.problems] == [
        (p.message, p.values) for p in whole.value.problems
    ]
    assert len(streamed.value.problems) == 2
    columns = {"data.columns.zip.kind": "integer", "data.columns.diagnosis.kind": "decimal"}
    wrong = load_config(path, columns | {"anonymize.models": [L_DIVERSITY]})
    with pytest.raises(DataError, match="'diagnosis' is declared decimal") as streamed:
        write_streamed(wrong, tmp_path / "out", seed=None)
    with pytest.raises(DataError, match="'zip' is declared integer") as whole:
        write_anonymized(Pipeline(wrong), tmp_path / "out")
    assert [p.message for p in streamed.value.problems] == [p.message for p in whole.value.problems]
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
    config = load_config(path, changes | {"anonymize.k": 3})
    assert why_not_streamed(config) is None
    write_streamed(config, tmp_path / "streamed", seed=None)
    pipeline = Pipeline(config)
    write_anonymized(pipeline, tmp_path / "whole")
    found = result_of(tmp_path / "streamed")
    assert found == result_of(tmp_path / "whole")
    assert found["min_class_persons"] >= 3
    assert found["persons"] == len(
        {text.strip() for text in pipeline.inputs.split(pipeline.seed)[0].frame["patient"].dropna()}
    )
    assert rows_of(tmp_path / "streamed") == rows_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data.path": "people.csv"}, "only Parquet"),
        ({"anonymize.known_rows": 2, "data.person": "id"}, "known_rows"),
        ({"data.person": "id"}, None),
        ({"anonymize.engine": "anjana"}, "anjana"),
        ({"split.key": "ward"}, "split.key"),
        ({"split.stable": True}, "split.stable"),
        ({"split.stable": True, "split.control": 0}, None),
    ],
)
def test_when_it_streams(changes: dict[str, Any], reason: str | None, tmp_path: Path) -> None:
    config = load_config(write_job(tmp_path, people(10, seed=1)), changes)
    said = why_not_streamed(config)
    assert said is None if reason is None else reason in str(said)


def test_the_command_says_what_it_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_job(tmp_path, people(700, seed=1))
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", str(path), "--out", str(tmp_path / "out")])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "streamed: 700 rows, " in said
    cost = json.loads((tmp_path / "out" / "anonymization.json").read_text())["streamed"]
    assert [stage["stage"] for stage in cost["stages"]] == ["read", "search", "write", "verify"]
    assert cost["rows"] == 700
    assert all(stage["stage"] in said and f"{stage['combinations']:,}" in said for stage in cost["stages"])
