"""What to believe: an ordered list from simulated metrics of known behaviour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.lab.advice import believing
from hybrid.lab.files import league_json
from hybrid.lab.league import League, league
from hybrid.lab.measurements import COLUMNS, NULL, correlations
from hybrid.lab.page import answer_on_given, render_lab
from hybrid.lab.plan import GivenTable
from hybrid.lab.risk import planted_series
from hybrid.lab.trials import Cell, LabTrials
from hybrid.lab.verdicts import MetricVerdict, by_kind
from tests.lab.conftest import PLAN
from tests.lab.simulated import HALF

SEEDS, NULLS = (1, 2, 3), tuple(range(100, 120))
SIZES = (0.02, 0.05, 0.2)
# Excess of a leak of size f, by metric and kind of leak; a metric notices an excess above HALF.
BEHAVIOUR = {
    "identical_match": {"copy": 2.0},
    "nndr_share": {"copy": 0.9, "near": 0.9, "exposed": 0.0005},
    "shared_cells": {"splice": 0.5},
    "gtcap.illness": {},
    "dcr_share": {"copy": 2.0, "near": 2.0, "splice": 2.0},
}
ALARMISTS = {"dcr_share"}


def planted() -> tuple[LabTrials, pd.DataFrame]:
    cells, rows = [], []

    def add(risk: str, series: str, position: int, dial: float, seed: int, name: str, excess: float) -> None:
        head = dict(zip(COLUMNS[:8], ("people", risk, series, position, dial, seed, name, name), strict=True))
        numbers = {"value": excess, "excess": excess, "excess_low": excess - HALF, "excess_high": excess + HALF}
        rows.append({**dict.fromkeys(COLUMNS, np.nan), **head, "column": "", **numbers, "cpu_seconds": 0.1})

    def excess(name: str, kind: str, size: float, seed: int) -> float:
        noise = 1e-4 * (seed % 7)
        return BEHAVIOUR[name].get(kind, 0.0) * size + noise + (0.5 if name in ALARMISTS else 0.0)

    for kind in ("copy", "near", "splice", "recoded", "exposed"):
        series = planted_series(replace(LEAKS[kind], way=""), SIZES)
        for position, level in enumerate(series.levels):
            cells.append(Cell("people", kind, series, position, f"{kind} {position}"))
            for seed in SEEDS:
                for name in BEHAVIOUR:
                    add(kind, "", position, level.value, seed, name, excess(name, kind, level.value, seed))
    for seed in NULLS:
        for name in BEHAVIOUR:
            add(NULL, "", 0, 0.0, seed, name, excess(name, "copy", 0.0, seed))
    return LabTrials(tuple(cells), {"people": "c"}, (), NULLS, SEEDS), pd.DataFrame(rows, columns=list(COLUMNS))


@pytest.fixture(scope="module")
def tried() -> tuple[LabTrials, League, pd.DataFrame]:
    trials, rows = planted()
    return trials, league(trials, rows, by_kind), correlations(rows)


def test_the_list_names_leaks_and_sizes_and_the_best_comes_first(tried: tuple[LabTrials, League, pd.DataFrame]) -> None:
    (about,) = believing(tried[1])
    assert [each.entry.contestant for each in about.believe] == ["nndr_share", "identical_match", "shared_cells"]
    first, exact, cells = about.believe
    assert [each.words for each in first.noticed] == [
        "exact copies from 5 % on",
        "copies with noise from 5 % on",
        "copies of people unlike others from 50 % of the most exposed people on",
    ]
    assert [each.words for each in exact.noticed] == ["exact copies from 2 % on"]
    assert exact.missed == ("near", "splice", "exposed")
    assert [each.words for each in cells.noticed] == ["rows spliced of several people from 5 % on"]
    assert {each.entry.contestant: each.against for each in about.doubt} == {
        "dcr_share": "raises an alarm in 20 of 20 trials in which nothing leaks",
        "gtcap.illness": "notices none of the leaks in four of five trials, up to the largest that was tried",
    }
    assert [(each.risk, each.size, each.metrics) for each in about.best] == [
        ("copy", "2 %", ("identical_match",)),
        ("near", "5 %", ("nndr_share",)),
        ("splice", "5 %", ("shared_cells",)),
        ("exposed", "50 % of the most exposed people", ("nndr_share",)),
    ]
    assert about.unseen == ("recoded",)


def test_the_file_and_the_page_have_the_list(tried: tuple[LabTrials, League, pd.DataFrame]) -> None:
    trials, found, related = tried
    sizes = {"train": 900, "control": 800, "synthetic": 700}
    excesses = {"nndr_share": (0.1, 0.05, 0.2), "identical_match": (0.0, -0.1, 0.1)}
    given = GivenTable(sizes, excesses, {"group": "no group"}, {"zcap": "no keys"})
    content = league_json(PLAN, found, given)
    assert [each["name"] for each in content["believe"]] == ["nndr_share", "identical_match", "shared_cells"]
    assert content["believe"][0]["notices"][1] == {
        "kind": "near",
        "from": 0.05,
        "words": "copies with noise from 5 % on",
        "series": 1,
        "of": 1,
    }
    assert content["believe"][0]["as_it_is"] == [0.1, 0.05, 0.2] and content["believe"][2]["as_it_is"] is None
    assert [each["name"] for each in content["do_not_believe"]] == ["gtcap.illness", "dcr_share", "zcap"]
    assert content["kinds"][-1] == {"table": "people", "kind": "recoded", "from": None, "first": []}
    said = answer_on_given(found, given)
    assert (
        said[0].startswith("3 of 5 metrics are to be believed on this table") and "NNDR share notices most" in said[0]
    )
    assert "No metric notices copies with exchanged categories" in said[1]
    assert said[2].startswith("On the table as it is, 1 of these 2 metrics see a leak: NNDR share.")
    page = render_lab(PLAN, trials, found, {}, related, given)
    assert all(sentence in page for sentence in said) and "Zcap" in page and "no keys" in page
    assert page.index("1. NNDR share") < page.index("2. Identical match") < page.index("3. Shared cells")
    assert "<li>exact copies from 2 % on</li>" in page and "group (no group)" in page
    assert "sees a leak" in page and "sees none" in page


def test_over_kinds_of_planted_leaks_the_best_verdict_counts_but_for_misleading_ones() -> None:
    trusted, blind = MetricVerdict("trusted", ()), MetricVerdict("blind", ("missed",))
    found = by_kind({"copy": trusted, "near": MetricVerdict("coarse", ("late",)), "splice": blind})
    assert found == MetricVerdict("trusted", ("for exact copies", "misses rows spliced of several people"))
    assert by_kind({"copy": blind, "near": blind}).word == "blind"
    falls = MetricVerdict("misleading", ("falls",))
    assert by_kind({"copy": trusted, "near": falls}) == falls
    assert by_kind({}).word == "unknown"
