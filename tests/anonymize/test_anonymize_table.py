"""The whole stage on awkward tables: missing values, tiny tables, impossible wishes, broken promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.models.measure import k_reached
from hybrid.anonymize.search import global_recoding
from hybrid.base.errors import ConfigError, DataError, HierarchyError, InfeasibleError, VerificationError
from tests.anonymize.cases import Q, S, flat, table_of


def test_missing_values_are_a_category_of_their_own() -> None:
    """One record with a missing value is unique: it is left out, not released."""
    table = table_of({"a": Q, "b": Q}, a=["x", "x", "x", None, "y", "y"], b=[1, 1, 1, 1, 2, 2])
    hierarchies = {"a": flat("a", ["x", "y"], missing=True), "b": flat("b", [1, 2])}
    done = anonymize(table, hierarchies, AnonymizeOptions(k=2, suppression_limit=0.2))
    assert done.result.levels == {"a": 0, "b": 0}
    assert len(done.suppressed) == 1 and done.suppressed.frame["a"].isna().all()
    assert k_reached(done.labels.to_table(), ["a", "b"]) == 2
    done = anonymize(table, hierarchies, AnonymizeOptions(k=2, suppression_limit=0))
    assert done.result.min_class_size >= 2 and len(done) == 6
    with pytest.raises(HierarchyError, match="missing"):
        anonymize(table, {**hierarchies, "a": flat("a", ["x", "y"])}, AnonymizeOptions(k=2))


def test_all_missing_and_constant_columns() -> None:
    table = table_of({"a": Q, "b": Q}, a=[None] * 4, b=[7] * 4)
    hierarchies = {"a": flat("a", ["x"], missing=True), "b": flat("b", [7])}
    for recoding in ("global", "local"):
        done = anonymize(table, hierarchies, AnonymizeOptions(k=4, recoding=recoding))
        assert len(done) == 4 and done.result.loss["value"] == 0
        assert done.result.levels in ({"a": 0, "b": 0}, None)


def test_unicode_negative_and_huge_values() -> None:
    huge = 2**62
    table = table_of({"a": Q, "b": Q}, a=["é", "日本", "é", "日本"], b=[-5, huge, -5, huge])
    hierarchies = {"a": flat("a", ["é", "日本"]), "b": flat("b", [-5, huge])}
    done = anonymize(table, hierarchies, AnonymizeOptions(k=2))
    assert done.result.levels == {"a": 0, "b": 0}
    assert done.labels.to_table().frame["a"].tolist() == ["é", "日本", "é", "日本"]


def test_one_row_k_one_and_k_n() -> None:
    one = table_of({"a": Q}, a=["x"])
    assert anonymize(one, {"a": flat("a", ["x", "y"])}, AnonymizeOptions(k=1)).result.classes == 1
    table = table_of({"a": Q}, a=["x", "y", "z", "z"])
    hierarchies = {"a": flat("a", ["x", "y", "z"])}
    assert anonymize(table, hierarchies, AnonymizeOptions(k=1)).result.levels == {"a": 0}
    assert anonymize(table, hierarchies, AnonymizeOptions(k=4)).result.levels == {"a": 1}


def test_impossible_wishes_are_explained() -> None:
    table = table_of({"a": Q, "s": S}, a=["x", "x", "y", "z"], s=["flu"] * 4)
    hierarchies = {"a": flat("a", ["x", "y", "z"])}
    diverse = {"model": "l_diversity", "l": 2, "attribute": "s"}
    with pytest.raises(InfeasibleError, match="k is 5 but there are only 4 records") as info:
        anonymize(table, hierarchies, AnonymizeOptions(k=5, models=[diverse]))
    assert len(info.value.problems) == 2 and "the whole column has 1" in str(info.value)
    with pytest.raises(InfeasibleError, match=r"at least 2 would have to go, at the.*suppression_limit to 0\.5"):
        anonymize(table, hierarchies, AnonymizeOptions(k=2, levels={"a": 0}))
    anonymize(table, hierarchies, AnonymizeOptions(k=2, levels={"a": 0}, suppression_limit=0.5))
    with pytest.raises(InfeasibleError, match="every record is in a class that violates"):
        anonymize(table, hierarchies, AnonymizeOptions(k=3, levels={"a": 0}, suppression_limit=1))
    with pytest.raises(InfeasibleError, match=r"alpha = 0\.5 of 's'"):
        two = table_of({"a": Q, "s": S}, a=["x", "y", "y"], s=["flu", "flu", "cold"])
        alpha = {"model": "alpha_k", "alpha": 0.5, "attribute": "s"}
        anonymize(two, hierarchies, AnonymizeOptions(k=1, models=[alpha], suppression_limit=0))
    assert "flu" not in str(info.value)


def test_contradictions_are_told_all_at_once() -> None:
    table = table_of({"a": Q, "b": Q, "s": S}, a=["x"], b=["y"], s=["flu"])
    options = AnonymizeOptions(
        k=1,
        models=[{"model": "alpha_k", "alpha": 0.5, "attribute": "a"}, {"model": "k_map", "k": 2}],
        levels={"a": 9, "s": 0},
    )
    with pytest.raises(ConfigError) as info:
        anonymize(table, {"a": flat("a", ["x"])}, options)
    text = str(info.value)
    assert len(info.value.problems) == 5
    for part in ("'b' has no hierarchy", "models[0]", "population", "levels 0..1, not 9", "'s' is no quasi-identifier"):
        assert part in text
    with pytest.raises(ConfigError, match="no column has the role"):
        anonymize(table_of({"s": S}, s=["flu"]), {}, AnonymizeOptions())
    with pytest.raises(ConfigError, match=r"loss\.weights"):
        anonymize(
            table_of({"a": Q}, a=["x"]),
            {"a": flat("a", ["x"])},
            AnonymizeOptions(k=1, loss={"weights": {"zip": 2}}),
        )
    with pytest.raises(DataError, match="no records"):
        anonymize(
            table.take(np.array([], dtype=int)), {"a": flat("a", ["x"]), "b": flat("b", ["y"])}, AnonymizeOptions(k=1)
        )


def test_values_without_hierarchy_stay_out_of_the_message() -> None:
    table = table_of({"a": Q}, a=["x", "secret-value"])
    with pytest.raises(HierarchyError) as info:
        anonymize(table, {"a": flat("a", ["x"])}, AnonymizeOptions(k=1))
    assert "secret-value" not in str(info.value)
    assert "secret-value" in info.value.problems[0].values


def test_k_map_holds_where_k_does_not() -> None:
    """Each record is alone in the table, and one of three people of the population."""
    table = table_of({"a": Q}, a=["x", "y"])
    people = table_of({"a": Q}, a=["x"] * 3 + ["y"] * 3 + ["z"])
    hierarchies = {"a": flat("a", ["x", "y", "z"])}
    for recoding in ("global", "local"):
        options = AnonymizeOptions(k=1, models=[{"model": "k_map", "k": 3}], recoding=recoding)
        done = anonymize(table, hierarchies, options, population=people)
        assert done.result.loss["value"] == 0 and done.result.min_class_size == 1
        assert done.result.verified["models"][0]["reached"] == 3
    strict = AnonymizeOptions(k=1, models=[{"model": "k_map", "k": 4}])
    assert anonymize(table, hierarchies, strict, population=people).result.levels == {"a": 1}
    with pytest.raises(InfeasibleError, match="more people"):
        anonymize(table, hierarchies, AnonymizeOptions(k=1, models=[{"model": "k_map", "k": 8}]), population=people)


@pytest.mark.parametrize("flaw", ["small class", "wrong label", "too many left out"])
def test_a_broken_promise_stops_the_run(monkeypatch: pytest.MonkeyPatch, flaw: str) -> None:
    table = table_of({"a": Q}, a=["x", "x", "x", "y", "y"])
    honest = global_recoding.recode

    def flawed(task, progress):
        recoding = honest(task, progress)
        if flaw == "small class":
            return replace(recoding, nodes=np.where(task.records.leaves.T == 0, 0, 1).astype(np.int32))
        if flaw == "wrong label":
            return replace(recoding, nodes=np.zeros_like(recoding.nodes))
        return replace(recoding, suppressed=task.records.leaves[0] == 0)

    monkeypatch.setattr(global_recoding, "recode", flawed)
    with pytest.raises(VerificationError, match="does not keep what it promised"):
        anonymize(table, {"a": flat("a", ["x", "y"])}, AnonymizeOptions(k=3))


def test_inputs_are_not_changed_and_no_row_numbers_leave() -> None:
    table = table_of({"a": Q, "s": S}, a=["x", "y", "y", "z"], s=["p", "q", "p", "q"])
    before = table.frame.copy(deep=True)
    hierarchies = {"a": flat("a", ["x", "y", "z"])}
    nodes = hierarchies["a"].node_of.copy()
    done = anonymize(table, hierarchies, AnonymizeOptions(k=2, suppression_limit=0.5))
    assert table.frame.equals(before) and (hierarchies["a"].node_of == nodes).all()
    labels = done.labels.to_table().frame
    assert list(labels.columns) == ["a", "s"] and labels.index.tolist() == list(range(len(labels)))
