"""Labels in one call, and the transformer of scikit-learn: classes are counted by pandas, values are followed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import estimator_checks as checks

import hybrid
from hybrid.errors import ConfigError, NotReleasableWarning
from hybrid.python.anonymizer import LEAST

QUASI = ["age", "sex"]
IGNORED = pytest.mark.filterwarnings("ignore::hybrid.errors.NotReleasableWarning")


@pytest.fixture(scope="module")
def frame(admissions: pd.DataFrame) -> pd.DataFrame:
    return admissions


@IGNORED
def test_every_class_has_k_people_and_identifiers_are_gone(frame: pd.DataFrame) -> None:
    found = hybrid.anonymize(frame, quasi_identifiers=QUASI, k=5, seed=1, progress=False)
    names = found.run.table.schema.quasi_identifiers
    assert set(QUASI) <= set(names) and "patient_id" not in found.table
    assert found.table.groupby(names, observed=True, dropna=False).size().min() == found.k >= 5
    assert len(found.table) == found.result.records - found.result.suppressed
    assert hybrid.privacy_models.k_anonymity(found.table, names) == found.k
    order = found.table["bmi"].dropna().tolist() == frame["bmi"].dropna().tolist()
    assert not order  # rows in the order of their content
    assert "k = " in repr(found) and not any(value in repr(found) for value in frame["diagnosis"].unique())


def test_guessed_roles_are_warned_of(frame: pd.DataFrame) -> None:
    with pytest.warns(NotReleasableWarning, match="guessed roles") as caught:
        hybrid.anonymize(frame, k=3, progress=False)
    assert caught[0].filename == __file__


@IGNORED
def test_restored_values_lie_below_their_labels(frame: pd.DataFrame) -> None:
    levels = hybrid.hierarchies.intervals(frame["age"], widths=[10, 20])
    found = hybrid.anonymize(
        frame, quasi_identifiers=QUASI, k=5, hierarchies={"age": levels}, seed=1, progress=False,
        settings={"anonymize.recoding": "global"},
    )  # fmt: skip
    label = dict(zip(levels.to_frame()[0], levels.to_frame()[1], strict=True))
    assert found.levels["age"] in ("kept as it is", "groups of 10", "groups of 20", "left out")
    for restored in (found.restore("tree", seed=1), hybrid.transitions.conditional(found, seed=1)):
        assert len(restored) == len(found.table) and restored["sex"].tolist() == found.table["sex"].tolist()
        if found.levels["age"] == "groups of 10":
            assert [label[str(value)] for value in restored["age"]] == found.table["age"].tolist()


@IGNORED
def test_nothing_to_generalize_and_linked_tables_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match="no column looks known to others"):
        hybrid.anonymize(frame[["bmi"]], progress=False)
    with pytest.raises(ConfigError, match="linked tables"):
        hybrid.anonymize({"a": frame}, progress=False)  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match=r"hybrid\.anonymize gives"):
        hybrid.transitions.tree(frame)


@pytest.fixture(scope="module")
def fitted(frame: pd.DataFrame) -> hybrid.Anonymizer:
    return hybrid.Anonymizer(k=5, quasi_identifiers=QUASI, random_state=1).fit(frame)


def test_fitted_rows_are_k_anonymous_and_stay_beside_their_y(frame: pd.DataFrame, fitted: hybrid.Anonymizer) -> None:
    labels = fitted.transform(frame)
    assert labels.index.equals(frame.index) and list(labels.columns) == list(fitted.get_feature_names_out())
    assert "patient_id" not in labels
    gone = labels.isna().all(axis=1)
    assert int(gone.sum()) == fitted.n_suppressed_ <= 0.05 * len(frame)
    names = list(fitted.quasi_identifiers_)
    assert labels[~gone].groupby(names).size().min() >= 5 and fitted.k_ >= 5
    assert labels.equals(hybrid.Anonymizer(k=5, quasi_identifiers=QUASI, random_state=1).fit_transform(frame))


def test_every_other_value_is_held_by_enough_people(frame: pd.DataFrame, fitted: hybrid.Anonymizer) -> None:
    labels = fitted.transform(frame)
    for name in ("bmi", "diagnosis", "length_of_stay", "ward"):
        if name not in fitted.quasi_identifiers_:
            held = fitted._fitted.common[name].apply(fitted._read(frame).frame[name]).value_counts()
            held = held[held > 0]
            assert len(held) and held.min() >= LEAST
            assert set(labels[name].dropna()) <= set(held.index)


def test_other_rows_get_labels_of_fitted_classes_or_nothing(frame: pd.DataFrame, fitted: hybrid.Anonymizer) -> None:
    names = list(fitted.quasi_identifiers_)
    known = set(map(tuple, fitted.transform(frame)[names].dropna().to_numpy().tolist()))
    new = frame.head(4).copy()
    new.loc[0, "sex"], new.loc[1, "age"], new.loc[2, "diagnosis"] = "unheard of", 9_999, "never seen"
    found = fitted.transform(new)
    assert found.loc[0].isna().all()  # no hierarchy has this value
    assert pd.isna(found.loc[2, "diagnosis"])
    assert set(map(tuple, found[names].dropna().to_numpy().tolist())) <= known
    one = fitted.transform(frame.iloc[[7]])
    assert one.equals(fitted.transform(frame).iloc[[7]])  # a row is treated alike in any company


def test_labels_restore_by_a_transition(frame: pd.DataFrame, fitted: hybrid.Anonymizer) -> None:
    labels = fitted.transform(frame)
    back = fitted.inverse_transform(labels, transition="tree")
    kept = ~labels.isna().all(axis=1)
    assert back.index.equals(frame.index) and back[~kept].isna().all(axis=None)
    assert str(back["age"].dtype) == "Int64"
    assert (
        fitted.transform(frame.assign(age=back["age"].fillna(-1), sex=back["sex"]))
        .loc[kept, "age"]
        .equals(labels.loc[kept, "age"])
    )
    with pytest.raises(ValueError, match="no label"):
        fitted.inverse_transform(labels.assign(sex="nonsense"))
    with pytest.raises(ConfigError):
        fitted.inverse_transform(labels, transition="nonsense")


def test_conventions_of_parameters(fitted: hybrid.Anonymizer, frame: pd.DataFrame) -> None:
    other = clone(fitted)
    assert other.get_params() == fitted.get_params() and not hasattr(other, "k_")
    assert other.set_params(k=7).get_params()["k"] == 7
    assert pickle.loads(pickle.dumps(fitted)).transform(frame).equals(fitted.transform(frame))
    with pytest.raises(ValueError, match="columns of the fitted table are missing: age"):
        fitted.transform(frame.drop(columns="age"))
    with pytest.raises(ConfigError, match="k is no whole number"):
        hybrid.Anonymizer(k=1).fit(frame)


def test_in_a_pipeline(frame: pd.DataFrame) -> None:
    model = make_pipeline(
        hybrid.Anonymizer(k=3, quasi_identifiers=QUASI, random_state=0),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        HistGradientBoostingClassifier(max_iter=5),
    )
    X, y = frame.drop(columns=["readmitted", "patient_id"]), frame["length_of_stay"] > frame["length_of_stay"].median()
    model.fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.7  # length of stay is among the columns


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_arrow_in_arrow_out(frame: pd.DataFrame, recoding: str) -> None:
    table = pa.Table.from_pandas(frame)
    found = hybrid.Anonymizer(k=4, quasi_identifiers=QUASI, recoding=recoding, random_state=2).fit_transform(table)
    assert isinstance(found, pa.Table) and found.num_rows == len(frame)
    labels = found.to_pandas()
    assert labels[~labels["sex"].isna()].groupby(QUASI).size().min() >= 4


CHECKS = (
    checks.check_estimator_cloneable,
    checks.check_no_attributes_set_in_init,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_estimators_unfitted,
    checks.check_transformers_unfitted,
    checks.check_estimators_empty_data_messages,
    checks.check_fit1d,
    checks.check_n_features_in_after_fitting,
    checks.check_estimator_sparse_matrix,
)
"""Checks of scikit-learn that apply to a transformer whose output is text."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_checks_of_scikit_learn(check: Any) -> None:
    check("Anonymizer", hybrid.Anonymizer(k=2, suppression_limit=1.0))


@settings(max_examples=3)
@given(st.integers(2, 12), st.integers(0, 2**31))
def test_arrays_of_numbers_are_k_anonymous_on_all_columns(k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 40, size=(150, 2))
    labels = pd.DataFrame(hybrid.Anonymizer(k=k, random_state=seed, suppression_limit=0.2).fit_transform(values))
    assert len(labels) == 150 and labels.dropna().groupby([0, 1]).size().min() >= k
