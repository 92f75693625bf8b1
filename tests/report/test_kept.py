"""Pages made from fixed inputs are those that a person has looked at."""

from __future__ import annotations

from hybrid.report import ReportInputs, render_report
from tests.helpers.kept import assert_kept, figures


def test_figures_are_those_that_were_looked_at(full_inputs: ReportInputs) -> None:
    assert_kept("report_figures.json", figures(render_report(full_inputs)))
