from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.report import MetricText, describe, render_comparison
from hybrid.report.inputs import title_of
from hybrid.report.pareto import pareto_front

TEXTS = {
    "tstr": MetricText("TSTR", "How well models work.", family="utility", direction="higher"),
    "identical_match": MetricText("Copies", "How many copies.", family="privacy", direction="lower"),
}
FACTORS = ["anonymize.k", "transition.method"]
METRICS = [
    "synthetic.tstr.income",
    "synthetic.identical_match",
    "baseline.tstr.income",
    "baseline.identical_match",
]


@pytest.fixture
def comparison() -> pd.DataFrame:
    rows = []
    for name, k, method, utility, copies in (
        ("c1", 5, "uniform", 0.80, 0.01),
        ("c2", 5, "conditional", 0.88, 0.05),
        ("c3", 20, "uniform", 0.79, 0.02),
    ):
        for seed in (1, 2):
            shift = 0.001 * seed
            rows.append([name, k, method, seed, "ok", "", "review", utility + shift, copies + shift, 0.9, 0.2])
    rows.append(["c4", 20, "conditional", 1, "failed", "the generator <b>gave up</b>", None, *[np.nan] * 4])
    names = ["configuration", *FACTORS, "seed", "status", "reason", "verdict", *METRICS]
    return pd.DataFrame(rows, columns=names)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
def test_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    x, y = np.array(points, dtype=float).T
    beaten = [
        any((a >= c and b >= d) and (a > c or b > d) for a, b in zip(x, y, strict=True))
        for c, d in zip(x, y, strict=True)
    ]
    np.testing.assert_array_equal(pareto_front(x, y), ~np.array(beaten))


def test_front_leaves_out_what_is_unknown() -> None:
    front = pareto_front(np.array([np.nan, 1.0]), np.array([9.0, 0.0]))
    np.testing.assert_array_equal(front, [False, True])


def test_pareto_picture(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison, FACTORS, METRICS, TEXTS)
    assert "On the front: c1, c2." in html
    assert "c3: anonymize.k = 20, transition.method = uniform" in html
    assert "generator alone: 0.9, 0.2" in html
    assert "4 configurations, 7 runs, 1 of them failed" in html


def test_means_by_factor(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison, FACTORS, METRICS, TEXTS)
    k5 = comparison.loc[comparison["anonymize.k"] == 5, "synthetic.tstr.income"]
    assert f"{k5.mean():.3f} ± {k5.sem():.3f}" in html


def test_table_has_every_run_and_sort_keys(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison, FACTORS, METRICS, TEXTS)
    table = html[html.index('<table id="all">') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    assert body.count("<tr") == len(comparison)
    assert 'data-key="0.801"' in body


def test_failures_are_told_and_escaped(comparison: pd.DataFrame) -> None:
    html = render_comparison("<i>x</i>", comparison, FACTORS, METRICS, TEXTS)
    assert "the generator &lt;b&gt;gave up&lt;/b&gt;" in html
    assert "<i>x</i>" not in html


def test_self_contained(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison, FACTORS, METRICS, TEXTS)
    assert not re.search(r"https?:|\ssrc=|url\(|@import|<link|fetch|XMLHttp|import\(", html)
    assert html.count("<script>") == 1


def test_without_explanations_there_is_still_a_table(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison, FACTORS, METRICS)
    assert "No pair of a privacy and a utility metric" in html
    assert "synthetic.identical_match" in html


def test_nothing_ended_well(comparison: pd.DataFrame) -> None:
    failed = comparison.tail(1).reset_index(drop=True)
    html = render_comparison("strategies", failed, FACTORS, METRICS, TEXTS)
    assert "1 of them failed" in html


def test_failed_runs_only_without_metric_columns() -> None:
    row = {"configuration": "c1", "k": 5, "seed": 1, "status": "failed", "reason": "no", "verdict": None}
    assert "no" in render_comparison("strategies", pd.DataFrame([row]), ["k"], [], TEXTS)


def test_one_configuration_without_factors(comparison: pd.DataFrame) -> None:
    html = render_comparison("strategies", comparison.head(1), [], METRICS, TEXTS)
    assert "No factor was varied" in html


def test_registry_metrics_are_described() -> None:
    from hybrid.evaluate import REGISTRY

    texts = describe(REGISTRY.values())
    assert set(texts) == set(REGISTRY)
    assert all(text.sentence and text.direction and text.family for text in texts.values())
    assert texts["tstr"].reference == "model trained on real data"


@pytest.mark.parametrize(
    ("name", "title"), [("dcr_share", "DCR share"), ("knn_share", "k-NN share"), ("singling_out", "Singling out")]
)
def test_titles(name: str, title: str) -> None:
    assert title_of(name) == title
