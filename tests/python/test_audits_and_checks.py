"""Audit, findings and trade-off in one call, and metrics, techniques and models as functions on tables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hybrid
from hybrid.errors import ConfigError, DataError, HierarchyError
from hybrid.evaluation.frames import measure

FEW = ["identical_match", "dcr_share", "total_variation"]


@pytest.fixture(scope="module")
def parts(admissions: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Training and control records, and a table of which one row in five is a training record."""
    frame = admissions.drop(columns=["patient_id", "diagnosis"])
    train, control = frame[:250], frame[250:]
    rng = np.random.default_rng(1)
    made = pd.DataFrame({name: rng.permutation(train[name]) for name in train})
    made[:50] = train[:50].to_numpy()
    return train, control, made.infer_objects()


def test_copies_are_found_in_tables_of_any_library(
    parts: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train, control, made = parts
    found = hybrid.audit(
        train=train, synthetic=pa.Table.from_pandas(made), control=control, metrics=FEW, seed=1, progress=False
    )
    assert found.verdict.status == "block" and list(tmp_path.iterdir()) == []
    copies = found.evaluation.find("identical_match", "synthetic")
    assert copies is not None and copies.outcome.value == pytest.approx(0.2, abs=0.02)  # type: ignore[union-attr]
    assert "exact copies" in repr(found) and found.report().html.startswith("<!doctype html>")
    assert {one.name for one in found.save("audit").iterdir()} >= {"report.html", "evaluation.json"}
    assert repr(found.plot("age")).startswith("Figure: age")


def test_tables_that_do_not_fit_are_named(parts: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    train, _, made = parts
    with pytest.raises(DataError, match="synthetic: columns of train are missing: 'age'"):
        hybrid.audit(train=train, synthetic=made.drop(columns="age"), progress=False)
    with pytest.raises(DataError, match="control: 100 % of its rows are in train too"):
        hybrid.audit(train=train, synthetic=made, control=train, progress=False)
    with pytest.raises(ConfigError, match="need"):
        hybrid.audit(train={"a": train}, synthetic={"a": made}, progress=False)
    with pytest.raises(ConfigError, match="not a table"):
        hybrid.audit(train=train, synthetic=None, progress=False)  # type: ignore[arg-type]


def test_findings_of_a_frame_a_draft_and_a_mistake(admissions: pd.DataFrame) -> None:
    found = hybrid.check(admissions, progress=False)
    assert found.ok and any(one.message.startswith("guessed: age") for one in found)
    assert set(found.to_frame()["level"]) == {"ok", "note"}
    assert not any(value in repr(found) for value in admissions["patient_id"])
    draft = hybrid.guess(admissions[["age", "sex", "bmi"]])
    assert hybrid.check(draft, progress=False).ok
    wrong = hybrid.check(admissions, quasi_identifiers=["agee"], progress=False)
    assert not wrong.ok and "did you mean 'age'" in wrong[0].hint
    (misspelt,) = hybrid.check(admissions, quasi_identifierss=["age"], progress=False)
    assert misspelt.level == "error" and "did you mean 'quasi_identifiers'" in misspelt.hint
    with pytest.raises(ConfigError, match="beside a configuration"):
        hybrid.check(draft, k=3, progress=False)


def test_price_of_k(admissions: pd.DataFrame) -> None:
    curve = hybrid.trade_off(
        admissions[["age", "sex", "ward"]], quasi_identifiers=["age", "sex"], ks=[2, 20], limits=[0.0], progress=False
    )
    frame = curve.to_frame()
    for wrong in ({"ks": [0]}, {"limits": [1.5]}):
        with pytest.raises(ConfigError, match="a k is no whole number of 1 or more, or a limit no share"):
            hybrid.trade_off(admissions[["age", "sex"]], quasi_identifiers=["age"], progress=False, **wrong)
    loss = frame[frame["suppression_limit"] == 0].set_index("k")["loss"]
    assert loss[2] <= loss[5] <= loss[20] <= 1 and {"age", "sex"} <= set(frame)
    assert any(one.startswith("age: ") for one in curve.sentences) and "k = 20" in repr(curve.plot())


def test_a_metric_is_the_one_of_the_registry(parts: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]) -> None:
    train, control, made = parts
    score = hybrid.metrics.dcr_share(train=train, synthetic=pa.Table.from_pandas(made), control=control, seed=3)
    (known,) = measure("dcr_share", train, control, made, seed=3)
    assert float(score) == known.outcome.value and (score.low, score.n) == (known.outcome.low, 250)  # type: ignore[union-attr]
    assert score.low < score < score.high and score.direction == "lower"  # type: ignore[operator]
    each = hybrid.metrics.tstr(train=train, synthetic=made, control=control, targets=["sex"])
    assert set(each) == {"sex"} and 0 <= each["sex"] <= 1
    few = hybrid.metrics.dcr_share(train=train[:5], synthetic=made, control=control)
    assert math.isnan(few) and "fewer than 10" in few.reason
    with pytest.raises(TypeError, match="missing a required argument: 'control'"):
        hybrid.metrics.dcr_share(train=train, synthetic=made)
    with pytest.raises(DataError, match="same columns"):
        hybrid.metrics.dcr_share(train=train, synthetic=made.drop(columns="age"), control=control)


def test_models_count_people(admissions: pd.DataFrame) -> None:
    frame = pd.DataFrame({"age": [1, 1, 1, 2, 2], "who": ["a", "a", "b", "c", "d"], "secret": list("xxyzz")})
    models = hybrid.privacy_models
    assert models.k_anonymity(frame, ["age"]) == 2
    assert models.k_anonymity(pa.Table.from_pandas(frame), ["age"], person="who") == 2
    assert models.k_anonymity(frame.assign(who="a"), ["age"], person="who") == 1
    found = models.l_diversity(frame, ["age"], attribute="secret", l=2)
    assert float(found) == 1 and not found.holds
    with pytest.raises(ConfigError, match="no such column: nowhere"):
        models.k_anonymity(frame, ["nowhere"])
    with pytest.raises(ConfigError, match="a number was expected"):
        models.l_diversity(frame, ["age"], attribute="secret", l="many")


def test_techniques_keep_rows_and_other_columns(admissions: pd.DataFrame) -> None:
    masked = hybrid.techniques.microaggregation(admissions, ["age", "bmi"], k=5, seed=1)
    assert hybrid.privacy_models.k_anonymity(masked, ["age", "bmi"]) >= 5
    others = [name for name in admissions if name not in ("age", "bmi")]
    assert masked[others].equals(admissions[others]) and not masked["age"].equals(admissions["age"])
    noisy = hybrid.techniques.noise(admissions[["length_of_stay"]], ["length_of_stay"], seed=1)
    assert noisy["length_of_stay"].corr(admissions["length_of_stay"]) > 0.8
    with pytest.raises(ConfigError, match="unknown key"):
        hybrid.techniques._masked(  # an option that no signature has
            hybrid.techniques._techniques()["noise"], admissions, ["age"], nonsense=1
        )


def test_hierarchies_of_a_column(admissions: pd.DataFrame) -> None:
    found = hybrid.hierarchies.intervals(admissions["age"], widths=[10, 50])
    labels = found.to_frame().set_index(0)
    assert labels.loc["34", 1] == "30-39" and labels.loc["34", 2] == "0-49" and found.n_levels == 4
    assert hybrid.hierarchies.guess(admissions["sex"]).n_levels >= 2
    with pytest.raises((ConfigError, HierarchyError)):
        hybrid.hierarchies.intervals(admissions["age"], widths=[10, 15])
