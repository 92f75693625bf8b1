"""Pages made from fixed inputs are those that a person has looked at."""

from __future__ import annotations

from hybrid.report import ReportInputs, render_report
from tests.helpers.kept import assert_kept, body_lines


def test_figures_and_words_are_those_that_were_looked_at(full_inputs: ReportInputs) -> None:
    lines = body_lines(render_report(full_inputs))
    assert lines.count("<svg") > 10
    assert_kept("report_page.html", lines)
