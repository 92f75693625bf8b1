"""Training records that meet a condition: who is compared, who would be singled out, what the rate tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.base.errors import ConfigError
from hybrid.constraints import Redrawn
from hybrid.evaluation import EvaluateOptions, evaluate
from hybrid.pipeline.conditions import refuse_misfit, selection
from hybrid.pipeline.config import RunConfig, parse_config
from hybrid.table import Kind, Table
from tests.constraints.small_tables import table_of


def config(where: str, **sections: Any) -> RunConfig:
    content = {"data": {"path": "t.csv", "columns": {}, "unlisted": "insensitive"}, "protect": {"min_count": 10}}
    return parse_config({**content, **sections, "synthesize": {"where": where}})


def people(n: int = 400) -> Table:
    """As many rows of half as many persons; ``a`` counts the rows."""
    return table_of(np.arange(n) // 2, a=(Kind.INTEGER, list(range(n))))


@pytest.mark.parametrize(("where", "few"), [("a < 18", "meet"), ("a >= 18", "do not meet"), ("a > 999", "meet")])
def test_a_condition_that_singles_out_few_persons_is_refused_without_a_count(where: str, few: str) -> None:
    with pytest.raises(ConfigError, match=f"fewer than 10 training persons {few} the condition") as caught:
        selection(config(where), people(), by_person=True, decided=False)
    assert " 9 " not in str(caught.value) and where not in str(caught.value)
    assert selection(config(where), people(), by_person=True, decided=True) is not None


def test_persons_are_counted_not_rows() -> None:
    many = table_of(np.r_[np.zeros(50, int), np.arange(1, 151)], a=(Kind.INTEGER, [1] * 50 + [2] * 150))
    with pytest.raises(ConfigError, match="fewer than 10"):
        selection(config("a = 1"), many, by_person=True, decided=False)
    unknown = table_of(-1 - np.arange(200), a=(Kind.INTEGER, [1] * 50 + [2] * 150))
    with pytest.raises(ConfigError, match="fewer than 10"):
        selection(config("a = 1"), unknown, by_person=True, decided=False)


def test_how_many_are_wanted_tells_of_tens_only() -> None:
    def wanted(where: str, rows: int | str, *, by_person: bool = True) -> int:
        found = selection(config(where), people(), by_person=by_person, decided=False)
        assert found is not None
        return found.wanted(rows)

    assert [wanted(f"a < {2 * n}", "same") for n in (11, 14, 16)] == [10, 10, 20]
    assert wanted("a < 40", "same", by_person=False) == 40
    assert wanted("a < 40", 300) == 150 and wanted("a < 40", 300, by_person=False) == 300


@pytest.mark.parametrize(("accepted", "words"), [(0, "less than 5 %"), (24, "less than 5 %"), (26, "about 5 %")])
def test_the_rate_is_told_in_steps_of_as_many_persons_as_a_condition_needs(accepted: int, words: str) -> None:
    found = selection(config("a < 40"), people(), by_person=True, decided=False)
    assert found is not None and found.step == 5  # 10 of 200 persons
    assert found.rate(Redrawn(10, 0, drawn=1000, accepted=accepted)) == words


def test_fidelity_compares_with_those_who_meet_it_and_privacy_asks_about_all() -> None:
    rng = np.random.default_rng(1)
    low, high = ([int(x) for x in rng.integers(low, low + 50, 200)] for low in (0, 500))
    train = table_of(a=(Kind.INTEGER, low + high), b=(Kind.INTEGER, low + high))
    chosen = selection(config("a < 100"), train, by_person=False, decided=False)
    assert chosen is not None and len(chosen.train) == 200
    options = EvaluateOptions(metrics=("identical_match", "kolmogorov_smirnov"))
    table = train.take(np.arange(200, 400))

    def measured(compared: tuple[Table, Table | None] | None) -> dict[str, float]:
        found = evaluate(train, None, {"synthetic": table}, options, np.random.default_rng(2), compared=compared)
        return {metric.name: metric.outcome.value for metric in found.metrics}  # type: ignore[union-attr]

    # The table is the other half of the training records: all of its rows are copies, none is like those chosen.
    assert measured((chosen.train, None)) == {"identical_match": 1.0, "kolmogorov_smirnov": 1.0}
    assert measured(None)["kolmogorov_smirnov"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "changes",
    [{"synthesize": {"generator": "none", "where": "a > 1"}}, {"synthesize": {"where": "a >"}}],
)
def test_conditions_that_contradict_the_configuration(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="where"):
        parse_config({"data": {"path": "t.csv"}, **changes})


def _balanced(values: list[object], *, shares: Any = None, least: int = 10, **sections: Any) -> Any:
    table = table_of(np.arange(len(values)), a=(Kind.CATEGORICAL, values))
    balance = {"column": "a"} | ({} if shares is None else {"shares": shares})
    content = {"data": {"path": "t.csv", "columns": {}}, "protect": {"min_count": least}}
    known = parse_config({**content, **sections, "synthesize": {"balance": balance}})
    return table, selection(known, table, by_person=False, decided=False)


def test_each_value_of_a_balanced_column_has_the_same_share_and_rare_ones_none() -> None:
    table, found = _balanced(["x"] * 300 + ["y"] * 60 + ["z"] * 9 + [None] * 31)
    assert found.shares.of == {"x": 0.5, "y": 0.5}
    assert found.train.frame["a"].value_counts()[["x", "y"]].tolist() == [60, 60] and len(found.train) == 120
    assert [(part.value, count) for part, count in found.parts(7)] == [("x", 4), ("y", 3)]
    assert found.wanted("same") == 400 and found.wanted(50) == 50
    mask = found.met_by(table)
    assert mask.sum() == 120 and (mask == found.met_by(table)).all()


def test_named_shares_leave_the_rest_to_the_others_in_proportion() -> None:
    _, found = _balanced(["x"] * 300 + ["y"] * 60 + ["z"] * 40, shares={"z": 0.5})
    assert found.shares.of == pytest.approx({"z": 0.5, "x": 0.5 * 300 / 360, "y": 0.5 * 60 / 360})
    _, whole = _balanced(["x"] * 300 + ["y"] * 60, shares={"x": 0.25, "y": 0.75})
    assert whole.shares.of == {"x": 0.25, "y": 0.75} and len(whole.train) == 80


@pytest.mark.parametrize("other", [0, 1, 9])
def test_a_value_of_few_people_is_refused_as_one_that_nobody_has(other: int) -> None:
    said = []
    for values in (["x"] * 300 + ["y"] * 100 + ["z"] * other,):
        with pytest.raises(ConfigError, match="of fewer than 10 training people") as caught:
            _balanced(values, shares={"z": 0.3})
        said.append(str(caught.value))
    assert "z" not in said[0].replace("size", "").replace("synthesize", "")
    with pytest.raises(ConfigError, match="fewer than two values"):
        _balanced(["x"] * 300 + ["z"] * other)


def test_a_balanced_column_is_one_of_the_table_and_a_weight_forbids_it() -> None:
    table = table_of(np.arange(300), a=(Kind.DECIMAL, [0.5] * 300))
    content: dict[str, Any] = {"data": {"path": "t.csv", "columns": {}}}
    for name, said in {"a": "of the kind decimal", "b": "no such column"}.items():
        known = parse_config({**content, "synthesize": {"balance": {"column": name}}})
        with pytest.raises(ConfigError, match=said):
            refuse_misfit(known, table.schema)
    weighted = {"data": {"path": "t.csv", "columns": {"w": {"role": "weight"}}}}
    with pytest.raises(ConfigError, match="represents no population"):
        parse_config({**weighted, "synthesize": {"balance": {"column": "a"}}})
