from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.verdict import Check, Verdict
from hybrid.report import LossCurve, ReportedStage, ReportInputs, compare_tables, render_report
from hybrid.report.run.metrics import judgement, number
from hybrid.report.run.sections import SECTIONS
from hybrid.table import Kind, Table
from tests.report.documents import Document

LOSS_LINES = ("synthetic-line", "second-line")


def minimal(**changes) -> ReportInputs:
    return replace(ReportInputs("run", datetime(2026, 1, 2), "No promise."), **changes)


NEEDS_A_RUN = ("protection", "constraints", "who-is-missing", "analyses", "rows", "files")


def test_all_sections_in_the_order_of_the_registry(full_inputs: ReportInputs) -> None:
    document = Document(render_report(full_inputs))
    # Inputs put together by hand have nothing about these, and no files of an audit; their sections are left out.
    expected = [section.anchor for section in SECTIONS if section.anchor not in NEEDS_A_RUN]
    assert len(set(expected)) == len(expected)
    assert document.ids() == expected
    links = [attributes["href"] for tag, attributes in document.tags if tag == "a"]
    assert links == [f"#{anchor}" for anchor in expected]


def test_tied_dates_are_listed_with_the_rows_out_of_order(full_inputs: ReportInputs) -> None:
    pair = {"first": "entry", "second": "exit", "distance": 0.291, "low": 0.2, "high": 0.4}
    shares = {"out_of_order": 0.309, "out_of_order_real": 0.03, "equal": 0.0, "equal_real": 0.1}
    outcome = Measure(0.291, 0.2, 0.4, 0.05, 900, {"pairs": [pair | shares]})
    found = MetricResult("gaps_between_dates", "fidelity", "synthetic", "lower", outcome)
    evaluation = Evaluation((*full_inputs.evaluation.metrics, found))
    text = " ".join(Document(render_report(replace(full_inputs, evaluation=evaluation))).text.split())
    assert "Dates of a row that lie close together" in text
    assert text.count("entryexit0.2913.0 %30.9 %10.0 %0.0 %") == 1
    assert "lie close together" not in Document(render_report(full_inputs)).text


def test_self_contained(full_inputs: ReportInputs) -> None:
    html = render_report(full_inputs)
    document = Document(html)
    assert not {tag for tag, _ in document.tags} & {"script", "link", "img", "iframe", "object", "embed", "base"}
    for tag, attributes in document.tags:
        assert not {"src", "srcset", "xlink:href", "data"} & set(attributes), tag
        assert str(attributes.get("href", "#")).startswith("#")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", html)
    assert len(html.encode()) < 3_000_000


def test_same_inputs_same_bytes(full_inputs: ReportInputs) -> None:
    assert render_report(full_inputs) == render_report(full_inputs)


def test_empty_inputs_say_what_is_absent() -> None:
    document = Document(render_report(minimal()))
    assert "changes" not in document.ids()
    for words in ("No verdict", "was not anonymized", "No columns were compared", "says nothing about risk"):
        assert words in document.text


def test_number_without_a_value_is_never_a_score(full_inputs: ReportInputs) -> None:
    metrics = tuple(
        MetricResult(f"metric_{state}", "privacy", stage, "lower", NotComputable(f"because {state}", state))
        for state in ("not_applicable", "too_few", "failed", "timed_out")
        for stage in ("original", "synthetic")
    )
    document = Document(render_report(replace(full_inputs, evaluation=Evaluation(metrics))))
    for state in ("not_applicable", "too_few", "failed", "timed_out"):
        assert f"because {state}" in document.text
    privacy = document.text[
        document.text.index("What an attacker learns") : document.text.index("The same measurement")
    ]
    assert not re.search(r"\d\.\d{3}", privacy)


def test_every_number_stands_beside_interval_reference_and_direction(full_inputs: ReportInputs) -> None:
    text = Document(render_report(full_inputs)).text
    for words in ("0.014", "0.010 to 0.020", "0.002", "0.012 worse than the control set", "Lower is safer", "Copies"):
        assert words in text
    assert "How many rows equal a training record." in text


@pytest.mark.parametrize(
    ("measure", "lower_is_better", "words"),
    [
        (Measure(0.5, 0.4, 0.6, 0.45), True, "the interval covers the control set"),
        (Measure(0.5, 0.48, 0.52, 0.4), True, "0.100 worse than the control set"),
        (Measure(0.5, 0.48, 0.52, 0.4), False, "0.100 better than the control set"),
        (Measure(0.5, None, None, 0.75), False, "0.250 worse than the control set"),
        (Measure(0.5, None, None, 0.5), True, "equal to the control set"),
        (Measure(0.5), True, "no reference to compare with"),
    ],
)
def test_judgement(measure: Measure, lower_is_better: bool, words: str) -> None:
    assert judgement(measure, lower_is_better, "control set") == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (-0.0204, "−0.020"),
        (0.00044, "0.0004"),
        (1e-9, "1.00e−09"),
        (12345.678, "12,345.678"),
        (1.0, "1.000"),
        (5.0, "5"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_details_show_numbers_only(full_inputs: ReportInputs) -> None:
    details = {"attacks": 2000, "worst": "CANARY-VALUE", "list": ["CANARY-VALUE"], "by": {"CANARY-VALUE": 1}}
    metric = MetricResult("ims", "privacy", "synthetic", "lower", Measure(0.1, details=details))
    html = render_report(replace(full_inputs, evaluation=Evaluation((metric,))))
    assert "2,000" in html
    assert "CANARY-VALUE" not in html


def test_rare_values_and_extremes_are_not_in_the_report(table_of) -> None:
    rng = np.random.default_rng(5)
    n = 1000
    values = {
        "job": (Kind.CATEGORICAL, ["CANARY-JOB"] * 4 + list(rng.choice(["clerk", "nurse"], n - 4))),
        "pay": (Kind.DECIMAL, [98765432.12, 0.00321, *rng.normal(3000, 500, n - 2).round(2)]),
        "visits": (Kind.INTEGER, [777] * 4 + list(rng.poisson(3, n - 4))),
        "born": (Kind.DATE, [np.datetime64("1899-12-31")] + [np.datetime64("1980-01-01") + i for i in range(n - 1)]),
    }
    real = table_of(values)
    # The synthetic table repeats the rare records: the report must not show them through it either.
    html = render_report(minimal(comparison=compare_tables(real, real, real, 5)))
    for canary in ("CANARY-JOB", "98765432", "98,765,432", "0.00321", "0.0032", "777", "1899"):
        assert canary not in html, canary
    assert "clerk" in html
    assert "few" in html


def test_identifiers_are_not_in_the_report(full_inputs: ReportInputs) -> None:
    assert "secret-id" not in render_report(full_inputs)


def test_markup_in_names_and_values_is_text(table_of) -> None:
    evil = "<script>alert('x')</script>\"&"
    table = table_of({evil: (Kind.CATEGORICAL, [evil] * 30 + ["</svg>"] * 20), "n": (Kind.INTEGER, list(range(50)))})
    metric = MetricResult(evil, "privacy", "synthetic", "lower", NotComputable(evil), evil)
    html = render_report(
        minimal(
            name=evil,
            guarantee=evil,
            verdict=Verdict("block", evil, (Check(evil, "block", evil, evil),)),
            steps=(ReportedStage(evil, 3, 1.0, evil),),
            comparison=compare_tables(table, table),
            evaluation=Evaluation((metric,)),
            limits=(evil,),
            facts={evil: evil},
            config=evil,
            fallbacks={evil: 3},
        )
    )
    document = Document(html)
    assert "script" not in {tag for tag, _ in document.tags}
    assert evil in document.text


def test_unicode_survives(full_inputs: ReportInputs) -> None:
    html = render_report(full_inputs)
    for city in ("Köln", "Łódź", "北京"):
        assert city in html


def test_wide_tables_stay_small(table_of) -> None:
    rng = np.random.default_rng(0)
    table = table_of({f"column_{i}": (Kind.INTEGER, list(rng.integers(0, 40, 300))) for i in range(200)})
    html = render_report(minimal(comparison=compare_tables(table, table)))
    assert len(html.encode()) < 3_000_000
    assert "120 of 200 columns" in html
    assert "20 of 200 columns" in html


def test_one_column_has_no_pairs(table_of) -> None:
    table = table_of({"x": (Kind.INTEGER, list(range(50)))})
    assert "Fewer than two columns" in render_report(minimal(comparison=compare_tables(table, table)))


def test_local_recoding_and_no_class_sizes(full_inputs: ReportInputs) -> None:
    result = {**full_inputs.anonymization, "levels": None, "suppressed": 0, "records": 0}
    text = Document(
        render_report(replace(full_inputs, anonymization=result, sharing_before=None, sharing_after=None))
    ).text
    assert "differs by cell" in text


@pytest.mark.parametrize("status", ["pass", "review", "block"])
def test_verdict_is_told_by_words_and_signs(full_inputs: ReportInputs, status) -> None:
    document = Document(render_report(replace(full_inputs, verdict=Verdict(status, "p", ()))))
    word = {"pass": "Pass", "review": "Review", "block": "Block"}[status]
    assert word in document.text
    assert {"pass": "✓", "review": "!", "block": "✕"}[status] in document.text


def test_walk_of_zero_rows() -> None:
    assert "release" in render_report(minimal(steps=(ReportedStage("release", 0),)))


def test_real_and_synthetic_shares_are_drawn(real: Table, synthetic: Table) -> None:
    document = Document(render_report(minimal(comparison=compare_tables(real, synthetic))))
    drawn = {attributes.get("class") for _, attributes in document.tags}
    assert {"real", "synthetic", "synthetic-line", "heat-cell", "heat-cell negative"} <= drawn


def test_the_loss_curve_is_drawn_where_there_is_one() -> None:
    assert "Training of the generator" not in render_report(minimal())
    losses = (
        LossCurve("loss", ((50, 3.0), (100, 2.0), (150, 1.5))),
        LossCurve("eval_loss", ((100, 2.5), (150, 2.75))),
    )
    document = Document(render_report(minimal(losses=losses)))
    assert "loss (solid, 1.500 at the end), eval loss (dashed, 2.750 at the end)." in document.text
    lines = [attributes["d"] for _, attributes in document.tags if attributes.get("class") in LOSS_LINES]
    assert [line.count("L") for line in lines] == [2, 1]
    one = Document(render_report(minimal(losses=(LossCurve("loss", ((1, 0.5),)),))))
    assert "loss (solid, 0.500 at the end)." in one.text


def test_the_report_runs_nothing_and_loads_nothing(full_inputs: ReportInputs) -> None:
    page = render_report(full_inputs)
    assert "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" in page
    assert "<script" not in page and "fewer than 10 were" not in page and "records about 10 were" in page
