"""The page that people decide by: short, worst first, in the data's own words, and without anybody's value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid.base.language import catalogue, languages
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.jobs.report_inputs import two_pages
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Check, Verdict
from hybrid.report import ReportInputs, compare_tables, render_report
from hybrid.report.charts.figures import column_chart
from hybrid.report.run.sections import DETAILS, FIRST_PAGE, JOINT, SECTIONS, content, rows
from hybrid.report.run.sections import verdict as verdict_section
from hybrid.table import Kind, Table
from tests.helpers.browser import browser
from tests.report.documents import Document
from tests.report.worst_case import worst_case

MADE = datetime(2026, 1, 2)
MOST_WORDS, MOST_SCREENS = 2000, 6
SCREEN = 1280, 900
"""Pixels of a window on a laptop."""
PHONE = 390
SHEET = 680, 994
"""Pixels of A4 within the margins of the style sheet."""
CUT = """[...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > %d
    || (one.matches(".scroll") && one.scrollWidth > one.clientWidth)).map(one => one.outerHTML.slice(0, 80))"""
BROKEN = """[...document.querySelectorAll(".dense th")].filter(one => one.getClientRects().length && (() => {
    const range = document.createRange(); range.selectNodeContents(one); return range.getClientRects().length > 1 })()
).map(one => one.textContent)"""
"""What a sheet cuts off, and names of columns that it breaks within the word."""
TABLES = """[...document.querySelectorAll("table")].filter(one => one.getBoundingClientRect().right > %d)
    .map(one => one.closest("section").id)"""
SHEETS = re.compile(rb"/Type\s*/Page\b")
TO_DETAILS = "report-details.html", "All checks, figures and the method"
FACTS = {"owner": "nobody yet", "table": TableFacts(5000, 1500, 3500, 4, ("number",), ("age",), ("ward",))}
"""Of the run, for the section of the verdict."""
LONG = (
    "Of 1,000 people in the data an attacker finds 34 more than of people who are not in it, and 30 are allowed. " * 2
)


def check(rule: str, status: str, **more: Any) -> Check:
    return Check(rule, status, LONG, "larger leaves (min_leaf of cart), or a larger table", **more)  # type: ignore[arg-type]


def n_words(page: str) -> int:
    return len(Document(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)).text.split())


def first(inputs: ReportInputs) -> Document:
    return Document(render_report(inputs, FIRST_PAGE))


def test_both_pages_have_each_section_once_and_lead_to_each_other(full_inputs: ReportInputs) -> None:
    assert (*FIRST_PAGE, *DETAILS) == SECTIONS and len({one.anchor for one in SECTIONS}) == len(SECTIONS)
    (name, page), (other, details) = two_pages(full_inputs)
    assert (name, other) == ("report.html", "report-details.html")
    links = [
        [attributes["href"] for tag, attributes in Document(text).tags if tag == "a" and "#" not in attributes["href"]]
        for text in (page, details)
    ]
    assert links == [["report-details.html"], ["report.html"]]
    assert not set(Document(page).ids()) & set(Document(details).ids())


def test_a_verdict_with_forty_open_rules_stays_short_and_loses_none(full_inputs: ReportInputs) -> None:
    open_ = [check(f"rule {number}", "review") for number in range(30)]
    unknown = [check(f"unknown {number}", "not judged") for number in range(10)]
    inputs = replace(
        full_inputs,
        verdict=Verdict.of("strict 1", [*unknown, *open_, check("lost columns", "review", metric="lost_column")]),
    )
    (_, page), (_, details) = two_pages(inputs)
    text = Document(page).text
    assert n_words(page) <= MOST_WORDS
    named = verdict_section.MOST_OPEN + verdict_section.MOST_NAMED
    assert f"and {31 - named} more, see the details" in text and text.count("unknown 7") == 1
    # What the table keeps comes first among equals; everything is in the details.
    found = re.findall(r"(lost columns|rule \d+)", text)
    assert found[:2] == ["lost columns", "rule 0"]
    whole = Document(details).text
    assert all(f"rule {number}" in whole for number in range(30))


def test_what_forbids_comes_before_what_a_person_may_accept(full_inputs: ReportInputs) -> None:
    checks = [check("lost links", "review", metric="lost_link"), check("copies", "block")]
    text = first(replace(full_inputs, verdict=Verdict.of("strict 1", checks))).text
    assert text.index("copies") < text.index("lost links")


def test_the_largest_differences_are_said_in_the_data_s_words(
    full_inputs: ReportInputs, real: Table, synthetic: Table
) -> None:
    words = "length of stay: median 11 days instead of 3"
    outcome = Measure(0.6, 0.5, 0.7, 0.0, 100, {"said": words, "columns": []})
    found = MetricResult("lost_column", "fidelity", "synthetic", "lower", outcome)
    inputs = replace(full_inputs, evaluation=Evaluation((*full_inputs.evaluation.metrics, found)))
    assert words in first(inputs).text
    # The column that moved most beyond what people kept apart show is the first picture.
    moved = replace(synthetic, frame=synthetic.frame.assign(age=synthetic.frame["age"] + 25))
    compared = compare_tables(real, moved, real.take(np.arange(700)))
    shown = content.SECTION.values(replace(inputs, comparison=compared))
    assert shown is not None and shown["columns"][0][0].name == "age" and len(shown["columns"]) <= content.MOST


def test_the_page_of_all_tables_says_what_each_of_them_loses(full_inputs: ReportInputs, tmp_path: Path) -> None:
    """It once named verdicts alone: what is lost stood on the pages of the tables."""
    inputs = worst_case(full_inputs, tmp_path, linked=True)
    found = MetricResult(
        "lost_column", "fidelity", "synthetic", "lower", Measure(0.6, details={"said": "ward: 2 of 9"})
    )
    of_tables = tuple(replace(found, table=name) for name in ("visits", "drugs"))
    text = Document(render_report(replace(inputs, evaluation=Evaluation(of_tables)), JOINT)).text
    assert "What the tables keep and lose" in text and text.count("ward: 2 of 9") == 2
    assert text.index("drugs", text.index("keep and lose")) < text.rindex("visits")


def test_the_pair_that_is_said_is_the_first_of_the_pairs(full_inputs: ReportInputs) -> None:
    fell = [
        {"a": "age", "b": "ward", "train": 0.264, "table": 0.1},
        {"a": "sex", "b": "ward", "train": 0.2, "table": 0.1},
    ]
    words = "age and ward: their link fell from 0.264 to 0.100 (0: none, 1: full)"
    outcome = Measure(0.164, 0.1, 0.2, 0.0, 100, {"said": words, "pairs": [*fell, {**fell[0], "table": 0.2639}]})
    found = MetricResult("lost_link", "fidelity", "synthetic", "lower", outcome)
    inputs = replace(full_inputs, evaluation=Evaluation((*full_inputs.evaluation.metrics, found)))
    shown = content.SECTION.values(inputs)
    assert shown is not None
    assert shown["pairs"] == [("age", "ward", 0.264, 0.1), ("sex", "ward", 0.2, 0.1)]
    assert words in first(inputs).text


def test_columns_and_pairs_that_do_not_differ_are_left_out(full_inputs: ReportInputs, real: Table) -> None:
    same = first(replace(full_inputs, comparison=compare_tables(real, real))).text
    assert "No column differs by 0.0005 or more from the data." in same
    assert "Columns that differ most" not in same
    assert "differs by 0.0005" not in first(full_inputs).text


def test_pictures_say_what_they_do_not_show(full_inputs: ReportInputs, real: Table, synthetic: Table) -> None:
    """The bars of a lost diagnosis once were those of the records in which it had been replaced before."""
    compared = compare_tables(real, synthetic, minimum_cell=7)
    unseen = replace(compared.columns[0], distance=None)
    few = replace(full_inputs, comparison=replace(compared, columns=(unseen, *compared.columns[1:])))
    without = few.collected | {"protection": {"min_count": 9, "columns": [], "private": []}}
    text = first(replace(few, collected=without)).text
    note = f"Columns have no picture where fewer than 7 people have each value, such as {unseen.name}."
    assert note in text and "The bars, too" not in text
    replaced = few.collected | {"protection": {"min_count": 9, "columns": ["age: replaced"], "private": []}}
    inputs = replace(full_inputs, collected=replaced)
    assert "The bars, too, are without values that fewer than 9 people have" in first(inputs).text


def test_columns_that_differ_as_chance_does_are_said_to(
    full_inputs: ReportInputs, real: Table, synthetic: Table
) -> None:
    """A table equal to its source once had "columns that differ most" like any other."""
    note = "None of these columns differs more from the training records than the real people kept apart do."
    moved = replace(synthetic, frame=synthetic.frame.assign(age=synthetic.frame["age"] + 25))
    for table, control, expected in ((real, synthetic, True), (moved, real, False)):
        compared = compare_tables(real, table, control)
        views = tuple(replace(one, distance=max(one.distance or 0.0, 0.001)) for one in compared.columns)
        page = first(replace(full_inputs, comparison=replace(compared, columns=views)))
        assert (note in page.text) == expected


def test_a_picture_has_the_unit_of_its_column_and_says_that_its_axis_is_logarithmic(
    full_inputs: ReportInputs, table_of: Callable[..., Table], real: Table, synthetic: Table
) -> None:
    publish = {"columns": {"income": {"unit": "EUR"}}}
    said = FACTS | {"config": {"publish": publish}}
    moved = replace(synthetic, frame=synthetic.frame.assign(income=synthetic.frame["income"] * 3))
    compared = compare_tables(real, moved, real.take(np.arange(700)))
    page = first(replace(full_inputs, comparison=compared, collected={**full_inputs.collected, "verdict": said}))
    assert "income (EUR)" in re.sub(r"\s+", " ", page.text)
    wide, even = ([10.0**step for step in np.linspace(0, 5, 600)], list(np.linspace(0, 5, 600)))
    for values, marked in ((wide, True), (even, False)):
        table = table_of({"cost": (Kind.DECIMAL, values)})
        chart = column_chart(compare_tables(table, table).columns[0])
        assert ("logarithmic axis" in chart) == marked


def test_the_purpose_that_the_publisher_states_stands_beside_what_the_table_is_not_for(
    full_inputs: ReportInputs,
) -> None:
    lost = Verdict.of("mine 1", (check("lost columns", "review", metric="lost_column", subject="ward"),))
    for publish, status, expected in (
        ({"uses": ["Income by ward"], "not_for": ["Prices"]}, "review", "Stated use: Income by ward."),
        ({}, "review", "No use is stated (publish.uses)."),
        ({"uses": ["Income by ward"]}, "block", ""),
    ):
        said = FACTS | {"config": {"publish": publish}}
        verdict = replace(lost, status=status)
        inputs = replace(full_inputs, verdict=verdict, collected={**full_inputs.collected, "verdict": said})
        page = render_report(inputs, FIRST_PAGE)
        box = page.partition('<div class="verdict')[2].partition("</div>")[0]
        assert (expected in box) if expected else ("use" not in box)
        assert ("Not for: Prices" in box) == ("not_for" in publish)


def test_the_rules_shown_first_are_about_different_questions() -> None:
    """A copied table once was shown by six rules about distances, and none about secrets."""
    metrics = ["dcr_share", "nndr_share", "authenticity", "hitting_rate", "linkability", "inference", "membership"]
    checks = tuple(check(f"check of {name}", "block", metric=name, excess=(0.3, 0.4), limit=0.01) for name in metrics)
    page = first(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", checks)))
    assert "Why the table must not leave" in page.text and "What a person must look at" not in page.text
    shown = re.findall(r"check of (\w+?)Of", page.text)
    assert shown[:4] == ["dcr_share", "linkability", "inference", "membership"]


def test_what_a_person_must_look_at_comes_before_the_lamps() -> None:
    """On paper it once was on the second sheet, after five lamps that may all be grey."""
    found = (check("lost links", "review", metric="lost_link"),)
    text = first(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", found))).text
    assert text.index("What a person must look at") < text.index("Risks for the people in the data")


def test_what_to_try_is_said_once_where_it_is_the_same() -> None:
    checks = tuple(check(f"rule {number}", "review") for number in range(3))
    page = first(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", checks)))
    assert page.text.count("larger leaves (min_leaf of cart)") == 1 and page.text.count("as above") == 2


@dataclass
class _Run:
    """As far as the section of rows looks."""

    table: Table
    synthetic: Table
    is_unsynthesized: bool = False


@pytest.fixture
def visits(table_of: Callable[..., Table]) -> Table:
    """Twelve rows; one person holds the town of Lonely, six rows of it, and the cost 7.25."""
    towns = ["Lonely"] * 6 + ["Large"] * 6
    costs = [7.25, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    table = table_of({"town": (Kind.CATEGORICAL, towns), "cost": (Kind.DECIMAL, costs)})
    return replace(table, named_persons=np.array([0] * 6 + [1, 2, 3, 4, 5, 6]))


def test_ten_rows_show_no_value_that_few_people_hold(visits: Table, table_of: Callable[..., Table]) -> None:
    drawn = table_of(
        {
            "town": (Kind.CATEGORICAL, ["Lonely", "Large", "Nowhere"] * 5),
            "cost": (Kind.DECIMAL, [7.25, 2.0, 9.9] * 5),
        }
    )
    assert rows.SECTION.collect is not None
    found = rows.SECTION.collect(_Run(visits, drawn), 5)["shown"]  # type: ignore[arg-type]
    assert len(found["rows"]) == 10 and found["names"] == ["town", "cost"]
    # Six rows of one person are one person; what nobody holds is made up, and shown.
    assert found["rows"][:3] == [["…", "…"], ["Large", "2.0"], ["Nowhere", "9.9"]]
    page = first(ReportInputs("run", MADE, "", collected={"rows": {"shown": found}}))
    assert "Lonely" not in page.text and "7.25" not in page.text and "Nowhere" in page.text


def test_rows_of_real_people_are_never_shown(visits: Table) -> None:
    assert rows.SECTION.collect is not None
    collected = rows.SECTION.collect(_Run(visits, visits, is_unsynthesized=True), 5)  # type: ignore[arg-type]
    assert collected == {"shown": None}
    page = first(ReportInputs("run", MADE, "", collected={"rows": collected}))
    assert "none is shown" in page.text and "Large" not in page.text


def test_of_a_table_that_must_not_leave_no_row_is_shown_and_nothing_is_to_be_signed() -> None:
    """Its rows may be real people's, whatever its values are: the page itself would be the leak."""
    shown = {"names": ["town"], "rows": [["Large"]], "n_columns": 1, "has_identifiers": False, "least": 5}
    for status, seen in (("review", True), ("block", False)):
        found = Verdict.of("mine 1", (check("copies", status, metric="identical_match"),))
        text = first(ReportInputs("run", MADE, "", verdict=found, collected={"rows": {"shown": shown}})).text
        assert ("Large" in text) == ("Signature" in text) == ("Do not put the table on the internet" in text) == seen
        assert ("none of its rows is shown" in text) != seen


def test_a_line_to_sign_stands_once_with_a_verdict_and_without() -> None:
    found = Verdict.of("mine 1", (check("copies", "review", metric="identical_match"),))
    for inputs in (ReportInputs("run", MADE, ""), ReportInputs("run", MADE, "", verdict=found)):
        assert first(inputs).text.count("Signature") == 1
    assert verdict_section.TEMPLATE.count("sign-off") == 1


def test_what_the_table_is_not_for_stands_in_the_verdict_itself() -> None:
    lost = check("lost links", "review", metric="lost_link", subject="plz and ward")
    page = render_report(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", (lost,))), FIRST_PAGE)
    box = page.partition('<div class="verdict')[2].partition("</div>")[0]
    sentence = "Do not study how columns depend on each other, least of all plz and ward"
    assert sentence in box and page.count(sentence) == 1


def test_a_bar_shows_how_far_from_the_limit_and_up_to_where() -> None:
    def bar(measured: float, high: float) -> tuple[float, float, bool]:
        about = {"metric": "singling_out", "excess": (-0.1, high), "limit": 0.03, "forbidden": 0.2}
        found = check("singling", "pass", measured=measured, **about)
        page = first(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", (found,))))
        dots = [float(str(tag["cx"])) for name, tag in page.tags if name == "circle" and tag["class"] == "synthetic"]
        lines = [float(str(tag["x2"])) for name, tag in page.tags if name == "line" and tag["class"] == "whisker"]
        return dots[0], lines[0], any(name == "path" and tag["class"] == "whisker" for name, tag in page.tags)

    found = inside, near, above, end = bar(0.003, 0.06), bar(0.027, 0.06), bar(0.1, 0.11), bar(0.404, 1.0)
    assert inside[0] < near[0] < above[0] < end[0] and [cut for *_, cut in found] == [False, False, False, True]
    assert near[1] < above[1] < end[1] == end[0]
    allowed, forbidden = (6 + 156 * place / 2.5 for place in (1, 2))
    assert near[0] < allowed < above[0] < forbidden < end[0]
    without = check("singling", "pass", metric="singling_out", excess=(-0.1, 0.1), limit=0.0, measured=0.1)
    page = render_report(ReportInputs("run", MADE, "", verdict=Verdict.of("mine 1", (without,))), FIRST_PAGE)
    assert "<circle" not in page


@pytest.mark.parametrize("linked", [False, True])
def test_the_longest_pages_keep_to_six_screens(full_inputs: ReportInputs, tmp_path: Path, linked: bool) -> None:
    inputs = worst_case(full_inputs, tmp_path, linked=linked)
    assert len(inputs.verdict.open_checks) > 50  # type: ignore[union-attr]
    file = tmp_path / "report.html"
    with browser(tmp_path / "profile") as page:
        for code in languages():
            text = render_report(inputs, JOINT if linked else FIRST_PAGE, TO_DETAILS, catalogue(code))
            assert f'<html lang="{code}">' in text and n_words(text) <= MOST_WORDS
            file.write_text(text, encoding="utf-8")
            page.show_at(SCREEN[0], height=SCREEN[1])
            page.open(file)
            assert page.evaluate("document.documentElement.scrollHeight") <= MOST_SCREENS * SCREEN[1], code
            assert page.findings() == []
        for width, scheme in ((SCREEN[0], "dark"), (PHONE, "light"), (PHONE, "dark")):
            page.show_at(width, scheme)
            page.open(file)
            assert page.findings() == [], (width, scheme)
        assert page.problems == []


@pytest.mark.parametrize("linked", [False, True])
def test_the_longest_pages_print_on_as_few_sheets_as_screens_with_nothing_cut_off(
    full_inputs: ReportInputs, tmp_path: Path, linked: bool
) -> None:
    inputs = worst_case(full_inputs, tmp_path, linked=linked)
    file = tmp_path / "report.html"
    with browser(tmp_path / "profile") as page:
        for code in languages():
            text = render_report(inputs, JOINT if linked else FIRST_PAGE, TO_DETAILS, catalogue(code))
            file.write_text(text, encoding="utf-8")
            page.show_at(SHEET[0], "dark", SHEET[1])
            page.open(file)
            assert 1 < len(SHEETS.findall(page.pdf())) <= MOST_SCREENS, code
            page.call("Emulation.setEmulatedMedia", media="print")
            assert page.evaluate(CUT % (SHEET[0] + 1)) == [], code
            assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_no_table_of_the_details_is_wider_than_its_sheet(full_inputs: ReportInputs, tmp_path: Path) -> None:
    file = tmp_path / "report-details.html"
    estimates = [
        {
            "analysis": f"`{outcome}` ~ `age` + `education` + `occupation` + `nationality` + `length_of_stay`",
            "name": name,
        }
        | {"real": (1234.5, 1200.1, 1300.2), "table": (1100.4, 1000.5, 1200.9), "overlap": 0.5, "difference": -2.88}
        | {"noise": 1.0, "concluded": False}
        for outcome in ("readmission", "cost")
        for name in ("occupation = craft-repair", "(intercept)")
    ]
    worst = estimates[0]
    details = {"estimates": estimates, "left_out": {}, "width_of_survey": 0.7}
    group = {"column": "nationality", "group": "Western Europe", "estimates": 30, "overlap": 0.4, "reference": 0.8}
    details["groups"] = [group | {"kept": 1, "conclusions": 9, "worst": worst}]
    overlap = MetricResult("interval_overlap", "utility", "synthetic", "higher", Measure(0.5, n=4, details=details))
    inputs = replace(full_inputs, evaluation=Evaluation((*full_inputs.evaluation.metrics, overlap)))
    with browser(tmp_path / "profile") as page:
        for code in languages():
            file.write_text(render_report(inputs, DETAILS, TO_DETAILS, catalogue(code)), encoding="utf-8")
            page.show_at(SHEET[0], height=SHEET[1])
            page.open(file)
            page.call("Emulation.setEmulatedMedia", media="print")
            assert page.evaluate(TABLES % (SHEET[0] + 1)) == [], code


def test_a_printed_decision_has_its_signature_on_the_first_sheet(full_inputs: ReportInputs, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    names = ["age", "sex", "postcode", "nationality", "occupation", "admission_date", "emergency", "smoker", "bmi"]
    row = ["61", "female", "94***", "Western Europe", "childcare worker", "2023-03-06", "false", "yes", "26.7", "K85"]
    shown = {"names": [*names, "diagnosis"], "rows": [row] * 10, "n_columns": 15, "has_identifiers": True, "least": 5}
    inputs = replace(full_inputs, collected=full_inputs.collected | {"rows": {"shown": shown}})
    with browser(tmp_path / "profile") as page:
        for code in languages():
            file.write_text(render_report(inputs, FIRST_PAGE, TO_DETAILS, catalogue(code)), encoding="utf-8")
            page.show_at(SHEET[0], height=SHEET[1])
            page.open(file)
            page.call("Emulation.setEmulatedMedia", media="print")
            end = page.evaluate("document.querySelector('.sign-off').getBoundingClientRect().bottom")
            assert 0 < end <= SHEET[1], code
            assert page.evaluate(BROKEN) == [], code
