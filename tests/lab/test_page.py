"""The page: sentences and pictures of a league that is known."""

from __future__ import annotations

import re

import pytest

from hybrid.base.language import NOT_TRANSLATED, catalogue
from hybrid.evaluation.trust import WORDS
from hybrid.lab import page
from hybrid.lab.files import league_json, league_table
from hybrid.lab.league import League, league
from hybrid.lab.measurements import correlations
from hybrid.lab.page import _chart, render_lab
from hybrid.lab.trials import LabTrials
from hybrid.report.charts.exploration import CostPoint, _labelled, cost_chart
from tests.helpers.german import not_german
from tests.lab.conftest import NAMED, PLAN
from tests.lab.simulated import METRICS, simulated


def test_the_answer_in_sentences(tried: tuple[LabTrials, League]) -> None:
    answer = page.answer(tried[1])
    assert answer[0] == "Trusted by the rules below, for every kind of leak that was tried: Identical match."
    assert answer[1].startswith("The smallest share of copied records noticed in at least four of five trials is 5 %,")
    assert answer[2] == "Misleading: DCR share; blind to at least one kind of leak: GTCAP, illness."


def test_the_page_says_it_all_and_asks_for_nothing(page: str) -> None:
    assert all(word in page for word in WORDS) and "Identical match" in page
    assert "false alarms in 40 of 40" in page and "50 of 1,002 records" in page
    assert "too few &lt;records&gt;" in page and "<records>" not in page
    assert "<script" not in page and not re.search(r"https?:|url\(|@import", page)


def test_a_league_without_a_metric_is_said(tried: tuple[LabTrials, League]) -> None:
    trials, rows = simulated({"identical_match": METRICS["constant"]})
    found = league(trials, rows)
    assert {key[1] for key in found.silent} == {"leaky", "overfit"}
    page = render_lab(PLAN, trials, found, {}, correlations(rows))
    assert "No metric is trusted or usable" in page and "Nothing was noticed by any metric" in page


def test_the_page_in_german(tried: tuple[LabTrials, League]) -> None:
    related = correlations(simulated(NAMED)[1])
    page = render_lab(PLAN, *tried, {}, related, language=catalogue("de"))
    assert '<html lang="de">' in page and NOT_TRANSLATED not in page
    assert not_german(page, {PLAN.name, "people", "cart", "illness", "Identical match", "Shared cells"}) == []
    assert "bemerkt ab 5 %" in page and "5 % on" not in page


def test_a_curve_by_hand(tried: tuple[LabTrials, League]) -> None:
    entry = next(each for each in tried[1].entries if each.contestant == "identical_match")
    track = entry.on("leaky")[0].track
    picture = str(_chart(track, entry))
    assert "noticed from 5 % on" in picture and picture.count('class="seed-line"') == 5
    # Six levels between 34 and 242: 5 % is the third, at 34 + 2 * 41.6.
    assert 'x1="117.2"' in picture
    assert re.search(r"; 100 %: (0\.99|1\.00)", picture)


def test_metrics_that_none_beats_are_named() -> None:
    costs = [
        CostPoint("fast", 0.01, 0.5, False),
        CostPoint("worse", 0.1, 0.4, False),
        CostPoint("slow", 1.0, 0.9, True),
    ]
    picture = str(cost_chart(costs))
    assert ">fast<" in picture and ">slow<" in picture and ">worse<" not in picture
    assert picture.count('class="hollow"') == 2 and picture.count('class="synthetic"') == 1


@pytest.mark.parametrize(
    ("n_levels", "shown"), [(1, [0]), (2, [0, 1]), (6, [0, 2, 5]), (4, [0, 1, 2, 3]), (11, [0, 3, 6, 10])]
)
def test_labels_of_an_axis_keep_apart(n_levels: int, shown: list[int]) -> None:
    # 208 units for the levels between the first and the last; labels at least 42 apart.
    assert _labelled(n_levels) == shown


def test_a_laboratory_in_which_everything_failed_still_has_a_page(tried: tuple[LabTrials, League]) -> None:
    trials, rows = simulated(NAMED)
    found = league(trials, rows.iloc[:0])
    assert found.entries == () and found.by_word() == {} and league_table(found).empty
    page = render_lab(PLAN, trials, found, {"the table is too small": 48}, correlations(rows.iloc[:0]))
    assert "48 × the table is too small" in page and "Nothing was measured" in page
    assert league_json(PLAN, found)["metrics"] == []
