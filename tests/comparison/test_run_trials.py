"""A plan runs once per distinct stage, goes on after a kill, and one failure does not stop the others."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hybrid.analysis.results import metric_names
from hybrid.base.errors import ConfigError
from hybrid.comparison import compare, forecast, load_plan, local, results
from hybrid.comparison import trial as trial_module
from hybrid.comparison.results import TrialRows
from hybrid.store import Store
from tests.comparison.comparison_jobs import METRICS, n_rows, start, without_timings, write_job, write_plan


@pytest.fixture(scope="module")
def undisturbed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    out = tmp_path_factory.mktemp("undisturbed")
    compare(load_plan(write_plan(folder)), folder, out)
    return without_timings(out)


def test_processes_give_what_one_process_gives_and_execute_what_is_distinct(
    folder: Path, tmp_path: Path, undisturbed: pd.DataFrame
) -> None:
    plan = load_plan(write_plan(folder, store=str(tmp_path / "store")))
    foretold = {stage.stage: stage.distinct for stage in forecast(plan, folder, tmp_path / "out").stages}
    table = compare(plan, folder, tmp_path / "out", jobs=2)
    beside = {"evaluate-shared", "model"}  # parts of stages, kept for those that share them
    entries = [entry for entry in Store(tmp_path / "store").entries() if entry.stage not in beside]
    assert Counter(entry.stage for entry in entries) == foretold
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert (table["status"] == "ok").all() and len(table) == 16
    again = forecast(plan, folder, tmp_path / "out")
    assert (again.done, again.seconds) == (16, 0)
    pd.testing.assert_frame_equal(without_timings(tmp_path / "out"), undisturbed)


def test_rows_hold_factors_metrics_intervals_and_seconds(folder: Path, tmp_path: Path) -> None:
    plan = load_plan(write_plan(folder, factors={"anonymize.k": [5], "synthesize": [{"generator": "cart"}]}, seeds=[1]))
    table = compare(plan, folder, tmp_path)
    assert list(table.columns[:7]) == [
        "configuration",
        "anonymize.k",
        "synthesize",
        "seed",
        "status",
        "reason",
        "verdict",
    ]
    assert table.loc[0, "synthesize"] == "{generator: cart}"
    stages = ("original", "anonymized", "synthetic", "baseline")
    assert set(metric_names(table)) == {f"{stage}.{metric}" for stage in stages for metric in METRICS}
    row = table.iloc[0]
    low, high = row["synthetic.identical_match_low"], row["synthetic.identical_match_high"]
    assert low <= row["synthetic.identical_match"] <= high
    assert {"seconds.synthesize", "seconds.evaluate-baseline"} <= set(table.columns)
    excess = row[[f"synthetic.identical_match_{what}" for what in ("excess_low", "excess", "excess_high")]]
    assert excess.is_monotonic_increasing and row["cpu.synthetic.identical_match"] >= 0
    assert not (tmp_path / ".store").exists()


@pytest.mark.slow
def test_killed_twice_and_started_again(folder: Path, tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    plan = write_plan(folder)
    before = b""
    for share in (0.3, 0.7):
        process = start(plan, tmp_path, "--jobs", "2")
        deadline = time.monotonic() + 300
        while n_rows(tmp_path) < share * 16 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert share * 16 <= n_rows(tmp_path) < 16 and not (tmp_path / "comparison.csv").exists()
        left = (tmp_path / "rows.jsonl").read_bytes()
        assert left.startswith(before)
        before = left[: left.rfind(b"\n") + 1]  # a line that the kill cut off is written anew
    assert start(plan, tmp_path).wait(timeout=300) == 0
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(before)
    assert n_rows(tmp_path) == 16
    pd.testing.assert_frame_equal(without_timings(tmp_path), undisturbed)


def test_a_failure_is_a_row_with_its_reason(folder: Path, tmp_path: Path) -> None:
    levels = {
        "fine": {},
        "infeasible": {"anonymize.k": 100_000},
        "senseless": {"anonymize": None, "transition.order": "pre", "transition.method": "uniform"},
    }
    plan = load_plan(write_plan(folder, factors={"case": levels}, seeds=[1]))
    table = compare(plan, folder, tmp_path).set_index("case")
    assert list(table["status"]) == ["ok", "failed", "failed"]
    assert "k" in table.loc["infeasible", "reason"] and "nothing to restore" in table.loc["senseless", "reason"]
    assert table.loc["infeasible", metric_names(table)].isna().all()


def test_a_stray_error_does_not_stop_the_others_and_its_text_is_not_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = trial_module.TableRun.check

    def check(pipeline: Any) -> None:
        if pipeline.seed == 1:
            raise ValueError("the record of Mrs. Smith")
        original(pipeline)

    monkeypatch.setattr(trial_module.TableRun, "check", check)
    plan = load_plan(write_plan(folder, factors={"anonymize.k": [5]}))
    table = compare(plan, folder, tmp_path)
    assert list(table["status"]) == ["failed", "ok"]
    assert "ValueError" in table.loc[0, "reason"] and "Smith" not in table.to_csv()
    monkeypatch.undo()
    assert list(compare(plan, folder, tmp_path)["status"]) == ["failed", "ok"]
    assert list(compare(plan, folder, tmp_path, retry_failed=True)["status"]) == ["ok", "ok"]


def _die_with_seed_2(place: Any, trial: Any) -> Any:
    if trial.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return trial_module.run_trial(place, trial)


def test_a_process_that_is_killed_costs_its_row_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_trial", _die_with_seed_2)
    plan = load_plan(write_plan(folder, factors={"anonymize.k": [5]}, seeds=[1, 2, 3]))
    table = compare(plan, folder, tmp_path, jobs=2)
    assert list(table["status"]) == ["ok", "failed", "ok"]
    assert set(table.loc[table["status"] == "failed", "reason"]) == {local.DIED}


def test_no_trial_starts_beside_another_without_memory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flying: list[int] = []
    original = local._Run._start

    def counted(run: Any) -> None:
        original(run)
        flying.append(len(run.flying))

    monkeypatch.setattr(local._Run, "_start", counted)
    monkeypatch.setattr(local, "_pool", ThreadPoolExecutor)  # what is counted does not depend on where trials run
    plan = load_plan(write_plan(folder, factors={"anonymize.k": [5, 6]}))
    monkeypatch.setattr(local, "available_bytes", lambda: 10 * local.FIRST_GUESS)
    compare(plan, folder, tmp_path / "much", jobs=2)
    assert max(flying) == 2
    flying.clear()
    monkeypatch.setattr(local, "available_bytes", lambda: local.FIRST_GUESS // 2)
    assert (compare(plan, folder, tmp_path / "little", jobs=2)["status"] == "ok").all()
    assert max(flying) == 1


def test_the_threads_of_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in local.THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "7")
    monkeypatch.setattr(local.os, "cpu_count", lambda: 8)
    with local._limited_threads(3):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("2", "7")
    assert "OMP_NUM_THREADS" not in os.environ and os.environ["MKL_NUM_THREADS"] == "7"


def test_two_comparisons_do_not_write_to_one_folder(folder: Path, tmp_path: Path) -> None:
    from hybrid.base.locks import locked
    from hybrid.base.ownership import claim

    claim(tmp_path / "out", "plan", "comparison")
    with locked(tmp_path / "out" / ".lock"), pytest.raises(ConfigError, match="another comparison"):
        compare(load_plan(write_plan(folder)), folder, tmp_path / "out")


def test_a_cluster_has_no_store_in_memory(folder: Path, tmp_path: Path) -> None:
    """Its key would have to travel."""
    with pytest.raises(ConfigError, match="cannot reach a store in memory"):
        compare(load_plan(write_plan(folder, store="memory")), folder, tmp_path, scheduler="tcp://127.0.0.1:9")


@pytest.mark.parametrize("left", [b'{"key": "b", "row": {"x"', b"x" * 200_000, b"", b"\xff"])
def test_an_unfinished_line_is_cut_off(tmp_path: Path, left: bytes) -> None:
    rows = TrialRows(tmp_path / "rows.jsonl")
    rows.append("a", {"x": 1.5})
    with rows.path.open("ab") as stream:
        stream.write(left)
    assert rows.read() == {"a": {"x": 1.5}}
    rows.append("b", {"x": None})
    assert rows.read() == {"a": {"x": 1.5}, "b": {"x": None}}
    assert len(rows.path.read_bytes().splitlines()) == 2
    assert json.loads(rows.path.read_bytes().splitlines()[1])["row"] == {"x": None}


@pytest.mark.parametrize("store", ["memory", "encrypted"])
def test_other_stores_give_the_same(
    folder: Path, tmp_path: Path, undisturbed: pd.DataFrame, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hybrid.store import place
    from hybrid.store.cipher import KEY_VARIABLE, new_key

    monkeypatch.setattr(place, "MEMORY_FOLDER", tmp_path)
    if store == "encrypted":
        monkeypatch.setenv(KEY_VARIABLE, new_key())
    place = "memory" if store == "memory" else str(tmp_path / "store")
    compare(load_plan(write_plan(folder, store=place, seeds=[2])), folder, tmp_path / "out", jobs=2)
    expected = undisturbed[undisturbed["seed"] == 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(without_timings(tmp_path / "out"), expected)
    assert not list(tmp_path.glob(".hybrid-tmp-*"))
    wards = [ward for ward in pd.read_csv(folder / "admissions.csv")["ward"].dropna().unique() if len(ward) > 6]
    assert wards
    kept = [path.read_bytes() for path in (tmp_path / "store").glob("*/result.pickle")]
    assert (len(kept) > 20) == (store == "encrypted")
    assert not any(ward.encode() in content for ward in wards for content in kept)


def test_a_base_that_is_edited_meanwhile_changes_neither_trials_nor_recommendation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load_plan(write_job(tmp_path, factors={"anonymize.k": [5, 6]}, seeds=[1]))
    expected = compare(plan, tmp_path, tmp_path / "before").filter(regex=r"^(?!(cpu|seconds)\.)")
    before = (tmp_path / "before" / "comparison.json").read_text()
    base = tmp_path / "config.yaml"
    original = results.schedule

    def edited(*arguments: Any) -> Any:
        planned = original(*arguments)
        content = yaml.safe_load(base.read_text())
        content["transition"] = {"method": "single"}
        content["split"] = {"control": 0.5}
        base.write_text(yaml.safe_dump(content))
        return planned

    monkeypatch.setattr(results, "schedule", edited)
    found = compare(plan, tmp_path, tmp_path / "after", jobs=2).filter(regex=r"^(?!(cpu|seconds)\.)")
    assert "single" in base.read_text()
    pd.testing.assert_frame_equal(found, expected)
    assert (tmp_path / "after" / "comparison.json").read_text() == before
    recommended = [(tmp_path / name / "recommended.yaml").read_text() for name in ("before", "after")]
    assert recommended[0] == recommended[1] and "single" not in recommended[1]
    # Another base is another comparison: no row of the first one is taken for it.
    monkeypatch.undo()
    changed = compare(plan, tmp_path, tmp_path / "after").filter(regex=r"^(?!(cpu|seconds)\.)")
    assert not changed.equals(expected)
