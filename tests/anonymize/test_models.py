"""Privacy models on tables worked by hand, and against pycanon where it defines the same thing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hybrid.anonymize import check, k_reached
from hybrid.anonymize.models import AnyModel
from hybrid.anonymize.models.k_map import people_per_class
from hybrid.anonymize.models.measure import CheckInputs
from hybrid.anonymize.models.protocol import PrivacyModel
from hybrid.anonymize.models.released import equivalence_classes
from hybrid.anonymize.options import AnonymizeOptions, LossOptions
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import from_levels
from hybrid.table import Kind


def model(**fields: object) -> PrivacyModel:
    return TypeAdapter(AnyModel).validate_python({"attribute": "secret", **fields})


@pytest.fixture
def frame() -> pd.DataFrame:
    """Two classes: a has flu, flu, cold, ulcer; b has flu, ulcer."""
    return pd.DataFrame(
        {
            "zip": ["a", "a", "a", "a", "b", "b"],
            "secret": ["flu", "flu", "cold", "ulcer", "flu", "ulcer"],
        }
    )


def reached(frame: pd.DataFrame, context: CheckInputs | None = None, **fields: object) -> float:
    return check(frame, ["zip"], model(**fields), context).reached


def test_values_worked_by_hand(frame: pd.DataFrame) -> None:
    assert k_reached(frame, ["zip"]) == 2
    assert reached(frame, model="l_diversity", l=2) == 2
    assert reached(frame, model="l_diversity", kind="entropy", l=2) == pytest.approx(2)
    assert reached(frame, model="l_diversity", kind="recursive", c=2, l=2) == 1  # 2/(1+1) and 1/1
    assert reached(frame, model="l_diversity", kind="recursive", c=2, l=3) == math.inf
    assert reached(frame, model="alpha_k", alpha=0.5) == 0.5
    # overall: cold 1/6, flu 1/2, ulcer 1/3; a: 1/4, 1/2, 1/4; b: 0, 1/2, 1/2
    assert reached(frame, model="t_closeness", t=0.2) == pytest.approx(1 / 6)
    assert reached(frame, model="t_closeness", t=0.2, distance="ordered") == pytest.approx((1 / 6 + 1 / 6) / 2)
    assert reached(frame, model="beta_likeness", beta=1, kind="basic") == pytest.approx(0.5)


def test_hierarchical_distance_by_hand(frame: pd.DataFrame) -> None:
    """Cold and flu are respiratory, ulcer is not: class b moves 1/6 from respiratory to ulcer, over the root."""
    leaves = np.array(["cold", "flu", "ulcer"], dtype=object)
    tree = from_levels("secret", Kind.CATEGORICAL, leaves, [["lung", "lung", "gut"], ["*", "*", "*"]])
    got = reached(frame, CheckInputs(hierarchies={"secret": tree}), model="t_closeness", t=1, distance="hierarchical")
    assert got == pytest.approx(1 / 6)
    only_cold = pd.DataFrame({"zip": ["a"] * 2 + ["b"] * 2, "secret": ["cold", "flu", "flu", "flu"]})
    got = reached(
        only_cold, CheckInputs(hierarchies={"secret": tree}), model="t_closeness", t=1, distance="hierarchical"
    )
    assert got == pytest.approx(0.25 / 2)
    with pytest.raises(ConfigError, match="no hierarchy"):
        reached(frame, model="t_closeness", t=1, distance="hierarchical")


def test_thresholds_are_inclusive_but_recursive_is_strict(frame: pd.DataFrame) -> None:
    def holds(**fields: object) -> bool:
        return check(frame, ["zip"], model(**fields)).holds

    assert holds(model="l_diversity", l=2) and not holds(model="l_diversity", l=3)
    assert holds(model="l_diversity", kind="entropy", l=2) and not holds(model="l_diversity", kind="entropy", l=2.01)
    assert not holds(model="l_diversity", kind="recursive", c=1, l=2)
    assert holds(model="l_diversity", kind="recursive", c=1.01, l=2)
    assert holds(model="alpha_k", alpha=0.5) and not holds(model="alpha_k", alpha=0.49)
    assert holds(model="t_closeness", t=1 / 6) and not holds(model="t_closeness", t=0.16)


def test_enhanced_likeness_protects_frequent_values() -> None:
    frame = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 4, "secret": [1, 1, 1, 1, 1, 0, 1, 0]})
    assert check(frame, ["zip"], model(model="beta_likeness", beta=1, kind="basic")).holds
    assert not check(frame, ["zip"], model(model="beta_likeness", beta=1)).holds  # gain 1/3 > -ln(3/4)


def test_k_map_counts_people_of_the_population(frame: pd.DataFrame) -> None:
    people = pd.DataFrame({"zip": ["a"] * 9 + ["b"] * 3 + ["c"]})
    assert people_per_class(frame, people, ["zip"]).min() == 3
    assert check(frame, ["zip"], kmap(3), ctx(people)).holds
    assert not check(frame, ["zip"], kmap(4), ctx(people)).holds
    assert people_per_class(frame, people[people["zip"] == "a"], ["zip"]).min() == 0


def kmap(k: int) -> PrivacyModel:
    return TypeAdapter(AnyModel).validate_python({"model": "k_map", "k": k})


def ctx(people: pd.DataFrame) -> CheckInputs:
    return CheckInputs(population=people)


def test_missing_values() -> None:
    """A unique record with a missing quasi-identifier is a class of one; pycanon does not see it."""
    frame = pd.DataFrame({"zip": ["a", "a", None, "b", "b"], "secret": ["x", None, "x", "y", "z"]})
    assert k_reached(frame, ["zip"]) == 1
    assert reached(frame.dropna(subset=["zip"]), model="l_diversity", l=2) == 2  # missing is a value
    numbers = pd.DataFrame({"zip": pd.array([1, 1, None, None], dtype="Int64")})
    assert k_reached(numbers, ["zip"]) == 2
    assert equivalence_classes(numbers, ["zip"])[1] == 2


def test_empty_tables_and_no_quasi_identifiers(frame: pd.DataFrame) -> None:
    assert k_reached(frame.iloc[:0], ["zip"]) == 0
    assert check(frame.iloc[:0], ["zip"], model(model="l_diversity", l=2)).holds
    assert k_reached(frame, []) == 6


def test_models_refuse_nonsense() -> None:
    for fields in (
        {"model": "l_diversity", "l": 2.5},
        {"model": "l_diversity", "kind": "recursive", "l": 2},
        {"model": "l_diversity", "l": 2, "c": 3},
        {"model": "t_closeness", "t": 1.5},
        {"model": "alpha_k", "alpha": 0},
        {"model": "beta_likeness", "beta": -1},
        {"model": "x_anonymity"},
    ):
        with pytest.raises(ValidationError):
            model(**fields)


def test_options_refuse_nonsense() -> None:
    for fields in (
        {"k": 0},
        {"suppression_limit": 1.01},
        {"recoding": "local", "levels": {"age": 1}},
        {"recoding": "local", "loss": {"name": "aecs"}},
        {"engine": "anjana", "recoding": "local"},
        {"engine": "anjana", "models": [{"model": "alpha_k", "alpha": 0.5, "attribute": "x"}]},
        {"loss": {"name": "aecs", "mean": "geometric"}},
        {"loss": {"name": "loss", "normalized": True}},
        {"loss": {"name": "entropy", "gs_factor": 0.1}},
        {"loss": {"name": "discernibility", "weights": {"age": 2}}},
    ):
        with pytest.raises(ValidationError):
            AnonymizeOptions.model_validate(fields)
    assert AnonymizeOptions().loss == LossOptions()


@pytest.mark.anjana
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyzw")), min_size=1, max_size=30),
)
def test_same_as_pycanon(rows: list[tuple[str, str]]) -> None:
    anonymity = pytest.importorskip("pycanon.anonymity")
    frame = pd.DataFrame(rows, columns=["zip", "secret"])
    assert k_reached(frame, ["zip"]) == anonymity.k_anonymity(frame, ["zip"])
    assert reached(frame, model="l_diversity", l=2) == anonymity.l_diversity(frame, ["zip"], ["secret"])
    alpha, _ = anonymity.alpha_k_anonymity(frame, ["zip"], ["secret"])
    assert reached(frame, model="alpha_k", alpha=1) == pytest.approx(alpha)
    closeness = anonymity.t_closeness(frame, ["zip"], ["secret"])
    assert reached(frame, model="t_closeness", t=1) == pytest.approx(closeness)
    likeness = anonymity.basic_beta_likeness(frame, ["zip"], ["secret"])
    assert reached(frame, model="beta_likeness", beta=1, kind="basic") == pytest.approx(likeness)
