"""Trust in metrics from a laboratory's league."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ConfigError
from hybrid.evaluation.trust import SCHEMA, load_trust


def entry(metric: str, verdict: str, copies: float | None = None, **more: Any) -> dict[str, Any]:
    series = [{"risk": "leaky", "sensitivity": copies}, {"risk": "overfit", "sensitivity": 5.0}]
    return {"table": "people", "metric": metric, "verdict": verdict, "reasons": [], "series": series} | more


LEAGUE: dict[str, Any] = {
    "schema": SCHEMA,
    "name": "trust",
    "tables": ["people", "admissions"],
    "metrics": [
        entry("dcr_share", "trusted", 0.05),
        entry("dcr_share", "usable", 0.2, table="admissions", reasons=["notices a leak from 20 % on"]),
        entry("dcr_share", "blind", None, printed="PS"),
        entry("nndr", "usable", 0.02),
        entry("nndr", "usable", None, table="admissions"),
        entry("inference", "trusted", 0.1, column="income"),
        entry("inference", "coarse", 0.4, column="illness"),
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "league.json"
    path.write_text(json.dumps(LEAGUE))
    return path


def test_the_worst_table_counts_and_printed_numbers_do_not(path: Path) -> None:
    found = load_trust(path).of("dcr_share", None)
    assert found is not None and (found.word, found.copies) == ("usable", 0.2)
    assert found.sentence == "usable: notices copied records from 20 % on; notices a leak from 20 % on"
    least = load_trust(path).of("nndr", None)
    assert least is not None and least.sentence == "usable"


def test_a_column_that_was_not_tried_has_the_worst_of_the_others(path: Path) -> None:
    league = load_trust(path)
    words = {column: getattr(league.of("inference", column), "word", "") for column in ("income", "illness", "age")}
    assert words == {"income": "trusted", "illness": "coarse", "age": "coarse"}
    assert league.of("membership", None) is None
    said = league.to_json([("membership", None), ("inference", "income")])
    assert said["metrics"][0] == {"name": "membership", "column": None, "verdict": None, "said": None}
    assert said["metrics"][1]["verdict"] == "trusted" and said["tables"] == ["people", "admissions"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "is no JSON"),
        ("[]", "is no league"),
        (json.dumps(LEAGUE | {"schema": "hybrid-league/9"}), "is no league"),
        (json.dumps(LEAGUE | {"metrics": [entry("nndr", "splendid")]}), "verdict"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_trust(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_trust(tmp_path / "absent.json")
