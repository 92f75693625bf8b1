"""Known leaks: the share is exact, levels are nested, noise keeps grid and range, and nothing of it is released."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError, DataError
from hybrid.jobs.start import run
from hybrid.lab.leak import known_leak, with_noise
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.risk import RiskOptions
from hybrid.publication import publish as publishing
from hybrid.publication.finished_run import refuse_known_leak
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import with_persons

modest = settings(max_examples=40, deadline=None)
KINDS = {
    "income": Kind.INTEGER,
    "age": Kind.INTEGER,
    "bmi": Kind.DECIMAL,
    "city": Kind.CATEGORICAL,
    "smoker": Kind.BOOLEAN,
    "day": Kind.DATE,
}
NUMBERS = ("income", "age", "bmi", "day")
NOISE: dict[str, Any] = {"sigma": 0.05, "lambda": 0.05, "p": 0.05}


def people(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    cities = pd.Categorical(rng.choice(["Graz", "Linz", "Wien"], n), categories=["Graz", "Linz", "Wien"])
    frame = pd.DataFrame(
        {
            "income": pd.Series(rng.integers(0, 90_000, n), dtype="Int64"),
            "age": pd.Series(rng.integers(18, 90, n), dtype="Int64").mask(pd.Series(rng.random(n) < 0.05)),
            "bmi": rng.normal(25, 4, n).round(1),
            "city": cities,
            "smoker": pd.Series(rng.random(n) < 0.3, dtype="boolean"),
            "day": pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")).astype(
                "datetime64[us]"
            ),
        }
    )
    return Table(frame, Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, kind in KINDS.items())))


TRAIN, FRESH = people(120, 1), people(110, 2)


def leaky(leak: float, **keys: Any) -> RiskOptions:
    return RiskOptions(model="noisy" if keys else "leaky", leak=leak, **keys)


@modest
@given(st.floats(0, 1), st.integers(0, 2**32))
def test_the_share_is_exact_and_provenance_says_whose_rows_they_are(leak: float, seed: int) -> None:
    table, provenance, _ = known_leak(TRAIN, FRESH, leaky(leak), seed)
    assert len(table) == 110
    assert (provenance >= 0).sum() == round(leak * 110)
    assert len(set(provenance[provenance >= 0])) == (provenance >= 0).sum()
    leaked = table.take(provenance >= 0).frame
    pd.testing.assert_frame_equal(leaked, TRAIN.take(provenance[provenance >= 0]).frame)
    others = set(map(tuple, table.take(provenance < 0).frame.astype(str).to_numpy()))
    assert others <= set(map(tuple, FRESH.frame.astype(str).to_numpy()))


@modest
@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_levels_are_nested_with_the_same_noise(one: float, other: float, seed: int) -> None:
    small, large = sorted((one, other))
    noise = {"sigma": 0.05, "lambda": 0.05}
    tables = [known_leak(TRAIN, FRESH, leaky(leak, **noise), seed) for leak in (small, large)]
    rows = []
    for table, provenance, _ in tables:
        frame = table.frame.assign(origin=provenance)
        rows.append(frame[frame["origin"] >= 0].sort_values("origin").reset_index(drop=True))
    assert set(rows[0]["origin"]) <= set(rows[1]["origin"])
    shared = rows[1][rows[1]["origin"].isin(rows[0]["origin"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows[0], shared)


def test_no_noise_equals_leaky_bit_by_bit() -> None:
    plain = known_leak(TRAIN, FRESH, leaky(0.4), 7)
    noisy = known_leak(TRAIN, FRESH, RiskOptions(model="noisy", leak=0.4), 7)
    pd.testing.assert_frame_equal(plain.table.frame, noisy.table.frame)
    assert (plain.provenance == noisy.provenance).all()


@modest
@given(st.sampled_from(["relative", "sd", "raw"]), st.floats(0.01, 1), st.integers(0, 2**32))
def test_noise_keeps_grid_range_dtype_and_missing_values(scale: Any, size: float, seed: int) -> None:
    options = RiskOptions(model="noisy", leak=1, sigma=size, p=size, scale=scale, **{"lambda": size})
    order = np.arange(len(TRAIN))
    noisy = with_noise(TRAIN, order, len(TRAIN), options, seed)
    assert noisy.dtypes.equals(TRAIN.frame.dtypes)
    for name in NUMBERS:
        source = TRAIN.frame[name]
        assert source.min() <= noisy[name].min() and noisy[name].max() <= source.max()
        assert noisy[name].isna().equals(source.isna())
    assert np.allclose(noisy["bmi"], noisy["bmi"].round(1))
    assert set(noisy["city"].dropna()) <= {"Graz", "Linz", "Wien"}


def test_each_noise_moves_its_own_columns() -> None:
    order = np.arange(len(TRAIN))
    for key, moved in {"sigma": {"income", "bmi"}, "lambda": {"age", "day"}, "p": {"city", "smoker"}}.items():
        noisy = with_noise(TRAIN, order, len(TRAIN), leaky(1, **{key: 0.5}), 3)
        assert {name for name in KINDS if not noisy[name].equals(TRAIN.frame[name])} == moved


def test_noise_by_hand() -> None:
    # 10 leaked people, sd scale: a category always becomes another one; steps are whole.
    rows = np.arange(10)
    other = with_noise(TRAIN, rows, 10, leaky(1, p=1.0, scale="sd"), 3)
    assert (other["city"].astype(str) != TRAIN.frame["city"].astype(str)[:10]).all()
    stepped = with_noise(TRAIN, rows, 10, leaky(1, **{"lambda": 1.0}), 3)
    differences = (stepped["age"] - TRAIN.frame["age"][:10]).dropna()
    assert differences.abs().max() > 0 and (differences == differences.round()).all()
    # raw: 0.05 units are below the grid of whole incomes.
    raw = with_noise(TRAIN, rows, 10, leaky(1, sigma=0.05, scale="raw"), 3)
    assert raw["income"].equals(TRAIN.frame["income"][:10])


def test_a_person_leaks_whole_before_the_next() -> None:
    keyed = Table(
        people(60, 3).frame.assign(person=pd.Series(np.repeat(np.arange(20), 3), dtype="Int64")),
        Schema((*people(1, 3).schema.columns, Column("person", Role.IDENTIFIER, Kind.INTEGER))),
    )
    train = with_persons(keyed, ["person"]).without_identifiers()
    _, provenance, _ = known_leak(train, FRESH, leaky(0.5), 1)
    whole = np.bincount(provenance[provenance >= 0] // 3, minlength=20)
    assert sorted(whole)[:10] == [0] * 10 and sorted(whole)[10:] == [3] * 10


def test_more_rows_than_records_are_refused() -> None:
    with pytest.raises(DataError, match="needs 0 training and 300 fresh"):
        known_leak(TRAIN, FRESH, leaky(0, size=300 / 110), 1)


def test_noise_without_its_model_is_refused() -> None:
    with pytest.raises(ValueError, match="leaky has no noise"):
        RiskOptions(model="leaky", leak=0.1, sigma=0.05)


@pytest.fixture(scope="module")
def settings_of_run() -> dict[str, Any]:
    return {
        "data": {"columns": {}, "unlisted": "insensitive"},
        "seed": 4,
        "split": {"control": 0.3, "release": 0.3},
        "protect": "off",
        "risk": {"model": "leaky", "leak": 0.5},
        "evaluate": {"families": ["privacy"], "metrics": ["identical_match", "hidden_rate"], "original": False},
    }


def test_a_run_sees_the_leak_and_writes_nothing(settings_of_run: dict[str, Any], tmp_path: Path) -> None:
    frame = people(400, 5).frame
    pipeline: Pipeline = run(settings_of_run, frame)
    # 60 of 120 rows are training records, of which there are 160.
    for metric, value in (("identical_match", 60 / 120), ("hidden_rate", 60 / 160)):
        found = pipeline.evaluation.find(metric, "synthetic")
        assert found is not None and found.outcome.value == pytest.approx(value)  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="never written or released"):
        run(settings_of_run, frame, out=tmp_path / "run", work=tmp_path / "work")
    assert not (tmp_path / "run").exists()


def test_publication_refuses_its_manifest(settings_of_run: dict[str, Any]) -> None:
    manifest = json.loads(json.dumps({"config": settings_of_run}))
    with pytest.raises(ConfigError, match="section risk"):
        refuse_known_leak(manifest["config"])
    refuse_known_leak({**manifest["config"], "risk": None})


def test_publish_asks_before_anything_else_is_read(
    settings_of_run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of_it = SimpleNamespace(manifest={"config": settings_of_run}, folder=tmp_path)
    monkeypatch.setattr(publishing, "read_run", lambda _: run_of_it)
    monkeypatch.setattr(publishing, "check_seal", lambda *_: None)
    with pytest.raises(ConfigError, match="section risk"):
        publishing.publish(tmp_path, tmp_path / "releases", tmp_path / "private")
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"split": {"control": 0.3}}, "people whom neither"),
        ({"protect": {}}, "protect is set beside risk"),
        ({"sample": {"method": "simple", "beta": 0.5}}, "sample is set beside risk"),
        ({"evaluate": {"retrain": {}}}, "evaluate.retrain"),
    ],
)
def test_what_would_change_the_leak_is_refused(
    settings_of_run: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        run(settings_of_run | changes, people(100, 5).frame)
