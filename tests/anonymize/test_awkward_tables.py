"""Tables as they come: every engine holds its promise on them, or says what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize, k_reached, verify_table
from hybrid.anonymize.verify_table import matches
from hybrid.base.errors import HierarchyError, InfeasibleError
from hybrid.hierarchy import from_levels
from hybrid.table import DTYPES, Column, Kind, Schema, Table
from tests.anonymize.cases import Q, S, flat, table_of

HUGE = 2**62
WORDS = ["", " ", "a\nb", "ß", "ẞ", "\u202eabc", "👩‍👩‍👧", "e\u0301", "é", "N/A", "nan", "None", "*", "0", "00"]


def decimals(values: list[float], missing: bool) -> Table:
    frame = pd.DataFrame({"x": pd.Series([None if missing and i % 3 == 0 else v for i, v in enumerate(values)])})
    frame["x"] = frame["x"].astype(DTYPES[Kind.DECIMAL])
    return Table(frame, Schema((Column("x", Q, Kind.DECIMAL),)))


def decimal_hierarchy(values: list[float]):
    leaves = np.unique(np.array(values))
    signs = ["negative" if v < 0 else "not negative" for v in leaves]
    return from_levels("x", Kind.DECIMAL, leaves, [signs, ["*"] * len(leaves)], missing=True)


def tables() -> dict[str, tuple[Table, dict]]:
    numbers = [-1e300, -2.5, -1e-300, 0.0, 1e-300, 0.1, 1e300, 1.7e308, 3.0]
    return {
        "one row": (table_of({"a": Q}, a=["x"]), {"a": flat("a", ["x"])}),
        "all equal": (table_of({"a": Q, "b": Q}, a=["x"] * 9, b=[1] * 9), {"a": flat("a", ["x"]), "b": flat("b", [1])}),
        "all different": (table_of({"a": Q}, a=list(range(9))), {"a": flat("a", list(range(9)))}),
        "negative and huge": (
            table_of({"a": Q}, a=[-HUGE, HUGE, -1, 0, -HUGE, HUGE]),
            {"a": flat("a", [-HUGE, -1, 0, HUGE])},
        ),
        "words": (table_of({"a": Q}, a=WORDS * 2), {"a": flat("a", WORDS)}),
        "decimals": (decimals(numbers, False), {"x": decimal_hierarchy(numbers)}),
        "decimals with missing": (decimals(numbers, True), {"x": decimal_hierarchy(numbers)}),
        "all missing": (table_of({"a": Q}, a=[None] * 5), {"a": flat("a", ["x"], missing=True)}),
        "one value missing": (
            table_of({"a": Q}, a=["x", "x", None, "y", "y"]),
            {"a": flat("a", ["x", "y"], missing=True)},
        ),
        "domain far wider than the data": (
            table_of({"a": Q}, a=[5, 5, 99_999]),
            {"a": flat("a", list(range(100_000)))},
        ),
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("recoding", ["global", "local"])
def test_the_promise_holds(name: str, recoding: str, loops: str) -> None:
    table, hierarchies = tables()[name]
    n = len(table)
    for k in {1, min(2, n), n}:
        done = anonymize(table, hierarchies, AnonymizeOptions(k=k, recoding=recoding, suppression_limit=0.4))
        labels = done.labels.to_table()
        assert k_reached(labels, table.schema.quasi_identifiers) >= k
        assert len(labels) + len(done.suppressed) == n
        assert recoding == "global" or len(done.suppressed) == 0
        assert done.originals.frame.equals(table.frame.loc[done.originals.frame.index]) or len(done.suppressed)
        if k == 1:
            assert done.result.loss["value"] == 0 and len(done.suppressed) == 0
    with pytest.raises(InfeasibleError, match=f"there are only {n} records"):
        anonymize(table, hierarchies, AnonymizeOptions(k=n + 1, recoding=recoding))


@pytest.mark.parametrize("recoding", ["global", "local"])
@pytest.mark.parametrize(
    ("values", "leaves"),
    [(["x", "z"], ["x", "y"]), ([1, 2**60], [1, 2]), ([-1, 1], [0, 1]), (["é"], ["e\u0301"]), (["x", None], ["x"])],
)
def test_values_that_no_hierarchy_knows(recoding: str, values: list, leaves: list) -> None:
    with pytest.raises(HierarchyError, match="'a'"):
        anonymize(table_of({"a": Q}, a=values), {"a": flat("a", leaves)}, AnonymizeOptions(k=1, recoding=recoding))


def test_thirty_columns_of_one_record_each(loops: str) -> None:
    names = [f"q{at}" for at in range(30)]
    values = {name: ["x" if row == at else "y" for row in range(30)] for at, name in enumerate(names)}
    table = table_of(dict.fromkeys(names, Q), **values)
    hierarchies = {name: flat(name, ["x", "y"]) for name in names}
    for recoding in ("global", "local"):
        options = AnonymizeOptions(k=5, recoding=recoding, suppression_limit=0.2, time_limit=1.0)
        result = anonymize(table, hierarchies, options).result
        assert result.min_class_size >= 5
        assert 0 <= result.loss["value"] <= 1


def test_patterns_of_different_levels_are_matched_with_people() -> None:
    """Against counting person by person."""
    rng = np.random.default_rng(2)
    hierarchies = [
        from_levels(name, Kind.INTEGER, np.arange(8), [[f"{v // 2}/2" for v in range(8)], ["*"] * 8]) for name in "ab"
    ]
    people = rng.integers(0, 8, (200, 2))
    everything = [(a, b) for a in range(hierarchies[0].n_nodes) for b in range(hierarchies[1].n_nodes)]
    patterns = np.array(everything)[rng.permutation(len(everything))]
    by_hand = [
        sum(
            all(
                node in hierarchy.node_of[leaf]
                for node, leaf, hierarchy in zip(pattern, person, hierarchies, strict=True)
            )
            for person in people
        )
        for pattern in patterns
    ]
    assert matches(patterns, people, hierarchies).tolist() == by_hand
    assert matches(patterns[:1], people[:0], hierarchies).tolist() == [0]


@pytest.mark.anjana
def test_pycanon_is_shown_the_smallest_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycanon")
    table = table_of({"a": Q, "s": S}, a=[1, 1, 2, 2, 2, 3, 3, 3, 3], s=["p", "q"] * 4 + ["p"])
    options = AnonymizeOptions(k=2, models=[{"model": "l_diversity", "l": 2, "attribute": "s"}])
    everything = anonymize(table, {"a": flat("a", [1, 2, 3])}, options).result.verified["pycanon"]
    assert everything["classes"] == everything["of"] == 3 and everything["measured"]["k"] == 2
    monkeypatch.setattr(verify_table, "MOST_CLASSES", 1)
    part = anonymize(table, {"a": flat("a", [1, 2, 3])}, options).result.verified["pycanon"]
    assert part["classes"] == 1 and part["of"] == 3
    assert part["measured"]["k"] == 2 and all(part["agrees"].values())
